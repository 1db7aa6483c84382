package models_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
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
		require.NoError(t, pt.Save(second, nn.StateDict(model)))
		nn.Close(model)
		python(t, "compare", name, first, second)
		require.NoError(t, os.RemoveAll(dir))
	}
}

func python(t *testing.T, args ...string) {
	out, err := peer.Command(t, append([]string{"testdata/weights.py"}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
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
