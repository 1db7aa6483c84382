package optim

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/replay"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
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
	// StateDict is the state in PyTorch's layout. The tensors are the optimizer's own, good
	// until its next step.
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
	Options   any     // a pointer to the optimizer's options: *[SGDOptions] of an SGD, and so on

	rate    torch.Tensor // LR, once LRTensor was asked for
	written float64      // what is in it
	batches []*batch     // of the last step
}

// LRTensor has the fused kernels of the group read the learning rate from a tensor, which it
// returns: one number beside the parameters, with LR in it: float64 on the CPU, whose kernels
// compute with that, float32 elsewhere. In a step of cuda.Graphed or export.CompileStep that is
// done by itself. A step that a program captures itself follows LR if [Group.WriteLR] is called
// before the capture, and whenever LR has changed. The tensor is the group's.
func (g *Group) LRTensor() torch.Tensor {
	if !g.rate.Defined() {
		o := torch.TensorOptions{DType: torch.Float32, Device: g.Params[0].Device()}
		if o.Device.IsCPU() {
			o.DType = torch.Float64
		}
		torch.Unscoped(func() { g.rate = o.Full(nil, g.LR) })
		g.written = g.LR
	}
	return g.rate
}

// WriteLR writes LR into the tensor of [Group.LRTensor].
func (g *Group) WriteLR() {
	g.LRTensor().FillInPlace(g.LR)
	g.written = g.LR
}

// followLR has the tensor of LRTensor, if there is one, follow LR. In a step that becomes a graph
// there is one from now on, and each run of the step writes it before it begins; kernels that
// have the rate as a number cannot follow. It returns whether the step becomes a graph.
func (g *Group) followLR() (recording bool) {
	fused := !slices.ContainsFunc(g.batches, func(b *batch) bool { return !b.fused })
	recorded := g.LR
	recording = replay.Before(g, func(replay bool) {
		if fused {
			if g.LRTensor(); g.written != g.LR {
				g.WriteLR()
			}
		} else if replay && g.LR != recorded {
			torch.Throw("optimizer", torch.KindValue, "the learning rate %v is part of a graph and cannot become %v: only fused kernels "+
				"follow it (SGD, Adam, AdamW and Adagrad have some)", recorded, g.LR)
		}
	})
	switch {
	case fused && recording:
		g.LRTensor()
	case fused && g.rate.Defined() && g.written != g.LR:
		g.WriteLR()
	}
	return recording
}

// base is what all optimizers have in common.
type base struct {
	name   string
	fixed  map[string]any // what a state dict says of every group besides its settings
	groups []*Group
	state  map[torch.Tensor][]torch.Tensor // of each parameter, one for each slot
	all    []torch.Tensor

	steps   int          // so far
	options reflect.Type // of Group.Options
	numbers []place      // the pointers in them that may not be nil
}

// newBase makes an optimizer without groups. PyTorch's flags for ways to compute are written
// into state dicts with the values that mean "as is best".
func newBase(name string, flags ...string) base {
	fixed := map[string]any{}
	for _, flag := range flags {
		fixed[flag] = false
		if flag == "foreach" {
			fixed[flag] = nil
		}
	}
	return base{name: name, fixed: fixed, state: map[torch.Tensor][]torch.Tensor{}}
}

func (b *base) addGroup(params []torch.Tensor, lr float64, options settings) *Group {
	b.want(len(params) > 0, "optimizer got an empty parameter list")
	b.want(lr >= 0, "%s", invalid(false, "learning rate", lr))
	seen := map[torch.Tensor]bool{}
	for i, p := range params {
		b.want(p.Defined(), "parameter %d is undefined", i)
		b.want(p.IsLeaf(), "can't optimize a non-leaf Tensor")
		b.want(!seen[p], "optimizer contains a parameter group with duplicate parameters")
		seen[p] = true
	}
	for _, p := range b.all {
		b.want(!seen[p], "some parameters appear in more than one parameter group")
	}
	complaint := options.check(params)
	b.want(complaint == "", "%s", complaint)
	b.options, b.numbers = reflect.TypeOf(options), needed(options)
	g := &Group{Params: slices.Clone(params), LR: lr, Options: options}
	b.groups = append(b.groups, g)
	b.all = append(b.all, params...)
	return g
}

func (b *base) want(ok bool, format string, args ...any) {
	if !ok {
		torch.Throw(b.name, torch.KindValue, format, args...)
	}
}

// Steps is how often Step was called. A state dict does not change it.
func (b *base) Steps() int { return b.steps }

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
	for _, g := range b.groups {
		g.forget()
		g.rate.Close()
		g.rate = torch.Tensor{}
	}
}

