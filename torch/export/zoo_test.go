package export_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// zooVariable has TestExportZoo capture other networks than a few: "all", "2/7" for the second of seven parts of them, or names with
// commas. TestTorchvision then has Python export them.
const zooVariable = "LIBTORCH_GO_EXPORT_MODELS"

// Every classifier of torchvision, captured in Go, has the bits of its Forward, here and in Python:
//
//	LIBTORCH_GO_EXPORT_MODELS=all go test -timeout 30m -run TestExportZoo ./torch/export
//	for k in 1 2 3 4 5 6 7; do LIBTORCH_GO_EXPORT_MODELS=$k/7 go test -count=1 -run TestExportZoo -v ./torch/export; done
func TestExportZoo(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	names := []string{"squeezenet1_1"}
	if os.Getenv(zooVariable) != "" {
		names = chosen(t, models.Names())
	}
	for some := range slices.Chunk(names, 4) { // whose files are there at a time
		dir := t.TempDir()
		for _, name := range some {
			t.Run(name, func(t *testing.T) { torch.Scope(func() { captureModel(t, name, dir) }) })
		}
		require.Equal(t, len(some), python(t, "programs", "load", dir).count(t))
		require.NoError(t, os.RemoveAll(dir))
	}
}

// chosen are the names of all that the variable means.
func chosen(t *testing.T, all []string) (names []string) {
	value := os.Getenv(zooVariable)
	part, parts, divided := strings.Cut(value, "/")
	switch {
	case value == "all":
		return all
	case !divided:
		return strings.Split(value, ",")
	}
	k, err := strconv.Atoi(part)
	require.NoError(t, err)
	n, err := strconv.Atoi(parts)
	require.NoError(t, err)
	require.True(t, 1 <= k && k <= n, "%s=%s", zooVariable, value)
	for i := k - 1; i < len(all); i += n { // large and small ones in each part
		names = append(names, all[i])
	}
	return names
}

func captureModel(t *testing.T, name, dir string) {
	model, err := models.New(name, 10)
	require.NoError(t, err)
	nn.Eval(model)
	x := torch.RandN(1, 3, imageSize(name), imageSize(name))
	program, err := export.Export(model, []any{x})
	require.NoError(t, err)
	defer program.Close()
	torch.NoGrad(func() {
		want := model.Forward(x)
		got, err := program.Run(x)
		require.NoError(t, err)
		requireAll(t, []torch.Tensor{want}, got)
		require.NoError(t, program.Save(filepath.Join(dir, name+".pt2")))
		require.NoError(t, pt.Save(filepath.Join(dir, name+".pt"), []any{pt.Tuple{pt.Tuple{x}, []any{want}}}))
	})
}

// imageSize is the size of images for a network, as small as it takes them.
func imageSize(name string) int {
	switch {
	case strings.HasPrefix(name, "vit"), strings.HasPrefix(name, "maxvit"):
		return 224
	case strings.HasPrefix(name, "inception"):
		return 299
	case strings.HasPrefix(name, "alexnet"):
		return 63
	}
	return 64
}
