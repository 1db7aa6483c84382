// Package pt reads and writes the files of Python's torch.save, .pt and .pth, without Python:
//
//	state, err := pt.LoadStateDict("resnet18.pth")
//	err = nn.LoadStateDict(model, state)
//	err = pt.Save("model.pt", nn.StateDict(model))
//
// Whatever else such a file holds comes as Go values:
//
//	value, err := pt.Load("checkpoint.pt")
//	checkpoint := value.(*pt.Dict)
//	err = opt.LoadStateDict(checkpoint.Dict("optimizer").Map())
//	epoch := checkpoint.Int("epoch")
//
//	Python                      Go
//	None, bool, int, float      nil, bool, int (*big.Int where it does not fit), float64
//	complex, str, bytes         complex128, string, []byte
//	bytearray                   pt.ByteArray
//	list, tuple, set            []any, pt.Tuple, *pt.Set
//	dict, OrderedDict, Counter  *pt.Dict
//	Tensor, Parameter           torch.Tensor, pt.Parameter
//	torch.Size                  pt.Size
//	torch.dtype, device, layout torch.DType, torch.Device, torch.Layout
//
// Both of torch.save's formats are read, that of today and the legacy one from before PyTorch
// 1.6; today's is written. Tensors that share memory share it again.
//
// # Files of strangers
//
// A pickle is a program. This package does not run it: it knows the opcodes that data needs and
// the classes that PyTorch's own torch.load(weights_only=True) permits, and notes calls where
// Python makes them. Another class is an error that names it; LoadOptions.Globals permits it, and it
// comes as an [Object]: its name and its arguments, as data. Sizes, offsets and counts are checked
// against the file before anything is allocated, so that a file cannot take more memory than about twice
// its size and 64 MB.
package pt
