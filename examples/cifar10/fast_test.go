package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/torch/watch"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// Four epochs of the recipe end with the bits of the same program in Python, and with its loss.
func TestFastEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	set(t, map[string]string{"slice": "true", "limit": "40", "epochs": "4", "p": "1"})
	inputs := peer.Tensors{}
	defer func() {
		for _, x := range inputs { // what was kept belongs to no scope
			x.Close()
		}
	}()
	var before bytes.Buffer
	torch.ManualSeed(0)
	training, test, net, err := prepareFast(t.Context(), &before, torch.CPU)
	require.NoError(t, err)
	defer nn.Close(net)
	for epoch := range 4 {
		for batch, err := range training.Epoch(t.Context(), epoch) {
			require.NoError(t, err)
			i := len(inputs) / 2
			inputs[fmt.Sprint("images ", i)], inputs[fmt.Sprint("targets ", i)] = batch.Input.Keep(), batch.Target.Keep()
		}
	}
	torch.Scope(func() {
		for name, weight := range nn.StateDict(net) {
			inputs[name] = weight.Clone().Keep()
		}
		images, _ := cifarslice.Load(true).Head(40).Tensors()
		still := transforms.CropFlipNormalize{Size: 32, NoFlip: true, Mean: fastMean, Std: fastStd}
		inputs["first"] = still.Apply(images, rand.New(rand.NewPCG(0, 0))).Keep()
	})
	var out bytes.Buffer
	require.NoError(t, trainFast(t.Context(), &out, net, training, test, nil))
	want := peer.Run(t, "testdata/fast.py", inputs)
	torchtest.Equal(t, net.Whiten.Weight, want["whitening"])
	require.Contains(t, out.String(), fmt.Sprintf("Epoch: [3][1/1]\tLoss %.4e (", want["loss"].Float64()))
	require.Regexp(t, ` \* Acc@1 \d+\.\d{3} after .*; data: waited `, out.String())
	for name, weight := range nn.StateDict(net) {
		torchtest.Equal(t, weight, want[name])
	}
}

func TestLogs(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, fast := range []string{"false", "true"} {
		logs := t.TempDir()
		set(t, map[string]string{"slice": "true", "limit": "40", "b": "10", "epochs": "1", "p": "1", "logdir": logs, "fast": fast})
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out))
		require.Contains(t, out.String(), "\nhost: CPU ")
		curves, err := watch.LoadCurves(logs)
		require.NoError(t, err)
		require.Contains(t, curves.Tags(), "host/available_mb")
		require.NotEmpty(t, curves.Points("train/Loss"))
		require.FileExists(t, filepath.Join(logs, "curves.svg"))
		files, err := filepath.Glob(filepath.Join(logs, "events.*"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		events, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.Contains(t, string(events), "train/Loss")
	}
}
