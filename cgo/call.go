package cgo

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Words and pins that fit into a Call itself; longer argument lists go to the heap.
const (
	inlineWords = 20
	inlinePins  = 4
	frameOut    = 10
)

// none is the word for an argument that was not given.
const none = ^uint64(0)

// frame mirrors tg_frame in shim/torchgo.h.
type frame struct {
	kind  uint32
	code  int32
	flags uint32
	count uint32
	scope uint64
	msg   uint64
	more  uint64
	out   [frameOut]uint64
}

const (
	flagWarned   = 1
	flagPressure = 2
	flagDropped  = 4
	flagTrail    = 8
)

// Call is one trip through the door. The zero value is ready for Begin; a Call lives on
// the stack of the function that makes it and is used once.
type Call struct {
	op       Op
	n        int32 // words written so far
	pins     int32
	back     bool // the call went through the door that leads back
	words    [inlineWords]uint64
	long     []uint64 // all words, once they no longer fit
	pinned   [inlinePins]*Handle
	morePins []*Handle
	lost     *Handle // an argument that was closed
	room     *room   // what long and morePins lie in
	opaque   uint64  // bit i: the i-th pin is no tensor
	frame    frame
}

// Begin starts a call of op. Arguments follow in the order of its schema.
func (c *Call) Begin(op Op) { c.op = op }

func (c *Call) put(w uint64) {
	if c.n < inlineWords {
		c.words[c.n] = w
		c.n++
		return
	}
	c.spill(w)
}

//go:noinline
func (c *Call) spill(w uint64) {
	c.extend()
	if len(c.long) == 0 {
		c.long = append(c.long, c.words[:]...)
	}
	c.long = append(c.long, w)
}

//go:noinline
func (c *Call) spillPin(h *Handle) {
	c.extend()
	c.morePins = append(c.morePins, h)
}

// room holds the words and pins of calls with many arguments, one call after the other: a
// step of an optimizer has hundreds of them.
type room struct {
	words []uint64
	pins  []*Handle
}

// maxRoom is how many words or pins are kept for a next call.
const maxRoom = 4096

var rooms = sync.Pool{New: func() any { return &room{make([]uint64, 0, 16*inlineWords), make([]*Handle, 0, 16*inlineWords)} }}

// extend takes a room, if the call has none.
func (c *Call) extend() {
	if c.room == nil {
		c.room = rooms.Get().(*room)
		c.long, c.morePins = c.room.words, c.room.pins
	}
}

// leaveRoom gives the room to the next call.
//
//go:noinline
func (c *Call) leaveRoom() {
	clear(c.morePins)
	c.room.words, c.room.pins = c.long[:0], c.morePins[:0]
	if cap(c.long) <= maxRoom && cap(c.morePins) <= maxRoom {
		rooms.Put(c.room)
	}
	c.room, c.long, c.morePins = nil, nil, nil
}

// Tensor adds a tensor, or nothing for nil: the undefined tensor, None.
func (c *Call) Tensor(h *Handle) {
	if h == nil {
		c.put(0)
		return
	}
	if !h.pin() {
		c.lost = h
		c.put(0)
		return
	}
	h.watchRead(c.op)
	if c.pins < inlinePins {
		c.pinned[c.pins] = h
		c.pins++
	} else {
		c.spillPin(h)
	}
	c.put(uint64(h.impl.Load()))
}

// Changed adds a tensor that the call writes to.
func (c *Call) Changed(h *Handle) {
	c.Tensor(h)
	if h != nil && c.lost != h {
		h.watchWrite(c.op)
	}
}

// Object adds any other object that a handle owns, a generator for example.
func (c *Call) Object(h *Handle) {
	if h != nil {
		c.opaque |= 1 << (int(c.pins) + len(c.morePins))
	}
	c.Tensor(h)
}

// Flag adds a number that C++ looks at while the call lasts, or none. It is pinned by who calls.
func (c *Call) Flag(f *atomic.Uint32) { c.put(uint64(uintptr(unsafe.Pointer(f)))) }

// List announces n tensors.
func (c *Call) List(n int) { c.put(uint64(n)) }

// Int adds an int or a SymInt.
func (c *Call) Int(v int) { c.put(uint64(v)) }

// Word adds 64 bits as they are.
func (c *Call) Word(v uint64) { c.put(v) }

// Code adds an enumerator: a dtype, layout, memory format or device; -1 is "none".
func (c *Call) Code(v int64) { c.put(uint64(v)) }

// OptInt adds an optional int.
func (c *Call) OptInt(v *int) {
	if v == nil {
		c.put(0)
		c.put(0)
		return
	}
	c.put(1)
	c.put(uint64(*v))
}

// Float adds a float.
func (c *Call) Float(v float64) { c.put(math.Float64bits(v)) }

// OptFloat adds an optional float.
func (c *Call) OptFloat(v *float64) {
	if v == nil {
		c.put(0)
		c.put(0)
		return
	}
	c.put(1)
	c.put(math.Float64bits(*v))
}

// Bool adds a bool.
func (c *Call) Bool(v bool) {
	if v {
		c.put(1)
	} else {
		c.put(0)
	}
}

// OptBool adds an optional bool.
func (c *Call) OptBool(v *bool) {
	if v == nil {
		c.put(none)
		return
	}
	c.Bool(*v)
}

// Ints adds a list of ints.
func (c *Call) Ints(v []int) {
	c.put(uint64(len(v)))
	for _, i := range v {
		c.put(uint64(i))
	}
}

