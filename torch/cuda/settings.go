package cuda

import (
	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/switches"
)

// Switch is a setting that is on, off, or left as it is: the zero Switch changes nothing.
type Switch = switches.Switch

// The states of a Switch.
var (
	Unchanged = switches.Unchanged
	Off       = switches.Off
	On        = switches.On
)

// Precision is how float32 operations may compute inside. The zero Precision changes
// nothing.
type Precision = switches.Precision

// The precisions.
var (
	PrecisionUnchanged = switches.PrecisionUnchanged
	PrecisionDefault   = switches.PrecisionDefault // libtorch's own choice
	IEEE               = switches.IEEE             // float32 throughout
	TF32               = switches.TF32             // TensorFloat-32: 10 bits of mantissa, on tensor cores
	BF16               = switches.BF16             // bfloat16 products, float32 sums
)

// Reduction is how cuBLAS may add up products of half precision. The zero Reduction changes
// nothing.
type Reduction = switches.Reduction

// The reductions, libtorch's CuBLASReductionOption plus one.
var (
	ReductionUnchanged   = switches.ReductionUnchanged
	ReducedPrecision     = switches.ReducedPrecision     // partial sums may be in half precision
	FullPrecision        = switches.FullPrecision        // sums are in float32
	FullPrecisionNoSplit = switches.FullPrecisionNoSplit // and one kernel adds up all of a sum: the same bits whatever the shape
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

	// The kernels that scaled dot product attention may use; it takes the first one that supports
	// the arguments.
	FlashAttention        Switch // default On
	MemEfficientAttention Switch // default On
	CUDNNAttention        Switch // default On
	MathAttention         Switch // plain operators, which support everything; default On
	MathReduction         Switch // half-precision sums in those; default Off

	// DeterministicAlgorithms makes operators without a deterministic kernel fail, and fills new
	// memory; default Off.
	DeterministicAlgorithms Switch
	DeterministicWarnOnly   Switch // warn instead of failing; default Off
	FillUninitialized       Switch // the filling; default On
}

// table has all settings. Those of oneDNN are in torch/mkldnn.
var table = switches.Table[Settings]{
	switches.Code(cgo.SettingCuDNNEnabled, func(s *Settings) *Switch { return &s.CUDNN }),
	switches.Code(cgo.SettingCuDNNBenchmark, func(s *Settings) *Switch { return &s.Benchmark }),
	{
		Setting: cgo.SettingCuDNNBenchmarkLimit,
		Load: func(s *Settings, v int) {
			if s.BenchmarkLimit = v; v == 0 {
				s.BenchmarkLimit = -1 // libtorch's 0 is "all"
			}
		},
		Store: func(s *Settings) (int, bool) { return max(0, s.BenchmarkLimit), s.BenchmarkLimit != 0 },
	},
	switches.Code(cgo.SettingCuDNNDeterministic, func(s *Settings) *Switch { return &s.Deterministic }),
	switches.Code(cgo.SettingCudaConvPrecision, func(s *Settings) *Precision { return &s.Conv }),
	switches.Code(cgo.SettingCudaRNNPrecision, func(s *Settings) *Precision { return &s.RNN }),
	switches.Code(cgo.SettingCudaMatMulPrecision, func(s *Settings) *Precision { return &s.MatMul }),
	switches.Code(cgo.SettingDeterministicAlgorithms, func(s *Settings) *Switch { return &s.DeterministicAlgorithms }),
	switches.Code(cgo.SettingDeterministicWarnOnly, func(s *Settings) *Switch { return &s.DeterministicWarnOnly }),
	switches.Code(cgo.SettingDeterministicFill, func(s *Settings) *Switch { return &s.FillUninitialized }),
	switches.Code(cgo.SettingCuBLASFP16Reduction, func(s *Settings) *Reduction { return &s.FP16Reduction }),
	switches.Code(cgo.SettingCuBLASBF16Reduction, func(s *Settings) *Reduction { return &s.BF16Reduction }),
	switches.Code(cgo.SettingCuBLASFP16Accumulation, func(s *Settings) *Switch { return &s.FP16Accumulation }),
	switches.Code(cgo.SettingFlashAttention, func(s *Settings) *Switch { return &s.FlashAttention }),
	switches.Code(cgo.SettingMemEfficientAttention, func(s *Settings) *Switch { return &s.MemEfficientAttention }),
	switches.Code(cgo.SettingMathAttention, func(s *Settings) *Switch { return &s.MathAttention }),
	switches.Code(cgo.SettingCuDNNAttention, func(s *Settings) *Switch { return &s.CUDNNAttention }),
	switches.Code(cgo.SettingMathAttentionReduction, func(s *Settings) *Switch { return &s.MathReduction }),
}

// Current returns all settings as they are.
func Current() Settings { return table.Current() }

// Set changes the settings whose fields are not zero, for the whole process.
func Set(s Settings) { table.Set(s) }

// With runs fn with the settings and restores the ones before, also if fn panics. Other
// goroutines see the change too.
func With(s Settings, fn func()) { table.With(s, fn) }
