package gotorch

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// Item is the value of a tensor with one element: a byte, int8, int16, int32, int64, bool, float64, or a float32 for Float
// and Half.
func (a Tensor) Item() interface{} {
	t := a.core()
	switch dtype := t.DType(); v := t.Item().(type) {
	case bool:
		return v
	case int64:
		switch dtype {
		case torch.Uint8:
			return byte(v)
		case torch.Int8:
			return int8(v)
		case torch.Int16:
			return int16(v)
		case torch.Int32:
			return int32(v)
		}
		return v
	case float64:
		if dtype == torch.Float64 {
			return v
		}
		return float32(v)
	default:
		panic(fmt.Sprintf("Item: a tensor of %v has no Go value here", dtype))
	}
}
