package nn

import (
	"errors"
	"slices"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
)

// Checkpoint is fn(in...), but of what fn computes nothing is kept for the backward pass:
// that runs fn again. It trades time, one more forward pass through fn, for the memory of
// the activations. Gradients are the same to the last bit, also those of parameters that fn
// uses without being given them.
//
//	y := nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return block.Forward(in[0]) }, x)
//
// fn has to do the same each time. It runs with the random numbers and the autocast mode of
// the first time, and a result of another shape is an error. What fn changes besides, such
// as the running statistics of a BatchNorm, changes once more. Checkpoints may nest.
func Checkpoint(fn func(in ...torch.Tensor) torch.Tensor, in ...torch.Tensor) torch.Tensor {
	return CheckpointAll(func(in ...torch.Tensor) []torch.Tensor { return []torch.Tensor{fn(in...)} }, in...)[0]
}

// CheckpointAll is [Checkpoint] for a function with several results.
func CheckpointAll(fn func(in ...torch.Tensor) []torch.Tensor, in ...torch.Tensor) []torch.Tensor {
	if !torch.IsGradEnabled() {
		return outOf(fn, in)
	}
	c := &checkpoint{fn: fn, ambience: ambienceOf(in), alive: 1}
	defer c.release()
	c.keep(in)
	var out []torch.Tensor
	torch.SavedTensorsHooks(c.pack, c.unpack, func() { out = outOf(fn, in) })
	return out
}

// CheckpointSequential is s.Forward(x) in so many segments of about the same length, each
// but the last under a [Checkpoint].
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

// outOf frees all that fn makes and does not return.
func outOf(fn func(in ...torch.Tensor) []torch.Tensor, in []torch.Tensor) (out []torch.Tensor) {
	torch.Scope(func() {
		for _, y := range fn(in...) {
			out = append(out, y.MoveOut())
		}
	})
	return out
}

// checkpoint is one run of a function whose activations are computed again. libtorch holds a
// place for each tensor that the first run would have saved; the n-th that a later run saves
// belongs there.
type checkpoint struct {
	fn       func(in ...torch.Tensor) []torch.Tensor
	ambience ambience
	inputs   *torch.FunctionCtx
	node     torch.Tensor // keeps the inputs

	places []*place   // does not change after the first run
	again  sync.Mutex // held while fn runs again

	// mu guards what follows. No tensor is touched under it: any operation may bring the news
	// that libtorch let go of a place, which takes the lock.
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
	gone   bool // libtorch let go of it
}

// run is what fn computed when it ran again for one backward pass.
type run struct {
	of      *checkpoint
	saved   int // tensors so far
	tensors map[int]torch.Tensor
}

// keepInputs saves its inputs like any operation, so that a checkpoint around this one does
// not keep them either.
type keepInputs struct{ ctx *torch.FunctionCtx }

// Forward keeps ctx as the way to the inputs.
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
		recorded := torch.Empty(0).SetRequiresGrad(true) // the inputs may not be
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

// runFor is the run for a backward pass, in which fn is run when the first tensor is wanted.
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

// errEnough ends a run that has computed all that is wanted.
var errEnough = errors.New("all tensors have been computed")

func (r *run) compute() {
	c := r.of
	in := c.inputs.SavedTensors()
	err := torch.Try(func() {
		torch.SavedTensorsHooks(r.pack, func(packed any) torch.Tensor { return packed.(torch.Tensor) }, func() {
			torch.EnableGrad(func() {
				c.ambience.restore(func() {
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

// pack takes the next tensor to its place.
func (r *run) pack(x torch.Tensor) any {
	places := r.of.places
	if r.saved == len(places) {
		panic(errEnough)
	}
	p := places[r.saved]
	if shape, dtype, device := x.Shape(), x.DType(), x.Device(); !slices.Equal(shape, p.shape) || dtype != p.dtype || device != p.device {
		torch.Throw("checkpoint", torch.KindGeneric, "the function computes something else than the first time: tensor %d was %v%v on %v, now it is %v%v on %v",
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

// Close is called when libtorch lets go of the place.
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

// release frees what the first run left when nothing can ask for another.
func (c *checkpoint) release() {
	c.mu.Lock()
	c.alive--
	last := c.alive == 0
	c.mu.Unlock()
	if last {
		c.node.Close()
		c.ambience.close()
	}
}
