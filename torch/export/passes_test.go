package export

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// brief prints the calls of a graph, one a line.
func brief(g *Graph) string {
	var b strings.Builder
	for i := range g.Nodes {
		n := &g.Nodes[i]
		var args []string
		for _, in := range n.Inputs {
			args = append(args, formatArgument(in.Value))
		}
		target := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(n.Target, "torch.ops."), "aten."), ".default")
		fmt.Fprintf(&b, "%s = %s(%s)\n", n.valueName(), target, strings.Join(args, ", "))
	}
	return b.String() + "return " + strings.Join(each(g.Outputs, formatArgument), ", ")
}

// passCase is a model with what passes make of it, one after the other.
type passCase struct {
	name   string
	model  func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor
	shape  []int
	passes []pass
}

var passCases = []passCase{
	{"dead", func(x torch.Tensor, _ map[string]torch.Tensor) torch.Tensor {
		x.Sin().Cos()
		F.Dropout(x, 0.5, true) // takes a random number
		return x.Exp()
	}, []int{2}, []pass{{"dead", dead}}},
	{"constants", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		buffer := torch.Zeros(3).AddInPlace(w["v"]) // is written to in each run
		return x.MatMul(w["m"].T().Exp()).Add(torch.Arange(3).MulScalar(2)).Add(buffer)
	}, []int{2, 3}, []pass{{"constants", constants}, {"dead", dead}}},
	{"common", func(x torch.Tensor, _ map[string]torch.Tensor) torch.Tensor {
		return x.Sin().Add(x.Sin()).Mul(x.Cos().Add(x.Sin().Exp())).Add(torch.Rand(2))
	}, []int{2}, []pass{{"common", common}}},
	{"cudnn", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		a := F.Conv2d(x, w["k"], w["v"], F.ConvOptions{Padding: 1})
		b := F.Conv2d(x, w["k"], w["v"].MulScalar(2), F.ConvOptions{Padding: 1})
		return a.Add(b).ReLU()
	}, []int{2, 3, 4, 4}, []pass{{"constants", constants}, {"cudnn", cudnn}, {"formats", formats}, {"dead", dead}}}, // without cuDNN
	{"half", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		mask := torch.Zeros(3).Sub(x.GtScalar(0).To(torch.Float32)).MulScalar(math.MaxFloat32)
		return x.MatMul(w["m"]).Add(mask).Softmax(1)
	}, []int{2, 3}, []pass{{"lower", lower}, {"dead", dead}}},
	{"rotary", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		halves, cos, sin := x.Chunk(2, -1), w["wide"].Narrow(0, 0, 3).Cos(), w["wide"].Narrow(0, 0, 3).Sin()
		low, high := x.Narrow(-1, 0, 2), x.Narrow(-1, 2, 2)
		y := x.Mul(cos).Add(torch.Cat([]torch.Tensor{halves[1].Neg(), halves[0]}, -1).Mul(sin))
		return y.Add(cos.Mul(x).Add(sin.Mul(torch.Cat([]torch.Tensor{high.Neg(), low}, 1))))
	}, []int{3, 4}, []pass{{"constants", constants}, {"rotary", rotary}, {"dead", dead}}},
	{"copies", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := x.Sin().Clone().AddInPlace(x.Clone())                             // the first is forgotten, an input is not
		z := torch.Empty(3, 2).CopyInPlace(y.T().Exp())                        // not as it lay
		u := torch.Empty(2, 3).CopyInPlace(z.T().Contiguous().Narrow(0, 0, 2)) // a view of what is forgotten
		v := u.Cos()
		return v.Clone().MulInPlace(v.AddScalar(1)).Add(w["m"].Clone().Sum()) // which is read again
	}, []int{2, 3}, []pass{{"copies", copies}, {"dead", dead}}},
	{"turns", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := x.Exp().T()
		return y.T().Add(w["m"].T().T().T()).Sub(y.T().T().T()).Add(x.Transpose(0, 1).T())
	}, []int{3, 3}, []pass{{"turns", turns}, {"dead", dead}}},
	{"kept", func(x torch.Tensor, _ map[string]torch.Tensor) torch.Tensor {
		sum := func(dims ...int) torch.Tensor { return x.SumDim(dims, torch.SumOptions{KeepDim: true}) }
		y := sum(0).View(3).Add(sum(-1).View(2).Exp().Sum()).Add(sum(0, 1).View())
		twice := sum(0).Sin().Add(sum(1).View(1, 2).Sum()) // as many dimensions
		z := x.Sin().SumDim([]int{0}, torch.SumOptions{KeepDim: true})
		return y.Add(twice).Add(z.View(3)).Add(z) // which is read again
	}, []int{2, 3}, []pass{{"kept", kept}, {"dead", dead}}},
	{"rectified", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := x.MM(w["m"]).ReLU()
		z := y.MM(w["m"])
		return w["v"].AddMM(y, w["m"]).ReLU().Add(z.ReLU()).Add(z) // which is read again
	}, []int{3, 3}, []pass{{"rectified", rectified}, {"dead", dead}}},
	{"elementwise", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := x.Add(w["m"]).Mul(x).SubScalar(2).ReLU()
		z := x.Neg().Abs().Add(y.Exp(), torch.AddOptions{Alpha: 2})                           // Exp and the factor are none of it
		u := torch.Call("aten::rsub.Scalar", y.Div(z), 1)[0].(torch.Tensor).Mul(w["v"].Sum()) // a single number
		buffer := torch.Zeros(3, 3).AddInPlace(x)                                             // which is written to
		return u.Mul(w["v"]).Add(u).Sub(buffer.Abs()).AddScalar(-2)                           // other sizes
	}, []int{3, 3}, []pass{{"elementwise", elementwise}, {"dead", dead}}},
	{"functional", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := x.Add(w["v"]).ReLUInPlace()
		y.MulScalarInPlace(2)
		z := x.MulScalar(3)
		z.Narrow(0, 0, 1).ZeroInPlace() // through a view
		return y.Add(z.ReLUInPlace())
	}, []int{2, 3}, []pass{{"functional", functional}}},
	{"identities", func(x torch.Tensor, _ map[string]torch.Tensor) torch.Tensor {
		return F.Dropout(F.Dropout(x.Sin(), 0.5, false).Cos(), 0.5, false)
	}, []int{2}, []pass{{"identities", identities}}},
	{"batchNorms", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.BatchNorm(F.Conv2d(x, w["k"], torch.Tensor{}, F.ConvOptions{Padding: 1}), norm(w))
		y = F.BatchNorm(F.ConvTranspose2d(y, w["k"], w["v"], F.ConvTransposeOptions{Padding: 1}), norm(w))
		return F.BatchNorm(x, norm(w)).Add(y)
	}, []int{1, 3, 4, 4}, []pass{{"constants", constants}, {"batchNorms", batchNorms}, {"dead", dead}}},
	{"batchNormsAhead", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		square := w["m"]
		y := F.Linear(F.BatchNorm(x.ReLU(), norm(w)), square, w["v"])
		y = F.Linear(F.BatchNorm(y.ReLU(), norm(w)), square, torch.Tensor{})
		z := F.BatchNorm(y.ReLU(), norm(w)) // read twice
		return F.Linear(z, square, w["v"]).Add(z)
	}, []int{2, 3}, []pass{{"constants", constants}, {"batchNorms", batchNorms}, {"dead", dead}}},
	{"paddings", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.Conv2d(F.Pad(x, []int{1, 1, 2, 2}), w["k"], w["v"], F.ConvOptions{Padding: 1})
		y = F.Conv2d(F.Pad(y, []int{0, 1, 0, 1}), w["k"], torch.Tensor{})
		return F.Conv2d(F.Pad(y, []int{1, 1, 1, 1}, F.PadOptions{Mode: "reflect"}), w["k"], torch.Tensor{})
	}, []int{1, 3, 8, 8}, []pass{{"paddings", paddings}, {"dead", dead}}},
	{"attention", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		heads := func(x torch.Tensor) torch.Tensor { return x.View(2, 5, 2, 3).Transpose(1, 2) }
		a := F.Softmax(heads(x.Sin()).MatMul(heads(x.Cos()).Transpose(-2, -1)).DivScalar(2).Add(w["m"].Sum().Expand(5, 5)), -1)
		y := F.Dropout(a, 0.5, false).MatMul(heads(x)).Transpose(1, 2).Contiguous().View(2, 5, 6)
		future := torch.Ones(5, 5).Triu(1).To(torch.Bool)
		a = F.Softmax(y.MulScalar(0.5).BMM(x.Transpose(1, 2)).MaskedFill(future, math.Inf(-1)), -1)
		return F.Softmax(y.MatMul(a.BMM(y).Transpose(1, 2)), 1).MatMul(y) // not the last dimension
	}, []int{2, 5, 6}, []pass{{"constants", constants}, {"attention", attention}, {"constants", constants}, {"dead", dead}}},
	{"pointwise", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.Conv2d(x, w["k"], w["v"], F.ConvOptions{Padding: 1}).ReLU()
		y = F.Hardtanh(F.Conv2d(y, w["k"], torch.Tensor{}), F.HardtanhOptions{})
		y = F.Conv2d(y, w["k"], torch.Tensor{})
		return F.Linear(F.GELU(F.Linear(y.Add(y.ReLU()).View(-1, 4), w["wide"])), w["wide"].T())
	}, []int{2, 3, 8, 8}, []pass{{"pointwise", pointwise}, {"formats", formats}, {"dead", dead}}},
	{"sums", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		conv := func(x torch.Tensor) torch.Tensor { // not one of ours
			return F.Conv2d(x, w["k"], w["v"], F.ConvOptions{Padding: 2, Dilation: 2})
		}
		y := conv(x).ReLU()
		y = conv(y).Add(y).ReLU() // what nothing else reads is written to
		y = conv(y).Add(y.Exp()).ReLU()
		return conv(x).Add(x).Add(y) // but not an input
	}, []int{1, 3, 4, 4}, []pass{{"pointwise", pointwise}, {"formats", formats}, {"sums", sums}, {"dead", dead}}},
	{"convolve", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		conv := func(x torch.Tensor) torch.Tensor {
			return F.Conv2d(x, w["deep"], torch.Tensor{}, F.ConvOptions{Padding: 1})
		}
		y := conv(x).Add(x).ReLU()
		y = conv(conv(y).ReLU()).Add(y)
		z := F.Conv2d(y, w["deep"], torch.Tensor{}, F.ConvOptions{Stride: 2, Padding: 1}).ReLU()
		z = z.Add(F.Conv2d(y, w["one"], torch.Tensor{}, F.ConvOptions{Stride: 2}))
		return F.Conv2d(z, w["one"], torch.Tensor{}).Add(z).ReLU().Mul(z) // what is added is read once more
	}, []int{1, 32, 16, 16}, []pass{{"pointwise", pointwise}, {"formats", formats}, {"sums", sums}, {"inPlace", inPlace}, {"dead", dead}}},
	{"gates", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		gate := func(y torch.Tensor) torch.Tensor { return F.Hardsigmoid(F.AdaptiveAvgPool2d(y, 1)) }
		y := F.Conv2d(x, w["one"], torch.Tensor{}, F.ConvOptions{}).ReLU()
		y = F.Conv2d(gate(y).Mul(y), w["one"], torch.Tensor{}).Add(x) // nothing else reads what is multiplied
		z := y.Mul(y.MeanDim([]int{2, 3}, torch.MeanOptions{KeepDim: true}).Sigmoid())
		return z.Add(y).Add(x.Mul(gate(x))) // not images of ours
	}, []int{1, 32, 8, 8}, []pass{{"pointwise", pointwise}, {"formats", formats}, {"sums", sums}, {"gates", gates}, {"dead", dead}}},
	{"pairs", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		each := F.ConvOptions{Padding: 1, Groups: 32}
		y := F.Conv2d(F.Conv2d(x, w["one"], torch.Tensor{}).ReLU(), w["each"], torch.Tensor{}, each)
		z := F.Conv2d(y, w["one"], torch.Tensor{}, F.ConvOptions{Stride: 2}) // small
		return F.Conv2d(z, w["each"], torch.Tensor{}, each).ReLU()
	}, []int{2, 32, 64, 64}, []pass{{"pointwise", pointwise}, {"formats", formats}, {"pairs", pairs}, {"dead", dead}}},
	{"besides", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		two, bias := F.ConvOptions{Stride: 2}, w["wide"].Narrow(1, 0, 1).Narrow(0, 0, 32).Flatten(0, 1)
		y := F.Conv2d(x, w["deep"], torch.Tensor{}, F.ConvOptions{Stride: 2, Padding: 1})
		y = F.Conv2d(x, w["one"], bias, two).Add(F.Conv2d(y.ReLU(), w["one"], bias)).ReLU()
		z := F.Conv2d(y, w["one"], torch.Tensor{}).Add(F.Conv2d(y, w["one"], torch.Tensor{})).Tanh()    // which ours lack
		u := F.Conv2d(x, w["one"], torch.Tensor{}, two).Add(F.Conv2d(x, w["one"], torch.Tensor{}, two)) // no side takes every pixel
		v := F.Conv2d(x, w["one"], torch.Tensor{}, two)
		return v.Add(F.Conv2d(y, w["one"], torch.Tensor{})).Add(v).Add(u).Add(z) // what is read twice
	}, []int{2, 32, 6, 6}, []pass{{"constants", constants}, {"besides", besides}, {"pointwise", pointwise}, {"formats", formats},
		{"dead", dead}}},
	{"flattened", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.Conv2d(x, w["one"], torch.Tensor{}).ReLU()
		mean := func(keep bool) torch.Tensor { return y.MeanDim([]int{2, 3}, torch.MeanOptions{KeepDim: keep}) }
		z := mean(true).Flatten(1, -1).Add(mean(false)).Add(F.AdaptiveAvgPool2d(y, 1).View(-1, 32))
		u := F.AdaptiveAvgPool2d(y.Mul(y), 1)
		return z.Add(F.AdaptiveAvgPool2d(y, 1).Reshape(1, 64).Narrow(1, 0, 32)).Add(u.Flatten(1, -1)).Add(u.Sum()) // other rows, and read twice
	}, []int{2, 32, 4, 4}, []pass{{"pointwise", pointwise}, {"formats", formats}, {"gates", gates}, {"flattened", flattened}, {"dead", dead}}},
	{"pooled", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		conv := func(x torch.Tensor) torch.Tensor {
			return F.Conv2d(x, w["deep"], torch.Tensor{}, F.ConvOptions{Padding: 1})
		}
		y := conv(x)
		z := F.MaxPool2d(y.ReLU(), 3, F.MaxPoolOptions{Stride: 2, Padding: 1})
		u := conv(z)
		return F.MaxPool2d(conv(u).ReLU(), 2).Add(F.MaxPool2d(u, 2)) // small, and read twice
	}, []int{2, 32, 64, 64}, []pass{{"pointwise", pointwise}, {"formats", formats}, {"gates", gates}, {"pooled", pooled}, {"dead", dead}}},
	{"taps", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := F.Conv2d(x, w["k"], w["v"], F.ConvOptions{Padding: 1})                   // 1 x 2, so a row of the kernel
		y = F.Conv2d(y, w["k"], torch.Tensor{}, F.ConvOptions{Padding: 1, Stride: 2}) // 1 x 2, but its first column meets nothing
		y = F.Conv2d(y, w["k"], torch.Tensor{}, F.ConvOptions{Padding: []int{2, 3}, Dilation: 2})
		return F.Conv2d(y, w["k"], torch.Tensor{}, F.ConvOptions{Padding: 2, Dilation: 2}).Add(x.Sum()) // the middle
	}, []int{1, 3, 1, 2}, []pass{{"taps", taps}, {"dead", dead}}},
	{"settled", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		settled, read, given := w["v"].Clone(), w["v"].Clone(), w["v"].Clone()
		settled.Narrow(0, 1, 1).ZeroInPlace()
		sum := read.Sum() // before it is written to
		read.ZeroInPlace()
		given.MulInPlace(x.Sum())
		return x.Add(settled).Add(read).Add(given).Add(sum)
	}, []int{2, 3}, []pass{{"settled", settled}, {"constants", constants}, {"dead", dead}}},
	{"inPlace", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		y := x.Sin().ReLU().Sigmoid()
		v := y.View(3, 2)
		return x.ReLU().Add(y.Tanh()).Add(v.Exp().T()).Mul(w["m"].Sum().Add(w["v"]))
	}, []int{2, 3}, []pass{{"inPlace", inPlace}}},
	{"lower", func(x torch.Tensor, w map[string]torch.Tensor) torch.Tensor {
		return x.MatMul(w["m"]).Add(torch.Ones(3))
	}, []int{2, 3}, []pass{{"lower", lower}, {"dead", dead}}},
}

