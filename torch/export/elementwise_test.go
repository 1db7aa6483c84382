package export

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// odd are numbers that operators have their rules for.
var odd = []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-40,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 0.1, 1.0 / 3}

// oddly are random numbers, some of them odd, in a tensor of a shape.
func oddly(r *rand.Rand, shape ...int) torch.Tensor {
	n := 1
	for _, size := range shape {
		n *= size
	}
	list := make([]float32, n)
	for i := range list {
		if list[i] = float32(r.NormFloat64()); r.IntN(4) == 0 {
			list[i] = odd[r.IntN(len(odd))]
		}
	}
	return torch.FromSlice(list, shape...)
}

// chainOf is a function of tensors that computes some steps, which a seed decides: the last value, or the sum of all that nobody has read.
func chainOf(seed uint64, steps int) func(x, y, one torch.Tensor) torch.Tensor {
	return func(x, y, one torch.Tensor) torch.Tensor {
		r := rand.New(rand.NewPCG(seed, 0))
		values := []torch.Tensor{x, y}
		for range steps {
			a := values[len(values)-1-r.IntN(min(3, len(values)))]
			b := values[r.IntN(len(values))]
			if r.IntN(8) == 0 {
				b = one
			}
			number := float64(odd[r.IntN(len(odd))])
			var v torch.Tensor
			switch r.IntN(9) {
			case 0:
				v = a.Add(b)
			case 1:
				v = a.Sub(b)
			case 2:
				v = a.Mul(b)
			case 3:
				v = a.Div(b)
			case 4:
				v = a.Neg()
			case 5:
				v = a.Abs()
			case 6:
				v = a.ReLU()
			case 7:
				v = a.MulScalar(number)
			default:
				v = torch.Call("aten::rsub.Scalar", a, number)[0].(torch.Tensor)
			}
			values = append(values, v)
		}
		sum := values[len(values)-1]
		for _, v := range values[max(2, len(values)-12) : len(values)-1] {
			sum = sum.Add(v)
		}
		return sum
	}
}

// Chains have the bits of the operators one by one: for odd numbers, of any length, however tensors lie.
func TestElementwiseKeepsBits(t *testing.T) {
	torchtest.NoLeaks(t)
	r := rand.New(rand.NewPCG(1, 2))
	layouts := map[string]func(torch.Tensor) torch.Tensor{
		"dense":  func(x torch.Tensor) torch.Tensor { return x },
		"turned": func(x torch.Tensor) torch.Tensor { return x.Transpose(0, 1).Contiguous().Transpose(0, 1) },
		"apart": func(x torch.Tensor) torch.Tensor {
			return torch.Cat([]torch.Tensor{x, x}, 1).Narrow(1, 0, x.Size(1))
		},
	}
	for i, shape := range [][]int{{1, 1}, {1, 7}, {3, 5}, {2, 8}, {16, 1}, {17, 1}, {3, 171}, {511, 1}, {2, 256}, {27, 19}, {300, 401}} {
		for name, lie := range layouts {
			torch.Scope(func() {
				x, y, one := lie(oddly(r, shape...)), lie(oddly(r, shape...)), torch.FromSlice([]float32{0.7})
				one = one.Reshape()
				fn := chainOf(uint64(i), 3+7*i)
				p, err := Export(fn, []any{x, y, one})
				require.NoError(t, err)
				defer p.Close()
				c, err := Compile(p, CompileOptions{Exact: true})
				require.NoError(t, err)
				defer c.Close()
				require.Contains(t, c.String(), "libtorchgo.elementwise")
				torch.NoGrad(func() {
					for what, in := range map[string][]any{"alike": {x, y, one}, "not alike": {x, y.Contiguous(), one}} {
						want := fn(in[0].(torch.Tensor), in[1].(torch.Tensor), one)
						got, err := c.Run(in...)
						require.NoError(t, err)
						where := fmt.Sprint(shape, name, what)
						require.Equal(t, want.Stride(), got[0].Stride(), where)
						require.Equal(t, oneNaN(want), oneNaN(got[0]), where)
					}
				})
			})
		}
	}
}

// oneNaN are the bits of the numbers of a tensor in float32; all NaN are one.
func oneNaN(t torch.Tensor) []uint32 {
	list := torch.Values[float32](t.Reshape(-1))
	all := make([]uint32, len(list))
	for i, v := range list {
		if all[i] = math.Float32bits(v); math.IsNaN(float64(v)) {
			all[i] = 0x7fc00000
		}
	}
	return all
}

// Tensors of other dtypes are computed by libtorch; steps that are none are refused.
func TestElementwiseOperator(t *testing.T) {
	torchtest.NoLeaks(t)
	call := func(inputs []torch.Tensor, numbers []float64, steps ...int) (out torch.Tensor, err error) {
		err = torch.Try(func() {
			torch.Unsafe(func() { out = torch.Call("libtorchgo::elementwise", inputs, numbers, steps)[0].(torch.Tensor) })
		})
		return out, err
	}
	torch.Scope(func() {
		x, whole := torch.FromSlice([]float64{1, 2}), torch.FromSlice([]int64{3, 4})
		got, err := call([]torch.Tensor{x, whole}, []float64{10}, 0, 0, 1, 1, 2, 3, 2, 2)
		require.NoError(t, err)
		torchtest.Equal(t, got, torch.FromSlice([]float64{40, 60}))
		got, err = call([]torch.Tensor{torch.Ones(2, 1), torch.Ones(3)}, nil, 0, 0, 1, 0)
		require.NoError(t, err)
		torchtest.Equal(t, got, torch.Full([]int{2, 3}, 2.0))
		one := []torch.Tensor{torch.Ones(2)}
		for _, steps := range [][]int{{}, {0, 0, 0}, {7, 0, 0, 0}, {-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, -1, 0}, {0, 0, 17, 0}, {0, 0, 0, 16},
			{0, 0, 0, -1}} {
			_, err := call(one, nil, steps...)
			require.ErrorIs(t, err, torch.ErrValue, steps)
		}
		_, err = call(one, []float64{1}, 0, 0, 0, 0) // a number's slot
		require.ErrorIs(t, err, torch.ErrValue)
		_, err = call(one, make([]float64, 17), 0, 0, 0, 16)
		require.ErrorIs(t, err, torch.ErrValue)
		_, err = call(nil, []float64{1}, 4, 0, 0, 1)
		require.ErrorIs(t, err, torch.ErrValue)
	})
}

// Exactly compiled, what is written in place lies as what is new would: libtorch adds up by the strides, even of one row.
func TestInPlaceKeepsStrides(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(1)
		rows, w := nn.Eval(nn.NewRNN(8, 8, nn.RNNOptions{BatchFirst: true})), torch.RandN(8, 8)
		fn := func(x torch.Tensor) torch.Tensor {
			y, _ := rows.Forward(x) // of which a row follows that of another sequence
			return F.Linear(y.Add(x), w)
		}
		x := torch.RandN(3, 2, 8)
		free := ExportOptions{DynamicShapes: map[string]map[int]Dim{"x": {0: {Name: "batch"}}}}
		for n, o := range map[int]ExportOptions{1: {}, 3: free} {
			p, err := Export(fn, []any{x.Narrow(0, 0, n)}, o)
			require.NoError(t, err)
			defer p.Close()
			c, err := Compile(p, CompileOptions{Exact: true})
			require.NoError(t, err)
			defer c.Close()
			torch.NoGrad(func() {
				one := x.Narrow(0, 0, 1)
				got, err := c.Run(one)
				require.NoError(t, err)
				require.True(t, fn(one).Equal(got[0]), "%v", c)
			})
		}
	})
}
