//go:build !race

package cgo

import "sync/atomic"

// Without the race detector nothing records who uses a tensor.
type watch struct{}

func (watch) read()  {}
func (watch) write() {}

func unseen() {}
func seen()   {}

func unseenAdd(n *atomic.Int32, by int32) int32 { return n.Add(by) }
