package nn_test

import (
	"fmt"
	"maps"
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Residual adds what it computes to its input. It has no constructor: any struct with modules is one.
type Residual struct {
	Up, Down *nn.Linear
	Scale    torch.Tensor `torch:"scale"` // a parameter of its own
}

func (r *Residual) Forward(x torch.Tensor) torch.Tensor {
	return x.Add(r.Down.Forward(F.GELU(r.Up.Forward(x))).Mul(r.Scale))
}

func ExampleNewParameter() {
	block := &Residual{
		Up:    nn.NewLinear(4, 16),
		Down:  nn.NewLinear(16, 4),
		Scale: nn.NewParameter(torch.Zeros(4)), // begins as the identity
	}
	for name, p := range nn.NamedParameters(block) {
		fmt.Println(name, p.Shape())
	}
	torch.NoGrad(func() { fmt.Println(block.Forward(torch.Ones(1, 4))) })
	// Output:
	// scale [4]
	// up.weight [16 4]
	// up.bias [16]
	// down.weight [4 16]
	// down.bias [4]
	// tensor([[1., 1., 1., 1.]])
}

// Counter keeps a number that is saved with the model and not trained.
type Counter struct {
	Seen torch.Tensor `torch:"seen,buffer"`
}

func ExampleNewBuffer() {
	c := &Counter{Seen: nn.NewBuffer(torch.TensorOptions{DType: torch.Int64}.Zeros())}
	c.Seen.AddScalarInPlace(32)
	for name, b := range nn.NamedBuffers(c) {
		fmt.Println(name, b)
	}
	fmt.Println(len(nn.Parameters(c)))
	// Output:
	// seen tensor(32)
	// 0
}

// A module tree: slices and maps of modules are modules, too.
func ExampleNamedModules() {
	net := struct {
		Stem   *nn.Conv2d
		Blocks nn.ModuleList
		Heads  nn.ModuleDict
	}{
		Stem:   nn.NewConv2d(3, 8, 3),
		Blocks: nn.ModuleList{nn.NewLinear(8, 8), nn.ReLU{}},
		Heads:  nn.ModuleDict{"colour": nn.NewLinear(8, 3), "age": nn.NewLinear(8, 1)},
	}
	for name, m := range nn.NamedModules(&net) {
		if name != "" {
			fmt.Printf("%s %T\n", name, m)
		}
	}
	// Output:
	// stem *nn.Conv2d
	// blocks []nn.Layer
	// blocks.0 *nn.Linear
	// blocks.1 nn.ReLU
	// heads map[string]nn.Layer
	// heads.age *nn.Linear
	// heads.colour *nn.Linear
}

// Apply visits every module: to initialise them, for example.
func ExampleApply() {
	net := nn.Sequential{nn.NewLinear(2, 2), nn.Tanh{}, nn.NewLinear(2, 1)}
	nn.Apply(net, func(m any) {
		if l, ok := m.(*nn.Linear); ok {
			torch.NoGrad(func() { l.Bias.FillInPlace(0.5) })
		}
	})
	for _, p := range nn.Parameters(net) {
		if p.Dim() == 1 {
			fmt.Println(p.Detach())
		}
	}
	// Output:
	// tensor([0.5000, 0.5000])
	// tensor([0.5000])
}

func ExampleEval() {
	torch.ManualSeed(0)
	drop := nn.NewDropout(0.5)
	x := torch.Ones(1000)
	fmt.Println(drop.Forward(x).EqScalar(0).Any())
	nn.Eval(drop)
	fmt.Println(drop.Forward(x).Equal(x))
	// Output:
	// tensor(True)
	// true
}

// A validation in the midst of training, after which every module is as it was.
func ExampleWithMode() {
	norm := nn.NewBatchNorm1d(2)
	nn.WithMode(norm, nn.Evaluating, func() {
		torch.NoGrad(func() { norm.Forward(torch.Ones(4, 2)) })
		fmt.Println(norm.Mode, norm.NumBatchesTracked.Int())
	})
	fmt.Println(norm.Mode)
	// Output:
	// evaluating 0
	// training
}

// Fine-tuning: all but the head is frozen.
func ExampleSetRequiresGrad() {
	backbone, head := nn.NewLinear(8, 4), nn.NewLinear(4, 2)
	nn.SetRequiresGrad(backbone, false)
	net := nn.Sequential{backbone, nn.ReLU{}, head}
	net.Forward(torch.Ones(1, 8)).Sum().Backward()
	for name, p := range nn.NamedParameters(net) {
		fmt.Println(name, p.Grad().Defined())
	}
	// Output:
	// 0.weight false
	// 0.bias false
	// 2.weight true
	// 2.bias true
}

func ExampleTo() {
	net := nn.Sequential{nn.NewConv2d(3, 8, 3), nn.NewBatchNorm2d(8)}
	nn.To(net, torch.DefaultDevice(), torch.BFloat16, torch.ChannelsLast)
	for name, p := range nn.StateDict(net) {
		fmt.Println(name, p.DType()) // integers stay integers
	}
	// Output:
	// 0.weight bfloat16
	// 0.bias bfloat16
	// 1.weight bfloat16
	// 1.bias bfloat16
	// 1.running_mean bfloat16
	// 1.running_var bfloat16
	// 1.num_batches_tracked int64
}

func ExampleClone() {
	net := nn.NewLinear(2, 1)
	twin := nn.Clone(net)
	torch.NoGrad(func() { net.Weight.FillInPlace(0) })
	fmt.Println(net.Weight.Equal(twin.Weight))
	// Output: false
}

func ExampleNumParameters() {
	fmt.Println(nn.NumParameters(nn.NewTransformerEncoderLayer(512, 8)))
	// Output: 3152384
}

// A whole training: a line through points.
func ExampleLinear() {
	torch.ManualSeed(0)
	model := nn.NewLinear(1, 1)
	opt := optim.NewSGD(nn.Parameters(model), 0.1)
	x := torch.Linspace(-1, 1, 20).Unsqueeze(1)
	y := x.MulScalar(3).AddScalar(1)
	for range 200 {
		torch.Scope(func() {
			F.MSELoss(model.Forward(x), y).Backward()
			opt.Step()
			opt.ZeroGrad()
		})
	}
	fmt.Printf("%.2f x + %.2f\n", model.Weight.Float64(), model.Bias.Float64())
	// Output: 3.00 x + 1.00
}

// The state dict of a part is loaded by itself, whatever else the file has.
func ExampleLoadOptions() {
	pretrained := map[string]torch.Tensor{"weight": torch.Ones(1, 2), "scale": torch.Ones(1)}
	layer := nn.NewLinear(2, 1)
	var skipped nn.StateDictError
	err := nn.LoadStateDict(layer, pretrained, nn.LoadOptions{NonStrict: true, Skipped: &skipped})
	fmt.Println(err, skipped.Missing, skipped.Unexpected)
	fmt.Println(layer.Weight.Detach())
	// Output:
	// <nil> [bias] [scale]
	// tensor([[1., 1.]])
}

// The state dict is an iterator; Collect makes the map of it that files and other models take.
func ExampleStateDict() {
	layer := nn.NewLinear(2, 1, nn.LinearOptions{NoBias: true})
	dict := maps.Collect(nn.StateDict(layer))
	torch.NoGrad(func() { layer.Weight.FillInPlace(7) })
	fmt.Println(dict["weight"].Detach()) // the same memory, as in PyTorch
	// Output: tensor([[7., 7.]])
}

func ExampleRegisterForwardPreHook() {
	layer := nn.NewLinear(2, 1)
	h := nn.RegisterForwardPreHook(layer, func(_ any, inputs []torch.Tensor) []torch.Tensor {
		return []torch.Tensor{inputs[0].MulScalar(0)} // takes the place of the input
	})
	defer h.Remove()
	torch.NoGrad(func() { fmt.Println(layer.Forward(torch.Ones(1, 2)).View(1).Equal(layer.Bias)) })
	// Output: true
}

func ExampleRegisterFullBackwardHook() {
	layer := nn.NewLinear(2, 3)
	h := nn.RegisterFullBackwardHook(layer, func(_ any, gradIn, gradOut []torch.Tensor) []torch.Tensor {
		fmt.Println("gradient of the output", gradOut[0])
		return nil // leave the gradient of the input
	})
	defer h.Remove()
	x := torch.Ones(1, 2).SetRequiresGrad(true)
	layer.Forward(x).Sum().Backward()
	// Output: gradient of the output tensor([[1., 1., 1.]])
}

// Swish is a module of one's own that takes part in hooks and Summary.
type Swish struct{ Beta torch.Tensor }

func (s *Swish) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(s, x, func(x torch.Tensor) torch.Tensor { return x.Mul(x.Mul(s.Beta).Sigmoid()) })
}

