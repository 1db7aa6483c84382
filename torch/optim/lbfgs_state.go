package optim

import (
	"fmt"
	"math"
	"reflect"

	"github.com/libtorch-go/libtorch/torch"
)

// StateDict is the state in PyTorch's layout, where it belongs to the first parameter: the
// history as the lists old_dirs, old_stps and ro, the last iteration as d, t, H_diag,
// prev_flat_grad and prev_loss, and the counts func_evals and n_iter. The large tensors are
// the optimizer's own.
func (l *LBFGS) StateDict() StateDict {
	dict := l.base.StateDict()
	if l.evals == 0 {
		return dict
	}
	state := map[string]any{"func_evals": l.evals, "n_iter": l.iterations}
	dict["state"].(map[int]map[string]any)[0] = state
	if l.iterations == 0 {
		return dict
	}
	grads, steps, curvatures := []torch.Tensor{}, []torch.Tensor{}, []any{}
	for _, c := range l.past {
		grads, steps, curvatures = append(grads, c.grad), append(steps, c.step), append(curvatures, l.pack(c.curvature))
	}
	state["old_dirs"], state["old_stps"], state["ro"] = grads, steps, curvatures
	state["d"], state["t"], state["H_diag"] = l.direction, l.pack(l.length), l.pack(l.scale)
	state["prev_flat_grad"], state["prev_loss"] = l.grad, l.loss
	return dict
}

// pack converts a value to PyTorch's form.
func (l *LBFGS) pack(v value) any {
	if v.dtype.IsZero() {
		return v.f
	}
	return torch.TensorOptions{DType: v.dtype, Device: l.grad.Device()}.Full(nil, v.f)
}

// LoadStateDict copies a state that StateDict or PyTorch made. If it does not fit, nothing
// changes and the error says why.
func (l *LBFGS) LoadStateDict(d StateDict) error {
	loaded := &LBFGS{}
	var err error
	broken := torch.Try(func() {
		torch.Scope(func() { err = l.read(d, loaded) })
	})
	if err == nil && broken != nil {
		err = misfit(broken)
	}
	if err != nil {
		return err
	}
	l.Close()
	l.groups[0].settle(loaded.groups[0])
	loaded.base = l.base
	*l = *loaded
	return nil
}

// read reads a state dict into a new optimizer.
func (l *LBFGS) read(d StateDict, into *LBFGS) error {
	parsed, err := l.parse(d)
	if err != nil {
		return misfit(err)
	}
	into.base = parsed
	states, _ := asDict(d["state"])
	state, ok := asDict(states["0"])
	switch {
	case !ok && states["0"] != nil:
		return misfit(fmt.Errorf("the state is %s, expected a map", show(states["0"])))
	case len(state) == 0:
		return nil
	}
	r := reader{state: state, first: l.groups[0].Params[0]}
	for _, p := range l.groups[0].Params {
		r.numel += pairs([]torch.Tensor{p})[0].NumEl()
	}
	into.evals, into.iterations = r.count("func_evals"), r.count("n_iter")
	if into.iterations > 0 && r.err == nil {
		r.fill(into)
	}
	if r.err != nil {
		return misfit(r.err)
	}
	into.direction, into.grad = into.direction.Keep(), into.grad.Keep()
	for i, c := range into.past {
		into.past[i].grad, into.past[i].step = c.grad.Keep(), c.step.Keep()
	}
	return nil
}

// reader reads the state of an LBFGS and keeps the first error.
type reader struct {
	state map[string]any
	first torch.Tensor // parameter, whose dtype and device the vectors have
	numel int          // of all parameters
	err   error
}

func (r *reader) fill(l *LBFGS) {
	l.length, l.scale, l.loss = r.number("t"), r.number("H_diag"), r.number("prev_loss").f
	l.direction, l.grad = r.vector("d", r.state["d"]), r.vector("prev_flat_grad", r.state["prev_flat_grad"])
	grads, steps, curvatures := r.list("old_dirs"), r.list("old_stps"), r.list("ro")
	if len(grads) != len(steps) || len(grads) != len(curvatures) {
		r.fail("old_dirs, old_stps and ro are not of one length")
		return
	}
	for i := range grads {
		l.past = append(l.past, change{r.vector("old_dirs", grads[i]), r.vector("old_stps", steps[i]), r.value("ro", curvatures[i])})
	}
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) number(name string) value { return r.value(name, r.state[name]) }

// count reads a count.
func (r *reader) count(name string) int {
	n := r.number(name).f
	if !(n >= 0 && n <= math.MaxInt32 && n == math.Trunc(n)) {
		r.fail("%s is %v, expected a number of times", name, n)
		return 0
	}
	return int(n)
}

func (r *reader) value(name string, v any) value {
	if t, ok := v.(torch.Tensor); ok && t.Defined() && t.NumEl() == 1 && t.IsFloatingPoint() {
		return scalar(t)
	}
	switch f := reflect.ValueOf(v); {
	case f.CanFloat():
		return float(f.Float())
	case f.CanInt():
		return float(float64(f.Int()))
	}
	r.fail("%s is %s, expected a number", name, show(v))
	return value{}
}

func (r *reader) list(name string) []any {
	list, ok := asList(r.state[name])
	if !ok {
		r.fail("%s is %s, expected a list", name, show(r.state[name]))
	}
	return list
}

// vector copies a tensor that has one element for each element of all parameters. The copy
// belongs to the scope, so that nothing is left if a later one cannot be copied.
func (r *reader) vector(name string, v any) torch.Tensor {
	t, ok := v.(torch.Tensor)
	switch {
	case !ok || !t.Defined():
		r.fail("%s is %s, expected a tensor", name, show(v))
		return torch.Tensor{}
	case t.Layout() != torch.Strided || t.IsComplex():
		r.fail("%s is a %s, expected real numbers", name, show(t))
		return torch.Tensor{}
	case t.Dim() != 1 || t.NumEl() != r.numel:
		r.fail("%s has shape %v, expected [%d]", name, t.Shape(), r.numel)
		return torch.Tensor{}
	}
	dtype := r.first.DType()
	if r.first.IsComplex() {
		dtype = t.DType() // its parts; PyTorch, too, leaves them as they are
	}
	own := torch.TensorOptions{DType: dtype, Device: r.first.Device()}.Empty(r.numel)
	return own.CopyInPlace(t)
}

// Close frees the state tensors. Without it they are freed when the garbage collector finds
// that nobody refers to the optimizer any more.
func (l *LBFGS) Close() {
	torch.Close(l.direction, l.grad)
	for _, c := range l.past {
		torch.Close(c.grad, c.step)
	}
	l.evals, l.iterations, l.direction, l.grad, l.past = 0, 0, torch.Tensor{}, torch.Tensor{}, nil
}
