package cgo

import (
	"errors"
	"sync/atomic"
)

// CUDA remembers some failures until the process ends: every later call on the card
// fails with them. The first one seen is kept here.
var sick atomic.Pointer[Error]

// lasting reports the codes (cudaError) after which the process cannot use its cards again.
func lasting(code int) bool {
	switch code {
	case 46, // the devices are unavailable
		214,                     // an uncorrectable ECC error
		220,                     // an uncorrectable NVLink error
		226,                     // the device has to be reset
		700,                     // an illegal address
		702,                     // a kernel was stopped after too long
		710,                     // an assertion in a kernel
		714, 715, 716, 717, 718, // the stack, an instruction, an alignment, an address space, a jump
		719, 720, // a kernel failed
		723, 724, // tensor memory; an exit
		999: // unknown
		return true
	}
	return false
}

func (e *Error) latch() {
	if e.Kind == KindAccelerator && lasting(e.Code) {
		sick.CompareAndSwap(nil, e)
	}
}

// Unhealthy is the first card failure that only a new process can repair, or nil.
func Unhealthy() *Error { return sick.Load() }

// ErrShutdown is the error of calls after Shutdown.
var ErrShutdown = errors.New("torch: libtorch has been shut down")

var ended atomic.Bool

// Shutdown frees what the collector finds, waits for the cards, delivers the warnings that
// are left, and refuses all later calls but those that free.
func Shutdown() *Error {
	loading.Lock()
	defer loading.Unlock()
	if ended.Swap(true) || !loaded.Load() {
		return nil
	}
	Collect()
	err := synchronize()
	deliverWarnings()
	loaded.Store(false)
	return err
}

func synchronize() *Error {
	if noCUDA != nil {
		return nil
	}
	for device := range cards() {
		var c Call
		c.Begin(OpSynchronize)
		c.Code(cudaDevice(device))
		if err := c.Run(); err != nil {
			return err
		}
	}
	return nil
}
