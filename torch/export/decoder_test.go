package export_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// decoder is a layer of a language model that reads one word more: its queries, of which each two share a head of keys and values, meet
// those of the words before, which are given.
type decoder struct {
	First, Second            *nn.RMSNorm
	Query, Key, Value, Whole *nn.Linear
	Gate, Up, Down           *nn.Linear
}

const (
	decoderWidth = 64
	decoderHeads = 4
	decoderSize  = decoderWidth / decoderHeads
)

func newDecoder() *decoder {
	linear := func(in, out int) *nn.Linear { return nn.NewLinear(in, out, nn.LinearOptions{NoBias: true}) }
	const shared, inner = decoderWidth / 2, 2 * decoderWidth
	return &decoder{nn.NewRMSNorm([]int{decoderWidth}), nn.NewRMSNorm([]int{decoderWidth}), linear(decoderWidth, decoderWidth),
		linear(decoderWidth, shared), linear(decoderWidth, shared), linear(decoderWidth, decoderWidth),
		linear(decoderWidth, inner), linear(decoderWidth, inner), linear(inner, decoderWidth)}
}

// Forward takes x [1, 1, width] and the keys and values before [1, heads / 2, n, size], and returns both with one more.
func (d *decoder) Forward(x, keys, values torch.Tensor) []torch.Tensor {
	place := torch.Arange(decoderSize).DivScalar(decoderSize).Mul(keys.Select(2, -1).Mean())
	cos, sin := place.Cos(), place.Sin()
	turned := func(x torch.Tensor) torch.Tensor {
		halves := x.Chunk(2, -1)
		return x.Mul(cos).Add(torch.Cat([]torch.Tensor{halves[1].Neg(), halves[0]}, -1).Mul(sin))
	}
	heads := func(l *nn.Linear, y torch.Tensor, n int) torch.Tensor {
		return l.Forward(y).View(1, 1, n, decoderSize).Transpose(1, 2)
	}
	y := d.First.Forward(x)
	q, k, v := turned(heads(d.Query, y, decoderHeads)), turned(heads(d.Key, y, decoderHeads/2)), heads(d.Value, y, decoderHeads/2)
	keys, values = torch.Cat([]torch.Tensor{keys, k}, 2), torch.Cat([]torch.Tensor{values, v}, 2)
	own := F.ScaledDotProductAttention(q, keys, values, F.ScaledDotProductAttentionOptions{EnableGQA: true})
	x = x.Add(d.Whole.Forward(own.Transpose(1, 2).Reshape(1, 1, decoderWidth)))
	y = d.Second.Forward(x)
	return []torch.Tensor{x.Add(d.Down.Forward(F.SiLU(d.Gate.Forward(y)).Mul(d.Up.Forward(y)))), keys, values}
}

// A program of a decoder's step is compiled once for any number of words before, with all that makes it fast, and computes what the layer
// does; weights in fewer bits differ as they are rounded.
func TestDecoderOfAnyLength(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		model := nn.Eval(newDecoder())
		given := func(n int) []any {
			before := []int{1, decoderHeads / 2, n, decoderSize}
			return []any{torch.RandN(1, 1, decoderWidth), torch.RandN(before...), torch.RandN(before...)}
		}
		words := map[int]export.Dim{2: {Name: "words", Min: 1, Max: 4096}}
		p, err := export.Export(model, given(10), export.ExportOptions{ArgNames: []string{"x", "keys", "values"},
			DynamicShapes: map[string]map[int]export.Dim{"keys": words, "values": words}})
		require.NoError(t, err)
		defer p.Close()
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 2e-6, torch.BFloat16: 5e-3, torch.Int8: 2e-2} {
			c := compiled(t, p, export.CompileOptions{Weights: dtype})
			for operator, calls := range map[string]int{"rotary": 2, "attention": 1, "rms_norm": 2, "linear": 7} {
				require.Equal(t, calls, strings.Count(c.String(), "libtorchgo."+operator), c)
			}
			for _, n := range []int{1, 10, 333} {
				inputs := given(n)
				torch.Inference(func() {
					got, err := c.Run(inputs...)
					require.NoError(t, err)
					want := model.Forward(inputs[0].(torch.Tensor), inputs[1].(torch.Tensor), inputs[2].(torch.Tensor))
					for i := range want {
						requireNear(t, want[i:], got[i:], apart)
					}
				})
			}
		}
	})
}
