package cgo

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtorch-go/libtorch/internal/frames"
)

// Go values that C++ refers to: C++ has their numbers, Go keeps the values. When the
// last C++ object that holds a number dies, on whatever thread, it leaves a note, which
// a later call brings back to Go.
var lent struct {
	mu     sync.RWMutex
	last   uint64
	values map[uint64]any
	count  atomic.Int64 // of the values
}

// Lend gives a value a number under which C++ refers to it from now on. A value with a
// method Close is closed when C++ lets go of it.
func Lend(v any) uint64 {
	lent.mu.Lock()
	defer lent.mu.Unlock()
	if lent.values == nil {
		lent.values = map[uint64]any{}
	}
	lent.last++ // 0 is no number
	lent.values[lent.last] = v
	lent.count.Add(1)
	return lent.last
}

// Lent is the value with that number, or nil.
func Lent(id uint64) any {
	lent.mu.RLock()
	defer lent.mu.RUnlock()
	return lent.values[id]
}

// TakeBack ends the loan of a value that C++ does not refer to, and returns it.
func TakeBack(id uint64) any {
	lent.mu.Lock()
	defer lent.mu.Unlock()
	v, ok := lent.values[id]
	if ok {
		delete(lent.values, id)
		lent.count.Add(-1)
	}
	return v
}

// LentValues counts the values that C++ refers to.
func LentValues() int {
	if loaded.Load() {
		takeDropped()
	}
	return int(lent.count.Load())
}

// takeDropped ends the loans that C++ has dropped.
func takeDropped() {
	var c Call
	c.Begin(OpDropped)
	c.ask()
	for _, id := range c.Words(0) {
		if v, ok := TakeBack(id).(interface{ Close() }); ok {
			v.Close()
		}
	}
}

// Callback is a Go function that libtorch calls by the number that [Lend] gave it.
type Callback struct {
	Name string // for errors
	Func func(*Turn)
}

// Turn is one call of a Callback. It runs in a scope of its own.
type Turn struct {
	Arg   uint64    // what else the shim passes
	In    []*Handle // the tensors it is called with; nil is the undefined one
	Out   []*Handle // the callback puts its resulting tensors here
	Value any       // or the result that is not a tensor, which is lent
}

// serve runs a callback for C++. It returns the number of its failure, or 0.
func serve(id, arg uint64, in, out []uint64) uint64 {
	gate.callbacks.Add(1)
	defer gate.callbacks.Add(-1)
	callback := Lent(id).(*Callback)
	failed := Contain(func() {
		scope, err := EnterScope()
		if err != nil {
			panic(err)
		}
		defer scope.Leave()
		t := &Turn{Arg: arg, Out: make([]*Handle, len(out))}
		for _, word := range in {
			t.In = append(t.In, adopt(word, scope.id))
		}
		callback.Func(t)
		t.answer(out)
	})
	if failed == nil {
		return 0
	}
	failed.Name = callback.Name
	return Lend(failed)
}

// answer gives C++ its own references to the results.
func (t *Turn) answer(out []uint64) {
	if t.Value != nil {
		out[0] = Lend(t.Value)
		return
	}
	answered := false
	defer func() {
		if !answered {
			freeWords(append([]uint64{0}, slices.DeleteFunc(slices.Clone(out), func(w uint64) bool { return w == 0 })...))
			clear(out)
		}
	}()
	for i, h := range t.Out {
		var c Call
		c.Begin(OpDup)
		c.Tensor(h)
		if err := c.Run(); err != nil {
			panic(err)
		}
		out[i] = c.frame.out[0]
	}
	answered = true
}

// CallbackPanic is the panic or the Goexit that ended a Callback early.
type CallbackPanic struct {
	Name    string    // of the callback
	Value   any       // what it panicked with
	Stack   []byte    // where, as text
	Callers []uintptr // where, in the form that runtime.CallersFrames takes
	Exit    bool      // by runtime.Goexit instead
}

// Error is the callback's name, the value and the program's line.
func (p *CallbackPanic) Error() string {
	text := fmt.Sprintf("%s failed: %v", p.Name, p.Value)
	if at := frames.Place(p.Callers); at != "" {
		text += ", at " + at
	}
	return text
}

