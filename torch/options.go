package torch

// TensorOptions says what kind of tensor to make. The zero value is PyTorch's default:
// float32 on the CPU, without gradient. Its methods make tensors:
//
//	half := torch.TensorOptions{DType: torch.Float16, Device: torch.CUDA(0)}
//	w := half.RandN(64, 3, 7, 7)
//
// The functions of the same names are those of the zero TensorOptions.
type TensorOptions struct {
	DType        DType        // default: float32, or what the arguments imply
	Device       Device       // default: the CPU
	Layout       Layout       // default: strided
	MemoryFormat MemoryFormat // default: contiguous
	PinMemory    bool         // page-locked host memory, for copies that do not block
	RequiresGrad bool         // record operations on the tensor, for Backward
	Generator    *Generator   // source of random numbers; default: the device's own
}

// finish applies what no operator takes.
func (o TensorOptions) finish(t Tensor) Tensor {
	if o.RequiresGrad {
		t.SetRequiresGrad(true)
	}
	return t
}

// pinned is the pin_memory argument: none unless asked for.
func (o TensorOptions) pinned() *bool {
	if !o.PinMemory {
		return nil
	}
	return &o.PinMemory
}
