package export_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// A program is data: this one is made by hand, saved, and read again. Most come from Python's torch.export.save.
func Example() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.pt2")
	made := doubling()
	if err := made.Save(path); err != nil {
		fmt.Println(err)
		return
	}

	program, err := export.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer program.Close()
	fmt.Print(program.Graph)
	torch.Scope(func() {
		out, err := program.Run(torch.FromSlice([]float32{1, 2, 3}))
		fmt.Println(out[0], err)
		_, err = program.Run(torch.Ones(3, 3))
		fmt.Println(err)
	})
	// Output:
	// class GraphModule(torch.nn.Module):
	//     def forward(self, x: "f32[n]"):
	//         # No stacktrace found for following nodes
	//         mul: "f32[n]" = torch.ops.aten.mul.Tensor(x, 2);  x = None
	//         return (mul,)
	// tensor([2., 4., 6.]) <nil>
	// export: input "x" has the shape [3 3], expected [n]
}

// A model of Go's becomes a program: a file that Python runs, or one call here.
func ExampleExport() {
	torch.Scope(func() {
		model := func(x torch.Tensor) torch.Tensor { return x.MulScalar(2).Add(x.Sin()).Flatten() }
		program, err := export.Export(model, []any{torch.Ones(3, 2)}, export.ExportOptions{
			DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "rows"}}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer program.Close()
		for _, n := range program.Graph.Nodes {
			fmt.Println(n.Outputs[0], "=", n.Target)
		}
		compiled, err := export.Compile(program)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer compiled.Close()
		out, err := compiled.Run(torch.Zeros(2, 2))
		fmt.Println(out[0], err)
	})
	// Output:
	// mul = torch.ops.aten.mul.Scalar
	// sin = torch.ops.aten.sin.default
	// add = torch.ops.aten.add.Tensor
	// flatten = torch.ops.aten.flatten.using_ints
	// tensor([0., 0., 0., 0.]) <nil>
}

// A compiled program is made fast first: its batch norm is part of the weights, and the convolution computes the ReLU as well.
func ExampleCompile() {
	torch.Scope(func() {
		conv, norm := nn.NewConv2d(3, 4, 1), nn.NewBatchNorm2d(4)
		nn.Eval(norm)
		x := torch.RandN(1, 3, 8, 8)
		program, err := export.Export(func(x torch.Tensor) torch.Tensor { return norm.Forward(conv.Forward(x)).ReLU() }, []any{x})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer program.Close()
		compiled, err := export.Compile(program)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer compiled.Close()
		torch.Inference(func() {
			out, err := compiled.Run(x)
			want, _ := program.Run(x)
			fmt.Println(out[0].AllClose(want[0], torch.AllCloseOptions{ATol: new(1e-6)}), err)
		})
		fmt.Println(strings.Contains(compiled.String(), "batch_norm.default"), strings.Contains(compiled.String(), "'relu'"))
	})
	// Output:
	// true <nil>
	// false true
}

// A step of training that is recorded in its third run and repeated from then on.
func ExampleCompileStep() {
	torch.Scope(func() {
		weight := torch.Zeros(2).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{weight}, 0.25)
		defer opt.Close()
		step := export.CompileStep(func(in []torch.Tensor) []torch.Tensor {
			opt.ZeroGrad()
			loss := weight.Mul(in[0]).Sum().SubScalar(4).Square()
			loss.Backward()
			opt.Step()
			return []torch.Tensor{loss}
		})
		defer step.Close()
		for range 5 {
			out, err := step.Run(torch.FromSlice([]float32{1, 0}))
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(out[0].Float64(), step.Recorded())
		}
	})
	// Output:
	// 16 0
	// 4 0
	// 1 1
	// 0.25 1
	// 0.0625 1
}

// doubling is a program that doubles a vector of 2 to 64 elements.
func doubling() *export.Program {
	n := export.Expr{Op: "Symbol", Name: "n"}
	vector := export.TensorMeta{DType: torch.Float32, Sizes: []export.Expr{n}, Strides: []export.Expr{{Op: "Integer", Int: 1}},
		StorageOffset: export.Expr{Op: "Integer"}, Device: torch.CPU, Layout: torch.Strided}
	x, y := export.TensorArgument("x"), export.TensorArgument("mul")
	return &export.Program{
		Graph: export.Graph{
			Inputs: []export.Argument{x}, Outputs: []export.Argument{y},
			Nodes: []export.Node{{Name: "mul", Target: "torch.ops.aten.mul.Tensor", Outputs: []export.Argument{y},
				Inputs: []export.NamedArgument{{Name: "self", Value: x}, {Name: "other", Value: int64(2)}}}},
			Tensors: map[string]export.TensorMeta{"x": vector, "mul": vector},
		},
		Signature: export.Signature{Inputs: []export.InputSpec{{Kind: export.UserInput, Arg: x}},
			Outputs: []export.OutputSpec{{Kind: export.UserOutput, Arg: y}}},
		Ranges: map[string]export.Range{"n": {Min: new(int64(2)), Max: new(int64(64))}},
		Modules: []export.ModuleCall{{Signature: &export.ModuleCallSignature{
			In: tuple(tuple(leaf()), &export.TreeSpec{Type: "builtins.dict"}), Out: tuple(leaf()), ArgNames: []string{"x"}}}},
		Opset: map[string]int{"aten": 10}, Verifiers: []string{"TRAINING"}, Torch: torch.Version(),
	}
}
