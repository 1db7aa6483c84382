package nn

import (
	"errors"
	"slices"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
)

// Checkpoint is fn(in...), but nothing that fn computes is kept for the backward pass,
// which runs fn again. It trades time, one more forward pass through fn, for the memory of
// the activations. Gradients are equal to the last bit, also those of parameters that fn
// uses without taking them as arguments.
//
//	y := nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return block.Forward(in[0]) }, x)
//
// fn must do the same each time. The second run uses the random numbers and the autocast
// mode of the first, and a result of another shape is an error. Whatever else fn changes,
// such as the running statistics of a BatchNorm, changes twice. Checkpoints may nest.
func Checkpoint(fn func(in ...torch.Tensor) torch.Tensor, in ...torch.Tensor) torch.Tensor {
	return CheckpointAll(func(in ...torch.Tensor) []torch.Tensor { return []torch.Tensor{fn(in...)} }, in...)[0]
}

// CheckpointAll is [Checkpoint] for a function with several results.
func CheckpointAll(fn func(in ...torch.Tensor) []torch.Tensor, in ...torch.Tensor) []torch.Tensor {
	if !torch.IsGradEnabled() {
		return outOf(fn, in)
	}
	c := &checkpoint{fn: fn, conditions: conditionsOf(in), alive: 1}
	defer c.release()
	c.keep(in)
	var out []torch.Tensor
	torch.SavedTensorsHooks(c.pack, c.unpack, func() { out = outOf(fn, in) })
	return out
}

// CheckpointSequential is s.Forward(x), divided into segments of about the same length,
// each of which except the last is a [Checkpoint].
func CheckpointSequential(s Sequential, segments int, x torch.Tensor) torch.Tensor {
	if segments < 1 || segments > len(s) {
		torch.Throw("checkpoint_sequential", torch.KindValue, "%d layers cannot be divided into %d segments", len(s), segments)
	}
	size, y := len(s)/segments, x
	for range segments - 1 {
		segment := s[:size]
		next := Checkpoint(func(in ...torch.Tensor) torch.Tensor { return segment.Forward(in[0]) }, y)
		if !y.Is(x) {
			y.Close()
		}
		y, s = next, s[size:]
	}
	z := s.Forward(y)
	if !y.Is(x) && !y.Is(z) {
		y.Close()
	}
	return z
}

// outOf frees everything that fn makes and does not return.
func outOf(fn func(in ...torch.Tensor) []torch.Tensor, in []torch.Tensor) (out []torch.Tensor) {
	torch.Scope(func() {
		for _, y := range fn(in...) {
			out = append(out, y.MoveOut())
		}
	})
	return out
}

// checkpoint is one run of a function whose activations are computed again. libtorch holds a
// place for each tensor that the first run would have saved; the n-th place gets the n-th
// tensor that a later run saves.
type checkpoint struct {
	fn         func(in ...torch.Tensor) []torch.Tensor
	conditions conditions
	inputs     *torch.FunctionCtx
	node       torch.Tensor // keeps the inputs

	places []*place   // fixed after the first run
	again  sync.Mutex // held while fn runs again

	// mu guards the fields below. No tensor is used while it is held: any operation may
	// report that libtorch has released a place, and that takes the lock.
	mu    sync.Mutex
	runs  map[int]*run // by the number of the backward pass
	alive int          // places that libtorch holds, and one while the first run lasts
}

// place stands for a tensor.
type place struct {
	of     *checkpoint
	index  int
	shape  []int
	dtype  torch.DType
	device torch.Device
	gone   bool // libtorch has released it
}

// run is what fn computed when it ran again for one backward pass.
type run struct {
	of      *checkpoint
	saved   int // tensors so far
	tensors map[int]torch.Tensor
}

// keepInputs saves its inputs as other operations do, so that a checkpoint around this one
// does not keep them either.
type keepInputs struct{ ctx *torch.FunctionCtx }

// Forward keeps ctx, which gives access to the inputs.
func (k *keepInputs) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	k.ctx = ctx
	ctx.SaveForBackward(in[1:]...)
	return []torch.Tensor{torch.Empty(0)}
}

