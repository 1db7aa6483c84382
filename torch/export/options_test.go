package export_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// requireNear compares the first results by their largest difference, relative to the largest element.
func requireNear(t *testing.T, want, got []torch.Tensor, relative float64) {
	a, b := got[0].To(torch.Float64), want[0].To(torch.Float64)
	require.Equal(t, want[0].DType(), got[0].DType())
	require.LessOrEqual(t, a.Sub(b).Abs().Max().Float64(), relative*b.Abs().Max().Float64())
}

// bfloat16IsFaster tells by what Linux says of the processor whether it computes in bfloat16; the others are refused. ./build.sh emulated
// emulates the instructions.
func bfloat16IsFaster() bool {
	if os.Getenv("LIBTORCH_GO_EMULATED") != "" {
		return true
	}
	text, _ := os.ReadFile("/proc/cpuinfo")
	info := string(text)
	return strings.Contains(info, " amx_bf16") || strings.Contains(info, "AuthenticAMD") && strings.Contains(info, " avx512_bf16")
}

// Where bfloat16 would be slower it is refused, or float32 takes its place if that is asked for.
func TestFallback(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(2, 3, 8, 8)
		p, err := export.Export(nn.NewConv2d(3, 4, 3), []any{x})
		require.NoError(t, err)
		defer p.Close()
		want := torch.Float32
		if bfloat16IsFaster() {
			want = torch.BFloat16
		} else {
			_, err := export.Compile(p, export.CompileOptions{DType: torch.BFloat16})
			require.ErrorContains(t, err, "slower than float32 on this processor")
		}
		c := compiled(t, p, export.CompileOptions{DType: torch.BFloat16, Fallback: true})
		require.Equal(t, want, c.DType())
		require.Equal(t, want == torch.BFloat16, strings.Contains(c.String(), "bf16["))
		require.Equal(t, torch.Float32, compiled(t, p).DType())
	})
}

// What is fastest is chosen for the sizes of the example, and any others run as well.
func TestExampleInputs(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		w := torch.RandN(256, 256, 3, 3).MulScalar(0.02)
		fn := func(x torch.Tensor) torch.Tensor {
			return F.Conv2d(x, w, torch.Tensor{}, F.ConvOptions{Padding: 1}).ReLU()
		}
		few, many := torch.RandN(1, 256, 7, 7), torch.RandN(16, 256, 7, 7)
		p, err := export.Export(fn, []any{many}, export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "n"}}}})
		require.NoError(t, err)
		defer p.Close()
		forFew := compiled(t, p, export.CompileOptions{ExampleInputs: []any{few}, Inference: true})
		forMany := compiled(t, p, export.CompileOptions{ExampleInputs: []any{torch.Arg("x", many)}, Inference: true})
		require.Equal(t, compiled(t, p).String(), forMany.String())
		require.NotEqual(t, forFew.String(), forMany.String())
		torch.Inference(func() {
			for _, c := range []*export.Compiled{forFew, forMany} {
				for _, x := range []torch.Tensor{few, many} {
					got, err := c.Run(x)
					require.NoError(t, err)
					requireNear(t, []torch.Tensor{fn(x)}, got, 1e-5)
				}
			}
		})
		_, err = export.Compile(p, export.CompileOptions{ExampleInputs: []any{few.Narrow(1, 0, 3)}})
		require.ErrorContains(t, err, `ExampleInputs: input "x": dimension 1 is 3, expected 256`)
		_, err = export.Compile(p, export.CompileOptions{ExampleInputs: []any{few, few}})
		require.ErrorContains(t, err, "ExampleInputs: ")
	})
}

// The options of Compile: bits, rounding, and weights in bfloat16, for a network of Go's.
func TestCompileOptions(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.ManualSeed(1) // of 24 random networks one is 0.0215 from itself in bfloat16
	torch.Scope(func() {
		net, x := models.ResNet18(10), torch.RandN(2, 3, 32, 32)
		nn.Eval(net)
		p, err := export.Export(net, []any{x}, export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "n"}}}})
		require.NoError(t, err)
		defer p.Close()
		exact, err := export.Compile(p, export.CompileOptions{Exact: true})
		require.NoError(t, err)
		defer exact.Close()
		fused, half := compiled(t, p), &export.Compiled{}
		if bfloat16IsFaster() {
			half = compiled(t, p, export.CompileOptions{DType: torch.BFloat16})
			require.Contains(t, half.String(), "bf16[")
		}
		text := fused.String()
		count := func(name string) int { return strings.Count(text, "torch.ops."+name+".") }
		convolutions := count("mkldnn._convolution_pointwise")
		for _, own := range []string{"winograd", "winograd_", "direct", "direct_"} {
			convolutions += count("libtorchgo." + own)
		}
		require.Equal(t, 20, convolutions+2*count("libtorchgo.direct_beside"))
		require.Equal(t, []int{1, 1, 1}, []int{count("libtorchgo.linear"), count("libtorchgo.max_pool2d"), count("libtorchgo.means")})
		require.NotContains(t, text, "torch.ops.aten.add.")
		require.NotContains(t, text, "torch.ops.aten.batch_norm")
		require.Equal(t, 20, strings.Count(exact.String(), "torch.ops.aten.batch_norm"))
		for _, x := range []torch.Tensor{x, torch.RandN(5, 3, 32, 32)} {
			torch.NoGrad(func() {
				want, err := p.Run(x)
				require.NoError(t, err)
				for _, c := range []struct {
					run      *export.Compiled
					relative float64
				}{{exact, 0}, {fused, 1e-5}, {half, 2e-2}} {
					if c.run == half && !bfloat16IsFaster() {
						continue
					}
					got, err := c.run.Run(x)
					require.NoError(t, err)
					requireNear(t, want, got, c.relative)
				}
				_, err = fused.Run(torch.RandN(2, 4, 32, 32))
				require.ErrorContains(t, err, `input "x": dimension 1 is 4, expected 3`)
			})
		}
	})
}

