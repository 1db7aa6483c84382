package export

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// payload is a tensor as the list of a folder has it.
type payload struct {
	name, path       string
	isParam, pickled bool
	meta             *TensorMeta
}

// payloads reads the list of a folder.
func (p *parser) payloads() (list []payload) {
	p.object(func(key string) {
		if key != "config" {
			p.skip()
			return
		}
		p.object(func(name string) {
			p.charge(costStruct)
			own := payload{name: name}
			p.object(func(key string) {
				switch key {
				case "path_name":
					own.path = p.str()
				case "is_param":
					own.isParam = p.boolean()
				case "use_pickle":
					own.pickled = p.boolean()
				case "tensor_meta":
					if !p.null() {
						own.meta = new(p.tensorMeta())
					}
				default:
					p.skip()
				}
			})
			list = append(list, own)
		})
	})
	return list
}

// load makes the tensor. It is called within a scope; the result outlives it. Tensors of the same record share memory.
func (own payload) load(f *file, folder string, storages map[string]torch.Tensor) (torch.Tensor, error) {
	rec, ok := f.Records[folder+own.path]
	switch {
	case !ok:
		return torch.Tensor{}, fmt.Errorf("record %q is missing", folder+own.path)
	case own.meta == nil:
		return torch.Tensor{}, errors.New("it is an object of a C++ class, which this package does not read")
	case own.pickled:
		t, err := own.unpickle(io.NewSectionReader(f.r, rec.Data, rec.Size), rec.Size)
		if err != nil || f.device.IsZero() {
			return t, err
		}
		defer t.Close()
		return moved(t, f.device).Keep(), nil
	}
	size, stride, offset, err := own.place(rec.Size)
	if err != nil {
		return torch.Tensor{}, err
	}
	base, ok := storages[own.path]
	if !ok {
		if base, err = bytesOf(io.NewSectionReader(f.r, rec.Data, rec.Size), rec.Size); err != nil {
			return torch.Tensor{}, err
		}
		storages[own.path] = base
	}
	t := torch.TensorOptions{DType: own.meta.DType}.Empty(0).SetTensorOffsetInPlace(base, offset, size, stride...)
	d := own.meta.Device
	if !f.device.IsZero() {
		d = f.device
	}
	if !d.IsZero() && !d.IsCPU() {
		t = t.To(d)
	}
	if own.meta.RequiresGrad {
		t = t.SetRequiresGrad(true)
	}
	return t.Keep(), nil
}

// bytesOf reads bytes into a tensor of them.
func bytesOf(r io.ReaderAt, size int64) (torch.Tensor, error) {
	base := torch.TensorOptions{DType: torch.Uint8}.Empty(int(size))
	const piece = 1 << 20
	buffer := make([]byte, min(size, piece))
	for at := int64(0); at < size; at += piece {
		b := buffer[:min(piece, size-at)]
		if n, err := r.ReadAt(b, at); n < len(b) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return base, err
		}
		torch.Scope(func() { torch.Fill(base.Narrow(0, int(at), len(b)), b) })
	}
	return base, nil
}

// numbers are the values of expressions that have to be numbers, none of them negative.
func numbers(what string, list []Expr) ([]int, error) {
	all := make([]int, len(list))
	for i, e := range list {
		n, ok := e.Value()
		if !ok || n < 0 {
			return nil, fmt.Errorf("%s %v, expected a number that is not negative", what, e)
		}
		all[i] = int(n)
	}
	return all, nil
}

// place is where the tensor lies in a storage of that many bytes.
func (own payload) place(room int64) (size, stride []int, offset int, err error) {
	m := own.meta
	if m.Layout != (torch.Layout{}) && m.Layout != torch.Strided {
		return nil, nil, 0, fmt.Errorf("its layout is %v, expected %v", m.Layout, torch.Strided)
	}
	const mostDims = 64
	if len(m.Sizes) > mostDims {
		return nil, nil, 0, fmt.Errorf("it has %d dimensions, expected at most %d", len(m.Sizes), mostDims)
	}
	if size, err = numbers("the size is", m.Sizes); err != nil {
		return nil, nil, 0, err
	}
	if stride, err = numbers("the stride is", m.Strides); err != nil {
		return nil, nil, 0, err
	}
	from, err := numbers("the offset is", []Expr{m.StorageOffset})
	if err != nil {
		return nil, nil, 0, err
	}
	end, ok := farthest(size, stride, from[0])
	item := uint64(m.DType.Size())
	if over, n := bits.Mul64(end, item); !ok || over > 0 || n > uint64(room) {
		return nil, nil, 0, fmt.Errorf("size %v, stride %v and offset %d of %v do not fit into the %d bytes of record %q", size, stride,
			from[0], m.DType, room, own.path)
	}
	return size, stride, from[0], nil
}

// farthest is one past the farthest element that a tensor reaches; ok is false where no memory is as large.
func farthest(size, stride []int, offset int) (end uint64, ok bool) {
	n, last, empty := uint64(1), uint64(offset), false
	for d, s := range size {
		over, low := bits.Mul64(n, uint64(max(s, 1)))
		if over > 0 || low > math.MaxInt64/16 {
			return 0, false
		}
		n, empty = low, empty || s == 0
		over, step := bits.Mul64(uint64(max(s-1, 0)), uint64(stride[d]))
		var carry uint64
		if last, carry = bits.Add64(last, step, 0); over > 0 || carry > 0 || last > math.MaxInt64/16 {
			return 0, false
		}
	}
	if empty {
		return uint64(offset), true
	}
	return last + 1, true
}

// unpickle reads a tensor that torch.save wrote, as for those of Python classes of their own.
func (own payload) unpickle(r io.ReaderAt, size int64) (torch.Tensor, error) {
	v, err := pt.Read(r, size)
	if err != nil {
		return torch.Tensor{}, err
	}
	switch v := v.(type) {
	case torch.Tensor:
		return v, nil
	case pt.Parameter:
		return v.Tensor, nil
	}
	pt.Close(v)
	return torch.Tensor{}, fmt.Errorf("it is a %T, expected a tensor", v)
}
