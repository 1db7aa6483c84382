package nn

import "github.com/libtorch-go/libtorch/torch"

// refs are the places of a call's tensors.
type refs = []*torch.Tensor

// Hooked runs forward and the hooks of m. A module's Forward from one tensor to another
// returns it:
//
//	func (n *Net) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(n, x, n.forward) }
//
// If no hook is registered at all it costs one atomic load. An error of the forward learns
// where in the network it happened: see Module of [torch.Error].
func Hooked[M any](m M, x torch.Tensor, forward func(x torch.Tensor) torch.Tensor) (y torch.Tensor) {
	defer func() {
		if failure := recover(); failure != nil {
			panic(located(m, failure))
		}
	}()
	if registry.list.Load() == nil {
		return forward(x)
	}
	in := x
	call(m, refs{&in}, refs{&y}, func() { y = forward(in) })
	return y
}

// HookedAll is [Hooked] for a Forward of several tensors. The inputs and outputs point at its
// arguments and results; forward sets the results.
//
//	func (n *Net) Forward(x, mask torch.Tensor) (y, weights torch.Tensor) {
//		nn.HookedAll(n, []*torch.Tensor{&x, &mask}, []*torch.Tensor{&y, &weights}, func() { y, weights = n.forward(x, mask) })
//		return y, weights
//	}
func HookedAll[M any](m M, inputs, outputs []*torch.Tensor, forward func()) {
	defer func() {
		if failure := recover(); failure != nil {
			panic(located(m, failure))
		}
	}()
	if registry.list.Load() == nil {
		forward()
		return
	}
	call(m, inputs, outputs, forward)
}

// call runs forward between the hooks of m.
func call(m any, inputs, outputs []*torch.Tensor, forward func()) {
	list, given := hooksOf(m), valuesOf(inputs)
	for _, h := range list {
		if h.pre != nil {
			replace("forward_pre_hook", inputs, h.pre(h.name(m), valuesOf(inputs)), given)
		}
	}
	back := newHookedCall(m, list)
	if back != nil {
		back.enter(inputs, given)
	}
	forward()
	for _, h := range list {
		if h.post != nil {
			replace("forward_hook", outputs, h.post(h.name(m), valuesOf(inputs), valuesOf(outputs)), valuesOf(inputs))
		}
	}
	if back != nil {
		back.leave(outputs, append(valuesOf(inputs), given...))
	}
	for i, t := range inputs {
		if !t.Is(given[i]) && !contains(outputs, *t) && !among(given, *t) {
			t.Close()
		}
	}
}

// hooksOf are the hooks that run for a call of m.
func hooksOf(m any) (list []*hooks) {
	all := registry.list.Load()
	if all == nil {
		return nil
	}
	called := identify(m)
	for _, h := range *all {
		if h.of == nil || h.of.covers(called) {
			list = append(list, h)
		}
	}
	return list
}

// name is the module that was registered; m may be embedded in it.
func (h *hooks) name(m any) any {
	if h.of == nil {
		return m
	}
	return h.module
}

// replace replaces tensors by those that a hook returned, and closes the replaced ones
// unless they belong to others.
func replace(hook string, places []*torch.Tensor, by, others []torch.Tensor) {
	if by == nil {
		return
	}
	if len(by) != len(places) {
		torch.Throw(hook, torch.KindValue, "a hook returned %d tensors, expected %d or nil", len(by), len(places))
	}
	before := valuesOf(places)
	for i, t := range by {
		*places[i] = t
	}
	for _, t := range before {
		if !contains(places, t) && !among(others, t) {
			t.Close()
		}
	}
}

func valuesOf(places []*torch.Tensor) []torch.Tensor {
	list := make([]torch.Tensor, len(places))
	for i, p := range places {
		list[i] = *p
	}
	return list
}

func contains(places []*torch.Tensor, t torch.Tensor) bool { return among(valuesOf(places), t) }

func among(list []torch.Tensor, t torch.Tensor) bool {
	for _, other := range list {
		if other.Is(t) {
			return true
		}
	}
	return false
}
