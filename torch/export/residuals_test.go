package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Sums and their layer norms against libtorch's in float64, with sides of either dtype, in place and not.
func TestResiduals(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, shape := range [][]int{{1, 197, 768}, {3, 16}, {2, 5, 80}, {48}, {0, 32}} {
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 2e-6, torch.BFloat16: 1e-2} {
			for _, wide := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				t.Run(fmt.Sprint(shape, dtype, wide), func(t *testing.T) { torch.Scope(func() { testResidual(t, shape, dtype, wide, apart) }) })
			}
		}
	}
}

func testResidual(t *testing.T, shape []int, dtype torch.DType, wide [2]bool, apart float64) {
	side := func(wide bool) torch.Tensor {
		x := torch.RandN(shape...).MulScalar(3).AddScalar(1)
		if wide {
			return x
		}
		return x.To(dtype)
	}
	x, y := side(wide[0]), side(wide[1])
	columns := shape[len(shape)-1]
	weight, bias := torch.RandN(columns).To(dtype), torch.RandN(columns).To(dtype)
	eps := 1e-3
	sum := x.To(torch.Float32).Add(y.To(torch.Float32))
	double := func(x torch.Tensor) torch.Tensor { return x.To(torch.Float64) }
	want := F.LayerNorm(double(sum), []int{columns}, F.LayerNormOptions{Weight: double(weight), Bias: double(bias), Eps: &eps})
	check := func(target string) {
		var out []any
		torch.Unsafe(func() { out = torch.Call(target, x, y, weight, bias, 1e-3) })
		got := out[1].(torch.Tensor)
		require.True(t, sum.Equal(out[0].(torch.Tensor)), target)
		require.Equal(t, dtype, got.DType())
		if got.NumEl() > 0 {
			require.Less(t, double(got).Sub(want).Abs().Max().Float64(), apart*want.Abs().Max().Float64(), target)
		}
	}
	if _, ok := inner("libtorchgo::add_norm", x, y, weight, bias, 1e-3); !ok {
		t.Skip("this processor has no kernel")
	}
	check("libtorchgo::add_norm")
	if x.DType() == torch.Float32 {
		check("libtorchgo::add_norm_")
		require.True(t, sum.Equal(x), "the sum lies where x did")
	}
}

// What does not fit is an error.
func TestResidualsThatDoNotFit(t *testing.T) {
	x, w := torch.Zeros(2, 16), torch.Zeros(16)
	for _, c := range []struct {
		target     string
		x, y, w, b torch.Tensor
		says       string
	}{
		{"add_norm", x, torch.Zeros(16), w, w, "two tensors of the same sizes"},
		{"add_norm", x, x.To(torch.Float64), w, w, "two tensors of the same sizes"},
		{"add_norm", torch.Zeros(2, 15), torch.Zeros(2, 15), torch.Zeros(15), torch.Zeros(15), "a multiple of 16 columns"},
		{"add_norm", x, x, w, torch.Zeros(8), "with a weight and a bias for each"},
		{"add_norm_", x.T(), x.T(), torch.Zeros(2), torch.Zeros(2), "lie side by side"},
		{"add_norm", x, x, w.To(torch.Float64), w.To(torch.Float64), "no kernel for Double"},
	} {
		err := torch.Try(func() {
			torch.Unsafe(func() { torch.Call("libtorchgo::"+c.target, c.x, c.y, c.w, c.b, 1e-5) })
		})
		require.ErrorContains(t, err, c.says)
	}
}

// branches is a network of residual branches behind a convolution, which begins and ends in layers of few multiplications.
type branches struct {
	First      *nn.Conv2d
	Norms      []*nn.LayerNorm
	Wide, Back []*nn.Linear
	End        *nn.LayerNorm
	Last       *nn.Linear
	reads      bool // a sum is read by something else, too
}

func newBranches(reads bool) *branches {
	b := &branches{reads: reads, First: nn.NewConv2d(3, 64, 4, nn.ConvOptions{Stride: 4}), End: nn.NewLayerNorm(64)}
	b.Last = nn.NewLinear(64, 10)
	for range 4 {
		b.Norms = append(b.Norms, nn.NewLayerNorm(64))
		b.Wide, b.Back = append(b.Wide, nn.NewLinear(64, 512)), append(b.Back, nn.NewLinear(512, 64))
	}
	return b
}

func (b *branches) Forward(x torch.Tensor) torch.Tensor {
	x = F.ReLU(b.First.Forward(x)).Flatten(2).Transpose(1, 2)
	for i, norm := range b.Norms {
		x = x.Add(b.Back[i].Forward(F.GELU(b.Wide[i].Forward(norm.Forward(x)))))
	}
	if b.reads {
		return b.Last.Forward(b.End.Forward(x).Add(x).Mean(1))
	}
	return b.Last.Forward(b.End.Forward(x).Select(1, 0))
}

// Sums that layer norms read stay in float32 in a program of bfloat16, as its first and its last layer do, also where something else reads
// them. Results are nearer than those of layers in bfloat16.
func TestCompiledResiduals(t *testing.T) {
	torchtest.NoLeaks(t)
	if !bfloat16IsFaster() {
		t.Skip("this processor does not compute in bfloat16")
	}
	for _, reads := range []bool{false, true} {
		torch.Scope(func() {
			torch.ManualSeed(1)
			net, x := newBranches(reads), torch.RandN(2, 3, 32, 32)
			nn.Eval(net)
			program, err := Export(net, []any{x})
			require.NoError(t, err)
			defer program.Close()
			torch.Inference(func() {
				want := net.Forward(x)
				for dtype, apart := range map[torch.DType]float64{torch.Float32: 2e-6, torch.BFloat16: 6e-3} {
					c, err := Compile(program, CompileOptions{DType: dtype, Inference: true})
					require.NoError(t, err)
					text := c.String()
					require.Equal(t, 4, strings.Count(text, "libtorchgo.add_norm"), text)
					for _, stays := range []string{`relu: "f32[2, 64`, `linear_8: "f32[2, 10]"`, `add_3: "f32[2, 64`} {
						require.Contains(t, text, stays)
					}
					require.Equal(t, dtype == torch.BFloat16, strings.Contains(text, `layer_norm_2: "bf16[`))
					got, err := c.Run(x)
					require.NoError(t, err)
					require.Less(t, got[0].Sub(want).Abs().Max().Float64(), apart*want.Abs().Max().Float64(), dtype)
					c.Close()
				}
			})
		})
	}
}
