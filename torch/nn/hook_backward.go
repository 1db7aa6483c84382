package nn

import (
	"slices"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
)

// A BackwardHook sees the gradients of a module's inputs and outputs once both have been
// computed. It returns replacements for the inputs' gradients, as many tensors, or nil to
// leave them. A gradient is undefined if it is not wanted or has not been computed.
//
// It runs like a function registered by torch.Tensor.RegisterHook: in its own Scope, so that
// tensors which are to outlive it need Keep. A panic comes back from Backward as a
// *torch.Error of KindCallback that holds it.
type BackwardHook func(m any, gradInputs, gradOutputs []torch.Tensor) []torch.Tensor

// A BackwardPreHook sees the gradients of a module's outputs before they go through it. It
// returns their replacements, as many tensors, or nil to leave them.
type BackwardPreHook func(m any, gradOutputs []torch.Tensor) []torch.Tensor

// RegisterFullBackwardHook lets hook run in the backward pass through every Forward of m
// that begins before the hook is removed. If no input of m requires gradients, the hook runs
// when the outputs' gradients have been computed, and must return nil.
// [RegisterForwardPreHook] says which modules can be hooked. As in PyTorch, inputs and
// outputs of m become views that may not be changed in place.
func RegisterFullBackwardHook(m any, hook BackwardHook) *HookHandle {
	return register(m, hooks{backward: hook})
}

// RegisterFullBackwardPreHook lets hook run before the backward pass through every Forward of
// m that begins before the hook is removed. Otherwise it is like [RegisterFullBackwardHook].
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

// hookedCall is the backward pass through one call of a module with backward hooks:
// gradients enter it at a gate around the outputs and leave it at a gate around the inputs.
type hookedCall struct {
	module          any
	hooks           []*hooks
	inputs, outputs *gate // nil if no gradients pass

	mutex sync.Mutex
	grads []torch.Tensor // of the outputs, kept until those of the inputs are there
	width int            // how many inputs there are
}

// newHookedCall is nil if no hook wants gradients.
func newHookedCall(m any, list []*hooks) *hookedCall {
	list = slices.DeleteFunc(slices.Clone(list), func(h *hooks) bool { return h.backward == nil && h.backwardPre == nil })
	if len(list) == 0 || !torch.IsGradEnabled() {
		return nil
	}
	return &hookedCall{module: m, hooks: list}
}

// enter puts a gate around the inputs.
func (c *hookedCall) enter(inputs refs, given []torch.Tensor) {
	c.width = len(inputs)
	c.inputs = newGate(inputs, given, c.arrive)
}

// leave puts a gate around the outputs.
func (c *hookedCall) leave(outputs refs, others []torch.Tensor) {
	c.outputs = newGate(outputs, others, c.depart)
}

// depart receives the gradients of the outputs, which come first.
func (c *hookedCall) depart(grads []torch.Tensor) []torch.Tensor {
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
			torch.Throw("backward_hook", torch.KindGeneric,
				"Backward hook for Modules where no input requires gradient should always return None or None for all gradients.")
		}
	}
	return grads
}

// arrive receives the gradients of the inputs. It ignores gradients that did not come through
// the outputs.
func (c *hookedCall) arrive(grads []torch.Tensor) []torch.Tensor {
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

func (c *hookedCall) accept(hook string, grads, by []torch.Tensor) []torch.Tensor {
	switch {
	case by == nil:
		return grads
	case len(by) != len(grads):
		torch.Throw(hook, torch.KindGeneric, "it returned an invalid number of gradients: got %d, but expected %d", len(by), len(grads))
	}
	return by
}

func (c *hookedCall) keep(grads []torch.Tensor) {
	kept := make([]torch.Tensor, len(grads))
	for i, g := range grads {
		kept[i] = g.Keep()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	torch.Close(c.grads...)
	c.grads = kept
}

func (c *hookedCall) take() []torch.Tensor {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	grads := c.grads
	c.grads = nil
	return grads
}

// gate is a node of the graph that passes all tensors of a call on unchanged, and their
// gradients through a function.
type gate struct {
	pass   func(grads []torch.Tensor) []torch.Tensor
	width  int
	places []int // of the tensors among those of the call; the others are undefined
}

// newGate replaces the tensors by those behind the gate. It is nil if no tensor
// requires gradients.
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
