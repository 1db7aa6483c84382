package export_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

type (
	tensor = export.TensorArgument
	number = export.SymIntArgument
)

// meta is a float32 tensor of these sizes, -1 for the symbol n.
func meta(sizes ...int) export.TensorMeta {
	m := export.TensorMeta{DType: torch.Float32, Device: torch.CPU, Layout: torch.Strided, StorageOffset: size(0)}
	stride := 1
	for i := len(sizes) - 1; i >= 0; i-- {
		m.Sizes = append([]export.Expr{size(sizes[i])}, m.Sizes...)
		m.Strides = append([]export.Expr{size(stride)}, m.Strides...)
		stride *= max(sizes[i], 1)
	}
	return m
}

func size(n int) export.Expr {
	if n < 0 {
		return export.Expr{Op: "Symbol", Name: "n", Hint: int64(5)}
	}
	return export.Expr{Op: "Integer", Int: int64(n)}
}

// node is a call with positional arguments by their names in the schema: name, value, …
func node(name, target string, output export.Argument, args ...any) export.Node {
	n := export.Node{Name: name, Target: target, Outputs: []export.Argument{output}}
	for i := 0; i < len(args); i += 2 {
		n.Inputs = append(n.Inputs, export.NamedArgument{Name: args[i].(string), Value: args[i+1]})
	}
	return n
}

// branch is a graph that calls one function of a tensor.
func branch(name, target string) *export.GraphArgument {
	return &export.GraphArgument{Name: name, Graph: export.Graph{
		Inputs: []export.Argument{tensor("a")}, Outputs: []export.Argument{tensor("b")},
		Nodes:   []export.Node{node("b", target, tensor("b"), "self", tensor("a"))},
		Tensors: map[string]export.TensorMeta{"a": meta(-1, 2), "b": meta(-1, 2)},
	}}
}

func leaf() *export.TreeSpec { return &export.TreeSpec{} }

func tuple(children ...*export.TreeSpec) *export.TreeSpec {
	return &export.TreeSpec{Type: "builtins.tuple", Children: children}
}

// sample is a program with a bit of everything, made by hand.
func sample() *export.Program {
	g := export.Graph{
		Inputs: []export.Argument{tensor("p_weight"), tensor("b_mean"), tensor("x"), int64(3)},
		Nodes: []export.Node{
			node("rows", "torch.ops.aten.sym_size.int", number("rows"), "self", tensor("x"), "dim", int64(0)),
			node("linear", "torch.ops.aten.linear.default", tensor("linear"), "input", tensor("x"), "weight", tensor("p_weight")),
			node("add_", "torch.ops.aten.add_.Tensor", tensor("add_"), "self", tensor("b_mean"), "other", 1.0),
			node("add", "torch.ops.aten.add.Tensor", tensor("add"), "self", tensor("linear"), "other", tensor("add_"), "alpha", 0.5),
			node("split", "torch.ops.aten.split.Tensor", []tensor{"left", "right"}, "self", tensor("add"), "split_size", int64(2), "dim", int64(1)),
			node("twice", "_operator.mul", number("twice"), "a", number("rows"), "b", int64(2)),
			node("zeros", "torch.ops.aten.zeros.default", tensor("zeros"), "size", export.SymInts{number("twice"), int64(3)},
				"dtype", torch.Float32, "device", torch.CPU),
			node("many", "_operator.gt", export.SymBoolArgument("many"), "a", number("rows"), "b", int64(3)),
			node("cond", "torch.ops.higher_order.cond", []tensor{"chosen"}, "", export.SymBoolArgument("many"),
				"", branch("yes", "torch.ops.aten.neg.default"),
				"", branch("no", "torch.ops.aten.abs.default"), "", []tensor{"left"}),
		},
		Outputs: []export.Argument{tensor("right"), tensor("zeros"), tensor("chosen"), number("rows")},
		Tensors: map[string]export.TensorMeta{"p_weight": meta(4, 3), "b_mean": meta(4), "x": meta(-1, 3), "linear": meta(-1, 4), "add_": meta(4),
			"add": meta(-1, 4), "left": meta(-1, 2), "right": meta(-1, 2), "zeros": meta(10, 3), "chosen": meta(-1, 2)},
		SymInts:  map[string]export.Expr{"rows": size(-1), "twice": {Op: "Mul", Args: []export.Expr{size(2), size(-1)}}},
		SymBools: map[string]export.Expr{"many": {Op: "StrictGreaterThan", Args: []export.Expr{size(-1), size(3)}}},
	}
	p := &export.Program{
		Graph: g,
		Signature: export.Signature{
			Inputs: []export.InputSpec{{Kind: export.Parameter, Arg: tensor("p_weight"), Target: "weight"},
				{Kind: export.Buffer, Arg: tensor("b_mean"), Target: "mean", Persistent: true}, {Kind: export.UserInput, Arg: tensor("x")},
				{Kind: export.UserInput, Arg: int64(3), Name: "k"}},
		},
		StateDict: map[string]torch.Tensor{"weight": torch.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 4, 3),
			"mean": torch.Ones(4)},
		Ranges:    map[string]export.Range{"n": {Min: new(int64(2)), Max: new(int64(64))}},
		Opset:     map[string]int{"aten": 10},
		Verifiers: []string{"TRAINING"}, Torch: torch.Version(),
		Modules: []export.ModuleCall{{Signature: &export.ModuleCallSignature{
			In:  tuple(tuple(leaf()), &export.TreeSpec{Type: "builtins.dict", Keys: []string{"k"}, Children: []*export.TreeSpec{leaf()}}),
			Out: tuple(leaf(), leaf(), leaf(), leaf()), ArgNames: []string{"x", "k"},
		}}},
	}
	for _, out := range g.Outputs {
		p.Signature.Outputs = append(p.Signature.Outputs, export.OutputSpec{Kind: export.UserOutput, Arg: out})
	}
	return p
}

// written is the sample as a file.
func written(t testing.TB) []byte {
	return fileOf(t, sample())
}

// fileOf is a program as a file; it is closed.
func fileOf(t testing.TB, p *export.Program) []byte {
	defer p.Close()
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}
