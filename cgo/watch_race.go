//go:build race

package cgo

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Under the race detector each handle has a place in memory of its own. A call that reads
// the tensor reads there, one that writes to it writes there: so the detector sees two
// goroutines that use a tensor at the same time, one of them changing it, which happens in
// memory it knows nothing of. It knows the handle, not the tensor: what goes through
// another handle to it, a view or an alias, passes unseen.
type watch struct{ place uint64 } // the detector remembers a few accesses to each eight bytes

func (w *watch) read()  { runtime.RaceRead(unsafe.Pointer(&w.place)) }
func (w *watch) write() { runtime.RaceWrite(unsafe.Pointer(&w.place)) }

// Between unseen and seen, atomics do not order goroutines for the detector: two
// goroutines that count one handle up and down are not synchronised by that.
func unseen() { runtime.RaceDisable() }
func seen()   { runtime.RaceEnable() }

func unseenAdd(n *atomic.Int32, by int32) int32 {
	unseen()
	defer seen()
	return n.Add(by)
}