// Backward is never called: nothing is computed from the output.
func (*keepInputs) Backward(_ *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor { return nil }

func (c *checkpoint) keep(in []torch.Tensor) {
	torch.Scope(func() {
		k := &keepInputs{}
		recorded := torch.Empty(0).SetRequiresGrad(true) // the inputs may require no gradients
		c.node = torch.Apply1(k, slices.Insert(slices.Clone(in), 0, recorded)...).Keep()
		c.inputs = k.ctx
	})
}

func (c *checkpoint) pack(x torch.Tensor) any {
	p := &place{of: c, index: len(c.places), shape: x.Shape(), dtype: x.DType(), device: x.Device()}
	c.places = append(c.places, p)
	c.mu.Lock()
	c.alive++
	c.mu.Unlock()
	return p
}

func (c *checkpoint) unpack(packed any) torch.Tensor {
	p := packed.(*place)
	c.again.Lock()
	defer c.again.Unlock()
	r := c.runFor(torch.BackwardNumber())
	c.mu.Lock()
	kept, ok := r.tensors[p.index]
	delete(r.tensors, p.index)
	c.mu.Unlock()
	if !ok {
		torch.Throw("checkpoint", torch.KindGeneric, "a tensor was asked for twice in one backward pass: call SavedTensors only once")
	}
	defer kept.Close()
	return kept.Alias()
}

// runFor is the run for a backward pass; fn runs when the pass wants the first tensor.
func (c *checkpoint) runFor(number int) *run {
	c.mu.Lock()
	r := c.runs[number]
	c.mu.Unlock()
	if r != nil && len(r.tensors) > 0 {
		return r
	}
	r = &run{of: c, tensors: map[int]torch.Tensor{}}
	r.compute()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[int]*run{}
	}
	for n, old := range c.runs {
		if len(old.tensors) == 0 {
			delete(c.runs, n)
		}
	}
	c.runs[number] = r
	return r
}

// errEnough ends a run that has computed all tensors that are wanted.
var errEnough = errors.New("all tensors have been computed")

func (r *run) compute() {
	c := r.of
	in := c.inputs.SavedTensors()
	err := torch.Try(func() {
		torch.SavedTensorsHooks(r.pack, func(packed any) torch.Tensor { return packed.(torch.Tensor) }, func() {
			torch.EnableGrad(func() {
				c.conditions.restore(func() {
					torch.Scope(func() { c.fn(in...) })
				})
			})
		})
	})
	if err == nil && r.saved < len(c.places) {
		torch.Throw("checkpoint", torch.KindGeneric, "the function saved %d tensors when it ran first, and %d now", len(c.places), r.saved)
	}
	if err != nil && !errors.Is(err, errEnough) {
		panic(err)
	}
}

// pack puts the next tensor into its place.
func (r *run) pack(x torch.Tensor) any {
	places := r.of.places
	if r.saved == len(places) {
		panic(errEnough)
	}
	p := places[r.saved]
	if shape, dtype, device := x.Shape(), x.DType(), x.Device(); !slices.Equal(shape, p.shape) || dtype != p.dtype || device != p.device {
		torch.Throw("checkpoint", torch.KindGeneric,
			"the function computed something else the first time: tensor %d was %v%v on %v, now it is %v%v on %v",
			p.index, p.dtype, p.shape, p.device, dtype, shape, device)
	}
	r.put(p, x.Detach().Keep())
	if r.saved++; r.saved == len(places) {
		panic(errEnough)
	}
	return x
}

func (r *run) put(p *place, x torch.Tensor) {
	r.of.mu.Lock()
	gone := p.gone
	if !gone {
		r.tensors[p.index] = x
	}
	r.of.mu.Unlock()
	if gone {
		x.Close()
	}
}

// Close is called when libtorch releases the place.
func (p *place) Close() {
	var list []torch.Tensor
	p.of.mu.Lock()
	p.gone = true
	for _, r := range p.of.runs {
		list = append(list, r.tensors[p.index])
		delete(r.tensors, p.index)
	}
	p.of.mu.Unlock()
	torch.Close(list...)
	p.of.release()
}

// release frees what the first run left, once no further run is possible.
func (c *checkpoint) release() {
	c.mu.Lock()
	c.alive--
	last := c.alive == 0
	c.mu.Unlock()
	if last {
		c.node.Close()
		c.conditions.close()
	}
}
