package torch_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestOtherKindsPrintAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.FromSlice([]float32{1, 2, 3, 4.5}, 2, 2)
		quantize := func(x torch.Tensor, d torch.DType) torch.Tensor {
			return torch.Call("quantize_per_tensor", x, 0.5, 3, d)[0].(torch.Tensor)
		}
		channels := torch.Call("quantize_per_channel", x, torch.FromSlice([]float64{0.5, 0.25}), torch.FromSlice([]int{1, 2}), 0,
			torch.QInt8)[0].(torch.Tensor)
		nested := func(list ...torch.Tensor) torch.Tensor {
			return torch.Call("_nested_tensor_from_tensor_list", list)[0].(torch.Tensor)
		}
		const made = "x = torch.tensor([[1., 2.], [3., 4.5]])\n"
		for python, got := range map[string]torch.Tensor{
			"torch.quantize_per_tensor(x, 0.5, 3, torch.quint8)":    quantize(x, torch.QUint8),
			"torch.quantize_per_tensor(x, 0.5, 3, torch.qint32)":    quantize(x, torch.QInt32),
			"torch.quantize_per_tensor(x, 0.5, 3, torch.quint8)[0]": quantize(x, torch.QUint8).Index(0),

			"torch.quantize_per_channel(x, torch.tensor([0.5, 0.25]), torch.tensor([1, 2]), 0, torch.qint8)": channels,

			"torch.nested.nested_tensor([x, x[0:1]])":      nested(x, x.Index(torch.Slice(1))),
			"torch.nested.nested_tensor([x.double() / 3])": nested(x.To(torch.Float64).DivScalar(3)),
		} {
			require.Equal(t, ask(t, made+"y = str("+python+")\ntext = y").Text, got.String(), python)
		}
		require.Equal(t, []float32{1, 2, 3, 4.5}, torch.Values[float32](quantize(x, torch.QUint8)))
		for _, d := range []torch.DType{torch.QUint8, torch.QInt8, torch.QInt32} {
			plain := torch.TensorOptions{DType: d}.Empty(4)
			require.Contains(t, plain.String(), "a plain tensor of dtype "+d.String()+" has no scale")
			require.ErrorIs(t, torch.Try(func() { torch.Values[int](plain) }), torch.ErrType)
			require.Len(t, plain.Bytes(), 4*d.Size())
		}
	})
}

// Printing takes a bounded time and a bounded text, whatever it is asked for.
func TestPrintingHasBounds(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		start := time.Now()
		x := torch.Ones(2)
		vast := torch.Ones(1).Expand(1 << 40)
		require.Equal(t, vast.String(), fmt.Sprintf("%+v", vast), "more elements than there are words for are summarised")
		for _, o := range []torch.PrintOptions{{Precision: new(1 << 31)}, {Precision: new(math.MaxInt)}, {EdgeItems: new(-1)}} {
			require.Contains(t, o.Sprint(x), "cannot be printed: torch: print: expected a precision")
		}
		require.Contains(t, torch.PrintOptions{EdgeItems: new(1 << 40)}.Sprint(vast), "more than 16777216 elements to print")
		require.Equal(t, "tensor([1., 1.])", torch.PrintOptions{EdgeItems: new(math.MaxInt), LineWidth: math.MaxInt}.Sprint(x))
		deep := x.Index(0).AsStrided(ones(100_001), make([]int, 100_001))
		require.Contains(t, deep.String(), "a tensor of 100001 dimensions is nested too deep")
		wide := x.Index(0).AsStrided(slicesOf(7, 20), make([]int, 20))
		require.Contains(t, wide.String(), "elements to print")
		require.Less(t, time.Since(start), 20*time.Second)
	})
}

func ones(n int) []int { return slicesOf(1, n) }

func slicesOf(v, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = v
	}
	return list
}
