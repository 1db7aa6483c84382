package export_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// gate is a model of a program's own: a parameter by hand, a constant from Go, a buffer that changes.
type gate struct {
	Linear *nn.Linear `torch:"linear-1"` // no identifier
	Scale  torch.Tensor
	Calls  torch.Tensor `torch:",buffer"`
}

func newGate() *gate {
	return &gate{nn.NewLinear(4, 4), torch.Full([]int{4}, 0.5).SetRequiresGrad(true), torch.Zeros()}
}

// Forward is linear, with rows and columns told apart by their sizes.
func (g *gate) Forward(x, y torch.Tensor) (torch.Tensor, []torch.Tensor) {
	torch.NoGrad(func() { g.Calls.AddScalarInPlace(1) })
	rows := x.Size(0)
	h := g.Linear.Forward(x).Mul(g.Scale).Add(torch.FromSlice([]float32{1, 2, 3, 4}))
	both := torch.Cat([]torch.Tensor{h, y}, 0).Reshape(2*rows, 2, 2)
	return both.Mul(g.Calls), h.Chunk(2, 1)
}

// captured is a model and inputs to capture and run it with; the first are for capturing.
type captured struct {
	name   string
	model  any
	inputs [][]any
	export.ExportOptions
}

func batch(name string) map[string]map[int]export.Dim {
	return map[string]map[int]export.Dim{name: {0: {Name: "batch", Max: 64}}}
}

func capturedModels() []captured {
	image := func(sizes ...int) (list [][]any) {
		for _, n := range sizes {
			list = append(list, []any{torch.RandN(n, 3, 64, 64)})
		}
		return list
	}
	dynamic := export.ExportOptions{DynamicShapes: batch("x")}
	rows := export.Dim{Name: "rows", Min: 2}
	attention := nn.NewTransformerEncoderLayer(16, 4, nn.TransformerLayerOptions{DimFeedforward: 32, BatchFirst: true})
	tokens := export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "batch"}, 1: {Name: "length"}}}}
	words := nn.NewSequential(nn.NewEmbedding(10, 6), nn.NewLinear(6, 3))
	return []captured{
		{"gate", newGate(), [][]any{{torch.RandN(3, 4), torch.RandN(3, 4)}, {torch.RandN(5, 4), torch.RandN(5, 4)}}, export.ExportOptions{
			ArgNames: []string{"x", "y"}, DynamicShapes: map[string]map[int]export.Dim{"x": {0: rows}, "y": {0: rows}}}},
		{"words", words, [][]any{{torch.FromSlice([]int64{1, 2, 9}, 1, 3)}, {torch.FromSlice([]int64{1, 2, 9, 0}, 2, 2)}}, tokens},
		{"attention", attention, [][]any{{torch.RandN(2, 5, 16)}, {torch.RandN(3, 7, 16)}}, tokens},
		{"lstm", nn.NewLSTM(4, 6, nn.LSTMOptions{NumLayers: 2, Bidirectional: true}), [][]any{{torch.RandN(5, 2, 4)}, {torch.RandN(7, 3, 4)}},
			export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "length"}, 1: {Name: "batch"}}}}},
		{"gru", nn.NewGRU(4, 6), [][]any{{torch.RandN(5, 2, 4)}}, export.ExportOptions{}},
		{"function", func(x map[string]torch.Tensor, k int) map[string]torch.Tensor {
			return map[string]torch.Tensor{"sum": x["a"].Add(x["b"]).MulScalar(k), "a": x["a"]}
		}, [][]any{{map[string]torch.Tensor{"a": torch.Ones(2), "b": torch.RandN(2)}, 3}}, export.ExportOptions{}},
		{"resnet18", models.ResNet18(10), image(2, 3), dynamic},
		{"mobilenet_v3_small", models.MobileNetV3Small(10), image(2, 1), dynamic},
		{"shufflenet", models.ShuffleNetV2X0_5(10), image(2, 4), dynamic},
	}
}

