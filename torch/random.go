package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// ManualSeed seeds the default generators of all devices. The same seed gives the same
// numbers as PyTorch's manual_seed.
func ManualSeed(seed uint64) {
	var c cgo.Call
	c.Begin(cgo.OpManualSeed)
	c.Word(seed)
	done(&c)
}

// Generator is a source of random numbers, with a state of its own. If an operation takes a
// generator, a nil *Generator stands for the device's default one. A Generator may be used
// from one goroutine at a time.
type Generator struct {
	h *cgo.Handle
}

// NewGenerator makes a generator for a device, seeded with PyTorch's default seed. It
// lives until it is closed or collected, whatever scope it was made in.
func NewGenerator(d Device) *Generator {
	if d.IsZero() {
		d = CPU
	}
	return generator(cgo.OpNewGenerator, d)
}

// DefaultGenerator is the generator that operations on the device use unless they are
// given one.
func DefaultGenerator(d Device) *Generator { return generator(cgo.OpDefaultGenerator, d) }

func generator(op cgo.Op, d Device) *Generator {
	need(op.String(), d)
	var c cgo.Call
	c.Begin(op)
	c.Code(d.code())
	done(&c)
	return &Generator{c.Owned(0, cgo.GeneratorKind)}
}

// Close frees the generator. A default generator lives on in libtorch.
func (g *Generator) Close() { g.handle().Close() }

func (g *Generator) handle() *cgo.Handle {
	if g == nil {
		return nil
	}
	return g.h
}

func (g *Generator) begin(c *cgo.Call, op cgo.Op) {
	c.Begin(op)
	c.Object(g.handle())
}

// ManualSeed sets the seed and returns g.
func (g *Generator) ManualSeed(seed uint64) *Generator {
	var c cgo.Call
	g.begin(&c, cgo.OpSeedGenerator)
	c.Word(seed)
	done(&c)
	return g
}

// InitialSeed is the seed that was set last.
func (g *Generator) InitialSeed() uint64 {
	var c cgo.Call
	g.begin(&c, cgo.OpGeneratorSeed)
	done(&c)
	return c.WordResult(0)
}

// State is the complete state, a uint8 tensor; equal to PyTorch's get_state.
func (g *Generator) State() Tensor {
	var c cgo.Call
	g.begin(&c, cgo.OpGeneratorState)
	return result1(&c)
}

// SetState restores a state.
func (g *Generator) SetState(state Tensor) {
	var c cgo.Call
	g.begin(&c, cgo.OpSetGeneratorState)
	putTensor(&c, state)
	done(&c)
}

// Device is the device whose random numbers g makes.
func (g *Generator) Device() Device {
	var c cgo.Call
	g.begin(&c, cgo.OpGeneratorDevice)
	done(&c)
	return deviceOf(c.WordResult(0))
}
