package mistakes_test

import (
	"maps"
	"math"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/vision/models"
)

// classifier forgets to flatten what its convolution returns.
type classifier struct {
	Conv *nn.Conv2d
	Head nn.Sequential
}

var half = amp.GradScalerOptions{DType: torch.Float16}

func newClassifier() *classifier {
	return &classifier{nn.NewConv2d(3, 4, 3), nn.NewSequential(nn.NewLinear(16, 8), nn.ReLU{}, nn.NewLinear(9, 2))}
}

func (m *classifier) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(m, x, func(x torch.Tensor) torch.Tensor { return m.Head.Forward(m.Conv.Forward(x).Flatten(1)) })
}

var ofLayers = []mistake{
	{"an input of another width", func() { nn.NewLinear(4, 2).Forward(ones(1, 3)) },
		"torch: Linear: linear: mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2) (with float32[1, 3], float32[2, 4], " +
			"float32[2])"},
	{"a layer of a row that does not fit", func() { nn.NewSequential(nn.NewLinear(4, 3), nn.NewLinear(4, 2)).Forward(ones(1, 4)) },
		"torch: 1: linear: mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2) (with float32[1, 3], float32[2, 4], float32[2])"},
	{"a layer inside a module of one's own", func() { newClassifier().Forward(ones(1, 3, 4, 4)) },
		"torch: head.2: linear: mat1 and mat2 shapes cannot be multiplied (1x8 and 9x2) (with float32[1, 8], float32[2, 9], " +
			"float32[2])"},
	{"an image with other channels for a ResNet", func() { models.ResNet18(10).Forward(ones(1, 4, 32, 32)) },
		"torch: conv1: conv2d: Given groups=1, weight of size [64, 3, 7, 7], expected input[1, 4, 32, 32] to have 3 channels, but " +
			"got 4 channels instead (with float32[1, 4, 32, 32], float32[64, 3, 7, 7])"},
	{"an image without its batch", func() { nn.NewBatchNorm2d(3).Forward(ones(3, 4, 4)) },
		"torch: BatchNorm2d: batch_norm2d: expected an input of 4 dimensions, got shape [3 4 4]"},
	{"a batch of one in training", func() { nn.NewBatchNorm1d(3).Forward(ones(1, 3)) },
		"torch: BatchNorm1d: batch_norm: Expected more than 1 value per channel when training, got input size [1, 3]"},
	{"words that are floats", func() { nn.NewEmbedding(4, 2).Forward(ones(2)) },
		"torch: Embedding: embedding: Expected tensor for argument #1 'indices' to have one of the following scalar types: int64, " +
			"int32; but got float32 instead (while checking arguments for embedding) (with float32[4, 2], float32[2])"},
	{"a sequence of another width", func() { nn.NewLSTM(3, 4).Forward(ones(2, 5, 2), torch.Tensor{}, torch.Tensor{}) },
		"torch: LSTM: lstm: input.size(-1) must be equal to input_size. Expected 3, got 2"},
	{"a window larger than the image", func() { nn.NewMaxPool2d(4).Forward(ones(1, 3, 2, 2)) },
		"torch: MaxPool: max_pool2d: Given input size: (3x2x2). Calculated output size: (3x0x0). Output size is too small (with " +
			"float32[1, 3, 2, 2])"},
	{"groups that do not divide", func() { nn.NewGroupNorm(2, 3) }, "torch: group_norm: 3 channels cannot be divided into 2 groups"},
	{"heads that do not divide", func() { nn.NewMultiheadAttention(5, 2) },
		"torch: multihead_attention: embed_dim must be divisible by num_heads"},
	{"a probability of 2", func() { nn.NewDropout(2).Forward(ones(2)) }, "torch: dropout: a probability lies between 0 and 1, got 2"},
	{"a size that is negative", func() { nn.NewLinear(-1, 2) },
		"torch: empty.memory_format: Trying to create tensor with negative dimension -1: [2, -1]"},
	{"the parameters of a number", func() { nn.Parameters(3) },
		"torch: module: expected a module, a pointer to a struct or a slice or map of them, got int"},
	{"another size and scale", func() { F.Interpolate(ones(1, 1, 2, 2)) }, "torch: interpolate: either Size or ScaleFactor must be given"},
}

