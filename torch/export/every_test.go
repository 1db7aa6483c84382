package export_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// typed is a tensor of another dtype.
func typed(d torch.DType, m export.TensorMeta) export.TensorMeta {
	m.DType = d
	return m
}

// inner is a graph of one call whose tensors have 4 elements.
func inner(name string, call export.Node, result export.TensorMeta) *export.GraphArgument {
	return &export.GraphArgument{Name: name, Graph: export.Graph{
		Inputs: []export.Argument{tensor("c")}, Outputs: call.Outputs, Nodes: []export.Node{call},
		Tensors: map[string]export.TensorMeta{"c": meta(4), call.Name: result}, Single: true,
	}}
}

// everyCall are calls with each kind of argument.
func everyCall() []export.Node {
	more := inner("while_cond", node("any", "torch.ops.aten.any.default", tensor("any"), "self", tensor("c")), typed(torch.Bool, meta()))
	halved := node("floor", "torch.ops.aten.floor_divide.Scalar", tensor("floor"), "self", tensor("c"), "other", 2.0)
	gelu := node("gelu", "torch.ops.aten.gelu.default", tensor("gelu"), "self", tensor("c"), "approximate", "tanh")
	neg := node("neg", "torch.ops.aten.neg.default", tensor("neg"), "self", tensor("c"))
	refused := inner("false_graph", node("back", "torch.ops.aten.linear_backward.default", tensor("back"), "self", tensor("c"),
		"grad_output", tensor("c"), "weight", tensor("c"), "output_mask", []bool{true, false, false}), meta(4))
	refused.Graph.Nodes[0].Outputs = []export.Argument{tensor("back"), nil, nil}
	all := []export.Node{
		node("rows", "torch.ops.aten.sym_size.int", number("rows"), "self", tensor("x"), "dim", int64(0)),
		node("half", "_operator.truediv", export.SymFloatArgument("half"), "a", number("rows"), "b", int64(2)),
		node("many", "_operator.gt", export.SymBoolArgument("many"), "a", number("rows"), "b", int64(3)),
		node("chosen", "torch.sym_ite", number("chosen"), "b", export.SymBoolArgument("many"), "t", number("rows"), "f", int64(1)),
		node("clone", "torch.ops.aten.clone.default", tensor("clone"), "self", tensor("x"), "memory_format", torch.ContiguousFormat),
		node("permute", "torch.ops.aten.permute.default", tensor("permute"), "self", tensor("p_weight"), "dims", []int64{1, 0}),
		node("places", "torch.ops.aten.zeros.default", tensor("places"), "size", []int64{2}, "dtype", torch.Int64, "layout", torch.Strided,
			"device", torch.CPU, "pin_memory", false),
		node("index", "torch.ops.aten.index.Tensor", tensor("index"), "self", tensor("p_weight"),
			"indices", export.OptionalTensors{nil, tensor("places")}),
		node("full", "torch.ops.aten.full.default", tensor("full"), "size", export.SymInts{number("chosen"), int64(4)},
			"fill_value", export.SymFloatArgument("half"), "dtype", torch.Float32),
		node("cat", "torch.ops.aten.cat.default", tensor("cat"), "tensors", []tensor{"index", "index"}, "dim", int64(1)),
		node("wide", "torch.ops.aten.full.default", tensor("wide"), "size", []int64{2}, "fill_value", complex(1, -2), "dtype", torch.Complex64),
		node("up", "torch.ops.aten.upsample_nearest1d.vec", tensor("up"), "input", tensor("y"), "output_size", nil,
			"scale_factors", []float64{2}),
		node("norm", "torch.ops.aten.native_layer_norm.default", []export.Argument{}, "input", tensor("full"), "normalized_shape", []int64{4},
			"weight", tensor("c_scale"), "bias", nil, "eps", 1e-5),
		node("cond", "torch.ops.higher_order.cond", []tensor{"taken"}, "", export.SymBoolArgument("many"), "", inner("true_graph", neg, meta(4)),
			"", refused, "", []tensor{"c_scale"}),
		node("loop", "torch.ops.higher_order.while_loop", []tensor{"looped"}, "", more, "", inner("while_body", halved, meta(4)),
			"", []tensor{"b_mean"}, "", []tensor{}),
		node("region", "torch.ops.higher_order.wrap_with_autocast", tensor("region"), "", "cpu", "", torch.BFloat16, "", false, "", nil,
			"", inner("region_0", gelu, meta(4)), "", tensor("c_scale")),
		node("add", "torch.ops.aten.add.Tensor", tensor("add"), "self", tensor("b_mean"), "other", tensor("c_scale")),
		node("exp", "torch.ops.aten.exp.default", tensor("exp"), "self", tensor("y")),
	}
	for i := range all {
		all[i].Metadata = map[string]string{"stack_trace": "  File \"model.py\", line 7, in forward\n    return x\n",
			"nn_module_stack": "L__self__,,model.Model;L__self___norm,norm,torch.nn.modules.normalization.LayerNorm"}
		switch all[i].Name {
		case "norm":
			all[i].Outputs = []export.Argument{tensor("normed"), tensor("mean"), tensor("rstd")}
		}
	}
	return all
}