// What Go captures has the bits of the model's Forward, here, compiled, and in Python, at all sizes that it was declared for.
func TestExport(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.ManualSeed(1)
	dir := t.TempDir()
	if _, err := peer.Python(); err == nil { // works meanwhile
		someOperators.begin(t)
		ofPython.begin(t)
	}
	list := capturedModels()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			if _, ok := c.model.(func(map[string]torch.Tensor, int) map[string]torch.Tensor); !ok {
				nn.Eval(c.model)
			}
			program, err := export.Export(c.model, c.inputs[0], c.ExportOptions)
			require.NoError(t, err)
			defer program.Close()
			compiled := compiled(t, program)
			torch.Scope(func() {
				var calls []any
				var want [][]torch.Tensor
				reset(c.model)
				require.NoError(t, program.Save(filepath.Join(dir, c.name+".pt2")))
				for _, inputs := range c.inputs {
					out := called(t, c.model, inputs)
					for i := range out {
						out[i] = out[i].Detach()
					}
					want = append(want, out)
					calls = append(calls, pt.Tuple{pt.Tuple(inputsOf(inputs)), anys(out)})
				}
				for _, run := range []func(...any) ([]torch.Tensor, error){program.Run, compiled.Run} {
					reset(c.model)
					for i, inputs := range c.inputs {
						got, err := run(inputs...)
						require.NoError(t, err)
						requireAll(t, want[i], got)
					}
				}
				require.NoError(t, pt.Save(filepath.Join(dir, c.name+".pt"), calls))
			})
		})
	}
	require.Equal(t, len(list), python(t, "programs", "load", dir).count(t))
}

// A layer that has an operator of libtorch's inner ones for its faster way takes one that any program may have while it is captured.
func TestExportWithoutInnerOperators(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		layer := nn.Eval(nn.NewMultiheadAttention(8, 2, nn.MultiheadAttentionOptions{BatchFirst: true}))
		x := torch.RandN(1, 3, 8)
		exporting := false
		torch.NoGrad(func() {
			program, err := export.Export(func(x torch.Tensor) torch.Tensor {
				exporting = torch.IsExporting()
				y, _ := layer.Forward(x, x, x)
				return y
			}, []any{x})
			require.NoError(t, err)
			defer program.Close()
			require.NotContains(t, program.String(), "_native_multi_head_attention")
			got, err := program.Run(x)
			require.NoError(t, err)
			want, _ := layer.Forward(x, x, x)
			torchtest.AllClose(t, got[0], want)
		})
		require.True(t, exporting)
		require.False(t, torch.IsExporting())
	})
}

// reset is the state that a model had when it was captured.
func reset(model any) {
	if g, ok := model.(*gate); ok {
		g.Calls.ZeroInPlace()
	}
}

// called are the tensors that a model returns.
func called(t *testing.T, model any, inputs []any) (list []torch.Tensor) {
	switch m := model.(type) {
	case *gate:
		y, parts := m.Forward(inputs[0].(torch.Tensor), inputs[1].(torch.Tensor))
		return append([]torch.Tensor{y}, parts...)
	case *nn.LSTM:
		a, b, c := m.Forward(inputs[0].(torch.Tensor))
		return []torch.Tensor{a, b, c}
	case *nn.GRU:
		a, b := m.Forward(inputs[0].(torch.Tensor))
		return []torch.Tensor{a, b}
	case *nn.TransformerEncoderLayer:
		return []torch.Tensor{m.Forward(inputs[0].(torch.Tensor))}
	case func(map[string]torch.Tensor, int) map[string]torch.Tensor:
		out := m(inputs[0].(map[string]torch.Tensor), inputs[1].(int))
		return []torch.Tensor{out["a"], out["sum"]}
	case nn.Layer:
		return []torch.Tensor{m.Forward(inputs[0].(torch.Tensor))}
	}
	require.Fail(t, "unknown model")
	return nil
}