// OptInts adds an optional list of ints: nil is none, an empty list is a list.
func (c *Call) OptInts(v []int) {
	if v == nil {
		c.put(none)
		return
	}
	c.Ints(v)
}

// Floats adds a list of floats.
func (c *Call) Floats(v []float64) {
	c.put(uint64(len(v)))
	for _, f := range v {
		c.Float(f)
	}
}

// OptFloats adds an optional list of floats: nil is none.
func (c *Call) OptFloats(v []float64) {
	if v == nil {
		c.put(none)
		return
	}
	c.Floats(v)
}

// Bools adds a list of bools.
func (c *Call) Bools(v []bool) {
	c.put(uint64(len(v)))
	for _, b := range v {
		c.Bool(b)
	}
}

// Str adds a string.
func (c *Call) Str(s string) {
	c.put(uint64(len(s)))
	for len(s) > 0 {
		var w [8]byte
		n := copy(w[:], s)
		c.put(*(*uint64)(unsafe.Pointer(&w)))
		s = s[n:]
	}
}

// OptStr adds an optional string.
func (c *Call) OptStr(s *string) {
	if s == nil {
		c.put(none)
		return
	}
	c.Str(*s)
}

// Tags of a scalar, as in shim/wire.h.
const (
	tagNone = iota
	tagFloat
	tagInt
	tagBool
	tagComplex
	tagNatural
)

// NoScalar adds an optional number that was not given.
func (c *Call) NoScalar() { c.put(tagNone) }

// ScalarInt, ScalarFloat, ScalarBool and ScalarComplex add a number.
func (c *Call) ScalarInt(v int64) { c.put(tagInt); c.put(uint64(v)) }

// ScalarUint adds an integer that an int64 may not hold.
func (c *Call) ScalarUint(v uint64) { c.put(tagNatural); c.put(v) }

// ScalarFloat adds a floating-point number.
func (c *Call) ScalarFloat(v float64) { c.put(tagFloat); c.Float(v) }

// ScalarBool adds a boolean.
func (c *Call) ScalarBool(v bool) { c.put(tagBool); c.Bool(v) }

// ScalarComplex adds a complex number.
func (c *Call) ScalarComplex(v complex128) {
	c.put(tagComplex)
	c.Float(real(v))
	c.Float(imag(v))
}

// Run passes the call through the door. After an error the call holds no results.
func (c *Call) Run() *Error { return c.run(nil) }

// RunData is Run for the few entries that read or write a block of memory.
func (c *Call) RunData(data unsafe.Pointer) *Error { return c.run(data) }

// RunGated is Run for an entry that computes for long, as the heavy operators do.
func (c *Call) RunGated() *Error {
	place := admit()
	defer place.leave()
	return c.run(nil)
}

func (c *Call) run(data unsafe.Pointer) *Error {
	if c.lost != nil || !loaded.Load() {
		if err := c.refuse(); err != nil {
			return err
		}
	}
	if detours.Load() != 0 && data == nil {
		return c.runBack()
	}
	words := &c.words[0]
	if len(c.long) > 0 {
		words = &c.long[0]
	}
	switch {
	case data != nil:
		doorData(c.op, words, data, &c.frame)
	case c.op.heavy():
		place := admit()
		door(c.op, words, &c.frame)
		place.leave()
	default:
		door(c.op, words, &c.frame)
	}
	var err *Error
	if c.frame.kind != 0 || c.frame.flags != 0 || garbage.pending.Load() {
		err = c.attend(words, data)
	}
	c.unpin()
	return err
}

// refuse returns the error of a call that must not be made, and opens the library
// before the first call.
//
//go:noinline
func (c *Call) refuse() *Error {
	if c.lost != nil {
		defer c.unpin()
		return &Error{Op: c.op.String(), Kind: KindClosed, Msg: c.lost.whyClosed(), Args: c.describe()}
	}
	if err := Load(); err != nil {
		c.unpin()
		return &Error{Op: c.op.String(), Kind: KindLibrary, Msg: err.Error()}
	}
	return nil
}

// attend handles what came back with the results: an error, warnings, memory that waits
// to be freed, memory pressure.
//
//go:noinline
func (c *Call) attend(words *uint64, data unsafe.Pointer) *Error {
	if c.frame.kind == uint32(KindOutOfMemory.n) {
		Collect() // the call cannot be repeated here, but the program may try again
		pressure.exhausted.Add(1)
		if c.op.functional() {
			c.again(words, data)
		}
	}
	if c.frame.flags&flagWarned != 0 {
		deliverWarnings()
	}
	var err *Error
	if c.frame.kind != 0 {
		err = c.error()
	}
	if c.frame.flags&flagDropped != 0 {
		takeDropped()
	}
	if err != nil {
		return err
	}
	garbage.drain()
	if c.frame.flags&flagPressure != 0 {
		relieve(hostMemory)
	}
	return nil
}

// again repeats a call that failed because memory ran out, through the same door.
func (c *Call) again(words *uint64, data unsafe.Pointer) {
	takeString(c.frame.msg, -1)
	c.frame = frame{}
	switch {
	case c.back:
		c.passBack()
	case data == nil:
		door(c.op, words, &c.frame)
	default:
		doorData(c.op, words, data, &c.frame)
	}
}

// Name is the operator's.
func (c *Call) Name() string { return c.op.String() }

// Abandon releases the arguments of a call that will not be run.
func (c *Call) Abandon() { c.unpin() }

func (c *Call) unpin() {
	for i := range c.pins {
		c.pinned[i].unpin()
	}
	for _, h := range c.morePins {
		h.unpin()
	}
	if c.room != nil {
		c.leaveRoom()
	}
}
