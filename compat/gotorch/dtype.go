package gotorch

import (
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// The types of elements, by libtorch's numbers.
const (
	Byte          int8 = iota // 8 bits without a sign
	Char                      // 8 bits
	Short                     // 16 bits
	Int                       // 32 bits
	Long                      // 64 bits
	Half                      // float of 16 bits
	Float                     // float of 32 bits
	Double                    // float of 64 bits
	ComplexHalf               // two Half
	ComplexFloat              // two Float
	ComplexDouble             // two Double
	Bool                      // true or false
	QInt8                     // quantized to 8 bits
	QUInt8                    // quantized to 8 bits without a sign
	QInt32                    // quantized to 32 bits
	BFloat16                  // the upper half of a Float
	Invalid       = -1        // no type at all
)

// dtypes are those of package torch, in the order of the constants.
var dtypes = []torch.DType{
	torch.Uint8, torch.Int8, torch.Int16, torch.Int32, torch.Int64, torch.Float16, torch.Float32, torch.Float64,
	torch.Complex32, torch.Complex64, torch.Complex128, torch.Bool, torch.QInt8, torch.QUint8, torch.QInt32, torch.BFloat16,
}

func dtypeOf(code int8) torch.DType {
	if code < 0 || int(code) >= len(dtypes) {
		panic(fmt.Sprintf("%d is no dtype: expected one of the constants Byte to BFloat16", code))
	}
	return dtypes[code]
}

// codeOf is the number of a dtype; Invalid for those that came after libtorch 1.6.
func codeOf(d torch.DType) int8 { return int8(slices.Index(dtypes, d)) }
