package torch

import (
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
)

// DType is the type of a tensor's elements. The zero DType means "not given": the
// default, or that of the input.
type DType struct{ n uint8 } // libtorch's number plus one

// The dtypes, in the order of libtorch's ScalarType.
var (
	Uint8          = DType{1}
	Int8           = DType{2}
	Int16          = DType{3}
	Int32          = DType{4}
	Int64          = DType{5}
	Float16        = DType{6} // IEEE half precision; Go values are [F16]
	Float32        = DType{7}
	Float64        = DType{8}
	Complex32      = DType{9} // two float16
	Complex64      = DType{10}
	Complex128     = DType{11}
	Bool           = DType{12}
	QInt8          = DType{13}
	QUint8         = DType{14}
	QInt32         = DType{15}
	BFloat16       = DType{16} // the upper half of a float32; Go values are [BF16]
	QUint4x2       = DType{17}
	QUint2x4       = DType{18}
	Bits1x8        = DType{19}
	Bits2x4        = DType{20}
	Bits4x2        = DType{21}
	Bits8          = DType{22}
	Bits16         = DType{23}
	Float8E5M2     = DType{24}
	Float8E4M3FN   = DType{25}
	Float8E5M2FNUZ = DType{26}
	Float8E4M3FNUZ = DType{27}
	Uint16         = DType{28}
	Uint32         = DType{29}
	Uint64         = DType{30}
	Float8E8M0FNU  = DType{45} // powers of two: the scales of blocks
	Float4E2M1FNX2 = DType{46} // two numbers in each element, which is a byte
)

func (d DType) code() int64 { return int64(d.n) - 1 }

func dtypeOf(word uint64) DType { return DType{uint8(word + 1)} }

// IsZero tells whether d is the zero DType, which stands for "not given".
func (d DType) IsZero() bool { return d.n == 0 }

// String is PyTorch's name: "float32".
func (d DType) String() string {
	if d.IsZero() {
		return "default dtype"
	}
	return cgo.DTypeName(int(d.n) - 1)
}

// ParseDType finds a dtype by PyTorch's name, with or without "torch."; also by the
// aliases float, half, double, long, int, short.
func ParseDType(name string) (DType, error) {
	if len(name) > 6 && name[:6] == "torch." {
		name = name[6:]
	}
	if d, ok := dtypeAliases[name]; ok {
		return d, nil
	}
	for n := Uint8.n; n <= Float4E2M1FNX2.n; n++ {
		if d := (DType{n}); d.String() == name {
			return d, nil
		}
	}
	return DType{}, fmt.Errorf("torch: %q is not a dtype; expected one of float32, float64, float16, bfloat16, int64, int32, "+
		"int16, int8, uint8, bool, complex64, complex128", name)
}

var dtypeAliases = map[string]DType{
	"float": Float32, "double": Float64, "half": Float16, "fp16": Float16, "bf16": BFloat16, "fp32": Float32,
	"long": Int64, "int": Int32, "short": Int16, "cfloat": Complex64, "cdouble": Complex128,
}

// IsFloatingPoint tells whether d is a real floating-point type.
func (d DType) IsFloatingPoint() bool {
	switch d {
	case Float16, Float32, Float64, BFloat16, Float8E5M2, Float8E4M3FN, Float8E5M2FNUZ, Float8E4M3FNUZ, Float8E8M0FNU, Float4E2M1FNX2:
		return true
	}
	return false
}

// IsComplex tells whether d is a complex type.
func (d DType) IsComplex() bool { return d == Complex32 || d == Complex64 || d == Complex128 }

// Size is the size of an element in bytes.
func (d DType) Size() int {
	switch d {
	case Int16, Float16, BFloat16, Uint16, Bits16:
		return 2
	case Int32, Float32, Complex32, Uint32, QInt32:
		return 4
	case Int64, Float64, Complex64, Uint64:
		return 8
	case Complex128:
		return 16
	}
	return 1
}

// Layout is how a tensor's elements are stored. The zero Layout means "not given".
type Layout struct{ n uint8 } // libtorch's number plus one

// The layouts, in libtorch's order.
var (
	Strided   = Layout{1}
	Sparse    = Layout{2}
	SparseCSR = Layout{3}
	MKLDNN    = Layout{4}
	SparseCSC = Layout{5}
	SparseBSR = Layout{6}
	SparseBSC = Layout{7}
	Jagged    = Layout{8}
)

func (l Layout) code() int64 { return int64(l.n) - 1 }

func layoutOf(number int) Layout { return Layout{uint8(number + 1)} }

// IsZero tells whether l is the zero Layout, which stands for "not given".
func (l Layout) IsZero() bool { return l.n == 0 }

var layoutNames = [...]string{"default layout", "strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr",
	"sparse_bsc", "jagged"}

// String is PyTorch's name: "strided".
func (l Layout) String() string {
	return layoutNames[l.n]
}

// MemoryFormat is the order of a tensor's dimensions in memory. The zero MemoryFormat
// means "not given".
type MemoryFormat struct{ n uint8 } // libtorch's number plus one

// The memory formats, in libtorch's order.
var (
	ContiguousFormat = MemoryFormat{1} // row-major: NCHW
	PreserveFormat   = MemoryFormat{2} // that of the input
	ChannelsLast     = MemoryFormat{3} // NHWC, for 4-d tensors; the shape stays NCHW
	ChannelsLast3d   = MemoryFormat{4} // NDHWC, for 5-d tensors
)

func (m MemoryFormat) code() int64 { return int64(m.n) - 1 }

// IsZero tells whether m is the zero MemoryFormat, which stands for "not given".
func (m MemoryFormat) IsZero() bool { return m.n == 0 }

var formatNames = [...]string{"default format", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}

// String is PyTorch's name: "channels_last".
func (m MemoryFormat) String() string {
	return formatNames[m.n]
}

// Reduction says how a loss combines the values of the elements. The zero Reduction is
// the mean, PyTorch's default.
type Reduction struct{ n uint8 }

// The reductions.
var (
	ReductionMean = Reduction{0}
	ReductionSum  = Reduction{1}
	ReductionNone = Reduction{2}
)

func (r Reduction) code() int64 {
	codes := [...]int64{1, 2, 0}
	if int(r.n) >= len(codes) {
		throw("reduction", KindValue, "%v is not a reduction", r)
	}
	return codes[r.n]
}

var reductionNames = [...]string{"mean", "sum", "none"}

// String is PyTorch's name: "mean".
func (r Reduction) String() string {
	if int(r.n) < len(reductionNames) {
		return reductionNames[r.n]
	}
	return fmt.Sprintf("Reduction(%d)", r.n)
}