func requireAll(t *testing.T, want, got []torch.Tensor) {
	require.Len(t, got, len(want))
	for i := range want {
		requireSame(t, want[i], got[i], fmt.Sprint("result ", i))
	}
}

func anys(list []torch.Tensor) (all []any) {
	for _, v := range list {
		all = append(all, v)
	}
	return all
}

// inputsOf are inputs as a file of torch.save has them.
func inputsOf(inputs []any) (all []any) {
	for _, v := range inputs {
		if m, ok := v.(map[string]torch.Tensor); ok {
			d := &pt.Dict{}
			d.Set("a", m["a"])
			d.Set("b", m["b"])
			v = d
		}
		all = append(all, v)
	}
	return all
}

// twice is a function that has a method Forward of its own.
type twice func(torch.Tensor) torch.Tensor

func (f twice) Forward(x torch.Tensor) torch.Tensor { return f(f(x)) }

// What has a method Forward is a model, functions too.
func TestExportForward(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(3)
		p, err := export.Export(twice(torch.Tensor.Sin), []any{x})
		require.NoError(t, err)
		defer p.Close()
		require.Equal(t, 2, strings.Count(p.String(), "aten.sin.default"))
	})
}

// What cannot be a program is an error that says where.
func TestExportRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(3, 4)
	defer x.Close()
	options := export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "n"}}}}
	for name, c := range map[string]struct {
		model any
		want  string
	}{
		"item":  {func(x torch.Tensor) torch.Tensor { return x.MulScalar(x.Sum().Float64()) }, "capture_test.go"},
		"bool":  {func(x torch.Tensor) torch.Tensor { _ = torch.Value[bool](x.Sum().GtScalar(0)); return x }, "the values of a tensor are read"},
		"value": {func(x torch.Tensor) torch.Tensor { _ = torch.Values[float32](x); return x }, "the values of a tensor are read"},
		"equal": {func(x torch.Tensor) torch.Tensor { _ = x.Equal(x); return x }, "gives Go a value of a tensor"},
		"set": {func(x torch.Tensor) torch.Tensor {
			y := x.Clone()
			torch.Fill(y, make([]float32, y.NumEl()))
			return y
		}, "values of a tensor are set"},
		"loop": {func(x torch.Tensor) torch.Tensor {
			y := x
			for range x.Size(0) {
				y = y.Sin()
			}
			return y
		}, "makes 3 calls for sizes"},
		"branch": {func(x torch.Tensor) torch.Tensor {
			if x.Size(0) > 3 {
				return x.Sin()
			}
			return x.Cos()
		}, "the model calls something else"},
		"square": {func(x torch.Tensor) torch.Tensor { return torch.Zeros(x.Size(0) * x.Size(0)) }, "which is no sum of products"},
		"float":  {func(x torch.Tensor) torch.Tensor { return x.MulScalar(1 / float64(x.Size(0))) }, "whole numbers alone"},
		"made": {func(x torch.Tensor) torch.Tensor {
			return x.Add(torch.FromSlice(make([]float32, x.NumEl()), x.Shape()...))
		}, "makes of Go's values"},
		"fails":   {func(x torch.Tensor) (torch.Tensor, error) { return x, fmt.Errorf("my own") }, "my own"},
		"shape":   {func(x torch.Tensor) torch.Tensor { return x.MatMul(x) }, "mat1 and mat2 shapes"},
		"nothing": {func(torch.Tensor) {}, "returns nothing"},
		"two":     {func(_, x torch.Tensor) torch.Tensor { return x }, "1 inputs, but the model takes 2"},
		"other":   {func(x int) int { return x }, "input 0 is a torch.Tensor, but the model takes a int"},
		"none":    {3, "no method Forward"},
		"nil":     {twice(nil), "no method Forward"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := export.Export(c.model, []any{x}, options)
			require.ErrorContains(t, err, c.want)
		})
	}
}
