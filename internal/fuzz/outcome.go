package fuzz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// outcome is what came of a call.
type outcome struct {
	kind  string // see below
	text  string // of the error or panic
	hash  uint64 // of results, gradients and what was written to
	where string // of the results, a word each, to tell what differs
}

// The kinds of outcomes.
const (
	returned = "ok"
	refused  = "error"  // *torch.Error, or an error where the function returns one
	panicked = "panic"  // with anything else
	unfit    = "unfit"  // no Go program can make that call
	uncooked = "unmade" // the arguments could not be made
)

// try runs fn and says how it ended.
func try(fn func() (hash uint64, where string)) (o outcome) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case misfit:
			o = outcome{kind: unfit, text: e.text}
		case unmade:
			o = outcome{kind: uncooked, text: e.text}
		case *torch.Error:
			o = outcome{kind: refused, text: e.Error()}
		default:
			o = outcome{kind: panicked, text: fmt.Sprint(e), where: origin(string(debug.Stack()))}
		}
	}()
	o.hash, o.where = fn()
	o.kind = returned
	return o
}

// origin is where a panic comes from: the functions and lines below it.
func origin(stack string) string {
	_, below, _ := strings.Cut(stack, "\npanic(")
	lines := strings.Split(below, "\n")
	const frames = 4
	return strings.Join(lines[min(2, len(lines)):min(2+2*frames, len(lines))], "\n")
}

// run makes the call of a case in a scope of its own.
func (t *target) run(c Case, log *log) (o outcome) {
	m := &maker{log: log}
	log.stage(stageMake)
	defer func() {
		log.stage(stageFree)
		if end := try(func() (uint64, string) { m.close(); return 0, "" }); end.kind != returned {
			o = end
		}
	}()
	o = try(func() (hash uint64, where string) {
		torch.Scope(func() {
			out := t.call(m, c.Args)
			log.stage(stageRead)
			if err := failure(out); err != nil {
				o.text = err.Error()
				hash = 1
				return
			}
			var h hasher
			h.h.SetSeed(hashSeed)
			h.all(out)
			if t.writes {
				h.tensors(m.made)
			}
			if len(m.leaves) > 0 {
				log.stage(stageBackward)
				h.tensors(m.gradients(out))
			}
			hash, where = h.h.Sum64(), h.where.String()
		})
		return hash, where
	})
	if o.kind == refused && !m.called {
		o.kind = uncooked
	}
	return o
}

// failure is the error among the results of a function that returns one.
func failure(out []any) error {
	for _, v := range out {
		if err, ok := v.(error); ok {
			return err
		}
	}
	return nil
}

// gradients runs the backward pass from the results that have one.
func (m *maker) gradients(out []any) []torch.Tensor {
	var roots, seeds []torch.Tensor
	for _, t := range flat(out) {
		if t.Defined() && !t.Closed() && t.RequiresGrad() {
			roots = append(roots, t)
			seeds = append(seeds, torch.OnesLike(t))
		}
	}
	if len(roots) == 0 {
		return nil
	}
	return torch.Grad(roots, m.leaves, torch.GradOptions{GradOutputs: seeds, AllowUnused: true})
}

func flat(out []any) (list []torch.Tensor) {
	for _, v := range out {
		switch v := v.(type) {
		case torch.Tensor:
			list = append(list, v)
		case []torch.Tensor:
			list = append(list, v...)
		case []any:
			list = append(list, flat(v)...)
		}
	}
	return list
}

var hashSeed = maphash.MakeSeed()

// hasher takes in all that can be told of results.
type hasher struct {
	h     maphash.Hash
	where strings.Builder
}

func (h *hasher) word(v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	h.h.Write(b[:])
}

func (h *hasher) all(out []any) {
	for _, v := range out {
		switch v := v.(type) {
		case nil:
			h.word(0)
		case torch.Tensor:
			h.tensor(v)
		case []torch.Tensor:
			h.tensors(v)
		case []any:
			h.all(v)
		case float64:
			h.word(math.Float64bits(v))
		case int:
			h.word(uint64(v))
		case int64:
			h.word(uint64(v))
		case bool, string, complex128, torch.Device, torch.DType, torch.Scalar, []int:
			fmt.Fprint(&h.h, v)
		default:
			if k := reflect.ValueOf(v).Kind(); k == reflect.Pointer || k == reflect.Struct || k == reflect.Func {
				continue // a module, an iterator: their results are asked for elsewhere
			}
			fmt.Fprint(&h.h, v)
		}
	}
}

func (h *hasher) tensors(list []torch.Tensor) {
	for _, t := range list {
		h.tensor(t)
	}
}

const readAtMost = 1 << 16 // bytes of a result

// tensor takes in dtype, shape and elements, as far as these can be read.
func (h *hasher) tensor(t torch.Tensor) {
	if !t.Defined() || t.Closed() {
		h.word(1)
		return
	}
	before := h.h.Sum64()
	d, layout := t.DType(), t.Layout()
	h.word(uint64(bridge.Code(d)+1)<<8 | uint64(bridge.Code(layout)+1))
	if err := torch.Try(func() { h.elements(t, d, layout) }); err != nil {
		h.word(2) // nested: no shape, and no elements to be had
	}
	fmt.Fprintf(&h.where, "%v:%x ", d, (h.h.Sum64()^before)&0xffff)
}

func (h *hasher) elements(t torch.Tensor, d torch.DType, layout torch.Layout) {
	switch layout {
	case torch.Strided:
		for _, s := range t.Shape() {
			h.word(uint64(s))
		}
		if t.Device() != torch.CPU {
			return
		}
		if n := t.NumEl(); n*t.ElementSize() <= readAtMost && !quantized(d) {
			h.h.Write(t.Detach().Bytes())
		}
	case torch.Sparse:
		h.tensor(call("_indices", t))
		h.tensor(call("_values", t))
	case torch.SparseCSR, torch.SparseBSR:
		h.tensor(call("crow_indices", t))
		h.tensor(call("col_indices", t))
		h.tensor(call("values", t))
	case torch.SparseCSC, torch.SparseBSC:
		h.tensor(call("ccol_indices", t))
		h.tensor(call("row_indices", t))
		h.tensor(call("values", t))
	}
}

func quantized(d torch.DType) bool {
	switch d {
	case torch.QInt8, torch.QUint8, torch.QInt32, torch.QUint4x2, torch.QUint2x4, torch.Bits1x8, torch.Bits2x4, torch.Bits4x2,
		torch.Bits8, torch.Bits16:
		return true
	}
	return false
}

// isTorch tells whether an error is one of ours.
func isTorch(err error) bool {
	var e *torch.Error
	return errors.As(err, &e)
}
