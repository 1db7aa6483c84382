package nn

import (
	"github.com/libtorch-go/libtorch/torch"
)

// To changes the dtype, device or memory format of all parameters and buffers of m, in any
// combination, and returns m:
//
//	nn.To(model, torch.CUDA(0), torch.ChannelsLast)
//
// The tensors stay the same tensors, so optimizers keep them. As in PyTorch a dtype is a
// floating-point or complex one and applies to such tensors only; ChannelsLast applies to those of 4 dimensions and stands
// for ChannelsLast3d for those of 5. Gradients move along. Memory cannot be given up again:
// torch.Meta panics.
func To[M any](m M, options ...torch.ToOption) M {
	for _, option := range options {
		if d, ok := option.(torch.DType); ok && !d.IsFloatingPoint() && !d.IsComplex() {
			torch.Throw("to", torch.KindType, "nn.To only accepts floating point or complex dtypes, but got %v", d)
		} else if ok && d.IsComplex() {
			torch.Warn("Complex modules are a new feature under active development whose design may change, " +
				"and some modules might not work as expected when using complex tensors as parameters or buffers. " +
				"Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml " +
				"if a complex module does not work as expected.")
		}
	}
	for s := range slots(m) {
		move(s.tensor, options)
	}
	return m
}

func move(t torch.Tensor, options []torch.ToOption) {
	grad := t.Grad()
	defer grad.Close()
	torch.NoGrad(func() {
		moved := t.To(fitting(t, options)...)
		defer moved.Close()
		t.SetData(moved)
		if grad.Defined() {
			movedGrad := grad.To(fitting(grad, options)...)
			defer movedGrad.Close()
			t.SetGrad(movedGrad)
		}
	})
}

// fitting are the options that apply to t.
func fitting(t torch.Tensor, options []torch.ToOption) (list []torch.ToOption) {
	for _, option := range options {
		switch o := option.(type) {
		case torch.DType:
			if !t.IsFloatingPoint() && !t.IsComplex() {
				continue
			}
		case torch.MemoryFormat:
			if option = formatFor(t.Dim(), o); option == nil {
				continue
			}
		}
		list = append(list, option)
	}
	return list
}

// formatFor is the format for a tensor of n dimensions, or nil if there is none.
func formatFor(dims int, f torch.MemoryFormat) torch.ToOption {
	switch {
	case f != torch.ChannelsLast && f != torch.ChannelsLast3d:
		return f
	case dims == 4:
		return torch.ChannelsLast
	case dims == 5:
		return torch.ChannelsLast3d
	}
	return nil
}
