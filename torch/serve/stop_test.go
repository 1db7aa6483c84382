package serve_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// endless is a program of one row of two numbers that returns it where it is zero; else it goes on forever.
func endless(t *testing.T) serve.Model {
	n := export.Expr{Op: "Symbol", Name: "n", Hint: int64(2)}
	meta := func(d torch.DType, sizes ...export.Expr) export.TensorMeta {
		one := export.Expr{Op: "Integer", Int: 1}
		m := export.TensorMeta{DType: d, Device: torch.CPU, Layout: torch.Strided, Sizes: sizes, StorageOffset: export.Expr{Op: "Integer"}}
		for range sizes {
			m.Strides = append(m.Strides, one)
		}
		return m
	}
	row := meta(torch.Float32, n, export.Expr{Op: "Integer", Int: 1})
	call := func(name, op, of string) export.Node {
		return export.Node{Name: name, Target: "torch.ops.aten." + op + ".default", Outputs: []export.Argument{export.TensorArgument(name)},
			Inputs: []export.NamedArgument{{Name: "self", Value: export.TensorArgument(of)}}}
	}
	within := func(name, op string, result export.TensorMeta) export.NamedArgument {
		return export.NamedArgument{Value: &export.GraphArgument{Name: name, Graph: export.Graph{Single: true,
			Inputs: []export.Argument{export.TensorArgument("c")}, Outputs: []export.Argument{export.TensorArgument(op)},
			Nodes: []export.Node{call(op, op, "c")}, Tensors: map[string]export.TensorMeta{"c": row, op: result}}}}
	}
	x, y := export.TensorArgument("x"), export.TensorArgument("y")
	loop := export.Node{Name: "loop", Target: "torch.ops.higher_order.while_loop",
		Inputs: []export.NamedArgument{within("more", "any", meta(torch.Bool)), within("turn", "clone", row),
			{Value: []export.TensorArgument{x}}, {Value: []export.TensorArgument{}}},
		Outputs: []export.Argument{[]export.TensorArgument{"last"}}}
	p := &export.Program{
		Graph: export.Graph{Inputs: []export.Argument{x}, Outputs: []export.Argument{y}, Nodes: []export.Node{loop, call("y", "clone", "last")},
			Tensors: map[string]export.TensorMeta{"x": row, "y": row, "last": row}},
		Signature: export.Signature{Inputs: []export.InputSpec{{Kind: export.UserInput, Arg: x}},
			Outputs: []export.OutputSpec{{Kind: export.UserOutput, Arg: y}}},
		Ranges: map[string]export.Range{"n": {}},
		Modules: []export.ModuleCall{{Signature: &export.ModuleCallSignature{Out: &export.TreeSpec{},
			In: &export.TreeSpec{Type: "builtins.tuple", Children: []*export.TreeSpec{
				{Type: "builtins.tuple", Children: []*export.TreeSpec{{}}}, {Type: "builtins.dict"}}}}}},
	}
	m, err := serve.Program(p)
	require.NoError(t, err)
	return m
}

// Requests that a program has no end for end with their contexts, one in its batch or several, and the lane computes what comes then.
func TestRequestsThatDoNotEnd(t *testing.T) {
	torchtest.NoLeaks(t)
	s := start(t, endless(t), serve.Options{MaxBatch: 4, MaxDelay: 20 * time.Millisecond})
	for _, requests := range []int{1, 3} {
		var all sync.WaitGroup
		for i := range requests {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+20*i)*time.Millisecond)
				defer cancel()
				torch.Scope(func() {
					_, err := s.Run(ctx, torch.Ones(1, 1))
					require.ErrorIs(t, err, context.DeadlineExceeded)
				})
			})
		}
		all.Wait()
		torch.Scope(func() {
			out, err := s.Run(t.Context(), torch.Zeros(1, 1))
			require.NoError(t, err)
			torchtest.Equal(t, out[0], torch.Zeros(1, 1))
		})
	}
}
