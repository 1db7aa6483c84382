package fuzz

import (
	"reflect"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// constructors are those of the optimizers: parameters, learning rate, options.
var constructors = []any{
	optim.NewSGD, optim.NewAdam, optim.NewAdamW, optim.NewAdagrad, optim.NewAdadelta, optim.NewAdafactor, optim.NewAdamax,
	optim.NewASGD, optim.NewMuon,
	optim.NewNAdam, optim.NewRAdam, optim.NewRMSprop, optim.NewRprop, optim.NewSparseAdam, optim.NewLBFGS,
}

// optimizers are steps of each: g are the gradients, data what SetData puts in between.
func optimizers() (targets []*target) {
	for _, l := range constructors {
		made, name := ofFunc(l, ""), named(l)
		list := reflect.TypeFor[[]torch.Tensor]()
		extra := []hint{{name: "g", typ: list, needed: true}, {name: "data", typ: list}, {name: "again", typ: reflect.TypeFor[bool]()}}
		t := &target{name: name, params: append(made.hints(), extra...), samples: optimizerSamples(name)}
		t.call = func(m *maker, args []Arg) []any { return steps(m, made, args) }
		targets = append(targets, t)
	}
	return targets
}

func optimizerSamples(name string) (list []Case) {
	list = readSamples()[name]
	for _, text := range []string{
		"a0=(float32[2,3],float32[4]) a1=0.1 g=(float32[2,3],float32[4])",
		"a0=(float32[3,3]+t) a1=0.1 g=(float32[3,3])",
		"a0=(float64[2]) a1=0.1 g=(float64[2])",
	} {
		c, err := Parse(name + " " + text)
		if err != nil {
			panic(err)
		}
		list = append(list, c)
	}
	return list
}

// argument is the value of one argument, nil if it is not given.
func argument(m *maker, args []Arg, name string) any {
	for _, a := range args {
		if a.Name == name {
			return m.value(a.Value)
		}
	}
	return nil
}

func tensorList(v any) (list []torch.Tensor) {
	each, ok := v.([]any)
	if !ok && v != nil {
		each = []any{v}
	}
	for _, x := range each {
		if t, ok := x.(torch.Tensor); ok {
			list = append(list, t)
		}
	}
	return list
}

// steps makes an optimizer and three steps with it, with other data before the last.
func steps(m *maker, made function, args []Arg) []any {
	leaves := make([]any, 0, 4)
	for _, p := range tensorList(argument(m, args, "a0")) {
		if p.Defined() && !p.Closed() {
			p = p.Detach().SetRequiresGrad(true)
		}
		leaves = append(leaves, p)
	}
	grads, data := tensorList(argument(m, args, "g")), tensorList(argument(m, args, "data"))
	m.calling()
	o := made.with(m, args, "a0", leaves)[0].Interface()
	m.later(func() { closeState(o) })
	opt, ok := o.(optim.Optimizer)
	if !ok {
		opt = closureless{o.(*optim.LBFGS), tensorList(leaves)}
	}
	params := tensorList(leaves)
	for step := range 3 {
		for i, g := range grads {
			if i < len(params) {
				params[i].SetGrad(g)
			}
		}
		if step == 2 {
			for i, d := range data {
				if i < len(params) {
					params[i].SetData(d)
				}
			}
		}
		opt.Step()
	}
	if again := argument(m, args, "again"); again == true {
		if err := opt.LoadStateDict(opt.StateDict()); err != nil {
			torch.Throw("load_state_dict", torch.KindValue, "%v", err)
		}
		opt.Step()
	}
	opt.ZeroGrad()
	return []any{params}
}

// closureless is LBFGS, whose Step wants to compute the loss itself, for parameters with
// gradients that are already there. It ends a search that was given MaxInt iterations, and whose
// loss never stands still.
type closureless struct {
	*optim.LBFGS
	params []torch.Tensor
}

func (c closureless) Step() {
	const enough = 1000
	evaluations := 0
	c.LBFGS.Step(func() torch.Tensor {
		if evaluations++; evaluations > enough {
			torch.Throw("closure", torch.KindValue, "%d evaluations are enough", enough)
		}
		loss := torch.Zeros(1)
		for _, p := range c.params {
			loss = loss.Add(p.Mul(p).Sum().To(torch.Float32))
		}
		return loss
	})
}

func closeState(opt any) {
	if c, ok := opt.(interface{ Close() }); ok {
		c.Close()
	}
}
