package nn

import (
	"github.com/libtorch-go/libtorch/torch"
)

// conditions are what a function depends on apart from its arguments: the state of the
// random number generators and the autocast modes.
type conditions struct {
	random   []randomState
	autocast []torch.AutocastMode
}

type randomState struct {
	generator *torch.Generator
	state     torch.Tensor
}

// conditionsOf records the conditions of the CPU and of the devices that the tensors
// are on.
func conditionsOf(list []torch.Tensor) (a conditions) {
	seen := map[torch.Device]bool{}
	add := func(d torch.Device) {
		if seen[d] {
			return
		}
		seen[d] = true
		a.autocast = append(a.autocast, torch.Autocasting(d))
		torch.Unscoped(func() {
			g := torch.DefaultGenerator(d)
			a.random = append(a.random, randomState{g, g.State()})
		})
	}
	add(torch.CPU)
	for _, x := range list {
		if x.Defined() {
			add(x.Device())
		}
	}
	return a
}

// restore runs fn under the recorded conditions, and then restores the current ones.
func (a conditions) restore(fn func()) {
	torch.Scope(func() {
		for _, r := range a.random {
			now := r.generator.State()
			r.generator.SetState(r.state)
			defer r.generator.SetState(now)
		}
		for _, mode := range a.autocast {
			inner := fn
			fn = func() { torch.WithAutocast(mode, inner) }
		}
		fn()
	})
}

func (a conditions) close() {
	for _, r := range a.random {
		r.generator.Close()
		r.state.Close()
	}
}
