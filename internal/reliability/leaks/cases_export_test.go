package leaks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

// exportCases are about programs.
var exportCases = cases{
	"export": func() {
		p := doubling()
		path := filepath.Join(os.TempDir(), "leaks.pt2")
		check(p.Save(path))
		loaded := must(export.Load(path))
		check(os.Remove(path))
		_, _, _ = loaded.String(), loaded.Graph.String(), loaded.Graph.Nodes[0]
		file, line, function, code := loaded.Graph.Nodes[0].Line()
		_, _, _, _ = file, line, function, code
		check(loaded.Verify())
		m := must(loaded.Module())
		must(m.Run(random(3)))
		must(m.Call(random(4)))
		must(loaded.Run(random(5)))
		must(loaded.Call(random(6)))
		if _, err := loaded.Run(random(3, 3)); err == nil {
			panic("a wrong shape was taken")
		}
		compiled := must(export.Compile(loaded))
		must(compiled.Run(random(3)))
		ctx, cancel := context.WithCancel(context.Background())
		must(compiled.RunContext(ctx, random(3)))
		must(m.RunContext(ctx, random(3)))
		must(export.CalibrateContext(ctx, loaded, slices.Values([][]any{{random(3)}})))
		must(export.CompileContext(ctx, loaded)).Close()
		cancel()
		_, err := compiled.RunContext(ctx, random(3))
		_, err2 := m.RunContext(ctx, random(3))
		_, err3 := export.CalibrateContext(ctx, loaded, slices.Values([][]any{{random(3)}}))
		_, err4 := export.CompileContext(ctx, loaded)
		if err == nil || err2 == nil || err3 == nil || err4 == nil {
			panic("a run began whose context had ended")
		}
		must(compiled.Call(random(4)))
		if _, err := compiled.Run(random(3, 3)); err == nil {
			panic("a wrong shape was taken")
		}
		_, _ = compiled.String(), compiled.DType()
		if _, why := compiled.Graphs(); why == nil {
			panic("a program on the CPU has graphs")
		}
		compiled.Close()
		check(loaded.To(torch.CPU))
		torch.NoGrad(func() {
			for _, o := range []export.CompileOptions{{Exact: true}, {DType: torch.BFloat16}} {
				compiled, err := export.Compile(loaded, o)
				if err != nil && o.DType == torch.BFloat16 {
					continue // it is slower on this processor
				}
				must(must(compiled, err).Run(random(3)))
				compiled.Close()
			}
		})
		if _, err := export.Compile(loaded, export.CompileOptions{DType: torch.Int64}); err == nil {
			panic("a wrong dtype was taken")
		}
		w := random(3).SetRequiresGrad(true)
		step := export.CompileStep(func(in []torch.Tensor) []torch.Tensor {
			loss := w.Mul(in[0]).Sum()
			return append(torch.Grad([]torch.Tensor{loss}, []torch.Tensor{w}), loss)
		})
		for range 4 {
			must(step.Run(random(3)))
		}
		_ = step.Recorded()
		step.Close()
		captured := must(export.Export(func(x torch.Tensor) torch.Tensor { return x.Mul(x).Add(torch.FromSlice([]float32{1})) }, []any{random(3)},
			export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "n"}}}}))
		must(captured.Run(random(4)))
		_ = must(export.Calibrate(captured, slices.Values([][]any{{random(4)}, {random(5)}}))).Floats()
		captured.Close()
		var b bytes.Buffer
		check(loaded.Write(&b))
		loaded.Close()
		must(export.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))).Close()
		n := loaded.Graph.Tensors["x"].Sizes[0]
		_, _ = n.Value()
		_, _ = n.Eval(map[string]int64{"n": 3})
		_, _, _ = n.String(), export.UserInput.String(), export.UserOutput.String()
		_ = (&export.OperatorError{Operator: "aten::from_file"}).Error()
		tree := must(export.ParseTreeSpec(`[1, {"type": null, "context": null, "children_spec": []}]`))
		must(tree.Unflatten(make([]torch.Tensor, tree.Leaves())))
		must(loaded.Modules[0].Signature.Flatten(random(3)))
	},
}

// doubling is a program that doubles a vector.
func doubling() *export.Program {
	one := export.Expr{Op: "Integer", Int: 1}
	vector := export.TensorMeta{DType: torch.Float32, Sizes: []export.Expr{{Op: "Symbol", Name: "n"}}, Strides: []export.Expr{one},
		StorageOffset: export.Expr{Op: "Integer"}, Device: torch.CPU, Layout: torch.Strided}
	x, y, leaf := export.TensorArgument("x"), export.TensorArgument("mul"), &export.TreeSpec{}
	tuple := func(children ...*export.TreeSpec) *export.TreeSpec {
		return &export.TreeSpec{Type: "builtins.tuple", Children: children}
	}
	return &export.Program{
		Graph: export.Graph{
			Inputs: []export.Argument{x}, Outputs: []export.Argument{y},
			Nodes: []export.Node{{Name: "mul", Target: "torch.ops.aten.mul.Tensor", Outputs: []export.Argument{y},
				Inputs: []export.NamedArgument{{Name: "self", Value: x}, {Name: "other", Value: int64(2)}}}},
			Tensors: map[string]export.TensorMeta{"x": vector, "mul": vector},
		},
		Signature: export.Signature{Inputs: []export.InputSpec{{Kind: export.UserInput, Arg: x}},
			Outputs: []export.OutputSpec{{Kind: export.UserOutput, Arg: y}}},
		Modules: []export.ModuleCall{{Signature: &export.ModuleCallSignature{
			In: tuple(tuple(leaf), &export.TreeSpec{Type: "builtins.dict"}), Out: tuple(leaf), ArgNames: []string{"x"}}}},
	}
}
