package jit

import (
	"math/bits"
	"strings"

	"github.com/libtorch-go/libtorch/internal/pickle"
)

// itemSizes are the bytes of an element, by the class of the storage.
var itemSizes = map[string]int{
	"ByteStorage": 1, "CharStorage": 1, "ShortStorage": 2, "IntStorage": 4, "LongStorage": 8, "HalfStorage": 2, "FloatStorage": 4,
	"DoubleStorage": 8, "ComplexHalfStorage": 4, "ComplexFloatStorage": 8, "ComplexDoubleStorage": 16, "BoolStorage": 1,
	"QInt8Storage": 1, "QUInt8Storage": 1, "QInt32Storage": 4, "BFloat16Storage": 2, "QUInt4x2Storage": 1, "QUInt2x4Storage": 1,
	"UInt16Storage": 2, "UInt32Storage": 4, "UInt64Storage": 8,
	"Float8_e5m2Storage": 1, "Float8_e4m3fnStorage": 1, "Float8_e5m2fnuzStorage": 1, "Float8_e4m3fnuzStorage": 1, "Float8_e8m0fnuStorage": 1,
}

// storage is what a pickle says of a storage, compared with its record: its elements, and their size.
func (p *pickled) storage(ref *pickle.Ref) (n, item int, err error) {
	id, ok := ref.ID.(*pickle.Tuple)
	if !ok || len(*id) != 5 || (*id)[0] != "storage" {
		return 0, 0, malformed("a reference to something that is no storage")
	}
	class, isClass := (*id)[1].(pickle.Global)
	key, isText := (*id)[2].(string)
	n, isCount := (*id)[4].(int)
	item = itemSizes[class.Name]
	if !isClass || !isText || !isCount || item == 0 {
		return 0, 0, malformed("a storage of class %v with %v elements", class, (*id)[4])
	}
	if n == 0 {
		return 0, item, nil // it has no record
	}
	rec, ok := p.storages[p.folder+key]
	if !ok {
		return 0, 0, malformed("there is no record of storage %q", key)
	}
	if n < 0 || int64(n) > rec.Size/int64(item) {
		return 0, 0, malformed("storage %q has %d elements of %d bytes, its record %d bytes", key, n, item, rec.Size)
	}
	return n, item, nil
}

// tensor refuses a tensor that reaches beyond its storage.
func (p *pickled) tensor(o *pickle.Object) error {
	if o.Class.Module != "torch._utils" || !strings.HasPrefix(o.Class.Name, "_rebuild_") {
		return nil
	}
	switch o.Class.Name {
	case "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_qtensor":
	case "_rebuild_sparse_tensor", "_rebuild_sparse_csr_tensor", "_rebuild_parameter":
		return nil // of tensors, which are checked themselves
	default:
		return malformed("a tensor made by %v", o.Class)
	}
	if len(o.Args) < 4 {
		return malformed("%v of %d arguments", o.Class, len(o.Args))
	}
	ref, isRef := o.Args[0].(*pickle.Ref)
	offset, isNumber := o.Args[1].(int)
	size, okSize := numbers(o.Args[2])
	stride, okStride := numbers(o.Args[3])
	if !isRef || !isNumber || !okSize || !okStride || len(size) != len(stride) || len(size) > 64 {
		return malformed("a tensor without a storage, sizes and strides")
	}
	room, _, err := p.storage(ref)
	if err != nil {
		return err
	}
	if last, empty := farthest(offset, size, stride); !empty && last >= uint64(room) || offset > room {
		return malformed("a tensor of size %v, stride %v and offset %d does not lie in its %d elements", size, stride, offset, room)
	}
	return nil
}

// numbers are the elements of a tuple of numbers that are not negative.
func numbers(v any) ([]int, bool) {
	var values []any
	switch v := v.(type) {
	case *pickle.Tuple:
		values = *v
	case *pickle.List:
		values = *v
	default:
		return nil, false
	}
	list := make([]int, len(values))
	for i, own := range values {
		n, ok := own.(int)
		if !ok || n < 0 {
			return nil, false
		}
		list[i] = n
	}
	return list, true
}

// farthest is the place of the last element; the largest of all numbers where it cannot be computed.
func farthest(offset int, size, stride []int) (last uint64, empty bool) {
	const most = 1 << 62
	if offset < 0 {
		return most, false
	}
	last, count := uint64(offset), uint64(1)
	for d, n := range size {
		if n == 0 {
			return 0, true
		}
		high, low := bits.Mul64(uint64(n-1), uint64(stride[d]))
		more, all := bits.Mul64(count, uint64(n))
		if high != 0 || more != 0 || low > most || last > most || all > most {
			return most, false
		}
		last, count = last+low, all
	}
	return last, false
}