func ExampleHooked() {
	s := &Swish{Beta: nn.NewParameter(torch.Ones(1))}
	h := nn.RegisterForwardHook(s, func(_ any, _, y []torch.Tensor) []torch.Tensor {
		fmt.Println("shape", y[0].Shape())
		return nil
	})
	defer h.Remove()
	s.Forward(torch.Zeros(2, 3))
	// Output: shape [2 3]
}

// Lazy layers learn the number of their inputs from the first batch.
func ExampleNewLazyLinear() {
	net := nn.Sequential{nn.NewLazyConv2d(8, 3), nn.Flatten{}, nn.NewLazyLinear(10)}
	torch.NoGrad(func() { net.Forward(torch.Zeros(1, 3, 8, 8)) })
	for name, p := range nn.NamedParameters(net) {
		fmt.Println(name, p.Shape())
	}
	// Output:
	// 0.weight [8 3 3 3]
	// 0.bias [8]
	// 2.weight [10 288]
	// 2.bias [10]
}

// The steps of a long network are recomputed segment by segment.
func ExampleCheckpointSequential() {
	torch.ManualSeed(0)
	var net nn.Sequential
	for range 6 {
		net = append(net, nn.NewLinear(4, 4), nn.Tanh{})
	}
	x := torch.Ones(1, 4).SetRequiresGrad(true)
	net.Forward(x).Sum().Backward()
	want := x.Grad().Clone()
	x.SetGrad(torch.Tensor{})
	nn.CheckpointSequential(net, 3, x).Sum().Backward()
	fmt.Println(x.Grad().Equal(want))
	// Output: true
}

