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

// Settings are libtorch's switches for CUDA libraries. Zero fields are left as they are.
type Settings struct {
	CUDNN          Switch    // use cuDNN at all; default On
	Benchmark      Switch    // try cuDNN's algorithms for each new shape and keep the fastest; default Off
	BenchmarkLimit int       // how many to try; default 10, -1 for all
	Deterministic  Switch    // only cuDNN algorithms that give the same bits each time; default Off
	Conv           Precision // of float32 convolutions; default TF32
	RNN            Precision // of float32 recurrent layers; default TF32
	MatMul         Precision // of float32 matrix products; default PrecisionDefault (IEEE)

	// DeterministicAlgorithms makes operators without a deterministic kernel fail;
	// default Off.
	DeterministicAlgorithms Switch
}

// setting numbers, as in cgo/shim/settings.cc.
const (
	settingCUDNN = iota
	settingBenchmark
	settingBenchmarkLimit
	settingDeterministic
	settingConv
	settingRNN
	settingMatMul
	settingDeterministicAlgorithms
)

// Current returns all settings as they are.
func Current() Settings {
	return Settings{
		CUDNN:                   switchOf(get(settingCUDNN)),
		Benchmark:               switchOf(get(settingBenchmark)),
		BenchmarkLimit:          get(settingBenchmarkLimit),
		Deterministic:           switchOf(get(settingDeterministic)),
		Conv:                    Precision(get(settingConv) + 1),
		RNN:                     Precision(get(settingRNN) + 1),
		MatMul:                  Precision(get(settingMatMul) + 1),
		DeterministicAlgorithms: switchOf(get(settingDeterministicAlgorithms)),
	}
}

// Set changes the settings whose fields are not zero, for the whole process.
func Set(s Settings) {
	setSwitch(settingCUDNN, s.CUDNN)
	setSwitch(settingBenchmark, s.Benchmark)
	if s.BenchmarkLimit != 0 {
		set(settingBenchmarkLimit, max(0, s.BenchmarkLimit)) // libtorch's 0 is "all"
	}
	setSwitch(settingDeterministic, s.Deterministic)
	setPrecision(settingConv, s.Conv)
	setPrecision(settingRNN, s.RNN)
	setPrecision(settingMatMul, s.MatMul)
	setSwitch(settingDeterministicAlgorithms, s.DeterministicAlgorithms)
}

// With runs fn with the settings and puts back what was there before, also when fn
// panics. Other goroutines see the change too.
func With(s Settings, fn func()) {
	before := Current()
	defer Set(before)
	Set(s)
	fn()
}

func switchOf(v int) Switch {
	if v != 0 {
		return On
	}
	return Off
}

func setSwitch(i int, s Switch) {
	if s != Unchanged {
		set(i, int(s-Off))
	}
}

func setPrecision(i int, p Precision) {
	if p != PrecisionUnchanged {
		set(i, int(p-1))
	}
}

func get(i int) int {
	var c cgo.Call
	c.Begin(cgo.OpGetSetting)
	c.Int(i)
	torch.RawDone(&c)
	return c.IntResult(0)
}

func set(i, v int) {
	var c cgo.Call
	c.Begin(cgo.OpSetSetting)
	c.Int(i)
	c.Int(v)
	torch.RawDone(&c)
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
