package optim

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// slot is one state tensor of a parameter.
type slot struct {
	name  string
	form  form
	first float64 // the value of its elements at first
	shape []int   // of elements; nil for the parameter's

	follows bool // begins as the first gradient, and is sparse if that is
}

// form says what a state tensor holds.
type form int

const (
	elements form = iota // a value for each element of the parameter
	number               // one float32
	count                // one float32 that is an int in state dicts
)

// stepCount is the number of steps that a parameter has made.
const stepCount = "step"

// maxNumbers is how many numbers a parameter has at most: the three of ASGD.
const maxNumbers = 3

// batch is the parameters that one call of a kernel updates: of one group, device and
// dtype.
//
// Their numbers, such as the counts of steps, are elements of one tensor for each slot, so
// that one call changes all of them; the parameters' own states are views of it. Fused
// kernels read the numbers from that tensor. For separate operators a copy is kept here, and
// parameters share a batch only if their numbers are equal, because factors depend on them.
type batch struct {
	*key
	group         *Group
	index         []int  // in Group.Params
	slots         []slot // of each parameter
	params, grads []torch.Tensor
	state         [][]torch.Tensor // a list like params for each slot
	columns       []torch.Tensor   // for each slot that is a number, all of them
	device        torch.Device
	dtype         torch.DType
	reused        bool         // from an earlier step; the layouts have not been checked in this one
	kept          *lists       // in C++
	odd           bool         // a step with what is kept there failed
	scale, found  torch.Tensor // of this step, for fused kernels; see Scaled
}

// key is what the parameters of a batch have in common.
type key struct {
	kind    kind
	fused   bool
	fresh   bool // the state was made just now
	states  int  // how many; Adafactor has others for matrices than for vectors
	numbers [maxNumbers]float64
}

// set changes number k of all parameters.
func (b *batch) set(k int, v float64) {
	b.numbers[k] = float64(float32(v))
	b.columns[k].FillInPlace(b.numbers[k])
}

// count adds a step to number 0 and returns it.
func (b *batch) count() float64 {
	b.set(0, b.numbers[0]+1)
	return b.numbers[0]
}

// fuse calls a fused kernel that reads the counts of steps. The counts go up before the
// call, and down again if the kernel skipped or refused the step.
func (b *batch) fuse(kernel func()) {
	steps, finished := b.columns[0], false
	defer func() {
		if !finished {
			steps.SubScalarInPlace(1)
		}
	}()
	steps.AddScalarInPlace(1)
	below(kernel)
	finished = true
	if b.found.Defined() {
		steps.SubInPlace(b.found)
	}
}

// directed is the batch with its gradients negated, if the loss is maximized, and the
// weight decay added to them. They may still be the parameters' own gradients and must not
// be changed.
func (b *batch) directed(maximize bool, weightDecay float64) *batch {
	view := *b
	if maximize {
		view.grads = aten.ForeachNeg(view.grads...)
	}
	if weightDecay != 0 {
		view.grads = aten.ForeachAdd(view.grads, b.params, aten.ForeachAddOptions{Alpha: weightDecay})
	}
	return &view
}

// decayed is directed with a weight decay that may be decoupled: then it shrinks the
// parameters instead.
func (b *batch) decayed(decoupled, maximize bool, lr, weightDecay float64) *batch {
	if !decoupled {
		return b.directed(maximize, weightDecay)
	}
	if weightDecay != 0 {
		scale(b.params, 1-lr*weightDecay)
	}
	return b.directed(maximize, 0)
}

// descend adds -lr times the update to the parameters.
func (b *batch) descend(update []torch.Tensor, lr float64) {
	aten.ForeachAddInPlace(b.params, update, aten.ForeachAddOptions{Alpha: -lr})
}

// scale multiplies tensors by a number, with the same bits as Python's x.mul_(number).
// libtorch's operator for numbers rounds the number first, on CPUs, if the elements have
// 16 bits.
func scale(list []torch.Tensor, by float64) {
	if dtype := list[0].DType(); (dtype == torch.Float16 || dtype == torch.BFloat16) && list[0].Device().IsCPU() {
		aten.ForeachMulTensorInPlace(list, torch.FromValue(by))
		return
	}
	aten.ForeachMulScalarInPlace(list, by)
}

