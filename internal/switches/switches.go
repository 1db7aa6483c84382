package switches

import (
	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
)

// Switch is a setting that is on, off, or left as it is.
type Switch struct{ n int8 }

// The states of a Switch; the zero Switch changes nothing.
var (
	Unchanged = Switch{0}
	Off       = Switch{1}
	On        = Switch{2}
)

// Precision is how float32 operations may compute inside. The zero Precision changes
// nothing.
type Precision struct{ n int8 }

// The precisions, libtorch's Float32Precision plus one.
var (
	PrecisionUnchanged = Precision{0}
	PrecisionDefault   = Precision{1}
	IEEE               = Precision{2}
	TF32               = Precision{3}
	BF16               = Precision{4}
)

// Reduction is how cuBLAS may add up products of half precision. The zero Reduction changes
// nothing.
type Reduction struct{ n int8 }

// The reductions, libtorch's CuBLASReductionOption plus one.
var (
	ReductionUnchanged   = Reduction{0}
	ReducedPrecision     = Reduction{1}
	FullPrecision        = Reduction{2}
	FullPrecisionNoSplit = Reduction{3}
)

// state is what all of them are: libtorch's value plus one, so that 0 is left for "unchanged".
type state struct{ n int8 }

// Field is one of the settings of the struct S, which cgo/shim/settings.def numbers, and how a
// field of S stands for libtorch's value.
type Field[S any] struct {
	Setting cgo.Setting
	Load    func(s *S, v int)
	Store   func(s *S) (v int, given bool)
}

// Code is a field that is libtorch's value plus one, so that 0 is left for "unchanged".
func Code[S any, T ~struct{ n int8 }](setting cgo.Setting, at func(*S) *T) Field[S] {
	return Field[S]{setting,
		func(s *S, v int) { *at(s) = T(state{int8(v + 1)}) },
		func(s *S) (int, bool) { v := state(*at(s)); return int(v.n) - 1, v.n != 0 },
	}
}

// Table has all fields of S.
type Table[S any] []Field[S]

// Current returns all settings as they are.
func (t Table[S]) Current() (s S) {
	for _, f := range t {
		var c cgo.Call
		c.Begin(cgo.OpGetSetting)
		c.Int(int(f.Setting))
		bridge.Done(&c)
		f.Load(&s, c.IntResult(0))
	}
	return s
}

// Set changes the settings whose fields are not zero, for the whole process.
func (t Table[S]) Set(s S) {
	for _, f := range t {
		v, given := f.Store(&s)
		if !given {
			continue
		}
		var c cgo.Call
		c.Begin(cgo.OpSetSetting)
		c.Int(int(f.Setting))
		c.Int(v)
		bridge.Done(&c)
	}
}

// With runs fn with the settings and puts back what was there before, also when fn panics.
func (t Table[S]) With(s S, fn func()) {
	before := t.Current()
	defer t.Set(before)
	t.Set(s)
	fn()
}

// String is "on", "off" or "unchanged".
func (s Switch) String() string { return [...]string{"unchanged", "off", "on"}[s.n] }

// String is PyTorch's name: "tf32".
func (p Precision) String() string {
	return [...]string{"unchanged", "none", "ieee", "tf32", "bf16"}[p.n]
}

// String names how far the precision may go.
func (r Reduction) String() string {
	return [...]string{"unchanged", "reduced", "full", "full, no split"}[r.n]
}
