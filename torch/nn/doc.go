// Package nn builds neural networks: PyTorch's torch.nn.
//
// # Modules
//
// A module is a struct. Its exported fields are its parts: tensors are parameters, structs
// and pointers to structs are modules within, slices and maps hold several. There is
// nothing to embed and nothing to register. A module in a field that is not exported is an
// error, as it would not be trained; a tag `torch:"-"` says that it is none of the parts.
//
//	type Net struct {
//		Conv1 *nn.Conv2d
//		Conv2 *nn.Conv2d
//		FC    *nn.Linear
//	}
//
//	func NewNet() *Net {
//		return &Net{
//			Conv1: nn.NewConv2d(1, 32, 3),
//			Conv2: nn.NewConv2d(32, 64, 3, nn.ConvOptions{Stride: 2}),
//			FC:    nn.NewLinear(64*12*12, 10),
//		}
//	}
//
//	func (n *Net) Forward(x torch.Tensor) torch.Tensor {
//		return nn.Chain(x, n.Conv1, nn.ReLU{}, n.Conv2, nn.ReLU{}, nn.Flatten{}, n.FC)
//	}
//
// Most modules are a [Layer]: they have a Forward from one tensor to another. A module may
// have any other method instead.
//
// # Names
//
// [Parameters], [StateDict] and their like walk the fields in the order of the declaration
// and find PyTorch's names: a module's own tensors first, then those of the modules within.
// A field's name is its Go name in snake case (Conv1 is conv1, RunningMean is running_mean,
// FC is fc); a tag overrides it. An element of a slice is named by its index, so that a
// slice of modules is PyTorch's ModuleList; an element of a map by its key, in the order of
// the keys. An embedded struct without a tag lends its fields, as in encoding/json.
//
//	Down    *nn.Sequential `torch:"downsample"`
//	Mean    torch.Tensor   `torch:"running_mean,buffer"`
//	Mask    torch.Tensor   `torch:",buffer,transient"`
//	Teacher *Net           `torch:"-"`
//
// After the name a tag may say: buffer, a tensor that is saved but not trained; transient, a
// buffer that is not saved either; optional, a tensor that [LoadStateDict] does not miss;
// inline, a module whose parts count as those of the module around it.
// "-" hides the field. Nil pointers and undefined tensors are absent, PyTorch's None. A tag
// that says something else panics at the first walk, as two fields of one name do.
//
// # Training and evaluation
//
// Layers that behave differently in training have a field of type [Mode]; [Train] and [Eval]
// set all of them. Modules are born in training.
//
// # Hooks
//
// [RegisterForwardHook], [RegisterFullBackwardHook] and their like let a program look into
// modules that it did not write, and change what goes in and out. A module of one's own takes
// part by [Hooked]:
//
//	func (n *Net) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(n, x, n.forward) }
//
// # Memory
//
// Parameters and buffers belong to no scope, whatever scope their constructor was called
// in. Forward methods close what they make and do not return; [Chain] does it for a row of
// layers. Outside of training a module may be used from many goroutines at once.
//
// # Options
//
// Constructors take what PyTorch requires as arguments and the rest in one struct behind
// them, which may be left out; its zero fields are PyTorch's defaults. After the same seed a
// layer draws the same initial values as PyTorch's.
package nn