var ofTraining = []mistake{
	{"an optimizer without parameters", func() { optim.NewSGD(nil, 0.1) }, "torch: sgd: optimizer got an empty parameter list"},
	{"a negative learning rate", func() { optim.NewSGD([]torch.Tensor{weight(2)}, -0.1) }, "torch: sgd: Invalid learning rate: -0.1"},
	{"a momentum beyond 1", func() { optim.NewAdam([]torch.Tensor{weight(2)}, 0.1, optim.AdamOptions{Betas: &[2]float64{0.9, 1}}) },
		"torch: adam: Invalid beta parameter at index 1: 1.0"},
	{"a parameter twice", func() { w := weight(2); optim.NewSGD([]torch.Tensor{w, w}, 0.1) },
		"torch: sgd: optimizer contains a parameter group with duplicate parameters"},
	{"an optimizer of results", func() { optim.NewSGD([]torch.Tensor{weight(2).Exp()}, 0.1) },
		"torch: sgd: can't optimize a non-leaf Tensor"},
	{"a schedule without a period", func() { lr.Step(optim.NewSGD([]torch.Tensor{weight(2)}, 0.1), 0, 0.5) },
		"torch: step_lr: the number of steps must be positive, got 0"},
	{"gradients unscaled twice", func() {
		w := weight(2)
		opt, scaler := optim.NewSGD([]torch.Tensor{w}, 0.1), amp.NewGradScaler(torch.CPU, half)
		scaler.Scale(w.Sum()).Backward()
		scaler.Unscale(opt)
		scaler.Unscale(opt)
	}, "torch: unscale: the gradients of this optimizer were unscaled already since the last step"},
	{"a scaler that starts at NaN", func() {
		amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16, InitScale: math.NaN()})
	},
		"torch: grad_scaler: the first scale must be a positive number, got NaN"},
	{"autocast to integers", func() { amp.Autocast(torch.CPU, torch.Int8, func() {}) },
		"torch: autocast: mixed precision computes in bfloat16 or float16, got int8"},
	{"inputs and targets that do not pair", func() { data.NewTensorDataset(ones(3, 2), ones(2)) },
		"torch: tensor_dataset: 3 inputs have 2 targets"},
}

func missing(name string) map[string]torch.Tensor {
	dict := maps.Collect(nn.StateDict(nn.NewSequential(nn.NewLinear(2, 2), nn.NewLinear(2, 1))))
	delete(dict, name)
	return dict
}

var refusals = []refusal{
	{"a state dict without a key", func(string) error {
		return nn.LoadStateDict(nn.NewSequential(nn.NewLinear(2, 2), nn.NewLinear(2, 1)), missing("1.bias"))
	}, `nn: the state dict does not fit the module: Missing key(s) in state_dict: "1.bias"`},
	{"a state dict with a key too many", func(string) error {
		return nn.LoadStateDict(nn.NewSequential(nn.NewLinear(2, 2)), missing(""))
	}, `nn: the state dict does not fit the module: Unexpected key(s) in state_dict: "1.bias", "1.weight"`},
	{"a state dict of other shapes", func(string) error {
		return nn.LoadStateDict(nn.NewSequential(nn.NewLinear(2, 2), nn.NewLinear(2, 3)), missing(""))
	}, "nn: the state dict does not fit the module: size mismatch for 1.weight: copying a param with shape [1 2] from checkpoint, " +
		"the shape in current model is [3 2]; size mismatch for 1.bias: copying a param with shape [1] from checkpoint, the shape " +
		"in current model is [3]"},
	{"a loader of nothing", func(string) error { _, err := data.NewLoader[data.Batch](nil); return err },
		"data: a loader needs a source, got nil"},
	{"a loader of batches of -1", func(string) error {
		_, err := data.NewLoader(data.NewTensorDataset(ones(3, 2), ones(3)), data.LoaderOptions{BatchSize: -1})
		return err
	}, "data: a loader's BatchSize is -1, expected at least 0"},
	{"a file that is not there", func(dir string) error { _, err := safetensors.Load(filepath.Join(dir, "no")); return err },
		"safetensors: open DIR/no: no such file or directory"},
	{"a file cut off", func(dir string) error {
		path := filepath.Join(dir, "x")
		if err := safetensors.Save(path, nn.StateDict(nn.NewLinear(2, 2))); err != nil {
			return err
		}
		if err := os.Truncate(path, 150); err != nil {
			return err
		}
		_, err := safetensors.Load(path)
		return err
	}, "safetensors: DIR/x: not a sound safetensors file: tensor \"bias\" lies at bytes 16 to 24, expected it to start at 16 of 22"},
	{"a file of another format", func(dir string) error {
		path := filepath.Join(dir, "x.pt")
		if err := os.WriteFile(path, []byte("PK\x03\x04 a zip file of pickles"), 0o600); err != nil {
			return err
		}
		_, err := safetensors.Load(path)
		return err
	}, "safetensors: DIR/x.pt: not a sound safetensors file: its header would have 8800140462016121680 bytes, the file has 26"},
	{"a dtype misspelled", func(string) error { _, err := torch.ParseDType("flaot32"); return err },
		"torch: \"flaot32\" is not a dtype; expected one of float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, " +
			"bool, complex64, complex128"},
	{"a device misspelled", func(string) error { _, err := torch.ParseDevice("gpu"); return err },
		"torch: \"gpu\" is not a device; expected cpu, cuda or cuda:N"},
	{"CUDA that is not there", func(string) error { return torch.CheckDevice(torch.CUDA(0)) },
		"torch: device cuda:0: CUDA is not available: WHY"},
}
