package switches

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
	PrecisionDefault
	IEEE
	TF32
	BF16
)

// Field is one of the settings of the struct S: its number in cgo/shim/settings.cc, and how a
// field of S stands for libtorch's value.
type Field[S any] struct {
	Number int
	Load   func(s *S, v int)
	Store  func(s *S) (v int, given bool)
}

// Code is a field that is libtorch's value plus one, so that 0 is left for "unchanged".
func Code[S any, T ~int8](number int, at func(*S) *T) Field[S] {
	return Field[S]{number,
		func(s *S, v int) { *at(s) = T(v + 1) },
		func(s *S) (int, bool) { return int(*at(s)) - 1, *at(s) != 0 },
	}
}

// Table has all fields of S.
type Table[S any] []Field[S]

// Current returns all settings as they are.
func (t Table[S]) Current() (s S) {
	for _, f := range t {
		var c cgo.Call
		c.Begin(cgo.OpGetSetting)
		c.Int(f.Number)
		torch.RawDone(&c)
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
		c.Int(f.Number)
		c.Int(v)
		torch.RawDone(&c)
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
