package torch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// viewStates are the tensors that views are made of; Python's x is what the function makes.
var viewStates = map[string]struct {
	python string
	make   func(leaf, plain torch.Tensor) torch.Tensor
}{
	"plain":            {"plain", func(_, plain torch.Tensor) torch.Tensor { return plain }},
	"a view":           {"plain.t()", func(_, plain torch.Tensor) torch.Tensor { return plain.T() }},
	"a view of a view": {"torch.ops.aten.alias(plain.t())", func(_, plain torch.Tensor) torch.Tensor { return aten.Alias(plain.T()) }},
	"recorded":         {"leaf", func(leaf, _ torch.Tensor) torch.Tensor { return leaf }},
	"computed":         {"torch.ops.aten.mul.Scalar(leaf, 2)", func(leaf, _ torch.Tensor) torch.Tensor { return leaf.MulScalar(2) }},
	"a view of what is so": {"torch.ops.aten.mul.Scalar(leaf, 2).t()", func(leaf, _ torch.Tensor) torch.Tensor {
		return leaf.MulScalar(2).T()
	}},
	"a view of what is not so": {"leaf.detach().t()", func(leaf, _ torch.Tensor) torch.Tensor { return leaf.Detach().T() }},
	"changed":                  {"plain.mul_(leaf)", func(leaf, plain torch.Tensor) torch.Tensor { return plain.MulInPlace(leaf) }},
	"a view of what will be changed": {"(plain.t(), plain.mul_(leaf))[0]", func(leaf, plain torch.Tensor) torch.Tensor {
		view := plain.T()
		plain.MulInPlace(leaf)
		return view
	}},
}

// viewOperators go by the upper half of autograd where it has nothing to do, or, the last ones, by both.
var viewOperators = map[string]struct {
	python string
	run    func(x torch.Tensor) torch.Tensor
}{
	"t":            {"x.t()", torch.Tensor.T},
	"transpose":    {"x.transpose(0, 1)", func(x torch.Tensor) torch.Tensor { return x.Transpose(0, 1) }},
	"permute":      {"x.permute(1, 0)", func(x torch.Tensor) torch.Tensor { return x.Permute(1, 0) }},
	"squeeze":      {"x.squeeze()", func(x torch.Tensor) torch.Tensor { return x.Squeeze() }},
	"squeeze.dims": {"x.squeeze((0,))", func(x torch.Tensor) torch.Tensor { return x.Squeeze(0) }},
	"unsqueeze":    {"x.unsqueeze(0)", func(x torch.Tensor) torch.Tensor { return x.Unsqueeze(0) }},
	"view":         {"x.view(1, 2, 2)", func(x torch.Tensor) torch.Tensor { return x.View(1, 2, 2) }},
	"alias":        {"torch.ops.aten.alias(x)", aten.Alias},
	"as_strided":   {"x.as_strided((2, 2), (1, 2))", func(x torch.Tensor) torch.Tensor { return x.AsStrided([]int{2, 2}, []int{1, 2}) }},
	"diagonal":     {"x.diagonal()", func(x torch.Tensor) torch.Tensor { return x.Diagonal() }},
	"expand":       {"x.expand(2, 2)", func(x torch.Tensor) torch.Tensor { return x.Expand(2, 2) }},
	"select":       {"x.select(0, 1)", func(x torch.Tensor) torch.Tensor { return x.Select(0, 1) }},
	"narrow":       {"x.narrow(1, 1, 1)", func(x torch.Tensor) torch.Tensor { return x.Narrow(1, 1, 1) }},
	"split":        {"x.split(1)[1]", func(x torch.Tensor) torch.Tensor { return x.Split(1)[1] }},
	"unbind":       {"x.unbind()[1]", func(x torch.Tensor) torch.Tensor { return x.Unbind()[1] }},
	"unfold":       {"x.unfold(0, 1, 1)", func(x torch.Tensor) torch.Tensor { return x.Unfold(0, 1, 1) }},
	"detach":       {"x.detach()", torch.Tensor.Detach},
	"complex":      {"torch.view_as_complex(x)", torch.ViewAsComplex},
	"real": {"torch.view_as_real(torch.view_as_complex(x))", func(x torch.Tensor) torch.Tensor {
		return torch.ViewAsReal(torch.ViewAsComplex(x))
	}},
	"mm":    {"x.mm(x)", func(x torch.Tensor) torch.Tensor { return x.MM(x) }},
	"add_":  {"x.add_(torch.ones(2, 2))", func(x torch.Tensor) torch.Tensor { return x.AddInPlace(torch.Ones(2, 2)) }},
	"relu_": {"x.relu_()", torch.Tensor.ReLUInPlace},
}

