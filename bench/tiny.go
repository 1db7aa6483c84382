package main

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

// opsPerScope is how many operations share a scope: as many as a small training step has.
const opsPerScope = 100

// operands are the tensors of the tiny cases; python/tiny.py has the same.
type operands struct{ x, y, z, v, a, b, w torch.Tensor }

func newOperands() (t *operands) {
	torch.Unscoped(func() {
		grid := torch.TensorOptions{DType: torch.Float32}.Arange(16).Reshape(4, 4)
		t = &operands{
			x: torch.FromSlice([]float32{1.5}),
			y: torch.FromSlice([]float32{2.25}),
			z: torch.FromSlice([]float32{0.5}),
			v: torch.TensorOptions{DType: torch.Float32}.Arange(4),
			a: grid,
			b: grid.DivScalar(8),
			w: torch.FromSlice([]float32{3.5}).SetRequiresGrad(true),
		}
	})
	return t
}

// tiny is one operator on tensors of a few elements: it measures the cost of a call.
// Gradients are enabled, as by default.
type tiny struct {
	op            func() torch.Tensor
	uninitialised bool // the values are not set
}

func (t tiny) run(n int) {
	for ; n > 0; n -= opsPerScope {
		torch.Scope(func() {
			for range min(n, opsPerScope) {
				t.op()
			}
		})
	}
}

func (t tiny) check() (result string) {
	torch.Scope(func() {
		out := t.op()
		if t.uninitialised {
			out = torch.ZerosLike(out)
		}
		result = digest(out)
	})
	return result
}

// chain is a program of so many additions, one behind the other, that is computed in one call.
type chain struct {
	additions *export.Compiled
	x         torch.Tensor
}

func newChain(string) (workload, error) {
	const additions = 64
	x := torch.Ones(4).DivScalar(2)
	p, err := export.Export(func(x torch.Tensor) torch.Tensor {
		y := x
		for range additions {
			y = y.Add(x)
		}
		return y
	}, []any{x})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	c, err := export.Compile(p)
	return &chain{c, x}, err
}

func (c *chain) run(n int) { c.repeat(n, func(torch.Tensor) {}) }

func (c *chain) check() (result string) {
	c.repeat(1, func(y torch.Tensor) { result = digest(y) })
	return result
}

func (c *chain) repeat(n int, with func(torch.Tensor)) {
	torch.Inference(func() {
		for range n {
			torch.Scope(func() {
				out, err := c.additions.Run(c.x)
				if err != nil {
					torch.Throw("bench", torch.KindValue, "%v", err)
				}
				with(out[0])
			})
		}
	})
}

func tinyCases() []benchmark {
	of := func(name string, op func(t *operands) torch.Tensor) benchmark {
		return benchmark{name: name, group: tinyGroup, n: 2000, make: func(string) (workload, error) {
			t := newOperands()
			return tiny{func() torch.Tensor { return op(t) }, name == "empty"}, nil
		}}
	}
	return []benchmark{
		of("add", func(t *operands) torch.Tensor { return t.x.Add(t.y) }),
		of("add_", func(t *operands) torch.Tensor { return t.z.AddInPlace(t.y) }),
		of("view", func(t *operands) torch.Tensor { return t.v.View(2, 2) }),
		of("mm 4x4", func(t *operands) torch.Tensor { return t.a.MM(t.b) }),
		of("empty", func(t *operands) torch.Tensor { return torch.Empty(1) }),
		of("add scalar", func(t *operands) torch.Tensor { return t.x.AddScalar(2.5) }),
		of("relu", func(t *operands) torch.Tensor { return t.x.ReLU() }),
		of("sum", func(t *operands) torch.Tensor { return t.a.Sum() }),
		of("add, recorded", func(t *operands) torch.Tensor { return t.w.Add(t.y) }),
		{name: "64 additions, compiled", group: tinyGroup, n: 200, make: newChain},
	}
}
