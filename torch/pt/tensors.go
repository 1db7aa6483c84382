package pt

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// plan reads the storage, offset, size and stride that calls for tensors begin with.
func (c *call) plan() (*plan, error) {
	s, dtype, from, err := c.storage(0)
	if err != nil {
		return nil, err
	}
	p := &plan{storage: s, dtype: dtype}
	if p.offset, err = as[int](c, 1); err != nil {
		return nil, err
	}
	if p.offset < 0 || p.offset > math.MaxInt-int(from) {
		return nil, c.failed("the offset %d", p.offset)
	}
	p.offset += int(from)
	if p.size, err = c.ints(2); err != nil {
		return nil, err
	}
	p.stride, err = c.ints(3)
	return p, err
}

// buildTensor is for the functions that make strided tensors; metadata is the argument with conj and neg.
func buildTensor(least, most, metadata int) builder {
	return func(c *call) (any, error) {
		if err := c.count(least, most); err != nil {
			return nil, err
		}
		p, err := c.plan()
		if err != nil {
			return nil, err
		}
		if least > 4 {
			if p.requiresGrad, err = c.flag(4); err != nil {
				return nil, err
			}
		}
		if least == 7 {
			if p.dtype, err = as[torch.DType](c, 6); err != nil {
				return nil, err
			}
		}
		if most > least && len(c.o.Args) == most && c.o.Args[metadata] != nil {
			marks, err := as[*Dict](c, metadata)
			if err != nil {
				return nil, err
			}
			p.conj, _ = marks.Get("conj").(bool)
			p.neg, _ = marks.Get("neg").(bool)
		}
		return c.build(p, p.build)
	}
}

