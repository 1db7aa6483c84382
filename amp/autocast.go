package amp

import (
	"github.com/libtorch-go/libtorch/torch"
)

// Autocast runs fn with automatic mixed precision for operations on the device. The zero
// dtype stands for the device's default: float16 on CUDA, bfloat16 on the CPU. Float32
// switches mixed precision off, so that a program's choice of dtype may be "none". It panics
// with a *torch.Error for any other dtype than these.
//
// Calls nest; the innermost one counts. Weights are cast once for all uses in the outermost
// call; NoCache of a torch.AutocastMode has them cast at every use.
func Autocast(dev torch.Device, dtype torch.DType, fn func()) {
	torch.WithAutocast(torch.AutocastMode{Device: dev, Enabled: dtype != torch.Float32, DType: lowPrecision(dtype)}, fn)
}

// Disabled runs fn without mixed precision: a part of the network that needs float32
// throughout. Tensors that were cast before have to be cast back: x.To(torch.Float32).
func Disabled(dev torch.Device, fn func()) {
	torch.WithAutocast(torch.AutocastMode{Device: dev}, fn)
}

// lowPrecision leaves the mode's dtype alone where there is nothing to cast to.
func lowPrecision(dtype torch.DType) torch.DType {
	if dtype == torch.Float32 {
		return torch.DType{}
	}
	return dtype
}
