package export_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func compiled(t testing.TB, p *export.Program, o ...export.CompileOptions) *export.Compiled {
	c, err := export.Compile(p, o...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// plainly is a program of one vector x, float32 of any length, whose result is the output of the last node.
func plainly(nodes ...export.Node) *export.Program {
	p := doubling()
	p.Graph.Nodes = nodes
	p.Graph.SymInts, p.Graph.SymFloats, p.Graph.SymBools = map[string]export.Expr{}, map[string]export.Expr{}, map[string]export.Expr{}
	for _, n := range nodes {
		for _, out := range n.Outputs {
			switch out := out.(type) {
			case tensor:
				p.Graph.Tensors[string(out)] = meta(-1)
			case number:
				p.Graph.SymInts[string(out)] = size(-1)
			case export.SymFloatArgument:
				p.Graph.SymFloats[string(out)] = size(-1)
			case export.SymBoolArgument:
				p.Graph.SymBools[string(out)] = size(-1)
			}
		}
	}
	last := nodes[len(nodes)-1].Outputs[0]
	p.Graph.Outputs, p.Signature.Outputs = []export.Argument{last}, []export.OutputSpec{{Kind: export.UserOutput, Arg: last}}
	return p
}

// A compiled program returns what the program does, changes the same buffers, and outlives the program.
func TestCompile(t *testing.T) {
	torchtest.NoLeaks(t)
	p, other := sample(), sample()
	defer other.Close()
	c := compiled(t, p)
	mean := p.StateDict["mean"].Alias().Keep()
	defer mean.Close()
	p.Close()
	for _, rows := range []int{2, 5, 5} {
		torch.Scope(func() {
			x := torch.RandN(rows, 3)
			want, err := other.Call(x, 3)
			require.NoError(t, err)
			got, err := c.Call(x, torch.Arg("k", 3))
			require.NoError(t, err)
			requireSame(t, want, got, "result")
			torchtest.Equal(t, mean, other.StateDict["mean"])
		})
	}
	c.Close()
	_, err := c.Run(torch.Ones(2, 3), 3)
	require.ErrorContains(t, err, "closed")
}

// An error names the node, where it was made, and what its operator got; nothing is left of a run that failed.
func TestCompiledFailingNode(t *testing.T) {
	torchtest.NoLeaks(t)
	p := plainly(node("twice", "torch.ops.aten.add.Tensor", tensor("twice"), "self", tensor("x"), "other", tensor("x")),
		node("pair", "torch.ops.aten.cat.default", tensor("pair"), "tensors", []tensor{"twice", "x"}),
		node("sum", "torch.ops.aten.add.Tensor", tensor("sum"), "self", tensor("pair"), "other", tensor("x")))
	p.Graph.Nodes[2].Metadata = map[string]string{"stack_trace": "  File \"model.py\", line 7, in forward\n    return pair + x\n"}
	c := compiled(t, p)
	torch.Scope(func() {
		_, err := c.Run(torch.Ones(3))
		require.ErrorContains(t, err, `node "sum", torch.ops.aten.add.Tensor (model.py:7: return pair + x)`)
		require.ErrorContains(t, err, "(with float32[6], float32[3])")
		var failed *torch.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "add.Tensor", failed.Op)
	})
	p = sample()
	defer p.Close()
	p.Graph.Nodes[4].Inputs[1].Value = int64(3)
	p.Graph.Nodes[4].Outputs = []export.Argument{[]tensor{"left", "right", "more"}}
	p.Graph.Tensors["more"] = meta(-1, 2)
	_, err := compiled(t, p).Run(torch.Ones(4, 3), 3)
	require.ErrorContains(t, err, "result 0 has 2 tensors, expected 3")
}

// Many goroutines run one compiled program, each on values of its own.
func TestCompiledGoroutines(t *testing.T) {
	torchtest.NoLeaks(t)
	var nodes []export.Node
	last := "x"
	for i := range 20 {
		name := fmt.Sprint("add", i)
		nodes = append(nodes, node(name, "torch.ops.aten.add.Tensor", tensor(name), "self", tensor(last), "other", tensor("x")))
		last = name
	}
	c := compiled(t, plainly(nodes...))
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := range 50 {
				torch.Scope(func() {
					x := torch.RandN(1 + (g+i)%60)
					out, err := c.Run(x)
					require.NoError(t, err)
					want := x
					for range 20 {
						want = want.Add(x)
					}
					torchtest.Equal(t, out[0], want)
				})
			}
		})
	}
	all.Wait()
}

