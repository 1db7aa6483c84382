package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type pairer interface {
	Forward(x1, x2 torch.Tensor) torch.Tensor
}

func pair(m any, x tensors) tensors { return tensors{m.(pairer).Forward(x[0], x[1])} }

func TestPairsEqualPython(t *testing.T) {
	equalPython(t, []moduleCase{
		{python: "nn.Bilinear(2, 3, 4)", make: func() any { return nn.NewBilinear(2, 3, 4) }, forward: pair, inputs: [][]int{{5, 2}, {5, 3}}},
		{python: "nn.Bilinear(2, 3, 4)", make: func() any { return nn.NewBilinear(2, 3, 4) }, forward: pair, inputs: [][]int{{2}, {3}}},
		{python: "nn.Bilinear(2, 3, 4, bias=False)",
			make: func() any { return nn.NewBilinear(2, 3, 4, nn.BilinearOptions{NoBias: true}) }, forward: pair,
			inputs: [][]int{{2, 5, 2}, {2, 5, 3}}},
		{python: "nn.CosineSimilarity()", make: func() any { return nn.CosineSimilarity{} }, forward: pair, inputs: [][]int{{5, 3}, {5, 3}}},
		{python: "nn.CosineSimilarity(dim=0)", make: func() any { return nn.CosineSimilarity{Dim: new(0)} }, forward: pair,
			inputs: [][]int{{5}, {5}}},
		{python: "nn.CosineSimilarity(-1, 1e-2)", make: func() any { return nn.CosineSimilarity{Dim: new(-1), Eps: new(1e-2)} },
			forward: pair, inputs: [][]int{{5, 3}, {1, 3}}},
		{python: "nn.PairwiseDistance()", make: func() any { return nn.PairwiseDistance{} }, forward: pair, inputs: [][]int{{5, 3}, {5, 3}}},
		{python: "nn.PairwiseDistance(1., 1e-2, True)",
			make: func() any { return nn.PairwiseDistance{P: new(1.0), Eps: new(1e-2), KeepDim: true} }, forward: pair,
			inputs: [][]int{{5, 3}, {5, 3}}},
		{python: "nn.PairwiseDistance(p=3)", make: func() any { return nn.PairwiseDistance{P: new(3.0)} }, forward: pair,
			inputs: [][]int{{3}, {3}}},
	})
}

// unpooler pools, and puts the values back.
func unpooler(pool func(m any, x torch.Tensor) (values, indices torch.Tensor)) func(m any, x tensors) tensors {
	return func(m any, x tensors) tensors {
		pair := m.([]any)
		values, indices := pool(pair[0], x[0])
		return tensors{values, pair[1].(pairer).Forward(values, indices)}
	}
}

func TestUnpoolEqualPython(t *testing.T) {
	const call = "(lambda v, i: (v, m[1](v, i)))(*m[0](x[0]))"
	text := func(d int, pool, unpool string) string {
		return fmt.Sprintf("nn.ModuleList([nn.MaxPool%dd(%s, return_indices=True), nn.MaxUnpool%dd(%s)])", d, pool, d, unpool)
	}
	one := unpooler(func(m any, x torch.Tensor) (v, i torch.Tensor) { return m.(*nn.MaxPool1d).ForwardWithIndices(x) })
	two := unpooler(func(m any, x torch.Tensor) (v, i torch.Tensor) { return m.(*nn.MaxPool2d).ForwardWithIndices(x) })
	three := unpooler(func(m any, x torch.Tensor) (v, i torch.Tensor) { return m.(*nn.MaxPool3d).ForwardWithIndices(x) })
	equalPython(t, []moduleCase{
		{text(1, "2", "2"), call, func() any { return []any{nn.NewMaxPool1d(2), nn.NewMaxUnpool1d(2)} }, one, [][]int{{2, 3, 8}}, nil},
		{text(1, "2", "2"), call, func() any { return []any{nn.NewMaxPool1d(2), nn.NewMaxUnpool1d(2)} }, one, [][]int{{3, 8}}, nil},
		{text(1, "3, stride=2", "3, stride=2"), call, func() any {
			return []any{nn.NewMaxPool1d(3, nn.MaxPoolOptions{Stride: 2}), nn.NewMaxUnpool1d(3, nn.MaxUnpoolOptions{Stride: 2})}
		}, one, [][]int{{2, 3, 9}}, nil},
		{text(2, "2", "2"), call, func() any { return []any{nn.NewMaxPool2d(2), nn.NewMaxUnpool2d(2)} }, two, [][]int{{2, 3, 8, 6}}, nil},
		{text(2, "(2, 3)", "(2, 3)"), call, func() any {
			return []any{nn.NewMaxPool2d([]int{2, 3}), nn.NewMaxUnpool2d([]int{2, 3})}
		}, two, [][]int{{3, 8, 6}}, nil},
		{text(2, "3, 2, 1", "3, 2, 1"), call, func() any {
			return []any{nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, Padding: 1}),
				nn.NewMaxUnpool2d(3, nn.MaxUnpoolOptions{Stride: 2, Padding: 1})}
		}, two, [][]int{{2, 3, 9, 7}}, nil},
		{text(3, "2", "2"), call, func() any { return []any{nn.NewMaxPool3d(2), nn.NewMaxUnpool3d(2)} }, three, [][]int{{2, 3, 4, 6, 2}}, nil},
		{text(3, "2", "2"), call, func() any { return []any{nn.NewMaxPool3d(2), nn.NewMaxUnpool3d(2)} }, three, [][]int{{3, 4, 6, 2}}, nil},
		{text(3, "3, 2", "3, 2"), call, func() any {
			return []any{nn.NewMaxPool3d(3, nn.MaxPoolOptions{Stride: 2}), nn.NewMaxUnpool3d(3, nn.MaxUnpoolOptions{Stride: 2})}
		}, three, [][]int{{2, 3, 5, 7, 3}}, nil},
	})
}