func ExampleZeroGrad() {
	layer := nn.NewLinear(1, 1)
	layer.Forward(torch.Ones(1, 1)).Backward()
	fmt.Println(layer.Bias.Grad())
	nn.ZeroGrad(layer)
	fmt.Println(layer.Bias.Grad().Defined())
	// Output:
	// tensor([1.])
	// false
}

// Positions of sines and cosines, as transformers add them.
func positions(length, features int) torch.Tensor {
	at := torch.Arange(length).Unsqueeze(1)
	rate := torch.ArangeStep(0, features, 2).MulScalar(-math.Log(10000) / float64(features)).Exp()
	table := torch.Zeros(length, features)
	table.At(torch.All, torch.Slice(0, torch.End, 2)).Set(at.Mul(rate).Sin())
	table.At(torch.All, torch.Slice(1, torch.End, 2)).Set(at.Mul(rate).Cos())
	return table
}

func ExampleNewEmbedding() {
	torch.ManualSeed(0)
	embed := nn.NewEmbedding(100, 8, nn.EmbeddingOptions{PaddingIdx: new(0)})
	words := torch.FromSlice([]int{5, 17, 0}, 1, 3)
	torch.NoGrad(func() {
		x := embed.Forward(words)
		fmt.Println(x.Shape(), x.Index(0, 2).Abs().Sum()) // the padding is zeros
		fmt.Println(x.Add(positions(3, 8)).Shape())
	})
	// Output:
	// [1 3 8] tensor(0.)
	// [1 3 8]
}