// While there is a place for each goroutine, none meets a lock of Go's on its way through a run.
func TestCompiledTakesNoLock(t *testing.T) {
	torchtest.NoLeaks(t)
	const goroutines = 64
	defer torch.SetConcurrency(torch.SetConcurrency(goroutines))
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	c := compiled(t, plainly(node("y", "torch.ops.aten.mul.Tensor", tensor("y"), "self", tensor("x"), "other", tensor("x"))))
	before := contended(t)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			torch.Scope(func() {
				x := torch.Ones(3)
				for range 2000 {
					_, err := c.Run(x)
					require.NoError(t, err)
				}
			})
		})
	}
	all.Wait()
	require.Equal(t, before, contended(t), "locks of Go's that a run waited for")
}

// contended is how often somebody has waited for a lock that was given back within a run. Those of Go's own runtime are not meant.
func contended(t *testing.T) (n int64) {
	records := make([]runtime.BlockProfileRecord, 10_000)
	count, ok := runtime.MutexProfile(records)
	require.True(t, ok)
	for _, r := range records[:count] {
		frames := runtime.CallersFrames(r.Stack())
		first, more := frames.Next()
		for f := first; more && !strings.HasPrefix(first.Function, "runtime."); {
			if f, more = frames.Next(); strings.Contains(f.Function, "export.(*Compiled).Run") {
				n += r.Count
			}
		}
	}
	return n
}

// Gradients go through a compiled program as through the program, and through a region that turns them on.
func TestCompiledGradients(t *testing.T) {
	torchtest.NoLeaks(t)
	inner := export.Graph{Inputs: []export.Argument{tensor("a")}, Outputs: []export.Argument{tensor("b")},
		Nodes:   []export.Node{node("b", "torch.ops.aten.sin.default", tensor("b"), "self", tensor("a"))},
		Tensors: map[string]export.TensorMeta{"a": meta(-1), "b": meta(-1)}, Single: true}
	p := plainly(node("y", "torch.ops.aten.mul.Tensor", tensor("y"), "self", tensor("x"), "other", tensor("x")),
		node("z", "torch.ops.higher_order.wrap_with_set_grad_enabled", tensor("z"), "", true,
			"", &export.GraphArgument{Name: "inner", Graph: inner}, "", tensor("x")),
		node("s", "torch.ops.aten.add.Tensor", tensor("s"), "self", tensor("y"), "other", tensor("z")))
	c := compiled(t, p)
	for _, within := range []func(func()){func(fn func()) { fn() }, torch.NoGrad, torch.Inference} {
		torch.Scope(func() {
			x := torch.RandN(4).SetRequiresGrad(true)
			var got, want []torch.Tensor
			var err, err2 error
			within(func() { got, err = c.Run(x) })
			within(func() { want, err2 = p.Run(x) })
			require.NoError(t, err)
			require.NoError(t, err2)
			require.Equal(t, want[0].RequiresGrad(), got[0].RequiresGrad())
			if got[0].RequiresGrad() {
				torchtest.Equal(t, torch.Grad([]torch.Tensor{got[0].Sum()}, []torch.Tensor{x})[0],
					torch.Grad([]torch.Tensor{want[0].Sum()}, []torch.Tensor{x})[0])
			}
		})
	}
}

// A result that shares memory with an input shares its count of changes, so that autograd sees them.
func TestCompiledViews(t *testing.T) {
	torchtest.NoLeaks(t)
	c := compiled(t, plainly(node("v", "torch.ops.aten.slice.Tensor", tensor("v"), "self", tensor("x"), "dim", int64(0), "start", int64(1))))
	torch.Scope(func() {
		x, w := torch.Ones(3), torch.Ones(2).SetRequiresGrad(true)
		out, err := c.Run(x)
		require.NoError(t, err)
		y := w.Mul(out[0]).Sum()
		x.AddScalarInPlace(1)
		require.ErrorContains(t, torch.Try(func() { y.Backward() }), "modified by an inplace operation")
	})
}

