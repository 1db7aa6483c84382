package cgo

import "sync"

// cards is the number of CUDA devices.
var cards = sync.OnceValue(func() int {
	var c Call
	c.Begin(OpDeviceCount)
	c.Code(cudaDevice(-1))
	c.ask()
	takeString(c.frame.msg, -1)
	return int(c.frame.out[0])
})

// cardBytes is how many bytes of a card tensors hold. ok is false before the first
// tensor on the card.
func cardBytes(device int) (bytes int64, ok bool) {
	var c Call
	c.Begin(OpDeviceMemory)
	c.Code(cudaDevice(device))
	c.ask()
	takeString(c.frame.msg, -1)
	return int64(c.frame.out[0]), c.frame.kind == 0
}

// cudaDevice is a card's number on the wire; -1 is any of them.
func cudaDevice(index int) int64 { return 1<<8 | int64(uint8(index)) }
