package functional_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

type tensors = peer.Tensors

type function struct {
	name string
	call func(i tensors) torch.Tensor
}

var none torch.Tensor

// newInputs are what the functions are given. Those named const are never to be
// differentiated by.
func newInputs() tensors {
	torch.ManualSeed(99)
	signs := torch.RandIntN(2, 4, 7).MulScalar(2).SubScalar(1).To(torch.Float32)
	inputs := tensors{
		"classes":     torch.FromSlice([]int{1, 3, 2, 0}),
		"pixels":      torch.RandIntN(4, 3, 9, 7),
		"labels":      torch.FromSlice([]int{3, 0, -1, 1, 1, 1, 1, 6, -1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0, -1, 2, 2, 2, 2, 2, 2}, 4, 7),
		"words":       torch.RandInt(1, 5, []int{3, 2}),
		"offsets":     torch.FromSlice([]int{0, 3, 3}),
		"ends":        torch.FromSlice([]int{0, 3, 3, 4}),
		"const_var":   torch.Rand(4).AddScalarInPlace(0.1),
		"const_mean":  torch.RandN(4),
		"const_signs": signs,
		"const_sign":  signs.Select(1, 0).Contiguous(),
		"const_bits":  signs.AddScalar(1).DivScalar(2),
		"const_count": torch.RandIntN(5, 4, 7).To(torch.Float32),
		"const_draws": torch.Rand(3, 4, 2),
		"mask":        torch.RandIntN(2, 4, 5).To(torch.Bool),
		"padding":     torch.FromSlice([]bool{false, false, false, false, true, false, false, true, true, true}, 2, 5),
	}
	for name, shape := range map[string][]int{
		"rows": {4, 7}, "rows2": {4, 7}, "rows3": {4, 7}, "matrix": {5, 7}, "image": {3, 4, 9, 7}, "signal": {2, 4, 11},
		"volume":   {2, 2, 4, 5, 6},
		"kernel1d": {6, 4, 3}, "kernel2d": {6, 2, 3, 2}, "kernel3d": {6, 2, 2, 3, 2}, "four": {4}, "four2": {4}, "five": {5}, "six": {6},
		"seven": {7},
		"up1d":  {4, 3, 3}, "up2d": {4, 2, 3, 2}, "up3d": {2, 2, 2, 3, 2}, "time": {6, 3, 4}, "tbc": {2, 4, 5}, "bilinear": {5, 7, 7},
		"sequence": {6, 3, 5},
		"grid2d":   {3, 5, 4, 2}, "grid3d": {2, 3, 4, 2, 3}, "theta2d": {2, 2, 3}, "theta3d": {2, 3, 4},
		"query": {4, 2, 6}, "key": {5, 2, 6}, "value": {5, 2, 6}, "value3": {5, 2, 3}, "in_weight": {18, 6}, "in_bias": {18},
		"out_weight": {6, 6}, "out_bias": {6},
		"q_weight": {6, 6}, "k_weight": {6, 6}, "v_weight": {6, 3}, "bias_k": {1, 1, 6}, "bias_v": {1, 1, 6}, "static_k": {4, 5, 3},
		"static_v": {4, 5, 3},
		"scores":   {4, 5}, "scores3": {4, 4, 5}, "key_scores": {2, 5},
	} {
		inputs[name] = torch.RandN(shape...)
	}
	return inputs
}

// pair makes one tensor of two, as its namesake in testdata/compare.py does.
func pair(a, b torch.Tensor) torch.Tensor {
	if !b.Defined() {
		return a
	}
	return torch.Cat([]torch.Tensor{a.Reshape(-1), b.Reshape(-1).To(a.DType())})
}

// equalsPython runs the functions, and those of the script, which has them in the same
// order: the seed is the position. Results and gradients have to be the same.
func equalsPython(t *testing.T, script string, functions []function) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		want := peer.Run(t, script, inputs)
		for seed, f := range functions {
			t.Run(f.name, func(t *testing.T) {
				torch.Scope(func() {
					for name, value := range results(inputs, seed, f) {
						require.Contains(t, want, f.name+"/"+name)
						torchtest.Equal(t, value, want[f.name+"/"+name])
						delete(want, f.name+"/"+name)
					}
				})
			})
		}
		require.Empty(t, slices.Collect(maps.Keys(want)), "results that Python alone has")
	})
}

func results(inputs tensors, seed int, f function) tensors {
	leaves := tensors{}
	for name, value := range inputs {
		leaves[name] = value.Clone().SetRequiresGrad(value.IsFloatingPoint() && !strings.HasPrefix(name, "const_"))
	}
	torch.ManualSeed(uint64(seed))
	y := f.call(leaves)
	got := tensors{"y": y}
	if y.RequiresGrad() {
		y.Mul(y).Sum().Backward()
	}
	for name, value := range leaves {
		if grad := value.Grad(); grad.Defined() {
			got[name] = grad
		}
	}
	return got
}