func TestPoolIndicesEqualPython(t *testing.T) {
	type indexed interface {
		ForwardWithIndices(x torch.Tensor) (values, indices torch.Tensor)
	}
	forward := func(m any, x tensors) tensors {
		values, indices := m.(indexed).ForwardWithIndices(x[0])
		return tensors{values, indices}
	}
	fractional := nn.FractionalMaxPoolOptions{OutputSize: 3}
	row := func(python string, m nn.Layer, shape ...int) moduleCase {
		return moduleCase{python: python, make: func() any { return m }, forward: forward, inputs: [][]int{shape}}
	}
	equalPython(t, []moduleCase{
		row("nn.AdaptiveMaxPool1d(3, return_indices=True)", nn.NewAdaptiveMaxPool1d(3), 2, 3, 8),
		row("nn.AdaptiveMaxPool2d((3, 2), return_indices=True)", nn.NewAdaptiveMaxPool2d([]int{3, 2}), 2, 3, 8, 5),
		row("nn.AdaptiveMaxPool3d((3, 2, 1), return_indices=True)", nn.NewAdaptiveMaxPool3d([]int{3, 2, 1}), 2, 3, 8, 5, 4),
		row("nn.FractionalMaxPool2d(2, output_size=3, return_indices=True)", nn.NewFractionalMaxPool2d(2, fractional), 2, 3, 8, 5),
		row("nn.FractionalMaxPool3d(2, output_size=3, return_indices=True)", nn.NewFractionalMaxPool3d(2, fractional), 2, 3, 8, 5, 6),
	})
}

func TestConvTransposeSizes(t *testing.T) {
	one := func(size ...int) func(any, tensors) tensors {
		return func(m any, x tensors) tensors { return tensors{m.(*nn.ConvTranspose1d).ForwardTo(x[0], size)} }
	}
	two := func(size ...int) func(any, tensors) tensors {
		return func(m any, x tensors) tensors { return tensors{m.(*nn.ConvTranspose2d).ForwardTo(x[0], size)} }
	}
	make1 := func() any { return nn.NewConvTranspose1d(2, 3, 3, nn.ConvTransposeOptions{Stride: 3}) }
	make2 := func() any { return nn.NewConvTranspose2d(2, 3, 3, nn.ConvTransposeOptions{Stride: 2, Padding: 1}) }
	make3 := func() any { return nn.NewConvTranspose3d(2, 3, 2, nn.ConvTransposeOptions{Stride: 2}) }
	equalPython(t, []moduleCase{
		{"nn.ConvTranspose1d(2, 3, 3, stride=3)", "m(x[0], output_size=[14])", make1, one(14), [][]int{{2, 2, 4}}, nil},
		{"nn.ConvTranspose1d(2, 3, 3, stride=3)", "m(x[0], output_size=[3, 13])", make1, one(3, 13), [][]int{{2, 4}}, nil},
		{"nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)", "m(x[0], output_size=[2, 3, 8, 7])", make2, two(2, 3, 8, 7),
			[][]int{{2, 2, 4, 4}}, nil},
		{"nn.ConvTranspose3d(2, 3, 2, stride=2)", "m(x[0], output_size=[5, 6, 7])", make3, func(m any, x tensors) tensors {
			return tensors{m.(*nn.ConvTranspose3d).ForwardTo(x[0], []int{5, 6, 7})}
		}, [][]int{{2, 2, 2, 3, 3}}, nil},
	})
}

