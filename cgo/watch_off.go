//go:build !race

package cgo

import "sync/atomic"

// Racing tells whether the race detector is told who uses a tensor.
const Racing = false

// Without the race detector nothing records who uses a tensor.
type watch struct{}

func (*Handle) watchRead(Op)  {}
func (*Handle) watchWrite(Op) {}
func (*Handle) unwatch()      {}

// Wrote tells the race detector, if there is one, that the elements of a tensor were written to.
func Wrote(*Handle) {}

func unseen() {}
func seen()   {}

func unseenAdd(n *atomic.Int32, by int32) int32 { return n.Add(by) }
