package pt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// note is a strided tensor whose call is completed once all tensors of its storage are known.
type note struct {
	object       *pickle.Object
	tensor       torch.Tensor
	storage      uint64
	low, high    int64 // the bytes of the storage that it reaches
	part         *part
	dtype        torch.DType
	offset       int64 // elements before the first one in memory
	size, stride []int
	requiresGrad bool
	conj, neg    bool
	quantizer    any // the parameters of a quantized one
}

// tensor converts a tensor of any kind; a detached one requires no gradients in the file.
func (e *encoder) tensor(t torch.Tensor, detached bool) (v any, err error) {
	if o, ok := e.tensors[t]; ok {
		return o, nil
	}
	if !t.Defined() {
		return nil, errors.New("the tensor is undefined")
	}
	var o *pickle.Object
	broken := torch.Try(func() { o, err = e.call(t, detached) })
	if err = cmp.Or(err, broken); err != nil {
		return nil, err
	}
	e.tensors[t] = o
	return o, nil
}

// call is the call that makes a tensor in Python.
func (e *encoder) call(t torch.Tensor, detached bool) (*pickle.Object, error) {
	grad := t.RequiresGrad() && !detached
	switch layout := t.Layout(); {
	case t.Device().Type() == torch.DeviceMeta:
		return called("torch._utils", "_rebuild_meta_tensor_no_storage", global("torch", t.DType().String()), ints(t.Shape()),
			ints(t.Stride()), grad), nil
	case layout == torch.Sparse:
		return e.sparse("torch.sparse_coo", t, []torch.Tensor{aten.Indices(t), aten.Values(t)}, t.IsCoalesced())
	case layout == torch.SparseCSR || layout == torch.SparseBSR:
		return e.sparse("torch."+layout.String(), t, []torch.Tensor{t.CRowIndices(), t.ColIndices(), t.Values()})
	case layout == torch.SparseCSC || layout == torch.SparseBSC:
		return e.sparse("torch."+layout.String(), t, []torch.Tensor{t.CColIndices(), t.RowIndices(), t.Values()})
	case layout != torch.Strided:
		return nil, fmt.Errorf("a tensor of layout %v is not written; convert it by ToDense", layout)
	}
	if torch.Try(func() { t.Shape() }) != nil { // only these have none
		return nil, errNested
	}
	if isQuantized(t.DType()) {
		if err := quantizable(t.DType()); err != nil {
			return nil, err
		}
	}
	if !covered(t) { // a gradient of zeros has no memory
		t = t.Clone()
	}
	n := &note{object: &pickle.Object{}, tensor: t, dtype: t.DType(), offset: int64(t.StorageOffset()), size: t.Shape(), stride: t.Stride(),
		requiresGrad: grad, conj: t.IsConj(), neg: t.IsNeg()}
	if isQuantized(n.dtype) {
		q, err := e.quantizer(t)
		if err != nil {
			return nil, err
		}
		n.quantizer = q
	}
	item := int64(n.dtype.Size())
	n.storage, n.low, n.high = t.Storage().ID, n.offset*item, extent(n.offset, n.size, n.stride)*item
	e.notes = append(e.notes, n)
	return n.object, nil
}

// extent is one past the farthest element that a tensor reaches in its storage.
func extent(offset int64, size, stride []int) int64 {
	last := offset
	for d, s := range size {
		if s == 0 {
			return offset
		}
		last += int64(s-1) * int64(stride[d])
	}
	return last + 1
}

func covered(t torch.Tensor) bool {
	return extent(int64(t.StorageOffset()), t.Shape(), t.Stride())*int64(t.DType().Size()) <= int64(t.Storage().Bytes)
}

// shares finds the parts of storages that are written: the tensors whose bytes overlap or
// touch share one, such as the weights of a recurrent network.
func (e *encoder) shares() {
	byStorage := slices.Clone(e.notes)
	slices.SortStableFunc(byStorage, func(a, b *note) int {
		return cmp.Or(cmp.Compare(a.storage, b.storage), cmp.Compare(a.low, b.low))
	})
	var last *part
	storage := uint64(0)
	for _, n := range byStorage {
		if last == nil || n.storage != storage || n.low > last.high || n.low == n.high {
			last = &part{tensor: n.tensor, dtype: n.dtype, low: n.low, high: n.high}
		}
		if last.dtype != n.dtype {
			last.dtype = torch.DType{}
		}
		n.part, storage, last.high = last, n.storage, max(last.high, n.high)
	}
}

