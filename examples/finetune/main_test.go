package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/models"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// set sets flags until the test ends.
func set(t *testing.T, values map[string]string) {
	t.Helper()
	for name, value := range values {
		old := flag.Lookup(name).Value.String()
		t.Cleanup(func() { require.NoError(t, flag.Set(name, old)) })
		require.NoError(t, flag.Set(name, value))
	}
}

// photos makes a folder of photographs of three classes.
func photos(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for class, name := range []string{"bright", "dark", "grey"} {
		for i, half := range []string{"train", "train", "train", "train", "val", "val"} {
			pixels := make([]uint8, 3*40*50)
			for k := range pixels {
				pixels[k] = uint8([]int{190, 0, 90}[class] + r.IntN(60))
			}
			folder := filepath.Join(dir, half, name)
			require.NoError(t, os.MkdirAll(folder, 0o755))
			torch.Scope(func() {
				require.NoError(t, imageio.Save(filepath.Join(folder, fmt.Sprint(i, ".jpeg")), torch.FromSlice(pixels, 3, 40, 50)))
			})
		}
	}
	return dir
}

// backbone writes the weights of a network of a thousand classes.
func backbone(t *testing.T, arch string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), arch+".pth")
	torch.Scope(func() {
		torch.ManualSeed(7)
		model, err := models.New(arch, 1000)
		require.NoError(t, err)
		defer nn.Close(model)
		require.NoError(t, pt.Save(path, nn.StateDict(model)))
	})
	return path
}

// The program ends with the weights of the tutorial in Python, to the bit; a frozen network keeps those that it came with.
func TestEqualsPython(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		t.Run(fmt.Sprint("frozen ", frozen), func(t *testing.T) {
			torchtest.NoLeaks(t)
			saved := filepath.Join(t.TempDir(), "mine.pth")
			set(t, map[string]string{"data": photos(t), "arch": "shufflenet_v2_x0_5", "weights": backbone(t, "shufflenet_v2_x0_5"), "crop": "32",
				"epochs": "2", "lr": "0.01", "b": "6", "p": "1", "o": saved, "freeze": strconv.FormatBool(frozen)})
			inputs := peer.Tensors{}
			var kept []torch.Tensor
			torch.Scope(func() {
				torch.ManualSeed(0)
				train, _, classes, err := open(torch.CPU)
				require.NoError(t, err)
				require.Equal(t, []string{"bright", "dark", "grey"}, classes)
				model, fresh, err := adapt(t.Context(), 3)
				require.NoError(t, err)
				defer nn.Close(model)
				require.Equal(t, []string{"fc"}, fresh)
				requirePublished(t, model, fresh)
				for name, weight := range nn.StateDict(model) {
					inputs[name] = weight.Clone().Keep()
					kept = append(kept, inputs[name])
				}
				for epoch := range 2 {
					for batch, err := range train.Epoch(t.Context(), epoch) {
						require.NoError(t, err)
						i := (len(inputs) - len(kept)) / 2
						inputs[fmt.Sprint("images ", i)], inputs[fmt.Sprint("targets ", i)] = batch.Input.Keep(), batch.Target.Keep()
					}
				}
			})
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), &out))
			want := peer.Run(t, "testdata/finetune.py", inputs, "shufflenet_v2_x0_5", "fc", strconv.FormatBool(frozen), "2", "0.01")
			require.Contains(t, out.String(), "learns 3 classes; new are [fc]")
			require.Contains(t, out.String(), fmt.Sprintf("Epoch: [1][2/2]\tLoss %.4e (", want["loss"].Float64()))
			got, err := pt.LoadStateDict(saved)
			require.NoError(t, err)
			for name, weight := range got {
				torchtest.Equal(t, weight, want[name])
				if frozen && name == "conv1.0.weight" {
					torchtest.Equal(t, weight, inputs[name])
				}
				weight.Close()
			}
			for _, x := range inputs {
				x.Close()
			}
		})
	}
}

// Every family has a layer that tells classes apart, under some name.
func TestNewLayersOfFamilies(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, want := range map[string][]string{"squeezenet1_1": {"classifier.1"}, "mobilenet_v3_small": {"classifier.3"}} {
		set(t, map[string]string{"arch": name, "weights": backbone(t, name)})
		torch.Scope(func() {
			model, fresh, err := adapt(t.Context(), 5)
			require.NoError(t, err)
			defer nn.Close(model)
			require.Equal(t, want, fresh)
			requirePublished(t, model, fresh)
		})
	}
}

// requirePublished compares all but the new layers with the file that -weights names.
func requirePublished(t *testing.T, model nn.Layer, fresh []string) {
	t.Helper()
	published, err := pt.LoadStateDict(*weights)
	require.NoError(t, err)
	for name, weight := range nn.StateDict(model) {
		if !isNew(fresh, name) {
			torchtest.Equal(t, weight, published[name])
		}
	}
	torch.Close(slices.Collect(maps.Values(published))...)
}

func TestMistakes(t *testing.T) {
	dir := photos(t)
	for want, flags := range map[string]map[string]string{
		"no such file or directory":    {"data": dir + "/absent"},
		"alexandria":                   {"data": dir, "arch": "alexandria", "weights": "DEFAULT"},
		"has no weights of a resnet18": {"data": dir, "weights": backbone(t, "squeezenet1_1")},
		"IMAGENET1K_V9":                {"data": dir, "weights": "IMAGENET1K_V9"},
	} {
		t.Run(want, func(t *testing.T) {
			set(t, flags)
			require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}), want)
		})
	}
}