// every is a program that has each kind of values, of inputs and of outputs which a program that runs can have.
func every() *export.Program {
	specs := []export.InputSpec{{Kind: export.Parameter, Arg: tensor("p_weight"), Target: "weight"},
		{Kind: export.Buffer, Arg: tensor("b_mean"), Target: "mean"}, {Kind: export.ConstantTensor, Arg: tensor("c_scale"), Target: "scale"},
		{Kind: export.UserInput, Arg: tensor("x")}, {Kind: export.UserInput, Arg: tensor("y")},
		{Kind: export.UserInput, Arg: 0.5, Name: "share"}, {Kind: export.UserInput, Arg: "mean", Name: "how"},
		{Kind: export.UserInput, Name: "none"}, {Kind: export.UserInput, Arg: true, Name: "deep"}}
	outs := []export.OutputSpec{{Kind: export.BufferMutation, Arg: tensor("add"), Target: "mean"},
		{Kind: export.UserInputMutation, Arg: tensor("exp"), Target: "y"}}
	var trees []*export.TreeSpec
	for _, name := range []string{"clone", "permute", "cat", "wide", "up", "taken", "looped", "region"} {
		outs, trees = append(outs, export.OutputSpec{Kind: export.UserOutput, Arg: tensor(name)}), append(trees, leaf())
	}
	rows := size(-1)
	g := export.Graph{Nodes: everyCall(),
		Tensors: map[string]export.TensorMeta{"p_weight": meta(4, 3), "b_mean": meta(4), "c_scale": meta(4), "x": meta(-1, 3),
			"y": meta(1, 1, 3), "clone": meta(-1, 3), "permute": meta(3, 4), "places": typed(torch.Int64, meta(2)), "index": meta(4, 2),
			"full": meta(-1, 4), "cat": meta(4, 4), "wide": typed(torch.Complex64, meta(2)), "up": meta(1, 1, 6), "normed": meta(-1, 4),
			"mean": meta(-1, 1), "rstd": meta(-1, 1), "taken": meta(4), "looped": meta(4), "region": meta(4), "add": meta(4), "exp": meta(1, 1, 3)},
		SymInts:   map[string]export.Expr{"rows": rows, "chosen": {Op: "Max", Args: []export.Expr{size(1), rows}}},
		SymFloats: map[string]export.Expr{"half": {Op: "Mul", Args: []export.Expr{{Op: "Float", Num: 0.5}, rows}}},
		SymBools:  map[string]export.Expr{"many": {Op: "StrictGreaterThan", Args: []export.Expr{rows, size(3)}}},
	}
	for _, in := range specs {
		g.Inputs = append(g.Inputs, in.Arg)
	}
	for _, out := range outs {
		g.Outputs = append(g.Outputs, out.Arg)
	}
	return &export.Program{
		Graph: g, Signature: export.Signature{Inputs: specs, Outputs: outs},
		StateDict: map[string]torch.Tensor{"weight": torch.Ones(4, 3)},
		Constants: map[string]torch.Tensor{"mean": torch.Ones(4), "scale": torch.Ones(4)},
		Ranges:    map[string]export.Range{"n": {Min: new(int64(2))}},
		Guards:    []string{"L['x'].size()[0] <= 64"},
		Opset:     map[string]int{"aten": 10}, Verifiers: []string{"TRAINING"}, Torch: torch.Version(),
		Metadata: map[string]string{"owner": "somebody"}, NamedTuple: map[string][]string{"model.Point": {"x", "y"}},
		Modules: []export.ModuleCall{{Signature: &export.ModuleCallSignature{
			In: tuple(tuple(leaf(), leaf()), &export.TreeSpec{Type: "builtins.dict", Keys: []string{"share", "how", "none", "deep"},
				Children: []*export.TreeSpec{leaf(), leaf(), leaf(), leaf()}}),
			Out: tuple(trees...), ArgNames: []string{"x", "y", "share", "how", "none", "deep"},
		}}, {Name: "norm"}},
	}
}

// everyInput is what it takes.
func everyInput() []any {
	return []any{torch.Ones(5, 3), torch.Ones(1, 1, 3), torch.Arg("share", 0.5), torch.Arg("how", "mean"), torch.Arg("none", nil),
		torch.Arg("deep", true)}
}

// writtenEvery is that program as a file.
func writtenEvery(t testing.TB) []byte {
	return fileOf(t, every())
}

// pickled is the sample's file with its tensors as torch.save writes them, as it does those of Python classes.
func pickled(t testing.TB) []byte {
	p := sample()
	defer p.Close()
	return rewritten(t, written(t), func(name, text string) (string, bool) {
		if own, ok := map[string]string{"data/weights/weight_0": "mean", "data/weights/weight_1": "weight"}[name]; ok {
			var b bytes.Buffer
			require.NoError(t, pt.Write(&b, p.StateDict[own]))
			text = b.String()
		}
		return strings.ReplaceAll(text, `"use_pickle":false`, `"use_pickle":true`), true
	})
}
