package cuda

import (
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
)

// Switch is a setting that is on, off, or left as it is.
type Switch int8

// The states of a Switch; the zero Switch changes nothing.
const (
	Unchanged Switch = iota
	Off
	On
)

// Precision is how float32 operations may compute inside. The zero Precision changes
// nothing.
type Precision int8

// The precisions, libtorch's Float32Precision plus one.
const (
	PrecisionUnchanged Precision = iota
	PrecisionDefault             // libtorch's own choice
	IEEE                         // float32 throughout
	TF32                         // TensorFloat-32: 10 bits of mantissa, on tensor cores
	BF16                         // bfloat16 products, float32 sums
)

// Reduction is how cuBLAS may add up products of half precision. The zero Reduction changes
// nothing.
type Reduction int8

// The reductions, libtorch's CuBLASReductionOption plus one.
const (
	ReductionUnchanged   Reduction = iota
	ReducedPrecision               // partial sums may be in half precision
	FullPrecision                  // sums are in float32
	FullPrecisionNoSplit           // and one kernel adds up all of a sum: the same bits whatever the shape
)

// Settings are libtorch's switches for CUDA libraries. Zero fields are left as they are.
type Settings struct {
	CUDNN          Switch    // use cuDNN at all; default On
	Benchmark      Switch    // try cuDNN's algorithms for each new shape and keep the fastest; default Off
	BenchmarkLimit int       // how many to try; default 10, -1 for all
	Deterministic  Switch    // only cuDNN algorithms that give the same bits each time; default Off
	Conv           Precision // of float32 convolutions; default TF32
	RNN            Precision // of float32 recurrent layers; default TF32
	MatMul         Precision // of float32 matrix products; default PrecisionDefault (IEEE)

	FP16Reduction    Reduction // of float16 products; default ReducedPrecision
	BF16Reduction    Reduction // of bfloat16 products; default ReducedPrecision
	FP16Accumulation Switch    // add up float16 products in float16 throughout; default Off

	// What scaled dot product attention may use; it takes the first that can do what is asked for.
	FlashAttention        Switch // default On
	MemEfficientAttention Switch // default On
	CUDNNAttention        Switch // default On
	MathAttention         Switch // plain operators, which always can; default On
	MathReduction         Switch // half-precision sums in those; default Off

	// DeterministicAlgorithms makes operators without a deterministic kernel fail, and fills new
	// memory; default Off.
	DeterministicAlgorithms Switch
	DeterministicWarnOnly   Switch // warn instead of failing; default Off
	FillUninitialized       Switch // the filling; default On
}

// field is one of the settings: its number in cgo/shim/settings.cc, and how a field of Settings
// stands for libtorch's value.
type field struct {
	number int
	load   func(s *Settings, v int)
	store  func(s *Settings) (v int, given bool)
}

// fields are all settings. Number 8 is a switch of the CPU's.
var fields = [...]field{
	code(0, func(s *Settings) *Switch { return &s.CUDNN }),
	code(1, func(s *Settings) *Switch { return &s.Benchmark }),
	{2, func(s *Settings, v int) {
		if s.BenchmarkLimit = v; v == 0 {
			s.BenchmarkLimit = -1 // libtorch's 0 is "all"
		}
	}, func(s *Settings) (int, bool) { return max(0, s.BenchmarkLimit), s.BenchmarkLimit != 0 }},
	code(3, func(s *Settings) *Switch { return &s.Deterministic }),
	code(4, func(s *Settings) *Precision { return &s.Conv }),
	code(5, func(s *Settings) *Precision { return &s.RNN }),
	code(6, func(s *Settings) *Precision { return &s.MatMul }),
	code(7, func(s *Settings) *Switch { return &s.DeterministicAlgorithms }),
	code(9, func(s *Settings) *Switch { return &s.DeterministicWarnOnly }),
	code(10, func(s *Settings) *Switch { return &s.FillUninitialized }),
	code(11, func(s *Settings) *Reduction { return &s.FP16Reduction }),
	code(12, func(s *Settings) *Reduction { return &s.BF16Reduction }),
	code(13, func(s *Settings) *Switch { return &s.FP16Accumulation }),
	code(14, func(s *Settings) *Switch { return &s.FlashAttention }),
	code(15, func(s *Settings) *Switch { return &s.MemEfficientAttention }),
	code(16, func(s *Settings) *Switch { return &s.MathAttention }),
	code(17, func(s *Settings) *Switch { return &s.CUDNNAttention }),
	code(18, func(s *Settings) *Switch { return &s.MathReduction }),
}

// code is a field that is libtorch's value plus one, so that 0 is left for "unchanged".
func code[T ~int8](number int, at func(*Settings) *T) field {
	return field{number,
		func(s *Settings, v int) { *at(s) = T(v + 1) },
		func(s *Settings) (int, bool) { return int(*at(s)) - 1, *at(s) != 0 },
	}
}

// Current returns all settings as they are.
func Current() (s Settings) {
	for _, f := range fields {
		var c cgo.Call
		c.Begin(cgo.OpGetSetting)
		c.Int(f.number)
		torch.RawDone(&c)
		f.load(&s, c.IntResult(0))
	}
	return s
}

// Set changes the settings whose fields are not zero, for the whole process.
func Set(s Settings) {
	for _, f := range fields {
		v, given := f.store(&s)
		if !given {
			continue
		}
		var c cgo.Call
		c.Begin(cgo.OpSetSetting)
		c.Int(f.number)
		c.Int(v)
		torch.RawDone(&c)
	}
}

// With runs fn with the settings and puts back what was there before, also when fn
// panics. Other goroutines see the change too.
func With(s Settings, fn func()) {
	before := Current()
	defer Set(before)
	Set(s)
	fn()
}

// String is "on", "off" or "unchanged".
func (s Switch) String() string {
	if s < Unchanged || s > On {
		return fmt.Sprintf("Switch(%d)", int8(s))
	}
	return [...]string{"unchanged", "off", "on"}[s]
}

// String is PyTorch's name: "tf32".
func (p Precision) String() string {
	if p < PrecisionUnchanged || p > BF16 {
		return fmt.Sprintf("Precision(%d)", int8(p))
	}
	return [...]string{"unchanged", "none", "ieee", "tf32", "bf16"}[p]
}

// String names how far the precision may go.
func (r Reduction) String() string {
	if r < ReductionUnchanged || r > FullPrecisionNoSplit {
		return fmt.Sprintf("Reduction(%d)", int8(r))
	}
	return [...]string{"unchanged", "reduced", "full", "full, no split"}[r]
}
