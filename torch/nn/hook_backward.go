package nn

import (
	"slices"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
)

// A BackwardHook sees the gradients of a module's inputs and outputs once both have been
// computed. It returns what takes the place of the inputs' gradients, as many tensors, or nil
// to leave them. A gradient is undefined where none is wanted or none arrived.
//
// It runs as a function that was registered by torch.Tensor.RegisterHook does: in a Scope of
// its own, so that it takes Keep of what is to outlive it, and a panic comes back from
// Backward as a *torch.Error of KindCallback that holds it.
type BackwardHook func(m any, gradInputs, gradOutputs []torch.Tensor) []torch.Tensor

// A BackwardPreHook sees the gradients of a module's outputs before they go through it. It
// returns what takes their place, as many tensors, or nil to leave them.
type BackwardPreHook func(m any, gradOutputs []torch.Tensor) []torch.Tensor

// RegisterFullBackwardHook has hook run in the backward pass through every Forward of m that
// begins before the hook is removed. Where no input of m requires gradients it runs when the
// outputs' have been computed, and must return nil. Which modules can be hooked,
// [RegisterForwardPreHook] says. As in PyTorch inputs and outputs of m become views that may
// not be changed in place.
func RegisterFullBackwardHook(m any, hook BackwardHook) *HookHandle {
	return register(m, hooks{backward: hook})
}

// RegisterFullBackwardPreHook has hook run before the backward pass through every Forward of m
// that begins before the hook is removed, otherwise as [RegisterFullBackwardHook] does.
func RegisterFullBackwardPreHook(m any, hook BackwardPreHook) *HookHandle {
	return register(m, hooks{backwardPre: hook})
}

// RegisterModuleFullBackwardHook is [RegisterFullBackwardHook] for every module, before the
// module's own hooks.
func RegisterModuleFullBackwardHook(hook BackwardHook) *HookHandle {
	return add(&hooks{backward: hook})
}

// RegisterModuleFullBackwardPreHook is [RegisterFullBackwardPreHook] for every module, before
// the module's own hooks.
func RegisterModuleFullBackwardPreHook(hook BackwardPreHook) *HookHandle {
	return add(&hooks{backwardPre: hook})
}

// crossing is the backward pass through one call of a module: gradients come to it at a gate
// around the outputs, and leave at one around the inputs.
type crossing struct {
	module          any
	hooks           []*hooks
	inputs, outputs *gate // nil where no gradients pass

	mutex sync.Mutex
	grads []torch.Tensor // of the outputs, kept until those of the inputs are there
	width int            // how many inputs there are
}

// newCrossing is nil where no hook wants to know.
func newCrossing(m any, list []*hooks) *crossing {
	list = slices.DeleteFunc(slices.Clone(list), func(h *hooks) bool { return h.backward == nil && h.backwardPre == nil })
	if len(list) == 0 || !torch.IsGradEnabled() {
		return nil
	}
	return &crossing{module: m, hooks: list}
}

// enter puts a gate around the inputs.
func (c *crossing) enter(inputs refs, given []torch.Tensor) {
	c.width = len(inputs)
	c.inputs = newGate(inputs, given, c.arrive)
}

// leave puts a gate around the outputs.
func (c *crossing) leave(outputs refs, others []torch.Tensor) {
	c.outputs = newGate(outputs, others, c.depart)
}

// depart is the first to see gradients: those of the outputs.
func (c *crossing) depart(grads []torch.Tensor) []torch.Tensor {
	for _, h := range c.hooks {
		if h.backwardPre != nil {
			grads = c.accept("backward_pre_hook", grads, h.backwardPre(h.name(c.module), grads))
		}
	}
	if c.inputs != nil {
		c.keep(grads)
		return grads
	}
	for _, h := range c.hooks {
		if h.backward != nil && slices.ContainsFunc(h.backward(h.name(c.module), make([]torch.Tensor, c.width), grads), torch.Tensor.Defined) {
			torch.Throw("backward_hook", torch.KindGeneric, "Backward hook for Modules where no input requires gradient should always return None or None for all gradients.")
		}
	}
	return grads
}

// arrive sees the gradients of the inputs. Those that came there past the outputs are nobody's
// business.
func (c *crossing) arrive(grads []torch.Tensor) []torch.Tensor {
	outputs := c.take()
	defer torch.Close(outputs...)
	if outputs == nil {
		return grads
	}
	for _, h := range c.hooks {
		if h.backward != nil {
			grads = c.accept("backward_hook", grads, h.backward(h.name(c.module), grads, outputs))
		}
	}
	return grads
}

func (c *crossing) accept(hook string, grads, by []torch.Tensor) []torch.Tensor {
	switch {
	case by == nil:
		return grads
	case len(by) != len(grads):
		torch.Throw(hook, torch.KindGeneric, "it returned an invalid number of gradients: got %d, but expected %d", len(by), len(grads))
	}
	return by
}

func (c *crossing) keep(grads []torch.Tensor) {
	kept := make([]torch.Tensor, len(grads))
	for i, g := range grads {
		kept[i] = g.Keep()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	torch.Close(c.grads...)
	c.grads = kept
}

func (c *crossing) take() []torch.Tensor {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	grads := c.grads
	c.grads = nil
	return grads
}

// gate is a node of the graph through which all tensors of a call pass as they are, and their
// gradients through a function.
type gate struct {
	pass   func(grads []torch.Tensor) []torch.Tensor
	width  int
	places []int // of the tensors among those of the call; the others are undefined
}

// newGate replaces the tensors by those behind the gate. It is nil where none requires
// gradients.
func newGate(places refs, others []torch.Tensor, pass func(grads []torch.Tensor) []torch.Tensor) *gate {
	g := &gate{pass: pass, width: len(places)}
	var defined []torch.Tensor
	for i, t := range places {
		if t.Defined() {
			defined, g.places = append(defined, *t), append(g.places, i)
		}
	}
	if !slices.ContainsFunc(defined, torch.Tensor.RequiresGrad) {
		return nil
	}
	replace("gate", places, g.spread(torch.Apply(backwardHookFunction{g}, defined...)), others)
	return g
}

// spread puts tensors in their places.
func (g *gate) spread(list []torch.Tensor) []torch.Tensor {
	all := make([]torch.Tensor, g.width)
	for i, at := range g.places {
		all[at] = list[i]
	}
	return all
}

// backwardHookFunction is what PyTorch calls the operation of a gate.
type backwardHookFunction struct{ *gate }

// Forward implements [torch.Function].
func (f backwardHookFunction) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	var fixed []torch.Tensor
	for i, x := range in {
		if !ctx.NeedsInputGrad(i) {
			fixed = append(fixed, x)
		}
	}
	ctx.MarkNonDifferentiable(fixed...)
	ctx.SetMaterializeGrads(false)
	return in
}

// Backward implements [torch.Function].
func (f backwardHookFunction) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	for i := range grads {
		if !ctx.NeedsInputGrad(i) {
			grads[i] = torch.Tensor{}
		}
	}
	all := f.pass(f.spread(grads))
	for i, at := range f.places {
		grads[i] = all[at]
	}
	return grads
}
