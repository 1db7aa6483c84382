package export

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// narrowCase is a linear layer whose weights have fewer bits.
type narrowCase struct {
	rows, inputs, outputs int
	activation            string
}

// Few rows and many, panels of one, two and three vectors, and vectors that are not full.
var narrowCases = []narrowCase{
	{1, 512, 1360, "none"}, {1, 1, 1, "relu"}, {2, 7, 40, "gelu"}, {3, 33, 8, "none"}, {4, 100, 24, "swish"}, {5, 64, 16, "relu6"},
	{40, 31, 100, "gelu_tanh"}, {150, 20, 25, "sigmoid"}, {0, 5, 3, "none"}, {4, 8, 33, "none"},
}

// What is computed is the product with the weights that are left after rounding, in float32.
func TestNarrowLinear(t *testing.T) {
	eachCase(t, narrowCases, func(c narrowCase, t *testing.T) {
		for _, dtype := range []torch.DType{torch.BFloat16, torch.Int8} {
			for _, bias := range []torch.Tensor{{}, torch.RandN(c.outputs)} {
				x, w, scale := torch.RandN(2, c.rows, c.inputs), torch.RandN(c.outputs, c.inputs).To(torch.BFloat16), torch.Tensor{}
				left := w.To(torch.Float64)
				if dtype == torch.Int8 {
					w, scale = torch.RandInt(-127, 128, []int{c.outputs, c.inputs}).To(torch.Int8), torch.Rand(c.outputs).DivScalar(100)
					left = w.To(torch.Float64).Mul(scale.To(torch.Float64).Unsqueeze(1))
				}
				packed, ok := packedWeight(t, "libtorchgo::direct_weight", w.To(torch.Float32).Reshape(c.outputs, c.inputs, 1, 1))
				if !ok {
					return
				}
				got, ok := inner("libtorchgo::linear_narrow", x, packed.To(dtype), optional(scale), optional(bias), c.outputs, c.activation)
				require.True(t, ok)
				want := x.To(torch.Float64).MatMul(left.T())
				if bias.Defined() {
					want = want.Add(bias.To(torch.Float64))
				}
				want = activations[c.activation](want)
				require.Equal(t, want.Shape(), got.Shape())
				if c.rows > 0 {
					require.Less(t, got.To(torch.Float64).Sub(want).Abs().Max().Float64(), 2e-6*max(1, want.Abs().Max().Float64()), dtype)
				}
			}
		}
	})
}

// optional is a tensor, or none.
func optional(t torch.Tensor) any {
	if t.Defined() {
		return t
	}
	return nil
}

func TestNarrowLinearErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		packed, ok := packedWeight(t, "libtorchgo::direct_weight", torch.RandN(5, 6, 1, 1))
		if !ok {
			return
		}
		x, w, vector := torch.RandN(2, 6), packed.To(torch.Int8), packed.Size(3)
		half, one := w.To(torch.BFloat16), torch.Ones(5)
		refusesAll(t, "linear_narrow", map[string][]any{
			"expected rows of float32":    {x.To(torch.Float64), w, one, nil, 5, "none"},
			"are not those for rows of 6": {x, w.Narrow(2, 0, 5).Contiguous(), one, nil, 5, "none"},
			"and Float are not":           {x, w.To(torch.Float32), nil, nil, 5, "none"},
			"outputs":                     {x, w, one, nil, vector + 1, "none"},
			"whole numbers have scales":   {x, w, nil, nil, 5, "none"},
			"and no others":               {x, half, one, nil, 5, "none"},
			"the scales do not fit 6":     {x, w, one, nil, 6, "none"},
			"the bias does not fit":       {x, half, nil, one, 6, "none"},
			"there is no activation":      {x, half, nil, nil, 5, "else"},
			"[0, 1, 6,":                   {x, w.Narrow(0, 0, 0), one, nil, 0, "none"},
			"vectors of 3":                {x, torch.Zeros(2, 1, 6, 3).To(torch.BFloat16), nil, nil, 5, "none"},
		})
	})
}

