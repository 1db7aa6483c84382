package export_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The sample computes what it says, takes the branch that its size says, and changes its buffer.
func TestSample(t *testing.T) {
	torchtest.NoLeaks(t)
	p := sample()
	defer p.Close()
	for call, rows := range []int{2, 5} {
		torch.Scope(func() {
			x := torch.RandN(rows, 3)
			w, mean := p.StateDict["weight"], torch.Full([]int{4}, float64(2+call))
			v, err := p.Call(x, torch.Arg("k", 3))
			require.NoError(t, err)
			out := v.([]any)
			want := x.MatMul(w.T()).Add(mean.MulScalar(0.5)).Split(2, 1)
			requireSame(t, want[1].Contiguous(), out[0].(torch.Tensor).Contiguous(), "right")
			require.Equal(t, []int{2 * rows, 3}, out[1].(torch.Tensor).Shape())
			chosen := want[0].Abs()
			if rows > 3 {
				chosen = want[0].Neg()
			}
			torchtest.Equal(t, out[2].(torch.Tensor).Contiguous(), chosen.Contiguous())
			require.Equal(t, rows, out[3])
			torchtest.Equal(t, p.StateDict["mean"], mean)
		})
	}
}

// Wrong inputs are errors that say which and what was expected.
func TestInputs(t *testing.T) {
	torchtest.NoLeaks(t)
	p := sample()
	defer p.Close()
	m, err := p.Module()
	require.NoError(t, err)
	compiled, err := export.Compile(p)
	require.NoError(t, err)
	defer compiled.Close()
	torch.Scope(func() {
		x, k := torch.Ones(4, 3), torch.Arg("k", 3)
		for _, c := range []struct {
			inputs []any
			want   string
		}{
			{[]any{}, `argument 0, "x", is missing`},
			{[]any{x}, `argument 1, "k", is missing`},
			{[]any{x, 3, 4}, `3 arguments, expected 2`},
			{[]any{x, k, torch.Arg("k", 3)}, `argument "k" was given twice`},
			{[]any{k, x}, `a positional argument follows a named one`},
			{[]any{x, k, torch.Arg("z", 3)}, `there is no argument "z"`},
			{[]any{x, torch.Arg("k", 4)}, `input "k" was 3 when the program was exported, which is part of it now; got 4`},
			{[]any{x, torch.Arg("k", x)}, `got float32`},
			{[]any{7, k}, `input "x" is int, expected a tensor`},
			{[]any{torch.Tensor{}, k}, `expected a tensor`},
			{[]any{x.To(torch.Float64), k}, `input "x" is of float64, expected float32`},
			{[]any{torch.Ones(4), k}, `has the shape [4], expected [n 3]`},
			{[]any{torch.Ones(4, 2), k}, `dimension 1 is 2, expected 3; export it with a dynamic dimension`},
			{[]any{torch.Ones(65, 3), k}, `dimension 0 is 65, expected at most 64`},
		} {
			_, err := m.Run(c.inputs...)
			require.ErrorContains(t, err, c.want)
			_, own := compiled.Run(c.inputs...)
			require.EqualError(t, own, err.Error())
		}
		out, err := m.Run(torch.Arg("x", x), k)
		require.NoError(t, err)
		require.Len(t, out, 3)
	})
}

// An error of an operator names the node; nothing is left of a run that failed.
func TestFailingNode(t *testing.T) {
	torchtest.NoLeaks(t)
	p := sample()
	defer p.Close()
	p.Graph.Nodes[4].Inputs[1].Value = int64(0)
	_, err := p.Run(torch.Ones(4, 3), 3)
	require.ErrorContains(t, err, `node "split", torch.ops.aten.split.Tensor`)
	p.Graph.Nodes[4].Inputs[1].Value = int64(3)
	p.Graph.Nodes[4].Outputs = []export.Argument{[]tensor{"left", "right", "more"}}
	p.Graph.Tensors["more"] = meta(-1, 2)
	_, err = p.Run(torch.Ones(4, 3), 3)
	require.ErrorContains(t, err, "result 0 has 2 tensors, expected 3")
}

// A module that changes nothing runs in many goroutines at once.
func TestGoroutines(t *testing.T) {
	torchtest.NoLeaks(t)
	m, err := doubling().Module()
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				torch.Scope(func() {
					x := torch.RandN(7)
					out, err := m.Run(x)
					require.NoError(t, err)
					torchtest.Equal(t, out[0], x.MulScalar(2))
				})
			}
		})
	}
	all.Wait()
}

// Expressions are printed as sympy prints them, computed, and solved for their symbol.
func TestExpr(t *testing.T) {
	n, two := size(-1), size(2)
	expr := func(op string, args ...export.Expr) export.Expr { return export.Expr{Op: op, Args: args} }
	for _, c := range []struct {
		expr export.Expr
		text string
		want int64
	}{
		{size(7), "7", 7},
		{n, "n", 7},
		{expr("Mul", two, n), "2*n", 14},
		{expr("Add", n, export.Expr{Op: "Integer", Int: -1}), "n - 1", 6},
		{expr("Add", size(1), expr("Mul", two, n)), "2*n + 1", 15},
		{expr("Mul", two, expr("Add", n, size(1))), "2*(n + 1)", 16},
		{expr("FloorDiv", n, two), "(n//2)", 3},
		{expr("Mod", n, two), "Mod(n, 2)", 1},
		{expr("Pow", n, two), "n**2", 49},
		{expr("Max", n, size(9)), "Max(n, 9)", 9},
		{expr("Min", n, two), "Min(n, 2)", 2},
	} {
		require.Equal(t, c.text, c.expr.String())
		got, ok := c.expr.Eval(map[string]int64{"n": 7})
		require.True(t, ok)
		require.Equal(t, c.want, got, c.text)
	}
	_, ok := expr("Mul", size(1<<62), two).Eval(nil)
	require.False(t, ok, "more than 64 bits")
	_, ok = expr("FloorDiv", n, size(0)).Eval(map[string]int64{"n": 7})
	require.False(t, ok, "division by zero")
}