// Operators from Go run within a compiled program, and their failures come back.
func TestCompiledCallsGo(t *testing.T) {
	torchtest.NoLeaks(t)
	lib := library.New("compiled")
	defer lib.Close()
	lib.Define("positive(Tensor x) -> Tensor").Impl(library.CPU, func(x torch.Tensor) (torch.Tensor, error) {
		if x.Min().Float64() < 0 {
			return torch.Tensor{}, fmt.Errorf("only positive numbers")
		}
		return x.Sqrt(), nil
	})
	var b bytes.Buffer
	require.NoError(t, plainly(node("r", "torch.ops.aten.neg.default", tensor("r"), "self", tensor("x"))).Write(&b))
	file := rewritten(t, b.Bytes(), func(_, text string) (string, bool) {
		return strings.NewReplacer("aten.neg", "compiled.positive", `"self"`, `"x"`).Replace(text), true
	})
	p, err := export.Read(bytes.NewReader(file), int64(len(file)), export.LoadOptions{Operators: []string{"compiled::*"}})
	require.NoError(t, err)
	defer p.Close()
	c := compiled(t, p)
	torch.Scope(func() {
		out, err := c.Run(torch.Full([]int{3}, 4.0))
		require.NoError(t, err)
		torchtest.Equal(t, out[0], torch.Full([]int{3}, 2.0))
		_, err = c.Run(torch.Full([]int{3}, -4.0))
		require.ErrorContains(t, err, `node "r"`)
		require.ErrorContains(t, err, "only positive numbers")
	})
}

// C++ computes numbers as Go does.
func TestCalculations(t *testing.T) {
	torchtest.NoLeaks(t)
	values := []any{int64(0), int64(1), int64(-1), int64(2), int64(-3), int64(7), int64(63), int64(1 << 40),
		int64(math.MaxInt64), int64(math.MinInt64),
		0.0, 0.5, -2.5, 1e300, math.Inf(1), math.NaN(), true, false}
	unary := []string{"_operator.neg", "_operator.pos", "torch.sym_not", "torch.sym_float", "torch.sym_int", "math.trunc", "torch.sym_sqrt"}
	binary := []string{"_operator.add", "_operator.sub", "_operator.mul", "_operator.floordiv", "_operator.mod", "_operator.pow",
		"_operator.lshift", "_operator.rshift", "torch.sym_max", "torch.sym_min", "_operator.truediv", "_operator.eq", "_operator.ne",
		"_operator.lt", "_operator.le", "_operator.gt", "_operator.ge", "_operator.and_", "_operator.or_"}
	same := func(target string, args ...any) {
		for _, out := range []export.Argument{number("r"), export.SymFloatArgument("r"), export.SymBoolArgument("r")} {
			n := export.Node{Name: "r", Target: target, Outputs: []export.Argument{out}}
			for _, a := range args {
				n.Inputs = append(n.Inputs, export.NamedArgument{Value: a})
			}
			p := plainly(n)
			c, err := export.Compile(p)
			require.NoError(t, err)
			want, failed := p.Call(torch.Ones(1))
			got, err := c.Call(torch.Ones(1))
			c.Close()
			where := fmt.Sprint(target, args, out)
			require.Equal(t, failed == nil, err == nil, "%s: %v, %v, %v, %v", where, failed, err, want, got)
			format := "%T %v"
			if target == "_operator.pow" {
				format = "%T %.12v" // Go's own power is not the C library's, which Python has
			}
			require.Equal(t, fmt.Sprintf(format, want, want), fmt.Sprintf(format, got, got), where)
			if err != nil && strings.Contains(failed.Error(), "larger than 64 bits") {
				require.ErrorContains(t, err, "larger than 64 bits")
			}
		}
	}
	torch.Scope(func() {
		for _, target := range unary {
			for _, v := range values {
				same(target, v)
			}
		}
		for _, target := range binary {
			for _, v := range values {
				for _, w := range values {
					same(target, v, w)
				}
			}
		}
		same("torch.sym_ite", true, int64(3), int64(4))
		same("torch.sym_ite", false, int64(3), int64(4))
	})
}