// Compiled programs keep the weights of linear layers as they are told to, but for layers that stay as they are; results are as near as
// these weights are.
func TestWeights(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		model := nn.Eval(nn.Sequential{nn.NewLinear(48, 96), nn.GELU{}, nn.NewLinear(96, 96), nn.Softplus{}, nn.NewLinear(96, 10)})
		x := torch.RandN(3, 48)
		p, err := Export(model, []any{x})
		require.NoError(t, err)
		defer p.Close()
		names := p.linearResults()
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 1e-6, torch.BFloat16: 4e-3, torch.Int8: 2e-2} {
			for _, floats := range [][]string{nil, names[:1]} {
				c, err := Compile(p, CompileOptions{Weights: dtype, Floats: floats})
				require.NoError(t, err)
				defer c.Close()
				narrow := 0
				if dtype != torch.Float32 {
					narrow = len(names) - len(floats)
				}
				require.Equal(t, narrow, strings.Count(c.String(), "libtorchgo.linear_narrow"), c)
				torch.Inference(func() {
					got, err := c.Run(x)
					require.NoError(t, err)
					want := model.Forward(x)
					off := got[0].Sub(want).Abs().Max().Float64() / want.Abs().Max().Float64()
					require.Less(t, off, apart, dtype)
					require.Equal(t, narrow == 0, off < 1e-6, "%v: %v", dtype, off)
				})
			}
		}
	})
}

// linearResults are the names of what a program's linear layers make.
func (p *Program) linearResults() (names []string) {
	for i := range p.Graph.Nodes {
		if n := &p.Graph.Nodes[i]; n.op() == "linear" {
			name, _ := n.result()
			names = append(names, name)
		}
	}
	return names
}

// A program for inference takes a half and a quarter of the memory.
func TestWeightsMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		const size = 768
		x := torch.RandN(1, size)
		p, err := Export(nn.NewLinear(size, size), []any{x})
		require.NoError(t, err)
		defer p.Close()
		if _, ok := packedWeight(t, "libtorchgo::direct_weight", torch.RandN(8, 8, 1, 1)); !ok {
			return
		}
		for dtype, bytes := range map[torch.DType]float64{torch.Float32: 4, torch.BFloat16: 2, torch.Int8: 1} {
			torch.GC()
			before := torch.Stats().HostBytes
			c, err := Compile(p, CompileOptions{Weights: dtype, Inference: true})
			require.NoError(t, err)
			torch.GC()
			require.InEpsilon(t, bytes*size*size, torch.Stats().HostBytes-before, 0.02, dtype)
			c.Close()
		}
	})
}

// An output whose weights are all zero stays zero, and what is no number stays in its own output.
func TestNarrowWeightsAtTheEdges(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		layer := nn.NewLinear(16, 4, nn.LinearOptions{NoBias: true})
		torch.NoGrad(func() {
			layer.Weight.Select(0, 1).FillInPlace(0)
			layer.Weight.Select(0, 2).Narrow(0, 3, 1).FillInPlace(math.NaN())
		})
		x := torch.RandN(1, 16)
		p, err := Export(layer, []any{x})
		require.NoError(t, err)
		defer p.Close()
		for _, dtype := range []torch.DType{torch.BFloat16, torch.Int8} {
			c, err := Compile(p, CompileOptions{Weights: dtype})
			require.NoError(t, err)
			defer c.Close()
			torch.Inference(func() {
				got, err := c.Run(x)
				require.NoError(t, err)
				require.Equal(t, []bool{false, false, true, false}, torch.Values[bool](got[0].IsNaN()), dtype)
				require.Zero(t, got[0].Select(1, 1).Item(), dtype)
			})
		}
	})
}

func TestWeightsErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.RandN(1, 4)
	p, err := Export(nn.NewLinear(4, 4), []any{x})
	require.NoError(t, err)
	defer p.Close()
	for text, o := range map[string]CompileOptions{
		"expected BFloat16, Int8 or Float32":   {Weights: torch.Float16},
		"Weights go neither with Exact":        {Weights: torch.Int8, Exact: true},
		"nor with another DType than float32":  {Weights: torch.Int8, DType: torch.BFloat16, Fallback: true},
		"nor with Int8 nor with another DType": {Weights: torch.BFloat16, Int8: Calibration{}},
	} {
		_, err := Compile(p, o)
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, "export: CompileOptions", fmt.Sprint(o))
	}
}