// build checks a plan and asks for its storage, and in the second pass makes its tensor.
func (c *call) build(p *plan, fn func() torch.Tensor) (any, error) {
	if isQuantized(p.dtype) && p.quantized == nil {
		return nil, c.failed("a tensor of %v has no scale", p.dtype)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if !c.d.building {
		if !p.storage.wanted {
			p.storage.wanted = true
			c.d.wanted = append(c.d.wanted, p.storage)
		}
		return torch.Tensor{}, nil
	}
	return c.make(fn)
}

func isQuantized(d torch.DType) bool {
	switch d {
	case torch.QInt8, torch.QUint8, torch.QInt32, torch.QUint4x2, torch.QUint2x4:
		return true
	}
	return false
}

func buildParameter(c *call) (any, error) {
	with := c.o.Class.Name == "_rebuild_parameter_with_state"
	n := 3
	if with {
		n = 4
	}
	if err := c.count(n, n); err != nil {
		return nil, err
	}
	data, err := c.tensor(0)
	if err != nil {
		return nil, err
	}
	grad, err := c.flag(1)
	if err != nil {
		return nil, err
	}
	own := Parameter{}
	if with {
		if own.State, err = c.value(3); err != nil {
			return nil, err
		}
	}
	own.Tensor, err = c.make(func() torch.Tensor { return data.Detach().SetRequiresGrad(grad) })
	return own, err
}

func buildMeta(c *call) (any, error) {
	if err := c.count(4, 4); err != nil {
		return nil, err
	}
	dtype, err := as[torch.DType](c, 0)
	if err != nil {
		return nil, err
	}
	size, err := c.ints(1)
	if err != nil {
		return nil, err
	}
	stride, err := c.ints(2)
	if err != nil {
		return nil, err
	}
	grad, err := c.flag(3)
	if err != nil {
		return nil, err
	}
	p := &plan{storage: &storage{size: math.MaxInt64 / 32}, dtype: dtype, size: size, stride: stride}
	if err := p.check(); err != nil {
		return nil, err
	}
	return c.make(func() torch.Tensor {
		t := torch.TensorOptions{DType: dtype, Device: torch.Meta}.EmptyStrided(size, stride)
		return t.SetRequiresGrad(grad)
	})
}

// buildMoved is a tensor of a device whose memory is not saved as such. It stays where LoadOptions say.
func buildMoved(c *call) (any, error) {
	if err := c.count(4, 4); err != nil {
		return nil, err
	}
	data, err := c.tensor(0)
	if err != nil {
		return nil, err
	}
	dtype, err := as[torch.DType](c, 1)
	if err != nil {
		return nil, err
	}
	grad, err := c.flag(3)
	if err != nil {
		return nil, err
	}
	return c.make(func() torch.Tensor { return data.Detach().To(dtype).SetRequiresGrad(grad) })
}

// buildAttributed is a tensor or a parameter with attributes: the function that makes it, its class, the
// function's arguments and the attributes.
func buildAttributed(c *call) (any, error) {
	if err := c.count(4, 4); err != nil {
		return nil, err
	}
	fn, ok := c.o.Args[0].(pickle.Global)
	class, okClass := c.o.Args[1].(pickle.Global)
	args, okArgs := c.o.Args[2].(*pickle.Tuple)
	build := c.d.builders[fn]
	if !ok || !okClass || !okArgs || fn.Module != "torch._utils" || build == nil {
		return nil, c.failed("expected a function, a class and a tuple of arguments")
	}
	inner := &call{d: c.d, o: &pickle.Object{Class: fn, Args: *args}, depth: c.depth, n: 1}
	v, err := build(inner)
	if err != nil {
		return nil, err
	}
	state, err := c.value(3)
	if err != nil {
		return nil, err
	}
	c.n += inner.n
	t, ok := tensorOf(v)
	switch {
	case !ok || class.Module != "torch" && class.Name != "Parameter":
		return nil, c.failed("a %v, expected a torch.Tensor or a Parameter", class)
	case class.Name == "Parameter":
		return Parameter{t, state}, nil
	}
	return Attributed{t, state}, nil
}

func buildSparse(c *call) (any, error) {
	if err := c.count(2, 2); err != nil {
		return nil, err
	}
	layout, err := as[torch.Layout](c, 0)
	if err != nil {
		return nil, err
	}
	parts, err := as[Tuple](c, 1)
	if err != nil {
		return nil, err
	}
	coo := layout == torch.Sparse
	tensors := 3
	if coo {
		tensors = 2
	}
	if len(parts) < tensors+1 || len(parts) > 4 {
		return nil, c.failed("a %v of %d parts", layout, len(parts))
	}
	var own []torch.Tensor
	for _, p := range parts[:tensors] {
		t, ok := tensorOf(p)
		if !ok {
			return nil, c.failed("a part is %s, expected a tensor", kind(p))
		}
		own = append(own, t)
	}
	size, ok := parts[tensors].(Size)
	if !ok {
		list, isTuple := integers(parts[tensors])
		if !isTuple {
			return nil, c.failed("the size is %s", kind(parts[tensors]))
		}
		size = list
	}
	if _, err := elements(size); err != nil {
		return nil, err
	}
	if !coo {
		return c.make(func() torch.Tensor { return compressed(layout, own, size) })
	}
	coalesced := len(parts) == 4 && parts[3] == true
	return c.make(func() torch.Tensor { return coordinates(own[0], own[1], size, coalesced) })
}

// coordinates makes a sparse tensor after all of its indices were checked.
func coordinates(indices, values torch.Tensor, size []int, coalesced bool) (t torch.Tensor) {
	torch.Unsafe(func() {
		aten.ValidateSparseCOOTensorArgs(indices, values, size, aten.ValidateSparseCOOTensorArgsOptions{IsCoalesced: &coalesced})
		t = aten.SparseCOOTensorUnsafe(indices, values, size, coalesced)
	})
	return t
}

// compressed makes a tensor of compressed rows or columns after all of its indices were checked.
func compressed(layout torch.Layout, parts []torch.Tensor, size []int) (t torch.Tensor) {
	torch.Unsafe(func() {
		aten.ValidateSparseCompressedTensorArgs(parts[0], parts[1], parts[2], size, layout)
		t = aten.SparseCompressedTensorUnsafe(parts[0], parts[1], parts[2], size, torch.TensorOptions{Layout: layout, DType: parts[2].DType()})
	})
	return t
}
