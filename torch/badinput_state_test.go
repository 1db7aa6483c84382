package torch_test

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

var none torch.Tensor

// setState sets the state of a new generator.
func setState(state torch.Tensor) {
	g := torch.NewGenerator(torch.CPU)
	defer g.Close()
	g.SetState(state)
}

// badTensors are closed, undefined, or on another device.
var badTensors = []badInput{
	{"a closed receiver", func() { gone(2).Exp() }, closed, "used after it had been closed"},
	{"a closed argument", func() { torch.Ones(2).Add(gone(2)) }, closed, "used after it had been closed"},
	{"a closed argument of a function", func() { aten.Linear(torch.Ones(2, 2), gone(2, 2)) }, closed, "used after it had been closed"},
	{"a closed tensor in a list", func() { torch.Cat([]torch.Tensor{torch.Ones(2), gone(2)}) }, closed, "used after it had been closed"},
	{"a closed tensor far down a list", func() {
		torch.Stack(append(make([]torch.Tensor, 0, 9), torch.Ones(2), torch.Ones(2), torch.Ones(2), torch.Ones(2), torch.Ones(2), gone(2)))
	}, closed, "used after it had been closed"},
	{"a closed tensor in options", func() { aten.LayerNorm(torch.Ones(2, 2), []int{2}, aten.LayerNormOptions{Weight: gone(2)}) },
		closed, "used after it had been closed"},
	{"a closed optional tensor", func() { aten.Linear(torch.Ones(2, 2), torch.Ones(2, 2), gone(2)) }, closed, "used after it had been closed"},
	{"a closed tensor in place", func() { gone(2).AddScalarInPlace(1) }, closed, "used after it had been closed"},
	{"a closed source of a copy", func() { torch.Ones(2).CopyInPlace(gone(2)) }, closed, "used after it had been closed"},
	{"a closed tensor as index", func() { torch.Ones(2).Index(gone(2)) }, closed, "used after it had been closed"},
	{"a closed tensor as value", func() { torch.Ones(2).At(0).Set(gone(1)) }, closed, "used after it had been closed"},
	{"a closed tensor's shape", func() { gone(2).Shape() }, closed, "used after it had been closed"},
	{"a closed tensor's dtype", func() { gone(2).DType() }, closed, "used after it had been closed"},
	{"a closed tensor's values", func() { torch.Values[float32](gone(2)) }, closed, "used after it had been closed"},
	{"a closed tensor's number", func() { gone().Float64() }, closed, "used after it had been closed"},
	{"a closed tensor's storage", func() { gone(2).Storage() }, closed, "used after it had been closed"},
	{"a closed tensor's gradient", func() { gone(2).Grad() }, closed, "used after it had been closed"},
	{"a closed gradient", func() { weight(2).SetGrad(gone(2)) }, closed, "used after it had been closed"},
	{"the backward of a closed tensor", func() { gone().Backward() }, closed, "used after it had been closed"},
	{"a backward into a closed tensor", func() { weight(2).Sum().Backward(torch.BackwardOptions{Inputs: []torch.Tensor{gone(2)}}) },
		closed, "used after it had been closed"},
	{"a closed tensor moved", func() { gone(2).To(torch.Float64) }, closed, "used after it had been closed"},
	{"a closed tensor kept", func() { gone(2).Keep() }, closed, "closed"},
	{"a closed tensor moved out", func() { gone(2).MoveOut() }, closed, "closed"},
	{"a closed tensor filled", func() { torch.Fill(gone(2), []float32{1, 2}) }, closed, "used after it had been closed"},
	{"a closed tensor called by name", func() { torch.Call("relu", gone(2)) }, closed, "closed"},
	{"a closed tensor in a list by name", func() { torch.Call("cat", []torch.Tensor{gone(2)}) }, closed, "closed"},
	{"a closed generator", func() {
		g := torch.NewGenerator(torch.CPU)
		g.Close()
		torch.TensorOptions{Generator: g}.Rand(2)
	}, closed, "closed"},
	{"a closed generator's seed", func() {
		g := torch.NewGenerator(torch.CPU)
		g.Close()
		g.ManualSeed(1)
	}, closed, "closed"},
	{"a tensor past its scope", func() {
		var x torch.Tensor
		torch.Scope(func() { x = torch.Ones(2) })
		x.AddScalar(1)
	}, closed, "the Scope that it belonged to had ended"},
	{"an undefined receiver", func() { none.Exp() }, broken, "undefined Tensor"},
	{"an undefined argument", func() { torch.Ones(2).Add(none) }, broken, "undefined Tensor"},
	{"an undefined weight", func() { aten.Linear(torch.Ones(2, 2), none) }, broken, "undefined Tensor"},
	{"an undefined tensor in a list", func() { torch.Stack([]torch.Tensor{torch.Ones(2), none}) }, misused,
		"element 1 of the tensor list is undefined"},
	{"an undefined condition", func() { torch.Where(none, torch.Ones(2), torch.Ones(2)) }, broken, "undefined Tensor"},
	{"an undefined index", func() { torch.Ones(2).Index(none) }, misused, "undefined"},
	{"an undefined value", func() { torch.Ones(2).At(0).Set(none) }, misused, "undefined"},
	{"an undefined tensor's shape", func() { none.Shape() }, misused, "undefined"},
	{"an undefined tensor's size", func() { none.Size(0) }, misused, "undefined"},
	{"an undefined tensor's values", func() { torch.Values[float32](none) }, misused, "undefined"},
	{"an undefined tensor's number", func() { none.Item() }, misused, "undefined"},
	{"an undefined tensor moved", func() { none.To(torch.Float64) }, misused, "undefined"},
	{"an undefined tensor in place", func() { none.AbsInPlace() }, broken, "undefined Tensor"},
	{"an undefined tensor's gradient", func() { none.Grad() }, broken, "undefined tensor"},
	{"an undefined tensor that requires gradients", func() { none.SetRequiresGrad(true) }, broken, "undefined tensor"},
	{"the backward of an undefined tensor", func() { none.Backward() }, broken, "undefined tensor"},
	{"undefined data", func() { torch.Ones(2).SetData(none) }, misused, "undefined"},
	{"the rows of an undefined tensor", func() {
		for range none.Rows() {
			panic("there are none")
		}
	}, misused, "undefined"},
	{"a nil generator's seed", func() { (*torch.Generator)(nil).ManualSeed(1) }, misused, "the generator is nil"},
	{"a nil generator's state", func() { (*torch.Generator)(nil).State() }, misused, "the generator is nil"},
	{"a zero generator's state", func() { new(torch.Generator).State() }, misused, "the generator is nil"},
	{"half a generator's state", func() { setState(of(torch.Uint8, 10)) }, broken, "Expected a CPUGeneratorImplState of size"},
	{"a generator's state of another dtype", func() { setState(torch.Ones(10)) }, mixedUp, "RNG state must be a torch.ByteTensor"},
	{"a generator of no numbers", func() { torch.NewGenerator(torch.Meta) }, broken, "META device type not an accelerator"},
	{"no such device", func() { torch.TensorOptions{Device: torch.NewDevice(torch.DeviceXPU, 0)}.Zeros(2) }, lacking, "XPU"},
	{"meta plus cpu", func() { on(torch.Meta, 2).Add(torch.Ones(2)) }, broken,
		"on the same device, but found at least two devices, meta and cpu"},
	{"meta in place of cpu", func() { torch.Ones(2).AddInPlace(on(torch.Meta, 2)) }, broken, "two devices"},
	{"a meta tensor's values", func() { torch.Values[float32](on(torch.Meta, 2)) }, lacking, "Cannot copy out of meta tensor; no data!"},
	{"a meta tensor's number", func() { on(torch.Meta).Item() }, lacking, "Meta tensors"},
	{"a meta tensor on the cpu", func() { on(torch.Meta, 2).CPU() }, lacking, "Cannot copy out of meta tensor; no data!"},
	{"as many as are true of a meta tensor", func() { on(torch.Meta, 2).Nonzero() }, lacking, "meta"},
}

