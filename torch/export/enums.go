package export

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// The numbers that a file has for dtypes, layouts and memory formats are its own.
var (
	dtypes = map[int64]torch.DType{1: torch.Uint8, 2: torch.Int8, 3: torch.Int16, 4: torch.Int32, 5: torch.Int64, 6: torch.Float16,
		7: torch.Float32, 8: torch.Float64, 9: torch.Complex32, 10: torch.Complex64, 11: torch.Complex128, 12: torch.Bool,
		13: torch.BFloat16, 28: torch.Uint16, 29: torch.Float8E4M3FN, 30: torch.Float8E5M2, 31: torch.Float8E4M3FNUZ,
		32: torch.Float8E5M2FNUZ}
	layouts = map[int64]torch.Layout{1: torch.Sparse, 2: torch.SparseCSR, 3: torch.SparseCSC, 4: torch.SparseBSR,
		5: torch.SparseBSC, 6: torch.MKLDNN, 7: torch.Strided}
	memoryFormats = map[int64]torch.MemoryFormat{1: torch.ContiguousFormat, 2: torch.ChannelsLast, 3: torch.ChannelsLast3d,
		4: torch.PreserveFormat}
)

// enum reads the number of an enumerator.
func enum[T any](p *parser, what string, all map[int64]T) T {
	n := p.integer()
	v, ok := all[n]
	if !ok {
		p.fail("there is no %s number %d", what, n)
	}
	return v
}

func (p *parser) dtype() torch.DType { return enum(p, "dtype", dtypes) }

// numberOf is the number of an enumerator.
func numberOf[T comparable](all map[int64]T, v T) (int64, error) {
	for n, own := range all {
		if own == v {
			return n, nil
		}
	}
	return 0, fmt.Errorf("the format has no number for %v", v)
}

// deviceOf is the device of that type; an index of -1 is none.
func deviceOf(kind string, index int) (torch.Device, error) {
	if index >= 0 {
		kind = fmt.Sprintf("%s:%d", kind, index)
	}
	return torch.ParseDevice(kind)
}

// short are PyTorch's abbreviations of dtypes, as printed programs have them.
var short = map[torch.DType]string{torch.Float32: "f32", torch.Float64: "f64", torch.Float16: "f16", torch.BFloat16: "bf16",
	torch.Int64: "i64", torch.Int32: "i32", torch.Int16: "i16", torch.Int8: "i8", torch.Uint8: "u8", torch.Bool: "b8",
	torch.Complex32: "c32", torch.Complex64: "c64", torch.Complex128: "c128", torch.Uint16: "u16", torch.Uint32: "u32",
	torch.Uint64: "u64", torch.Float8E4M3FN: "f8e4m3fn", torch.Float8E5M2: "f8e5m2", torch.Float8E4M3FNUZ: "f8e4m3fnuz",
	torch.Float8E5M2FNUZ: "f8e5m2fnuz"}