// export is the model as a program, and an input.
func (c *passCase) export(t *testing.T) (p *Program, x torch.Tensor) {
	w := map[string]torch.Tensor{"v": torch.RandN(3), "m": torch.RandN(3, 3), "k": torch.RandN(3, 3, 3, 3), "wide": torch.RandN(1024, 4),
		"deep": torch.RandN(32, 32, 3, 3), "one": torch.RandN(32, 32, 1, 1), "each": torch.RandN(32, 1, 3, 3)}
	x = torch.RandN(c.shape...)
	p, err := Export(func(x torch.Tensor) torch.Tensor { return c.model(x, w) }, []any{x})
	require.NoError(t, err)
	return p, x
}

// norm are the settings of a batch norm in evaluation.
func norm(w map[string]torch.Tensor) F.BatchNormOptions {
	return F.BatchNormOptions{RunningMean: w["v"], RunningVar: w["v"].Abs(), Weight: w["v"], Bias: w["v"]}
}

var update = flag.Bool("update", false, "write testdata/passes.txt and lenient.txt anew")

// Each pass by itself makes of a graph what testdata/passes.txt says, and what it computes stays the same but for rounding.
func TestPasses(t *testing.T) {
	torchtest.NoLeaks(t)
	const golden = "testdata/passes.txt"
	var text strings.Builder
	for _, c := range passCases {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() {
				p, x := c.export(t)
				defer p.Close()
				o, tolerance := CompileOptions{}, 1e-5
				switch c.name {
				case "lower":
					o.DType, tolerance = torch.BFloat16, 1e-2
				case "half":
					o.DType, tolerance = torch.Float16, 2e-3
				}
				r := newRewriter(p, o)
				if c.name == "half" || c.name == "cudnn" {
					r.device = torch.CUDA(0) // as if it were there
				}
				defer r.close()
				fmt.Fprintf(&text, "== %s\n%s\n--\n", c.name, brief(&r.p.Graph))
				require.NoError(t, r.apply(c.passes))
				fmt.Fprintf(&text, "%s\n\n", brief(&r.p.Graph))
				var e *engine
				var err error
				torch.Unsafe(func() { e, err = newEngine(r.p) })
				require.NoError(t, err)
				defer e.h.Close()
				torch.NoGrad(func() {
					torch.ManualSeed(1)
					want, err := p.Run(x)
					require.NoError(t, err)
					torch.ManualSeed(1)
					got, err := e.Run(x)
					require.NoError(t, err)
					require.Equal(t, want[0].Stride(), got[0].Stride())
					require.LessOrEqual(t, got[0].Sub(want[0]).Abs().Max().Float64(), tolerance*want[0].Abs().Max().Float64())
				})
			})
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
}