// step calls kernel with every batch of parameters that have gradients.
func (b *base) step(kernel func(*Group, *batch)) {
	b.steps++
	torch.NoGrad(func() {
		torch.Scope(func() {
			for _, g := range b.groups {
				b.stepGroup(g, kernel)
			}
		})
	})
}

func (b *base) stepGroup(g *Group, kernel func(*Group, *batch)) {
	b.checkOptions(g)
	finished := false
	defer func() {
		if !finished { // nobody knows how far it came
			g.forget()
		}
	}()
	if b.repeat(g, kernel) {
		finished = true
		return
	}
	grads := torch.Grads(g.Params)
	if !g.reuse(grads) {
		b.divide(g, grads)
	}
	g.followLR()
	for _, batch := range g.batches {
		b.want(batch.fused || !g.rate.Defined(), "only fused kernels read the learning rate from a tensor")
		if !batch.fused || !batch.reused {
			kernel(g, batch)
			continue
		}
		// The kernel refuses what does not lie in memory as before, and has changed nothing then.
		if torch.Try(func() { kernel(g, batch) }) != nil {
			for _, part := range b.again(g, batch, grads) {
				kernel(g, part)
			}
		}
	}
	finished = true
}

// checkOptions wants options of the optimizer's type without nil where a number has to be:
// programs may change them between steps.
func (b *base) checkOptions(g *Group) {
	b.want(reflect.TypeOf(g.Options) == b.options && !reflect.ValueOf(g.Options).IsNil(),
		"the options of a group are of type %T, expected %v", g.Options, b.options)
	for _, n := range b.numbers {
		b.want(!n.in(g.Options).IsNil(), "the options of a group have nil for %s, expected a number", n.name)
	}
}

// String names the optimizer and its groups' settings.
func (b *base) String() string {
	s := b.name
	for i, g := range b.groups {
		s += fmt.Sprintf("\n  group %d: %d parameters, lr %v", i, len(g.Params), g.LR)
		for _, f := range fields(g.Options) {
			s += fmt.Sprintf(", %s %v", f.name, f.get())
		}
	}
	return s
}

// optimizer is one that updates every batch by itself.
type optimizer[O any] struct {
	base
	update func(b *batch, lr float64, o *O)
}

func newOptimizer[O any](name string, update func(b *batch, lr float64, o *O), params []torch.Tensor, lr float64, opts []O,
	flags ...string) optimizer[O] {
	p := optimizer[O]{newBase(name, flags...), update}
	p.AddGroup(params, lr, opts...)
	return p
}

// AddGroup adds parameters with settings of their own.
func (p *optimizer[O]) AddGroup(params []torch.Tensor, lr float64, opts ...O) {
	p.addGroup(params, lr, any(settled(option.One(opts))).(settings))
}

// Step implements [Optimizer].
func (p *optimizer[O]) Step() {
	p.step(func(g *Group, b *batch) { p.update(b, g.LR, g.Options.(*O)) })
}

// scaled is an optimizer that has a fused kernel.
type scaled[O any] struct{ optimizer[O] }

// StepScaled implements [Scaled].
func (p *scaled[O]) StepScaled(scale, foundInf torch.Tensor) {
	p.step(func(g *Group, b *batch) {
		if b.fused {
			b.scale, b.found = b.on(scale), b.on(foundInf)
		} else if !p.unscale(b, scale, foundInf) {
			return
		}
		p.update(b, g.LR, g.Options.(*O))
		b.scale, b.found = torch.Tensor{}, torch.Tensor{}
	})
}

// below runs a fused kernel below autograd, which has nothing to record of it and would still
// unpack every tensor on the way.
func below(kernel func()) { torch.Inference(kernel) }

// values are the gradients, of sparse ones the elements that they have.
func (b *batch) values() []torch.Tensor {
	if !b.kind.sparse() {
		return b.grads
	}
	list := make([]torch.Tensor, len(b.grads))
	for i, grad := range b.grads {
		list[i] = aten.Values(grad)
	}
	return list
}

// unscale does for separate operators what fused kernels do by themselves. It returns false
// where the step is to be skipped, and waits for the device to know.
func (p *scaled[O]) unscale(b *batch, scale, found torch.Tensor) bool {
	if found.Defined() && found.Float64() != 0 {
		if b.fresh {
			p.unmake(b)
		}
		return false
	}
	if scale.Defined() {
		inverse := b.on(scale).To(torch.Float64).Reciprocal().To(torch.Float32)
		aten.ForeachMulTensorInPlace(b.values(), inverse)
	}
	return true
}