// average moves a running mean of squares towards those of the values: keep*mean + (1-keep)*x².
func average(mean, x []torch.Tensor, keep float64) {
	scale(mean, keep)
	aten.ForeachAddCMulScalarInPlace(mean, x, x, aten.ForeachAddCMulScalarOptions{Value: 1 - keep})
}

// follow moves the running means of the gradients and of their squares.
func (b *batch) follow(mean, square []torch.Tensor, betas [2]float64) {
	aten.ForeachLerpScalarInPlace(mean, b.grads, 1-betas[0])
	average(square, b.grads, betas[1])
}

// rootPlus is the root of every element, plus eps.
func rootPlus(x []torch.Tensor, eps float64) []torch.Tensor {
	root := aten.ForeachSqrt(x...)
	aten.ForeachAddScalarInPlace(root, eps)
	return root
}

// real is the batch with complex numbers viewed as pairs of real ones. PyTorch's optimizers
// do the same, some before the weight decay and some after it, which rounds differently.
func (b *batch) real() *batch {
	if !b.dtype.IsComplex() {
		return b
	}
	view := *b
	view.params, view.grads, view.state = pairs(b.params), pairs(b.grads), make([][]torch.Tensor, len(b.state))
	for k, list := range b.state {
		view.state[k] = pairs(list)
	}
	return &view
}

func pairs(list []torch.Tensor) []torch.Tensor {
	views := make([]torch.Tensor, len(list))
	for i, t := range list {
		if views[i] = t; t.IsComplex() {
			views[i] = torch.ViewAsReal(t)
		}
	}
	return views
}

// reuse puts the gradients into the batches of the last step, if they are for the same
// parameters, the settings ask for the same state, and nothing was new then. What separate
// operators update must also be of the same kind as then; fused kernels look for themselves.
func (g *Group) reuse(grads []torch.Tensor) bool {
	have, want, fused := 0, 0, isFused(g.Options)
	for _, grad := range grads {
		if grad.Defined() {
			have++
		}
	}
	for _, b := range g.batches {
		want += len(b.index)
		if b.fresh || b.fused && !fused || b.states != len(g.Options.(settings).slots(b.params[0], g.LR)) {
			return false
		}
	}
	if have != want || have == 0 {
		return false
	}
	for _, b := range g.batches {
		for i, at := range b.index {
			if b.grads[i] = grads[at]; !grads[at].Defined() {
				return false
			}
		}
		if b.reused = true; !b.fused && !b.isAsBefore(fused) {
			return false
		}
	}
	return true
}

// divide sorts the parameters that have gradients into batches.
func (b *base) divide(g *Group, grads []torch.Tensor) {
	g.forget()
	all := make([]int, len(grads))
	for i := range all {
		all[i] = i
	}
	g.batches = b.sort(g, grads, all)
}

// sort makes batches of the parameters at these places of the group, as far as they have
// gradients.
func (b *base) sort(g *Group, grads []torch.Tensor, index []int) (batches []*batch) {
	found, fused := map[key]*batch{}, isFused(g.Options)
	index = slices.DeleteFunc(slices.Clone(index), func(i int) bool { return !grads[i].Defined() })
	kinds := b.look(g, grads, index)
	for at, i := range index {
		p, grad := g.Params[i], grads[i]
		slots := g.Options.(settings).slots(p, g.LR)
		state, fresh := b.stateOf(g, p, grad, slots)
		k := key{kind: kinds[at] &^ flatKind, fresh: fresh, states: len(slots)}
		if k.fused = fused && kinds[at]&flatKind != 0 && fuses(p, grad, slots, state); !k.fused {
			k.numbers = numbersOf(slots, state)
		}
		part := found[k] // never there where a number is NaN, which is itself no number's equal
		if part == nil {
			part = &batch{key: &k, group: g, slots: slots, state: make([][]torch.Tensor, len(state)), device: p.Device(), dtype: p.DType()}
			found[k], batches = part, append(batches, part)
		}
		part.add(i, p, grad, state)
	}
	gathered := false
	defer func() {
		for _, batch := range batches {
			if !gathered {
				torch.Close(batch.columns...)
			}
		}
	}()
	for _, batch := range batches {
		b.gather(batch)
	}
	gathered = true
	return batches
}

