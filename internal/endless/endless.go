package endless

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

// Program returns rows of one number as they are where none of them is at; else it goes on forever, and copies them in each turn.
func Program(at float64) *export.Program {
	is := call("is", "eq.Scalar", "c")
	is.Inputs = append(is.Inputs, export.NamedArgument{Name: "other", Value: at})
	return program([]export.Node{is, call("any", "any.default", "is")}, []export.Node{call("clone", "clone.default", "c")})
}

// Idle returns one row of one number if it is 0; else it goes on forever, and does nothing in each turn.
func Idle() *export.Program { return program(nil, nil) }

// program is a loop that asks and computes so.
func program(more, turn []export.Node) *export.Program {
	n := export.Expr{Op: "Symbol", Name: "n", Hint: int64(2)}
	rows := meta(torch.Float32, n, export.Expr{Op: "Integer", Int: 1})
	x, y, c := export.TensorArgument("x"), export.TensorArgument("y"), export.TensorArgument("c")
	tensors := map[string]export.TensorMeta{"c": rows, "is": meta(torch.Bool, rows.Sizes...), "any": meta(torch.Bool), "clone": rows}
	within := func(nodes []export.Node) export.NamedArgument {
		g := export.Graph{Single: true, Inputs: []export.Argument{c}, Outputs: []export.Argument{c}, Nodes: nodes, Tensors: tensors}
		if len(nodes) > 0 {
			g.Outputs = nodes[len(nodes)-1].Outputs
		}
		return export.NamedArgument{Value: &export.GraphArgument{Graph: g}}
	}
	loop := export.Node{Name: "loop", Target: "torch.ops.higher_order.while_loop",
		Inputs:  []export.NamedArgument{within(more), within(turn), {Value: []export.TensorArgument{x}}, {Value: []export.TensorArgument{}}},
		Outputs: []export.Argument{[]export.TensorArgument{"last"}}}
	return &export.Program{
		Graph: export.Graph{Inputs: []export.Argument{x}, Outputs: []export.Argument{y},
			Nodes:   []export.Node{loop, call("y", "clone.default", "last")},
			Tensors: map[string]export.TensorMeta{"x": rows, "y": rows, "last": rows}},
		Signature: export.Signature{Inputs: []export.InputSpec{{Kind: export.UserInput, Arg: x}},
			Outputs: []export.OutputSpec{{Kind: export.UserOutput, Arg: y}}},
		Ranges: map[string]export.Range{"n": {}},
		Modules: []export.ModuleCall{{Signature: &export.ModuleCallSignature{Out: &export.TreeSpec{},
			In: &export.TreeSpec{Type: "builtins.tuple", Children: []*export.TreeSpec{
				{Type: "builtins.tuple", Children: []*export.TreeSpec{{}}}, {Type: "builtins.dict"}}}}}},
	}
}

// call is a node with the name of its result.
func call(name, op, of string) export.Node {
	return export.Node{Name: name, Target: "torch.ops.aten." + op, Outputs: []export.Argument{export.TensorArgument(name)},
		Inputs: []export.NamedArgument{{Name: "self", Value: export.TensorArgument(of)}}}
}

func meta(d torch.DType, sizes ...export.Expr) export.TensorMeta {
	m := export.TensorMeta{DType: d, Device: torch.CPU, Layout: torch.Strided, Sizes: sizes, StorageOffset: export.Expr{Op: "Integer"}}
	for range sizes {
		m.Strides = append(m.Strides, export.Expr{Op: "Integer", Int: 1})
	}
	return m
}
