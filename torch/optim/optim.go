package optim

import (
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// Optimizer updates parameters by their gradients.
type Optimizer interface {
	// Step updates every parameter that has a gradient.
	Step()
	// ZeroGrad removes all gradients.
	ZeroGrad()
	// ParamGroups are the groups of parameters with their settings, which may be changed
	// between steps.
	ParamGroups() []*Group
	// StateDict is the state in PyTorch's layout. The tensors are the optimizer's own.
	StateDict() StateDict
	// LoadStateDict copies a state that StateDict or PyTorch made. Where it does not fit
	// nothing changes and the error says why.
	LoadStateDict(StateDict) error
}

// Scaled is an Optimizer whose kernels know of loss scaling.
type Scaled interface {
	Optimizer
	// StepScaled is Step for gradients that are multiplied by scale, which it divides out
	// of them first; undefined stands for 1. Where foundInf is not 0 nothing is changed.
	// Both hold one float32. The device is not waited for.
	StepScaled(scale, foundInf torch.Tensor)
}

// Group is a set of parameters that are updated with the same settings.
type Group struct {
	Params    []torch.Tensor
	LR        float64
	InitialLR float64 // what a schedule started from; 0 where there is none
	Options   any     // *[SGDOptions] of an SGD, *[AdamOptions] of an Adam

	batches []*batch // of the last step
}

// Momentum points at the setting that cyclic schedules vary against the learning rate:
// SGD's momentum, Adam's first beta. It is nil where there is none.
func (g *Group) Momentum() *float64 { return g.Options.(settings).momentum() }

// settings are what all options structs can do.
type settings interface {
	fields() []setting  // what a state dict holds of them
	kinds() []string    // the state tensors that they ask for, by PyTorch's names
	momentum() *float64 // see Group.Momentum
	check() string      // what is wrong with them, or ""
	clone() settings
}

// batch are parameters that one call of a kernel updates: of one group, device and dtype.
type batch struct {
	device        torch.Device
	index         []int // in Group.Params
	params, grads []torch.Tensor
	state         [][]torch.Tensor // a list like params for each kind of state
	fresh         bool             // the state was made just now
}

// base is what all optimizers have in common.
type base struct {
	name   string
	fixed  map[string]any // what a state dict says of every group besides its settings
	groups []*Group
	state  map[torch.Tensor][]torch.Tensor // of each parameter, one for each kind
	all    []torch.Tensor
}

func newBase(name string, fixed map[string]any) base {
	return base{name: name, fixed: fixed, state: map[torch.Tensor][]torch.Tensor{}}
}

func (b *base) addGroup(params []torch.Tensor, lr float64, options settings) {
	switch {
	case len(params) == 0:
		torch.Throw(b.name, torch.KindValue, "there are no parameters to optimize")
	case !(lr >= 0):
		torch.Throw(b.name, torch.KindValue, "the learning rate cannot be %v", lr)
	case options.check() != "":
		torch.Throw(b.name, torch.KindValue, "%s", options.check())
	}
	seen := map[torch.Tensor]bool{}
	for _, p := range b.all {
		seen[p] = true
	}
	for i, p := range params {
		switch {
		case !p.IsLeaf():
			torch.Throw(b.name, torch.KindValue, "parameter %d is the result of an operation; only leaves can be optimized", i)
		case seen[p]:
			torch.Throw(b.name, torch.KindValue, "parameter %d is given twice", i)
		}
		seen[p] = true
	}
	b.groups = append(b.groups, &Group{Params: slices.Clone(params), LR: lr, Options: options})
	b.all = append(b.all, params...)
}

// ParamGroups implements [Optimizer].
func (b *base) ParamGroups() []*Group { return b.groups }

// ZeroGrad implements [Optimizer].
func (b *base) ZeroGrad() { torch.ClearGrads(b.all) }

// Close frees the state tensors. Without it they are freed when the garbage collector
// finds that nobody refers to the optimizer any more.
func (b *base) Close() {
	for _, state := range b.state {
		torch.Close(state...)
	}
	clear(b.state)
	b.forget()
}

func (b *base) forget() {
	for _, g := range b.groups {
		g.batches = nil
	}
}

// birth makes a state tensor of a parameter that has none yet.
type birth func(kind string, param, grad torch.Tensor) torch.Tensor

// step calls kernel with every batch of parameters that have gradients.
func (b *base) step(born birth, kernel func(*Group, *batch)) {
	torch.NoGrad(func() {
		torch.Scope(func() {
			for _, g := range b.groups {
				grads := torch.Grads(g.Params)
				if !g.reuse(grads) {
					b.divide(g, grads, born)
				}
				for _, batch := range g.batches {
					kernel(g, batch)
				}
			}
		})
	})
}

// reuse puts the gradients into the batches of the last step, if they are for the same
// parameters and nothing was new then.
func (g *Group) reuse(grads []torch.Tensor) bool {
	have, want := 0, 0
	for _, grad := range grads {
		if grad.Defined() {
			have++
		}
	}
	for _, b := range g.batches {
		want += len(b.index)
		if b.fresh {
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
	}
	return true
}

// divide sorts the parameters that have gradients into batches.
func (b *base) divide(g *Group, grads []torch.Tensor, born birth) {
	type key struct {
		device torch.Device
		dtype  torch.DType
		fresh  bool
	}
	g.batches = nil
	found := map[key]*batch{}
	for i, p := range g.Params {
		grad := grads[i]
		if !grad.Defined() {
			continue
		}
		state, fresh := b.stateOf(g, p, grad, born)
		k := key{p.Device(), p.DType(), fresh}
		if found[k] == nil {
			found[k] = &batch{device: k.device, fresh: fresh, state: make([][]torch.Tensor, len(state))}
			g.batches = append(g.batches, found[k])
		}
		found[k].add(i, p, grad, state)
	}
}

func (b *batch) add(i int, param, grad torch.Tensor, state []torch.Tensor) {
	b.index = append(b.index, i)
	b.params = append(b.params, param)
	b.grads = append(b.grads, grad)
	for kind, t := range state {
		b.state[kind] = append(b.state[kind], t)
	}
}

func (b *base) stateOf(g *Group, param, grad torch.Tensor, born birth) (state []torch.Tensor, fresh bool) {
	kinds := g.Options.(settings).kinds()
	if state = b.state[param]; len(kinds) == 0 || len(state) == len(kinds) {
		return state[:len(kinds)], false
	}
	state = nil
	torch.Unscoped(func() {
		for _, kind := range kinds {
			state = append(state, born(kind, param, grad))
		}
	})
	b.state[param] = state
	return state, true
}

// unmake takes back the state that was made for a batch.
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

// String names the optimizer and its groups' settings.
func (b *base) String() string {
	s := b.name
	for i, g := range b.groups {
		s += fmt.Sprintf("\n  group %d: %d parameters, lr %v", i, len(g.Params), g.LR)
		for _, f := range g.Options.(settings).fields() {
			s += fmt.Sprintf(", %s %v", f.name, f.get())
		}
	}
	return s
}
