package mkldnn

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

// Precision is how float32 operations may compute inside. The zero Precision changes nothing.
type Precision = switches.Precision

// The precisions. The lower ones are permissions: oneDNN uses them if the processor has
// instructions for them, and computes in float32 otherwise.
var (
	PrecisionUnchanged = switches.PrecisionUnchanged
	PrecisionDefault   = switches.PrecisionDefault // libtorch's own choice: float32
	IEEE               = switches.IEEE             // float32 throughout
	TF32               = switches.TF32             // products of 10 bits of mantissa, with AMX
	BF16               = switches.BF16             // bfloat16 products, float32 sums
)

// Settings are libtorch's switches for oneDNN. Zero fields are left as they are.
type Settings struct {
	Enabled       Switch    // use oneDNN at all; default On
	Deterministic Switch    // only kernels that give the same bits each time; default Off
	Conv          Precision // of float32 convolutions; default PrecisionDefault
	RNN           Precision // of float32 recurrent layers; default PrecisionDefault
	MatMul        Precision // of float32 matrix products; default PrecisionDefault
}

// table has all settings, by their numbers in cgo/shim/settings.cc.
var table = switches.Table[Settings]{
	switches.Code(cgo.SettingMKLDNNEnabled, func(s *Settings) *Switch { return &s.Enabled }),
	switches.Code(cgo.SettingMKLDNNDeterministic, func(s *Settings) *Switch { return &s.Deterministic }),
	switches.Code(cgo.SettingMKLDNNConvPrecision, func(s *Settings) *Precision { return &s.Conv }),
	switches.Code(cgo.SettingMKLDNNRNNPrecision, func(s *Settings) *Precision { return &s.RNN }),
	switches.Code(cgo.SettingMKLDNNMatMulPrecision, func(s *Settings) *Precision { return &s.MatMul }),
}

// Current returns all settings as they are.
func Current() Settings { return table.Current() }

// Set changes the settings whose fields are not zero, for the whole process.
func Set(s Settings) { table.Set(s) }

// With runs fn with the settings and restores the ones before, also if fn panics. Other
// goroutines see the change too.
func With(s Settings, fn func()) { table.With(s, fn) }