// What autograd is told of views, and of what is computed from them, is what it is told in Python: what they are views of, the changes that
// are counted, and the way of gradients through what is changed in place afterwards.
func TestViewsAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	const program = `
def told():
    leaf, plain = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True), torch.tensor([[5., 6.], [7., 8.]])
    by = torch.tensor(3., requires_grad=True)
    facts = []
    def tell(t):
        base = list(t._base.shape) if t._is_view() else None
        name = t.grad_fn.name() if t.grad_fn is not None else ""
        facts.append(f"{base} {t._version} {t.requires_grad} {t.is_leaf} {name}".replace(",", ""))
    try:
        %s
        tell(x)
        tell(v)
        with torch.no_grad():
            v.add_(1)
        tell(x)
        v.mul_(by)
        tell(x)
        tell(v)
        (torch.view_as_real(v) if v.is_complex() else v).sum().backward()
        for t in leaf, by:
            facts.append("none" if t.grad is None else " ".join(f"{g:.9g}" for g in t.grad.flatten().tolist()))
    except RuntimeError as e:
        facts.append(str(e).split(".")[0][:40])
    return "; ".join(facts)
y = told()
`
	modes := map[string]func(func()){"": func(fn func()) { fn() }, "with torch.no_grad(): ": torch.NoGrad}
	for state, s := range viewStates {
		for name, o := range viewOperators {
			for mode, in := range modes {
				made := fmt.Sprintf("x = %s\n        %sv = %s", s.python, mode, o.python)
				want := ask(t, fmt.Sprintf(program, made))
				require.Empty(t, want.Error)
				torch.Scope(func() { require.Equal(t, want.Text, toldOfView(s.make, o.run, in), "%s of %s %s", name, state, mode) })
			}
		}
	}
}

// toldOfView is what the program of TestViewsAreThoseOfPython tells.
func toldOfView(state func(leaf, plain torch.Tensor) torch.Tensor, operator func(torch.Tensor) torch.Tensor, mode func(func())) string {
	leaf, plain := torch.FromSlice([]float32{1, 2, 3, 4}, 2, 2).SetRequiresGrad(true), torch.FromSlice([]float32{5, 6, 7, 8}, 2, 2)
	by := torch.FromValue(float32(3)).SetRequiresGrad(true)
	var facts []string
	tell := func(t torch.Tensor) {
		base, name := "None", ""
		if t.IsView() {
			base = fmt.Sprint(t.Base().Shape())
		}
		if fn := t.GradFn(); fn.Defined() {
			name = fn.Name()
		}
		flags := strings.NewReplacer("true", "True", "false", "False").Replace(fmt.Sprint(t.RequiresGrad(), t.IsLeaf()))
		facts = append(facts, fmt.Sprintf("%s %d %s %s", base, t.Version(), flags, name))
	}
	err := torch.Try(func() {
		x := state(leaf, plain)
		var v torch.Tensor
		mode(func() { v = operator(x) })
		tell(x)
		tell(v)
		torch.NoGrad(func() { v.AddScalarInPlace(1) })
		tell(x)
		v.MulInPlace(by)
		tell(x)
		tell(v)
		sum := v
		if v.DType().IsComplex() {
			sum = torch.ViewAsReal(v)
		}
		sum.Sum().Backward()
		for _, t := range []torch.Tensor{leaf, by} {
			grad := "none"
			if t.Grad().Defined() {
				grad = strings.Trim(fmt.Sprintf("%.9g", torch.Values[float32](t.Grad())), "[]")
			}
			facts = append(facts, grad)
		}
	})
	if err != nil {
		text, _, _ := strings.Cut(err.(*torch.Error).Msg, ".")
		facts = append(facts, text[:min(len(text), 40)])
	}
	return strings.Join(facts, "; ")
}
