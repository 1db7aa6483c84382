package torch

import (
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
)

// DType is the type of a tensor's elements. The zero DType means "not given": the
// default, or that of the input.
type DType uint8

// The dtypes, in the order of libtorch's ScalarType.
const (
	Uint8 DType = iota + 1
	Int8
	Int16
	Int32
	Int64
	Float16 // IEEE half precision; Go values are [F16]
	Float32
	Float64
	Complex32 // two float16
	Complex64
	Complex128
	Bool
	QInt8
	QUint8
	QInt32
	BFloat16 // the upper half of a float32; Go values are [BF16]
	QUint4x2
	QUint2x4
	Bits1x8
	Bits2x4
	Bits4x2
	Bits8
	Bits16
	Float8E5M2
	Float8E4M3FN
	Float8E5M2FNUZ
	Float8E4M3FNUZ
	Uint16
	Uint32
	Uint64
)

func (d DType) code() int64 { return int64(d) - 1 }

func dtypeOf(word uint64) DType { return DType(word + 1) }

// String is PyTorch's name: "float32".
func (d DType) String() string {
	if d == 0 {
		return "default dtype"
	}
	return cgo.DTypeName(int(d) - 1)
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
	for d := Uint8; d <= Uint64; d++ {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("torch: %q is not a dtype; expected one of float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool, complex64, complex128", name)
}

var dtypeAliases = map[string]DType{
	"float": Float32, "double": Float64, "half": Float16, "fp16": Float16, "bf16": BFloat16, "fp32": Float32,
	"long": Int64, "int": Int32, "short": Int16, "cfloat": Complex64, "cdouble": Complex128,
}

// IsFloatingPoint tells whether d is a real floating-point type.
func (d DType) IsFloatingPoint() bool {
	switch d {
	case Float16, Float32, Float64, BFloat16, Float8E5M2, Float8E4M3FN, Float8E5M2FNUZ, Float8E4M3FNUZ:
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
type Layout uint8

// The layouts, in libtorch's order.
const (
	Strided Layout = iota + 1
	Sparse
	SparseCSR
	MKLDNN
	SparseCSC
	SparseBSR
	SparseBSC
	Jagged
)

func (l Layout) code() int64 { return int64(l) - 1 }

var layoutNames = [...]string{"default layout", "strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"}

// String is PyTorch's name: "strided".
func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// MemoryFormat is the order of a tensor's dimensions in memory. The zero MemoryFormat
// means "not given".
type MemoryFormat uint8

// The memory formats, in libtorch's order.
const (
	ContiguousFormat MemoryFormat = iota + 1 // row-major: NCHW
	PreserveFormat                           // that of the input
	ChannelsLast                             // NHWC, for 4-d tensors; the shape stays NCHW
	ChannelsLast3d                           // NDHWC, for 5-d tensors
)

func (m MemoryFormat) code() int64 { return int64(m) - 1 }

var formatNames = [...]string{"default format", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}

// String is PyTorch's name: "channels_last".
func (m MemoryFormat) String() string {
	if int(m) < len(formatNames) {
		return formatNames[m]
	}
	return fmt.Sprintf("MemoryFormat(%d)", uint8(m))
}

// Reduction says how a loss combines the values of the elements. The zero Reduction is
// the mean, PyTorch's default.
type Reduction uint8

// The reductions.
const (
	ReductionMean Reduction = iota
	ReductionSum
	ReductionNone
)

func (r Reduction) code() int64 {
	codes := [...]int64{1, 2, 0}
	if int(r) >= len(codes) {
		throw("reduction", KindValue, "%v is not a reduction", r)
	}
	return codes[r]
}

var reductionNames = [...]string{"mean", "sum", "none"}

// String is PyTorch's name: "mean".
func (r Reduction) String() string {
	if int(r) < len(reductionNames) {
		return reductionNames[r]
	}
	return fmt.Sprintf("Reduction(%d)", uint8(r))
}
