package optim

import (
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// lists are those of a batch as C++ keeps them. A step whose parameters and states are those of
// the step before sends three words for them in place of hundreds, and the gradients never come to Go.
type lists struct {
	params *cgo.Handle
	state  []*cgo.Handle // for each slot
}

// keep hands the batch's lists over to C++.
func (b *batch) keep() {
	list := func(tensors []torch.Tensor) *cgo.Handle {
		var c cgo.Call
		c.Begin(cgo.OpKeepTensors)
		putList(&c, tensors)
		bridge.Done(&c)
		return c.Owned(0, cgo.ListKind)
	}
	b.kept = &lists{params: list(b.params)}
	for _, state := range b.state {
		b.kept.state = append(b.kept.state, list(state))
	}
}

// letGo frees what C++ keeps of the batch.
func (b *batch) letGo() {
	if b.kept == nil {
		return
	}
	b.kept.params.Close()
	for _, list := range b.kept.state {
		list.Close()
	}
	b.kept = nil
}

// close frees what the batch has besides the parameters' states.
func (b *batch) close() {
	b.letGo()
	torch.Close(b.columns...)
}

// noState stands for the number of a slot where a kernel is to have an empty list.
const noState = -1

// begin starts the call of a fused kernel with its lists: parameters, gradients, and the states in
// the order of these slots. The kernel is called by its second name if it reads the learning rate from a tensor.
func (b *batch) begin(c *cgo.Call, number, tensor cgo.Op, slots ...int) {
	if c.Begin(number); b.group.rate.Defined() {
		c.Begin(tensor)
	}
	if b.kept != nil {
		c.Kept(b.kept.params)
		c.KeptGradients(b.kept.params)
	} else {
		putList(c, b.params)
		putList(c, b.grads)
	}
	for _, k := range slots {
		switch {
		case k == noState:
			c.List(0)
		case b.kept != nil:
			c.Kept(b.kept.state[k])
		default:
			putList(c, b.state[k])
		}
	}
}

func putList(c *cgo.Call, list []torch.Tensor) {
	c.List(len(list))
	for _, t := range list {
		c.Changed(bridge.Handle(t))
	}
}

// putRate adds the learning rate.
func (b *batch) putRate(c *cgo.Call, lr float64) {
	if rate := b.group.rate; rate.Defined() {
		c.Tensor(bridge.Handle(rate))
		return
	}
	c.Float(lr)
}

// finish adds the last arguments of every fused kernel and runs it.
func (b *batch) finish(c *cgo.Call) {
	c.Tensor(bridge.Handle(b.scale))
	c.Tensor(bridge.Handle(b.found))
	bridge.Done(c)
}

// repeat makes the step of a group that is as it was in the step before: its parameters, all of
// them with gradients, form one batch. It returns false if it did nothing, because something differs.
func (b *base) repeat(g *Group, kernel func(*Group, *batch)) bool {
	if cgo.Racing || len(g.batches) != 1 || !g.batches[0].steady(g) || g.followLR() {
		return false
	}
	batch := g.batches[0]
	if batch.kept == nil {
		batch.keep()
	}
	if torch.Try(func() { kernel(g, batch) }) == nil {
		return true
	}
	batch.letGo()
	batch.odd = true
	return false
}

// steady tells whether the batch holds all of its group and a fused kernel may have it again, as far
// as can be told without a look at the gradients. The race detector wants to see each tensor.
func (b *batch) steady(g *Group) bool {
	return b.fused && !b.fresh && !b.odd && len(b.index) == len(g.Params) && isFused(g.Options) &&
		b.states == len(g.Options.(settings).slots(b.params[0], g.LR)) && !slices.ContainsFunc(b.params, torch.Tensor.Closed)
}
