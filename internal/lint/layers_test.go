package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// layers lists the packages from the lowest layer to the highest. A package may import
// packages in rows above its own; a name ending in / stands for all packages below it.
var layers = [][]string{
	{"internal/flock", "internal/frames", "internal/home", "internal/proc", "internal/refused"},
	{"cgo", "cgo/gen", "cgo/libm", "internal/archive", "internal/atomicfile", "internal/bundle", "internal/cache", "internal/faults",
		"internal/fetch", "internal/lint", "internal/migrate", "internal/pace", "internal/pickle", "internal/pin", "internal/pytext",
		"internal/reliability", "internal/replay", "internal/road", "internal/talk"},
	{"internal/bridge"},
	{"torch"},
	{"internal/form", "internal/halves", "internal/jpeg"},
	{"torch/aten", "torch/linalg", "torch/fft", "torch/special", "internal/switches", "internal/option", "internal/versions"},
	{"torch/cuda", "torch/cuda/nvtx", "torch/mkldnn", "torch/library", "torch/torchtest", "internal/optable", "internal/tensorfile"},
	{"torch/nn/init", "torch/nn/functional", "torch/nn/utils/rnn", "torch/signal/windows", "torch/optim", "torch/data", "torch/meter",
		"torch/profiler", "torch/safetensors", "torch/pt", "torch/cpp", "torch/jit"},
	{"torch/nn", "torch/optim/lr", "torch/hub", "internal/peer"},
	{"torch/nn/utils", "torch/export"},
	{"torch/export/aoti", "internal/endless"},
	{"torch/nn/utils/parametrize", "torch/optim/swa", "torch/checkpoint", "torch/serve", "torch/dist", "torch/tensorboard"},
	{"amp", "torch/watch", "vision/ops", "internal/modparity", "internal/parity"},
	{"vision/imageio"},
	{"vision/transforms", "vision/datasets/internal/matlab", "vision/datasets/internal/sheet"},
	{"vision/models"},
	{"vision/datasets"},
	{"vision/datasets/cifarslice"},
	{"internal/cli", "internal/clitest"},
	{"cmd/serve/internal/"},
	{"cmd/serve/internal/cifar/train", "examples/", "cmd/", "bench", "bench/ddp", "internal/guides", "internal/phrasebook",
		"internal/reliability/", "internal/fuzz", "internal/gpusuite", "internal/mistakes", "internal/gpusuite/", "internal/gotorch",
		"internal/migrate/"},
	{"internal/fuzz/"},
}

// doorKeepers may import cgo; everyone else goes through package torch.
var doorKeepers = []string{"internal/bridge", "torch", "internal/form", "internal/fuzz", "internal/switches", "torch/aten", "torch/linalg",
	"torch/fft", "torch/special", "torch/cuda", "torch/cuda/nvtx", "torch/mkldnn", "torch/library", "torch/optim", "torch/data",
	"torch/profiler", "internal/halves", "internal/jpeg", "torch/export", "torch/export/aoti", "torch/jit", "torch/dist"}

// speakers are the packages with C in them.
var speakers = []string{"cgo", "cgo/libm"}

func layer(path string) int {
	for i, row := range layers {
		if slices.Contains(row, path) {
			return i
		}
	}
	return slices.IndexFunc(layers, func(row []string) bool {
		return slices.ContainsFunc(row, func(name string) bool {
			return strings.HasSuffix(name, "/") && strings.HasPrefix(path, name)
		})
	})
}

// Names of packages that are gone, or not there yet, would let anything in later.
func TestRoomsExist(t *testing.T) {
	for _, name := range slices.Concat(slices.Concat(layers...), doorKeepers, speakers) {
		assert.True(t, slices.ContainsFunc(allPackages(t), func(p goPackage) bool {
			return p.path() == name || strings.HasSuffix(name, "/") && strings.HasPrefix(p.path(), name)
		}), "there is no package %s", name)
	}
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range allPackages(t) {
		own := layer(p.path())
		assert.GreaterOrEqual(t, own, 0, "package %s has no place in the list of layers", p.path())
		for _, path := range p.Imports {
			if dep, ours := strings.CutPrefix(path, module+"/"); ours {
				assert.Less(t, layer(dep), own, "%s must not import %s", p.path(), dep)
			}
		}
	}
}

func TestOnlyDoorKeepersImportCgo(t *testing.T) {
	var keepers []string
	for _, p := range allPackages(t) {
		if slices.Contains(p.Imports, module+"/cgo") {
			keepers = append(keepers, p.path())
		}
	}
	assert.ElementsMatch(t, doorKeepers, keepers)
}

func TestOnlyTestsImportTestPackages(t *testing.T) {
	const forTests = "internal/parity" // nothing else imports it
	helpers := []string{forTests, "internal/clitest"}
	for _, p := range allPackages(t) {
		for _, path := range p.Imports {
			assert.NotEqual(t, module+"/"+forTests, path, p.path())
			if slices.Contains(helpers, p.path()) {
				continue
			}
			assert.NotContains(t, path, "stretchr/testify", p.path())
			assert.NotEqual(t, module+"/torch/torchtest", path, p.path())
		}
	}
}

func TestOnlyCgoSpeaksC(t *testing.T) {
	for _, p := range allPackages(t) {
		if slices.Contains(speakers, p.path()) {
			assert.NotEmpty(t, p.CgoFiles)
			continue
		}
		assert.Empty(t, p.CgoFiles, "package %s imports C", p.path())
	}
}
