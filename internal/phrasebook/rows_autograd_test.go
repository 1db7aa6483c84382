package phrasebook

import (
	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

var autograd = chapter{
	title: "Autograd",
	python: `x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)`,
	setup: func() {
		x = torch.FromSlice([]float32{1, 2, 3}).SetRequiresGrad(true)
		w = torch.FromSlice([]float32{0.5, -1, 2}).SetRequiresGrad(true)
	},
	phrases: []phrase{
		{"(x * w).sum().backward()" + hidden + "[x.grad, w.grad]", func() any {
			x.Mul(w).Sum().Backward()
			return all(x.Grad(), w.Grad())
		}},
		{"x.grad", func() any { return x.Grad() }},
		{"(x * 2).backward(torch.ones(3))" + hidden + "x.grad", func() any {
			x.MulScalar(2).Backward(torch.BackwardOptions{Gradient: torch.Ones(3)})
			return x.Grad()
		}},
		{`y = (x ** 2).sum()
y.backward(retain_graph=True)
y.backward()` + hidden + "x.grad", func() any {
			y := x.PowScalar(2).Sum()
			y.Backward(torch.BackwardOptions{RetainGraph: true})
			y.Backward()
			return x.Grad()
		}},
		{"torch.autograd.grad((x * w).sum(), [x, w])", func() any {
			return torch.Grad([]torch.Tensor{x.Mul(w).Sum()}, []torch.Tensor{x, w})
		}},
		{`g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
g.sum().backward()` + hidden + "x.grad", func() any {
			g := torch.Grad([]torch.Tensor{x.PowScalar(3).Sum()}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})
			g[0].Sum().Backward()
			return x.Grad()
		}},
		{`x.sum().backward()
x.grad = None` + hidden + "x.grad", func() any {
			x.Sum().Backward()
			x.SetGrad(torch.Tensor{})
			return x.Grad()
		}},
		{`x.grad = torch.ones(3)
x.grad.zero_()` + hidden + "x.grad", func() any {
			x.SetGrad(torch.Ones(3))
			x.Grad().ZeroInPlace()
			return x.Grad()
		}},
		{"x.requires_grad_(False)", func() any { return x.SetRequiresGrad(false) }},
		{"x.detach()", func() any { return x.Detach() }},
		{"x.detach().clone().requires_grad_()", func() any { return x.Detach().Clone().SetRequiresGrad(true) }},
		{"x.detach().cpu().numpy().tolist()", func() any { return torch.Values[float32](x) }},
		{"x.is_leaf, (x * 2).is_leaf", func() any { return all(x.IsLeaf(), x.MulScalar(2).IsLeaf()) }},
		{"(x * w).grad_fn.name()", func() any { return x.Mul(w).GradFn().Name() }},
		{`y = x * 2
y.retain_grad()
y.sum().backward()` + hidden + "y.grad", func() any {
			y := x.MulScalar(2)
			y.RetainGrad()
			y.Sum().Backward()
			return y.Grad()
		}},
		{`h = x.register_hook(lambda g: g * 10)
(x * 2).sum().backward()
h.remove()` + hidden + "x.grad", func() any {
			h := x.RegisterHook(func(g torch.Tensor) torch.Tensor { return g.MulScalar(10) })
			x.MulScalar(2).Sum().Backward()
			h.Remove()
			return x.Grad()
		}},
		{`y = checkpoint(torch.exp, x, use_reentrant=False)
y.sum().backward()` + hidden + "x.grad", func() any {
			y := nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return in[0].Exp() }, x)
			y.Sum().Backward()
			return x.Grad()
		}},
		{"x._version", func() any { return x.Version() }},
	},
}

var modes = chapter{
	title:  "Modes",
	python: "x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)",
	setup: func() {
		x = torch.FromSlice([]float32{1, 2, 3}).SetRequiresGrad(true)
	},
	phrases: []phrase{
		{`with torch.no_grad():
    y = x * 2`, func() any { torch.NoGrad(func() { y = x.MulScalar(2) }); return y }},
		{`with torch.no_grad():
    x -= 0.1 * torch.ones(3)`, func() any {
			torch.NoGrad(func() { x.SubInPlace(torch.Ones(3).MulScalar(0.1)) })
			return x
		}},
		{`with torch.inference_mode():
    y = x * 2`, func() any { torch.Inference(func() { y = x.MulScalar(2) }); return y }},
		{`with torch.no_grad():
    with torch.enable_grad():
        y = x * 2`, func() any {
			torch.NoGrad(func() {
				torch.EnableGrad(func() { y = x.MulScalar(2) })
			})
			return y
		}},
		{"torch.is_grad_enabled()", func() any { return torch.IsGradEnabled() }},
		{`with torch.autograd.detect_anomaly():
    x.sum().backward()` + hidden + "x.grad", func() any {
			torch.DetectAnomaly(func() { x.Sum().Backward() })
			return x.Grad()
		}},
		{`@torch.no_grad()
def double(x):
    return x * 2

y = double(x)`, func() any {
			double := func(x torch.Tensor) (y torch.Tensor) {
				torch.NoGrad(func() { y = x.MulScalar(2) })
				return y
			}
			y = double(x)
			return y
		}},
		{`with torch.autocast('cpu', dtype=torch.bfloat16):
    y = torch.outer(x, x)`, func() any {
			amp.Autocast(torch.CPU, torch.BFloat16, func() { y = x.Outer(x) })
			return y
		}},
		{`with torch.random.fork_rng():
    y = torch.rand(2)` + hidden + "[y, torch.rand(2)]", func() any {
			state := torch.DefaultGenerator(torch.CPU).State()
			y := torch.Rand(2)
			torch.DefaultGenerator(torch.CPU).SetState(state)
			return all(y, torch.Rand(2))
		}},
	},
}