func TestEmbeddingBagEqualPython(t *testing.T) {
	numbers := func(i int, shape ...int) torch.Tensor {
		switch i {
		case 0:
			return torch.FromSlice([]int{1, 2, 2, 6, 9, 0}, shape...)
		case 1:
			return torch.FromSlice([]int{0, 2, 6}, shape...)
		}
		return torch.RandN(shape...)
	}
	forward := func(m any, x tensors) tensors {
		x = append(x, torch.Tensor{}, torch.Tensor{})
		return tensors{m.(*nn.EmbeddingBag).Forward(x[0], nn.BagOptions{Offsets: x[1], PerSampleWeights: x[2]})}
	}
	var cases []moduleCase
	for _, c := range []struct {
		python  string
		options nn.EmbeddingBagOptions
		inputs  [][]int
	}{
		{"nn.EmbeddingBag(10, 3)", nn.EmbeddingBagOptions{}, [][]int{{2, 3}}},
		{"nn.EmbeddingBag(10, 3)", nn.EmbeddingBagOptions{}, [][]int{{6}, {3}}},
		{"nn.EmbeddingBag(10, 3, mode='sum', padding_idx=2)", nn.EmbeddingBagOptions{Mode: "sum", PaddingIdx: new(2)}, [][]int{{6}, {3}, {6}}},
		{"nn.EmbeddingBag(10, 3, mode='sum', include_last_offset=True)", nn.EmbeddingBagOptions{Mode: "sum", IncludeLastOffset: true},
			[][]int{{6}, {3}}},
		{"nn.EmbeddingBag(10, 3, mode='max')", nn.EmbeddingBagOptions{Mode: "max"}, [][]int{{6}, {3}}},
		{"nn.EmbeddingBag(10, 3, max_norm=1.5, norm_type=1.)", nn.EmbeddingBagOptions{MaxNorm: new(1.5), NormType: new(1.0)}, [][]int{{2, 3}}},
		{"nn.EmbeddingBag(10, 3, scale_grad_by_freq=True, padding_idx=-4)",
			nn.EmbeddingBagOptions{ScaleGradByFreq: true, PaddingIdx: new(-4)}, [][]int{{6}, {3}}},
	} {
		cases = append(cases, moduleCase{c.python, "", func() any { return nn.NewEmbeddingBag(10, 3, c.options) }, forward, c.inputs, numbers})
	}
	equalPython(t, cases)
}

func TestLayerComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	up := nn.NewConvTranspose2d(1, 1, 3, nn.ConvTransposeOptions{Stride: 2})
	norm := nn.NewInstanceNorm1d(2, nn.InstanceNormOptions{Affine: true})
	defer nn.Close(up)
	defer nn.Close(norm)
	for _, c := range []struct {
		name string
		fn   func()
		want string
	}{
		{"groups", func() { nn.NewConvTranspose1d(3, 4, 1, nn.ConvTransposeOptions{Groups: 2}) }, "cannot be divided into 2 groups"},
		{"fewer than no groups", func() { nn.NewConv2d(3, 4, 1, nn.ConvOptions{Groups: -1}) }, "groups must be a positive integer, got -1"},
		{"fewer than no groups, transposed", func() { nn.NewConvTranspose1d(3, 4, 1, nn.ConvTransposeOptions{Groups: -1}) },
			"groups must be a positive integer, got -1"},
		{"the same size in steps", func() {
			nn.NewConv2d(3, 4, 3, nn.ConvOptions{Padding: "same", Stride: []int{1, 2}, PaddingMode: "reflect"})
		},
			"padding='same' is not supported for strided convolutions"},
		{"output size", func() { up.ForwardTo(torch.Ones(1, 1, 3, 3), []int{7, 9}) },
			"requested an output size of [7, 9], but valid sizes range from [7, 7] to [8, 8] (for an input of [3, 3])"},
		{"output dimensions", func() { up.ForwardTo(torch.Ones(1, 1, 3, 3), []int{7}) },
			"for 4D input, output_size must have 2 or 4 elements (got 1)"},
		{"instance norm of an image", func() { norm.Forward(torch.Ones(1, 1, 3, 3)) }, "expected 2D or 3D input (got 4D input)"},
		{"instance norm of other channels", func() { norm.Forward(torch.Ones(1, 3, 3)) },
			"expected input's size at dim=1 to match num_features (2), but got: 3."},
		{"bilinear", func() { nn.NewBilinear(0, 1, 1) }, "in1_features must be > 0"},
		{"softmax2d", func() { nn.Softmax2d{}.Forward(torch.Ones(2, 2)) }, "expected input to be 3D or 4D, got 2D instead"},
		{"padding", func() { nn.NewZeroPad2d([]int{1, 2}) }, "expected an int or a []int of length 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() { require.ErrorContains(t, torch.Try(c.fn), c.want) })
		})
	}
}