// badDevices are mistakes on a machine without a card.
var badDevices = []badInput{
	{"a tensor for the card", func() { on(torch.CUDA(0), 2) }, noCard, "CUDA is not available"},
	{"a tensor like it for the card", func() { torch.ZerosLike(torch.Ones(2), torch.TensorOptions{Device: torch.CUDA(0)}) }, noCard,
		"CUDA is not available"},
	{"a tensor moved to the card", func() { torch.Ones(2).To(torch.CUDA(0), torch.Float16) }, noCard, "CUDA is not available"},
	{"a tensor moved to the 8th card", func() { torch.Ones(2).To(torch.CUDA(7)) }, noCard, "CUDA is not available"},
	{"random numbers of the card", func() { torch.NewGenerator(torch.CUDA(0)) }, noCard, "CUDA is not available"},
	{"a wait for the card", func() { torch.Synchronize(torch.CUDA(0)) }, noCard, "CUDA is not available"},
	{"work on the card", func() { torch.WithDevice(torch.CUDA(0), func() { panic("there is none") }) }, noCard, "CUDA is not available"},
	{"the card by name", func() { torch.Call("aten::to.device", torch.Ones(2), torch.CUDA(0), torch.Float32) }, noCard,
		"CUDA is not available"},
}

// badGradients are what autograd refuses.
var badGradients = []badInput{
	{"the backward of several numbers", func() { weight(2).MulScalar(2).Backward() }, broken,
		"grad can be implicitly created only for scalar outputs"},
	{"the backward of a constant", func() { torch.Ones(2).Sum().Backward() }, broken, "does not require grad and does not have a grad_fn"},
	{"backward twice", func() {
		y := weight(2).Exp().Sum()
		y.Backward()
		y.Backward()
	}, broken, "Trying to backward through the graph a second time"},
	{"backward with a gradient of another shape", func() { weight(2).Exp().Backward(torch.BackwardOptions{Gradient: torch.Ones(3)}) },
		broken, "grad_output[0] has a shape of torch.Size([3])"},
	{"backward with a gradient too many", func() {
		torch.Backward([]torch.Tensor{weight(2).Sum()}, []torch.Tensor{torch.Ones(), torch.Ones()})
	}, broken, "got 1 tensors and 2 gradients"},
	{"backward into a constant", func() {
		weight(2).Sum().Backward(torch.BackwardOptions{Inputs: []torch.Tensor{torch.Ones(2)}})
	}, broken, "requires_grad=False"},
	{"the gradient of a constant", func() { torch.Grad([]torch.Tensor{weight(2).Sum()}, []torch.Tensor{torch.Ones(2)}) }, broken,
		"does not require grad"},
	{"the gradient of what was not used", func() { torch.Grad([]torch.Tensor{weight(2).Sum()}, []torch.Tensor{weight(2)}) }, broken,
		"appears to not have been used in the graph"},
	{"the gradient of nothing", func() { torch.Grad(nil, []torch.Tensor{weight(2)}) }, broken, "appears to not have been used in the graph"},
	{"a leaf changed in place", func() { weight(2).AddScalarInPlace(1) }, broken,
		"a leaf Variable that requires grad is being used in an in-place operation"},
	{"a view of a leaf changed in place", func() { weight(2).Narrow(0, 0, 1).ZeroInPlace() }, broken,
		"a view of a leaf Variable that requires grad is being used in an in-place operation"},
	{"an element of a leaf changed", func() { weight(2).At(1).Set(0) }, broken, "a view of a leaf Variable that requires grad"},
	{"a saved tensor changed in place", func() {
		x := weight(2).MulScalar(2)
		y := x.Exp()
		y.AddScalarInPlace(1)
		y.Sum().Backward()
	}, broken, "has been modified by an inplace operation"},
	{"a view of a saved tensor changed in place", func() {
		x := weight(2).MulScalar(2)
		y := x.Mul(x).Sum()
		x.Narrow(0, 0, 1).ZeroInPlace()
		y.Backward()
	}, broken, "has been modified by an inplace operation"},
	{"one of several views changed in place", func() { weight(2).MulScalar(1).Unbind()[0].ZeroInPlace() }, broken,
		"Output 0 of UnbindBackward0 is a view and is being modified inplace"},
	{"an inference tensor saved", func() {
		var x torch.Tensor
		torch.Inference(func() { x = torch.Ones(2) })
		weight(2).Mul(x)
	}, broken, "Inference tensors cannot be saved for backward"},
	{"an inference tensor changed outside", func() {
		var x torch.Tensor
		torch.Inference(func() { x = torch.Ones(2) })
		x.AddScalarInPlace(1)
	}, broken, "Inplace update to inference tensor outside InferenceMode is not allowed"},
	{"an inference tensor that requires gradients", func() {
		var x torch.Tensor
		torch.Inference(func() { x = torch.Ones(2) })
		x.SetRequiresGrad(true)
	}, broken, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"},
	{"a gradient of another shape", func() { weight(2).SetGrad(torch.Ones(3)) }, broken, "grad"},
	{"a gradient of another device", func() { weight(2).SetGrad(on(torch.Meta, 2)) }, broken, "grad"},
	{"no gradients for what is no leaf", func() { weight(2).Exp().SetRequiresGrad(false) }, broken,
		"requires_grad of a tensor that is not a leaf can only be set to true"},
	{"a retained gradient of a constant", func() { torch.Ones(2).RetainGrad() }, broken,
		"can't retain_grad on Tensor that has requires_grad=False"},
	{"resizing what requires gradients", func() { weight(2).ResizeInPlace([]int{3}) }, broken, "cannot resize variables that require grad"},
	{"a second derivative without its graph", func() {
		x := weight(2)
		g := torch.Grad([]torch.Tensor{x.Mul(x).Sum()}, []torch.Tensor{x})[0]
		g.Sum().Backward()
	}, broken, "does not require grad"},
}

// badCalls are mistakes in calls of operators by name.
var badCalls = []badInput{
	{"an operator that is not there", func() { torch.Call("nonsense", torch.Ones(1)) }, lacking, "no operator aten::nonsense"},
	{"an operator of no name", func() { torch.Call("") }, lacking, "no operator"},
	{"an operator of no namespace", func() { torch.Call("::") }, lacking, "no operator ::"},
	{"an overload that is not there", func() { torch.Call("add.Matrix", torch.Ones(1), torch.Ones(1)) }, lacking,
		"no operator aten::add.Matrix"},
	{"too few arguments", func() { torch.Call("add.Tensor", torch.Ones(1)) }, mixedUp, "argument other is missing"},
	{"too many arguments", func() { torch.Call("add.Tensor", torch.Ones(1), torch.Ones(1), 1, 2) }, mixedUp, "too many arguments: 4 given"},
	{"an argument of another name", func() { torch.Call("add.Tensor", torch.Ones(1), torch.Ones(1), torch.Arg("alfa", 1)) }, mixedUp,
		"has no argument alfa"},
	{"an argument twice", func() { torch.Call("add.Tensor", torch.Ones(1), torch.Ones(1), torch.Arg("self", torch.Ones(1))) }, mixedUp,
		"argument self was given twice"},
	{"an argument after the named ones", func() { torch.Call("add.Tensor", torch.Ones(1), torch.Arg("alpha", 1), torch.Ones(1)) },
		mixedUp, "a positional argument follows the named one \"alpha\""},
	{"a list for a tensor", func() { torch.Call("relu", []torch.Tensor{torch.Ones(1)}) }, mixedUp, "a list was given"},
	{"a number for a list of tensors", func() { torch.Call("cat", 5) }, mixedUp, "cat"},
	{"a number among tensors", func() { torch.Call("cat", []any{torch.Ones(1), 5}) }, mixedUp,
		"expected Tensor as element 1 of a list, got int"},
	{"fractions for dimensions", func() { torch.Call("sum.dim_IntList", torch.Ones(1), []float64{0.5}) }, mixedUp,
		"expected int as element 0"},
	{"a text for an alpha", func() { torch.Call("add.Tensor", torch.Ones(1), torch.Ones(1), torch.Arg("alpha", "one")) }, mixedUp, "alpha"},
	{"nil for a tensor", func() { torch.Call("relu", nil) }, mixedUp, "NoneType"},
	{"a channel for a tensor", func() { torch.Call("relu", make(chan int)) }, mixedUp, "a value of type chan int cannot be passed"},
	{"a tensor for a generator", func() { torch.Call("bernoulli", torch.Ones(1), torch.Arg("generator", torch.Ones(1))) }, mixedUp,
		"Generator"},
	{"a list that holds itself", func() {
		list := []any{nil}
		list[0] = list
		torch.Call("cat", list)
	}, misused, "lists nest more than 8 deep"},
	{"page-locked memory without a device", func() { torch.Call("_pin_memory", torch.Ones(1), torch.Arg("device", torch.CPU)) },
		broken, "pin"},
	{"a size that is NaN", func() { torch.Call("zeros", []any{math.NaN()}) }, mixedUp, "expected int as element 0"},
}