// In bfloat16 a program is no further from float32 than the network itself is, layer by layer, as Python runs it: what is rounded before it
// is multiplied is made up for by what is not rounded between layers.
func TestBFloat16IsAsNear(t *testing.T) {
	if !bfloat16IsFaster() {
		t.Skip("it is refused on this processor")
	}
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for name, net := range map[string]nn.Layer{
		"ResNet18": models.ResNet18(100), "MobileNetV3Small": models.MobileNetV3Small(100),
	} {
		t.Run(name, func(t *testing.T) {
			defer nn.Close(net)
			torch.Inference(func() {
				x := torch.RandN(2, 3, 96, 96)
				nn.Train(net)
				for range 5 { // batch norms see images
					torch.Scope(func() { net.Forward(x) })
				}
				nn.Eval(net)
				p, err := export.Export(net, []any{x})
				require.NoError(t, err)
				defer p.Close()
				c := compiled(t, p, export.CompileOptions{DType: torch.BFloat16})
				got, err := c.Run(x)
				require.NoError(t, err)
				want := net.Forward(x)
				apart := func(y torch.Tensor) float64 {
					return y.To(torch.Float32).Sub(want).Norm().Float64() / want.Norm().Float64()
				}
				ours := apart(got[0])
				nn.To(net, torch.BFloat16)
				layers := apart(net.Forward(x.To(torch.BFloat16)))
				t.Logf("ours %.4f, layer by layer %.4f", ours, layers)
				require.LessOrEqual(t, ours, 1.1*layers)
			})
		})
	}
}

// Nothing times the largest number of float32, which bfloat16 does not have, is nothing: so masks are made.
func TestMaskInBFloat16(t *testing.T) {
	if !bfloat16IsFaster() {
		t.Skip("it is refused on this processor")
	}
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		taken := torch.Ones(2, 3)
		p, err := export.Export(func(x torch.Tensor) torch.Tensor { return x.Sub(x).MulScalar(-math.MaxFloat32).AddScalar(1) }, []any{taken})
		require.NoError(t, err)
		defer p.Close()
		for i, n := range p.Graph.Nodes {
			p.Graph.Nodes[i].Target = strings.Replace(n.Target, ".Scalar", ".Tensor", 1) // which Python writes for numbers, too
		}
		c := compiled(t, p, export.CompileOptions{DType: torch.BFloat16})
		torch.Inference(func() {
			out, err := c.Run(taken)
			require.NoError(t, err)
			require.True(t, out[0].Equal(taken), "%v", out[0])
		})
	})
}

// What is written into weights later is seen by Exact, and by gradients; what is fused has the weights of then.
func TestCompiledWeights(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		layer, x := nn.NewLinear(3, 2), torch.RandN(4, 3)
		p, err := export.Export(func(x torch.Tensor) torch.Tensor { return layer.Forward(x).Add(layer.Weight.Exp().Sum()) }, []any{x})
		require.NoError(t, err)
		defer p.Close()
		exact, fused := compiled(t, p, export.CompileOptions{Exact: true}), compiled(t, p)
		p, err = export.Export(layer, []any{x})
		require.NoError(t, err)
		defer p.Close()
		live := compiled(t, p, export.CompileOptions{Exact: true})
		var before []torch.Tensor
		torch.NoGrad(func() {
			before, err = fused.Run(x)
			require.NoError(t, err)
			layer.Weight.FillInPlace(1)
			layer.Bias.FillInPlace(2)
			after, err := live.Run(x)
			require.NoError(t, err)
			torchtest.Equal(t, after[0], layer.Forward(x))
			_, err = exact.Run(x)
			require.NoError(t, err)
		})
		out, err := fused.Run(x)
		require.NoError(t, err)
		require.True(t, out[0].RequiresGrad())
		require.False(t, out[0].Equal(before[0]))
		out[0].Sum().Backward()
		require.True(t, layer.Weight.Grad().Defined())
	})
}

// Options that contradict each other, and programs that they cannot be had for, are errors; nothing is left of them.
func TestCompileRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	p := sample()
	defer p.Close()
	lowered := "is computed in its own dtypes"
	if !bfloat16IsFaster() {
		lowered = "slower than float32 on this processor"
	}
	for want, o := range map[string]export.CompileOptions{
		"Exact keeps the bits":         {Exact: true, DType: torch.BFloat16},
		"expected float32 or bfloat16": {DType: torch.Float64},
		lowered:                        {DType: torch.BFloat16},
	} {
		_, err := export.Compile(p, o)
		require.ErrorContains(t, err, want)
	}
	_, err := new(export.Compiled).Run(1)
	require.ErrorContains(t, err, "export.Compile makes one")
	_, err = new(export.Compiled).Call(1)
	require.ErrorContains(t, err, "export.Compile makes one")
	require.Equal(t, "export.Compiled{}", new(export.Compiled).String())
	new(export.Compiled).Close()
}