// Unwrap is the value, if that is an error.
func (p *CallbackPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// detours counts the modes in the process in which every call may enter Go or must
// report the Go code it comes from.
var detours atomic.Int32

// Detour runs fn. Every call in it is prepared to enter Go, whatever it does.
func Detour(fn func()) {
	detours.Add(1)
	defer detours.Add(-1)
	fn()
}

// tracing counts the regions in which every call says where it comes from.
var tracing atomic.Int32

// Traced runs fn. Every call in it tells C++ the Go code that it comes from.
func Traced(fn func()) {
	tracing.Add(1)
	defer tracing.Add(-1)
	Detour(fn)
}

// RunBack is Run for an entry that may enter Go again: every entry that runs autograd.
func (c *Call) RunBack() *Error {
	if c.lost != nil || !loaded.Load() {
		if err := c.refuse(); err != nil {
			return err
		}
	}
	return c.runBack()
}

func (c *Call) runBack() *Error {
	// A Go function may wait for another goroutine, so a call that might run one cannot keep a
	// place in the gate.
	if lent.count.Load() == 0 {
		place := admit()
		c.passBack()
		place.leave()
	} else {
		c.passBack()
	}
	err := c.attend(nil, nil)
	c.unpin()
	if err != nil {
		if p, ok := err.Cause.(*CallbackPanic); ok && p.Exit {
			runtime.Goexit()
		}
	}
	return err
}

// trip is a call on the heap: while C++ is in Go again, the goroutine's stack may move.
type trip struct {
	frame frame
	words []uint64
	stack []uint64
}

func (c *Call) passBack() {
	words := c.long
	if len(words) == 0 {
		words = c.words[:]
	}
	t := &trip{words: slices.Clone(words)}
	if anomaly.on.Load() > 0 || tracing.Load() > 0 {
		t.stack = callers()
	}
	c.back = true
	doorBack(c.op, t.words, t.stack, &t.frame)
	c.frame = t.frame
}

// anomaly counts the regions of anomaly mode. libtorch has one switch for the process.
var anomaly struct {
	mu  sync.Mutex
	on  atomic.Int32
	nan int // of those, how many look for NaNs
}

// Anomaly runs fn in anomaly mode: each recorded operation remembers the Go code it comes
// from and, if nan is true, the results of backward passes are searched for NaNs.
func Anomaly(nan bool, fn func()) error {
	if err := Load(); err != nil {
		return err
	}
	change := func(by int) {
		anomaly.mu.Lock()
		defer anomaly.mu.Unlock()
		on := anomaly.on.Add(int32(by))
		if nan {
			anomaly.nan += by
		}
		var c Call
		c.Begin(OpSetAnomaly)
		c.Bool(on > 0)
		c.Bool(anomaly.nan > 0)
		c.ask()
	}
	change(1)
	defer change(-1)
	Detour(fn)
	return nil
}

// InAnomaly tells whether anomaly mode is on, and looks for NaNs.
func InAnomaly() (on, nan bool) {
	anomaly.mu.Lock()
	defer anomaly.mu.Unlock()
	return anomaly.on.Load() > 0, anomaly.nan > 0
}

// callers are the addresses of the code that leads to a call.
func callers() []uint64 {
	const depth, ours = 64, 4
	var pcs [depth]uintptr
	n := runtime.Callers(ours, pcs[:])
	list := make([]uint64, n)
	for i, pc := range pcs[:n] {
		list[i] = uint64(pc)
	}
	return list
}

// Recorded is a node of a graph and the Go code that it comes from, as runtime.Callers
// returns it. The code is empty if the node was recorded outside anomaly mode.
type Recorded struct {
	Node    string
	Callers []uintptr
}

// trail reads which node an error of anomaly mode arose in, and the nodes whose backward
// passes created that one.
func (c *Call) trail() (list []Recorded) {
	r := c.Reader(1)
	for r.More() {
		step := Recorded{Node: r.Text()}
		for range r.Next() {
			step.Callers = append(step.Callers, uintptr(r.Next()))
		}
		list = append(list, step)
	}
	return list
}

// at makes a slice of n words at a C address.
func at(address uint64, n int) []uint64 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice(*(**uint64)(unsafe.Pointer(&address)), n)
}
