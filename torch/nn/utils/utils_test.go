package nnutils_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

var (
	norms  = map[string]float64{"2": 2, "1": 1, "3.5": 3.5, "inf": math.Inf(1), "0": 0, "-inf": math.Inf(-1)}
	dtypes = map[string]string{"float": "f", "double": "d", "mixed": "fdfd", "three": "bfdfbd"}
	dtype  = map[byte]torch.DType{'f': torch.Float32, 'd': torch.Float64, 'b': torch.BFloat16}
)

// parameters are those of testdata/utils.py: the third has no gradient.
func parameters(inputs peer.Tensors, dtypes string) (params []torch.Tensor) {
	for i := range 6 {
		g := inputs[fmt.Sprint("g", i)].To(dtype[dtypes[i%len(dtypes)]]).Clone()
		p := torch.ZerosLike(g).SetRequiresGrad(true)
		if i != 2 {
			p.SetGrad(g)
		}
		params = append(params, p)
	}
	return params
}

func gradients(into peer.Tensors, key string, params []torch.Tensor) {
	for i, p := range params {
		if i != 2 {
			into[fmt.Sprint(key, " ", i)] = p.Grad()
		}
	}
}

func clipped(inputs peer.Tensors) peer.Tensors {
	got := peer.Tensors{}
	for kind, d := range dtypes {
		for name, p := range norms {
			for _, limit := range []float64{0.5, 1e6} {
				params := parameters(inputs, d)
				key := fmt.Sprintf("%s %s %g", kind, name, limit)
				got[key+" norm"] = nnutils.ClipGradNorm(params, limit, nnutils.NormOptions{NormType: &p})
				gradients(got, key, params)
			}
		}
		params := parameters(inputs, d)
		nnutils.ClipGradValue(params, 0.3)
		gradients(got, kind+" value", params)
	}
	return got
}

func vectors(inputs peer.Tensors) peer.Tensors {
	var params []torch.Tensor
	for i := range 6 {
		params = append(params, inputs[fmt.Sprint("g", i)].Clone().SetRequiresGrad(true))
	}
	got := peer.Tensors{"vector": nnutils.ParametersToVector(params)}
	nnutils.VectorToParameters(got["vector"].Detach().MulScalar(2), params)
	for i, p := range params {
		got[fmt.Sprint("from vector ", i)] = p
	}
	return got
}

// fuser is a case of testdata/utils.py.
type fuser struct {
	layer, bn any
	fuse      func() any
}

func fuseConv[C nnutils.Convolution, B nnutils.BatchNorm](c C, b B) fuser {
	return fuser{c, b, func() any { return nnutils.FuseConvBN(c, b) }}
}

func fuseLinear(l *nn.Linear, b *nn.BatchNorm1d) fuser {
	return fuser{l, b, func() any { return nnutils.FuseLinearBN(l, b) }}
}

func fused() peer.Tensors {
	got := peer.Tensors{}
	for seed, c := range []fuser{
		fuseConv(nn.NewConv1d(4, 6, 3), nn.NewBatchNorm1d(6)),
		fuseConv(nn.NewConv2d(4, 6, 3, nn.ConvOptions{Groups: 2, NoBias: true}), nn.NewBatchNorm2d(6, nn.BatchNormOptions{Eps: new(1e-3)})),
		fuseConv(nn.NewConv3d(2, 6, 1), nn.NewBatchNorm3d(6, nn.BatchNormOptions{NoAffine: true})),
		fuseConv(nn.NewConvTranspose1d(4, 6, 3), nn.NewBatchNorm1d(6)),
		fuseConv(nn.NewConvTranspose2d(4, 6, 3, nn.ConvTransposeOptions{NoBias: true}), nn.NewBatchNorm2d(6)),
		fuseConv(nn.NewConvTranspose3d(2, 6, 2), nn.NewBatchNorm3d(6)),
		fuseLinear(nn.NewLinear(5, 6), nn.NewBatchNorm1d(6)),
		fuseLinear(nn.NewLinear(5, 6, nn.LinearOptions{NoBias: true}), nn.NewBatchNorm1d(1)),
	} {
		torch.ManualSeed(uint64(seed))
		for _, t := range slices.Concat(nn.Parameters(c.layer), nn.Parameters(c.bn), nn.Buffers(c.bn)) {
			if t.IsFloatingPoint() {
				torch.NoGrad(func() { t.CopyInPlace(torch.RandLike(t).AddScalar(0.1)) })
			}
		}
		m := nn.Eval(c.bn)
		result := c.fuse()
		for name, p := range nn.NamedParameters(result) {
			key := fmt.Sprintf("fused %d %s", seed, name)
			got[key], got[key+" is trained"] = p.Alias(), torch.FromValue(p.RequiresGrad())
		}
		nn.Close(result)
		nn.Close(c.layer)
		nn.Close(m)
	}
	return got
}

func TestEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := peer.Tensors{}
		torch.ManualSeed(3)
		for i, shape := range [][]int{{3, 4}, {7}, {2, 2}, {5, 1, 3}, {40, 30}, {1}} {
			inputs[fmt.Sprint("g", i)] = torch.RandN(shape...)
		}
		want := peer.Run(t, "testdata/utils.py", inputs)
		got := clipped(inputs)
		maps.Copy(got, vectors(inputs))
		maps.Copy(got, fused())
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name, value := range got {
			t.Run(name, func(t *testing.T) { torchtest.Equal(t, value, want[name]) })
		}
	})
}

func TestNorms(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		require.Zero(t, nnutils.ClipGradNorm(nil, 1).Float64())
		p := torch.Zeros(2).SetRequiresGrad(true)
		require.Zero(t, nnutils.ClipGradNorm([]torch.Tensor{p}, 1).Float64(), "there is no gradient")
		p.SetGrad(torch.FromSlice([]float32{3, 4}))
		nnutils.ClipGradsWithNorm([]torch.Tensor{p}, 1, torch.FromValue(float32(10)))
		require.InDelta(t, 0.3, p.Grad().Index(0).Float64(), 1e-6, "as a part of a longer vector")

		p.SetGrad(torch.FromSlice([]float32{float32(math.Inf(1)), 1}))
		strict := nnutils.NormOptions{ErrorIfNonfinite: true}
		require.EqualError(t, torch.Try(func() { nnutils.ClipGradNorm([]torch.Tensor{p}, 1, strict) }),
			"torch: clip_grad_norm: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped")
		require.True(t, math.IsInf(p.Grad().Index(0).Float64(), 1), "the gradients are as they were")
		require.True(t, math.IsInf(nnutils.ClipGradNorm([]torch.Tensor{p}, 1).Float64(), 1))
	})
}

func TestFusionComplains(t *testing.T) {
	torchtest.NoLeaks(t)
	l, bn := nn.NewLinear(2, 3), nn.NewBatchNorm1d(2)
	bare := nn.Eval(nn.NewBatchNorm1d(3, nn.BatchNormOptions{NoTrackRunningStats: true, NoAffine: true}))
	defer nn.Close(l)
	defer nn.Close(bn)
	require.EqualError(t, torch.Try(func() { nnutils.FuseLinearBN(l, bn) }), "torch: fuse_linear_bn_eval: Fusion only for eval!")
	nn.Eval(bn)
	require.EqualError(t, torch.Try(func() { nnutils.FuseLinearBN(l, bn) }),
		"torch: fuse_linear_bn_eval: To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "+
			"linear.out_features=3 and bn.num_features=2")
	require.EqualError(t, torch.Try(func() { nnutils.FuseLinearBN(l, bare) }),
		"torch: fuse_linear_bn_eval: bn.running_mean and bn.running_var must not be None")
}

func ExampleClipGradNorm() {
	torch.Scope(func() {
		p := torch.Zeros(2).SetRequiresGrad(true)
		p.SetGrad(torch.FromSlice([]float32{3, 4}))
		norm := nnutils.ClipGradNorm([]torch.Tensor{p}, 1)
		fmt.Println(norm, p.Grad())
	})
	// Output: tensor(5.) tensor([0.6000, 0.8000])
}