// look returns the kinds of the parameters at these places, and refuses gradients that are
// sparse, or that are not, if the optimizer cannot use them.
func (b *base) look(g *Group, grads []torch.Tensor, index []int) []kind {
	tuples := make([][]torch.Tensor, len(index))
	for at, i := range index {
		tuples[at] = []torch.Tensor{g.Params[i], grads[i]}
	}
	kinds := kindsOf(tuples)
	for _, k := range kinds {
		complaint := ""
		if p, ok := g.Options.(picky); ok {
			complaint = p.complain(k.sparse())
		} else if k.sparse() {
			complaint = "it does not support sparse gradients"
		}
		if complaint != "" {
			torch.Throw(b.name, torch.KindNotImplemented, "%s", complaint)
		}
	}
	return kinds
}

// again divides the parameters of a batch that a fused kernel refused.
func (b *base) again(g *Group, old *batch, grads []torch.Tensor) []*batch {
	old.close()
	parts := b.sort(g, grads, old.index)
	at := slices.Index(g.batches, old)
	g.batches = slices.Concat(g.batches[:at], parts, g.batches[at+1:])
	return parts
}

// numbersOf reads the numbers in the order of the slots; numbers are the first slots.
func numbersOf(slots []slot, state []torch.Tensor) (numbers [maxNumbers]float64) {
	for k, s := range slots {
		if s.form != elements {
			numbers[k] = state[k].Float64()
		}
	}
	return numbers
}

func (b *batch) add(i int, param, grad torch.Tensor, state []torch.Tensor) {
	b.index = append(b.index, i)
	b.params = append(b.params, param)
	b.grads = append(b.grads, grad)
	for k, t := range state {
		b.state[k] = append(b.state[k], t)
	}
}

// gather moves the numbers of a batch's parameters into columns.
func (b *base) gather(batch *batch) {
	torch.Unscoped(func() {
		for k, s := range batch.slots {
			if s.form == elements {
				break
			}
			column := torch.Stack(batch.state[k])
			batch.columns = append(batch.columns, column)
			for i, view := range column.Unbind() {
				batch.state[k][i].Close()
				batch.state[k][i], b.state[batch.params[i]][k] = view, view
			}
		}
	})
}

// stateOf is the state of a parameter; it is made if there is none.
func (b *base) stateOf(g *Group, param, grad torch.Tensor, slots []slot) (state []torch.Tensor, fresh bool) {
	if state = b.state[param]; len(slots) == 0 || len(state) == len(slots) {
		return state[:len(slots)], false
	}
	torch.Close(state...) // made under other settings
	delete(b.state, param)
	torch.Unscoped(func() {
		for _, s := range slots {
			b.state[param] = append(b.state[param], born(s, param, grad, isFused(g.Options)))
		}
	})
	return b.state[param], true
}

// born makes a state tensor. Only fused kernels need numbers on the parameter's device, and
// only a slot that follows gradients may be sparse.
func born(s slot, param, grad torch.Tensor, fused bool) torch.Tensor {
	switch {
	case s.follows && grad.Defined() && grad.Layout() == torch.Sparse:
		return torch.ZerosLike(grad)
	case s.form != elements && fused:
		return torch.TensorOptions{DType: torch.Float32, Device: param.Device()}.Full(nil, s.first)
	case s.form != elements:
		return torch.TensorOptions{DType: torch.Float32, Device: torch.CPU}.Full(nil, s.first)
	case s.shape != nil:
		return param.NewZeros(s.shape)
	}
	return torch.Scope1(func() torch.Tensor {
		t := torch.ZerosLike(param)
		if s.first != 0 {
			pairs([]torch.Tensor{t})[0].FillInPlace(s.first) // complex numbers have two parts to fill
		}
		return t
	})
}

// unmake removes the state that was made for a batch.
func (b *base) unmake(fresh *batch) {
	for _, p := range fresh.params {
		torch.Close(b.state[p]...)
		delete(b.state, p)
	}
}

// on is t on the batch's device.
func (b *batch) on(t torch.Tensor) torch.Tensor {
	if !t.Defined() || t.Device() == b.device {
		return t
	}
	return t.To(b.device, torch.NonBlocking)
}

func (g *Group) forget() {
	for _, b := range g.batches {
		b.close()
	}
	g.batches = nil
}
