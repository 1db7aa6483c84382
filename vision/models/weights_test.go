package models_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/hub"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// allWeights asks for all networks, of which some take half a gigabyte:
//
//	MODELS_ALL_WEIGHTS=1 go test ./vision/models -run Weights -timeout 30m
const allWeights = "MODELS_ALL_WEIGHTS"

// The state dicts of torchvision's networks go into a file, from there into Go's, and back.
func TestWeightsGoToGoAndBack(t *testing.T) {
	torchtest.NoLeaks(t)
	names := []string{"resnet18"}
	if os.Getenv(allWeights) != "" {
		names = models.Names()
	}
	for _, name := range names {
		dir := t.TempDir()
		first, second := filepath.Join(dir, "a.pth"), filepath.Join(dir, "b.pth")
		python(t, "make", name, first)
		state, err := pt.LoadStateDict(first, pt.LoadOptions{MMap: true})
		require.NoError(t, err)
		model, err := models.New(name, 1000)
		require.NoError(t, err)
		require.NoError(t, nn.LoadStateDict(model, state))
		for _, s := range state {
			s.Close()
		}
		require.NoError(t, pt.Save(second, pt.Versioned(nn.StateDict(model), nn.StateVersions(model))))
		nn.Close(model)
		python(t, "compare", name, first, second)
		require.NoError(t, os.RemoveAll(dir))
	}
}

func python(t *testing.T, args ...string) {
	out, err := peer.Command(t, append([]string{"testdata/weights.py"}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// The table of published weights, and what is read from it, are torchvision's.
func TestWeightsAreTorchvisions(t *testing.T) {
	torchtest.NoLeaks(t)
	var lines strings.Builder
	for _, name := range models.Names() {
		for _, w := range models.WeightsOf(name) {
			lines.WriteString(line(w))
		}
	}
	for file, argument := range map[string]string{"weights.tsv": "", "imagenet.txt": "categories"} {
		want, err := peer.Command(t, append([]string{"testdata/weights_table.py"}, strings.Fields(argument)...)...).Output()
		require.NoError(t, err)
		have, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "write %s anew by testdata/weights_table.py", file)
		if argument == "" {
			require.Equal(t, string(want), lines.String())
		} else {
			w, err := models.FindWeights("vit_h_14", "DEFAULT")
			require.NoError(t, err)
			require.Equal(t, string(want), strings.Join(w.Categories, "\n")+"\n")
		}
	}
}

// line writes weights as testdata/weights_table.py does.
func line(w models.Weights) string {
	colours := func(c *[3]float64) string {
		if c == nil {
			return ""
		}
		return strings.Trim(fmt.Sprint(*c), "[]")
	}
	p, best := w.Transforms, ""
	if w.Default {
		best = "default"
	}
	columns := []any{w.Model, w.Name, w.URL, p.Crop, p.Resize, p.Interpolation, colours(p.Mean), colours(p.Std), w.NumParams, w.MinSize[0],
		w.MinSize[1], pytext.Float(w.Acc1), pytext.Float(w.Acc5), pytext.Float(w.GFLOPs), pytext.Float(w.FileSize), w.Recipe, w.License, best,
		len(w.Categories)}
	text := make([]string, len(columns))
	for i, c := range columns {
		text[i] = fmt.Sprint(c)
	}
	return strings.Join(text, "\t") + "\n"
}

// Files from earlier versions of torchvision have other keys.
func TestPretrainedKnowsOldKeys(t *testing.T) {
	torchtest.NoLeaks(t)
	t.Setenv("TORCH_HOME", t.TempDir())
	own := models.DenseNet121(1000)
	defer nn.Close(own)
	state := map[string]torch.Tensor{}
	for key, value := range nn.StateDict(own) {
		old := regexp.MustCompile(`(denselayer\d+\.(?:norm|conv))([12]\.)`).ReplaceAllString(key, "$1.$2")
		if !strings.HasSuffix(old, "num_batches_tracked") {
			state[old] = value
		}
	}
	require.Contains(t, state, "features.denseblock1.denselayer1.norm.1.weight")
	w, err := models.FindWeights("densenet121", "DEFAULT")
	require.NoError(t, err)
	path := filepath.Join(os.Getenv("TORCH_HOME"), "hub", "checkpoints", filepath.Base(w.URL))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, pt.Save(path, maps.All(state)))
	got, err := models.Pretrained(t.Context(), "densenet121", "DEFAULT", hub.Options{Offline: true})
	require.NoError(t, err)
	defer nn.Close(got)
	want := maps.Collect(nn.StateDict(own))
	for key, value := range nn.StateDict(got) {
		torchtest.Equal(t, value, want[key])
	}
}

// Published weights are found under torchvision's names, in Python's folder.
func TestPretrained(t *testing.T) {
	torchtest.NoLeaks(t)
	home := t.TempDir()
	t.Setenv("TORCH_HOME", home)
	ctx, offline := context.Background(), hub.Options{Offline: true}
	_, err := models.Pretrained(ctx, "resnet18", "DEFAULT", offline)
	require.ErrorIs(t, err, hub.ErrOffline)
	require.ErrorContains(t, err, "resnet18-f37072fd.pth")
	_, err = models.Pretrained(ctx, "resnet18", "IMAGENET1K_V9", offline)
	require.ErrorContains(t, err, `resnet18 has no weights "IMAGENET1K_V9", but has IMAGENET1K_V1`)
	_, err = models.Pretrained(ctx, "resnet19", "DEFAULT", offline)
	require.ErrorContains(t, err, "nobody publishes")
	_, err = models.Pretrained(ctx, "resnet50", "DEFAULT", offline)
	require.ErrorContains(t, err, "resnet50-11ad3fa6.pth")

	path := filepath.Join(home, "hub", "checkpoints", "resnet18-f37072fd.pth")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	own, err := models.New("resnet18", 1000)
	require.NoError(t, err)
	defer nn.Close(own)
	require.NoError(t, pt.Save(path, nn.StateDict(own)))
	model, err := models.Pretrained(ctx, "resnet18", "ResNet18_Weights.IMAGENET1K_V1", offline)
	require.NoError(t, err)
	defer nn.Close(model)
	torchtest.Equal(t, model.(*models.ResNet).FC.Weight, own.(*models.ResNet).FC.Weight)
}
