package pt

import (
	"math"
	"math/bits"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// plan is a strided tensor as the file describes it, checked against its storage.
type plan struct {
	storage      *storage
	dtype        torch.DType
	offset       int
	size, stride []int
	requiresGrad bool
	conj, neg    bool
	quantized    *quantization // nil where it is not
}

// mostDims is the number of dimensions that libtorch's kernels support.
const mostDims = 64

// check tells whether all elements lie within the storage.
func (p *plan) check() error {
	if len(p.size) != len(p.stride) || len(p.size) > mostDims || p.offset < 0 {
		return malformed("a tensor of size %v, stride %v and offset %d", p.size, p.stride, p.offset)
	}
	n, err := elements(p.size)
	if err != nil {
		return err
	}
	item := uint64(p.dtype.Size())
	room := uint64(p.storage.size) / item
	if uint64(p.offset) > room {
		return malformed("a tensor begins at element %d of a storage of %d", p.offset, room)
	}
	last := uint64(p.offset) // the farthest element
	for d, size := range p.size {
		if p.stride[d] < 0 {
			return malformed("a tensor has the negative stride %d", p.stride[d])
		}
		over, step := bits.Mul64(uint64(max(size-1, 0)), uint64(p.stride[d]))
		var carry uint64
		if last, carry = bits.Add64(last, step, 0); over > 0 || carry > 0 || last > math.MaxInt64/item {
			return malformed("a tensor of size %v and stride %v is larger than any memory", p.size, p.stride)
		}
	}
	if n > 0 && last >= room {
		return malformed("a tensor of size %v and stride %v reaches element %d of a storage of %d", p.size, p.stride, last, room)
	}
	return nil
}

// elements is how many elements a tensor of that size has.
func elements(size []int) (uint64, error) {
	n, empty := uint64(1), false
	for _, s := range size {
		over, low := bits.Mul64(n, uint64(max(s, 1)))
		if s < 0 || over > 0 || low > math.MaxInt64/16 {
			return 0, malformed("a tensor has the impossible size %v", size)
		}
		n, empty = low, empty || s == 0
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

// build makes the tensor over its storage, which is read already.
func (p *plan) build() torch.Tensor {
	t := torch.TensorOptions{DType: p.dtype, Device: p.storage.base.Device()}.Empty(0)
	return p.finish(p.over(t))
}

// over lets an empty tensor have the plan's elements.
func (p *plan) over(t torch.Tensor) torch.Tensor {
	return t.SetTensorOffsetInPlace(p.storage.base, int(p.storage.shift)/p.dtype.Size()+p.offset, p.size, p.stride...)
}

// finish sets what a tensor has besides its elements.
func (p *plan) finish(t torch.Tensor) torch.Tensor {
	if p.conj {
		t = t.Conj()
	}
	if p.neg {
		t = aten.NegView(t)
	}
	if p.requiresGrad {
		t = t.SetRequiresGrad(true)
	}
	return t
}