// complete fills in the calls that make strided tensors, with storages numbered as they come.
func (e *encoder) complete() {
	e.shares()
	keys := map[*part]*pickle.Ref{}
	for _, n := range e.notes {
		p := n.part
		if keys[p] != nil {
			continue
		}
		e.order = append(e.order, p)
		if p.dtype.IsZero() {
			const widest = 16
			p.low &^= widest - 1 // so that it is a whole number of elements of any dtype
		}
		p.key = fmt.Sprint(len(keys))
		class, size := global("torch.storage", "UntypedStorage"), p.high-p.low
		for name, dtype := range storageTypes {
			if dtype == p.dtype {
				class, size = global("torch", name), size/int64(dtype.Size())
			}
		}
		keys[p] = &pickle.Ref{ID: pickle.Tuple{"storage", class, p.key, p.tensor.Device().String(), size}}
	}
	hooks := called("collections", "OrderedDict")
	for _, n := range e.notes {
		offset := n.offset - n.part.low/int64(n.dtype.Size())
		args := pickle.Tuple{keys[n.part], offset, ints(n.size), ints(n.stride)}
		name := "_rebuild_tensor_v2"
		if n.quantizer != nil {
			name, args = "_rebuild_qtensor", append(args, n.quantizer)
		}
		args = append(args, n.requiresGrad, hooks)
		if n.quantizer == nil && (n.part.dtype.IsZero() || !hasStorage(n.dtype)) {
			name, args = "_rebuild_tensor_v3", append(args, global("torch", n.dtype.String()))
		}
		if n.conj || n.neg {
			args = append(args, marks(n.conj, n.neg))
		}
		*n.object = pickle.Object{Class: global("torch._utils", name), Args: args}
	}
}

// hasStorage tells whether Python has a class of storages for a dtype.
func hasStorage(d torch.DType) bool {
	for _, dtype := range storageTypes {
		if dtype == d {
			return true
		}
	}
	return false
}

// marks are what a view has that is conjugate or negative by a mark alone.
func marks(conj, neg bool) (d pickle.Dict) {
	if conj {
		d = append(d, pickle.Item{Key: "conj", Value: true})
	}
	if neg {
		d = append(d, pickle.Item{Key: "neg", Value: true})
	}
	return d
}

// sparse is the call for a sparse tensor of these parts.
func (e *encoder) sparse(layout string, t torch.Tensor, parts []torch.Tensor, more ...any) (*pickle.Object, error) {
	var args pickle.Tuple
	for _, p := range parts {
		v, err := e.tensor(p, true)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	args = slices.Concat(append(args, called("torch", "Size", ints(t.Shape()))), more)
	return called("torch._utils", "_rebuild_sparse_tensor", called("torch.serialization", "_get_layout", layout), args), nil
}

func (e *encoder) parameter(p Parameter, depth int) (any, error) {
	data, err := e.tensor(p.Tensor, true)
	if err != nil {
		return nil, err
	}
	grad, hooks := p.RequiresGrad(), called("collections", "OrderedDict")
	if p.State == nil {
		return called("torch._utils", "_rebuild_parameter", data, grad, hooks), nil
	}
	state, err := e.value(p.State, depth+1)
	return called("torch._utils", "_rebuild_parameter_with_state", data, grad, hooks, state), err
}

// attributed is the call for a tensor with attributes: it has the parts of the plain tensor's call, which
// are complete only at the end.
func (e *encoder) attributed(a Attributed, depth int) (any, error) {
	v, err := e.tensor(a.Tensor, false)
	if err != nil {
		return nil, err
	}
	state, err := e.value(a.State, depth+1)
	if err != nil {
		return nil, err
	}
	o := called("torch._tensor", "_rebuild_from_type_v2")
	inner := v.(*pickle.Object)
	e.later = append(e.later, func() {
		o.Args = pickle.Tuple{inner.Class, global("torch", "Tensor"), inner.Args, state}
	})
	return o, nil
}
