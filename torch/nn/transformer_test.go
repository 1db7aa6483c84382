package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The masks of PyTorch's module database: the last of three keys is passed over.
const (
	pythonPadding = "torch.tensor([False, False, True])"
	pythonMask    = "torch.tensor([False, False, True]).expand(3, 3)"
	pythonCausal  = "nn.Transformer.generate_square_subsequent_mask(3)"
)

func paddingMask() torch.Tensor { return torch.FromSlice([]bool{false, false, true}) }

// mask is one of the above by its name, in the scope around.
func mask(python string) torch.Tensor {
	switch python {
	case "None":
		return torch.Tensor{}
	case pythonMask:
		return paddingMask().Expand(3, 3)
	case pythonCausal:
		return nn.SubsequentMask(3, torch.TensorOptions{})
	}
	return paddingMask()
}

func TestMultiheadAttentionEqualsPython(t *testing.T) {
	var cases []moduleCase
	for i := range 32 {
		o := nn.MultiheadAttentionOptions{BatchFirst: i&1 != 0, NoBias: i&2 != 0, AddBiasKV: i&4 != 0, AddZeroAttn: i&8 != 0}
		padding, attn := "None", "None"
		if i&16 != 0 {
			padding, attn = pythonPadding, "torch.tensor([False, False, True]).expand(3, 3, 3)"
		}
		cases = append(cases, moduleCase{
			python: fmt.Sprintf("nn.MultiheadAttention(3, 3, batch_first=%s, bias=%s, add_bias_kv=%s, add_zero_attn=%s)",
				python(o.BatchFirst), python(!o.NoBias), python(o.AddBiasKV), python(o.AddZeroAttn)),
			call: fmt.Sprintf("m(*x, key_padding_mask=%s, attn_mask=%s)", padding, attn),
			make: func() any { return nn.NewMultiheadAttention(3, 3, o) },
			forward: func(m any, x tensors) tensors {
				a := nn.AttentionOptions{KeyPaddingMask: mask(padding)}
				if i&16 != 0 {
					a.AttnMask = paddingMask().Expand(3, 3, 3)
				}
				return attended(m.(*nn.MultiheadAttention).Forward(x[0], x[1], x[2], a))
			},
			inputs: [][]int{{3, 3}, {3, 3}, {3, 3}},
		})
	}
	self := func(o nn.AttentionOptions) func(any, tensors) tensors {
		return func(m any, x tensors) tensors {
			return attended(m.(*nn.MultiheadAttention).Forward(x[0], x[0], x[0], o))
		}
	}
	three := func(m any, x tensors) tensors {
		return attended(m.(*nn.MultiheadAttention).Forward(x[0], x[1], x[2]))
	}
	memory := func(m any, x tensors) tensors {
		return attended(m.(*nn.MultiheadAttention).Forward(x[0], x[1], x[1]))
	}
	first := func() any {
		return nn.NewMultiheadAttention(4, 2, nn.MultiheadAttentionOptions{BatchFirst: true, Dropout: 0.3})
	}
	cases = append(cases,
		moduleCase{"nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True)", "m(x[0], x[0], x[0])", first,
			self(nn.AttentionOptions{}), [][]int{{2, 3, 4}}, nil},
		moduleCase{"nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True)", "m(x[0], x[1], x[1])", first, memory,
			[][]int{{2, 3, 4}, {2, 5, 4}}, nil},
		moduleCase{"nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True)", "m(x[0], x[1], x[2])", first, three,
			[][]int{{2, 3, 4}, {2, 5, 4}, {2, 5, 4}}, nil},
		moduleCase{"nn.MultiheadAttention(4, 2)", "m(x[0], x[0], x[0], need_weights=False)",
			func() any { return nn.NewMultiheadAttention(4, 2) }, self(nn.AttentionOptions{NoWeights: true}), [][]int{{3, 2, 4}}, nil},
		moduleCase{"nn.MultiheadAttention(4, 2)", "m(x[0], x[0], x[0], average_attn_weights=False)",
			func() any { return nn.NewMultiheadAttention(4, 2) }, self(nn.AttentionOptions{WeightsPerHead: true}), [][]int{{3, 2, 4}}, nil},
		moduleCase{"nn.MultiheadAttention(4, 2, kdim=5, vdim=6)", "",
			func() any { return nn.NewMultiheadAttention(4, 2, nn.MultiheadAttentionOptions{KDim: 5, VDim: 6}) }, three,
			[][]int{{3, 2, 4}, {5, 2, 5}, {5, 2, 6}}, nil},
		moduleCase{"nn.MultiheadAttention(4, 2, vdim=6, bias=False, batch_first=True)", "", func() any {
			return nn.NewMultiheadAttention(4, 2, nn.MultiheadAttentionOptions{VDim: 6, NoBias: true, BatchFirst: true})
		}, three, [][]int{{2, 3, 4}, {2, 5, 4}, {2, 5, 6}}, nil},
	)
	equalPython(t, cases)
}

// In evaluation libtorch's kernel of the whole layer attends, as in PyTorch.
func TestFusedAttentionEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(4)
		x := torch.RandN(3, 17, 64)
		attention := nn.Eval(nn.NewMultiheadAttention(64, 4, nn.MultiheadAttentionOptions{BatchFirst: true}))
		defer nn.Close(attention)
		want := peer.Run(t, "testdata/fused.py", peer.Tensors{"x": x})
		for _, c := range []struct {
			name string
			o    nn.AttentionOptions
		}{
			{"plain", nn.AttentionOptions{}}, {"bare", nn.AttentionOptions{NoWeights: true}},
			{"heads", nn.AttentionOptions{WeightsPerHead: true}},
		} {
			recorded, _ := attention.Forward(x, x, x, c.o)
			torchtest.Equal(t, recorded, want[c.name+" recorded"])
			torch.NoGrad(func() {
				y, weights := attention.Forward(x, x, x, c.o)
				torchtest.Equal(t, y, want[c.name])
				require.Equal(t, !c.o.NoWeights, weights.Defined())
				if weights.Defined() {
					torchtest.Equal(t, weights, want[c.name+" weights"])
				}
			})
		}
		attention.InProjBias = torch.Zeros(5)
		err := torch.Try(func() { torch.NoGrad(func() { attention.Forward(x, x, x) }) })
		require.Error(t, err, "weights that the kernel would read beyond")
	})
}

func attended(output, weights torch.Tensor) tensors {
	if !weights.Defined() {
		return tensors{output}
	}
	return tensors{output, weights}
}

// layerVariants are the module database's settings of a layer: the options and their Python.
func layerVariants() (list []nn.TransformerLayerOptions, text []string) {
	for i := range 8 {
		o := nn.TransformerLayerOptions{DimFeedforward: 8, Dropout: new(0.0), BatchFirst: i&1 != 0, NormFirst: i&2 != 0, NoBias: i&4 != 0}
		list = append(list, o)
		text = append(text, fmt.Sprintf("dim_feedforward=8, dropout=0.0, batch_first=%s, norm_first=%s, bias=%s", python(o.BatchFirst),
			python(o.NormFirst), python(!o.NoBias)))
	}
	gelu := nn.TransformerLayerOptions{DimFeedforward: 8,
		Activation: func(x torch.Tensor) torch.Tensor { return F.GELU(x, F.GELUOptions{Approximate: "none"}) }, LayerNormEps: new(1e-3)}
	return append(list, gelu), append(text, "dim_feedforward=8, activation='gelu', layer_norm_eps=1e-3")
}

func TestTransformerEncoderEqualsPython(t *testing.T) {
	var cases []moduleCase
	list, text := layerVariants()
	for i, o := range list {
		layer := "nn.TransformerEncoderLayer(4, 2, " + text[i] + ")"
		makeLayer := func() *nn.TransformerEncoderLayer { return nn.NewTransformerEncoderLayer(4, 2, o) }
		makeStack := func() any {
			l := makeLayer()
			defer nn.Close(l)
			return nn.NewTransformerEncoder(l, 2, nn.TransformerEncoderOptions{Norm: nn.NewLayerNorm(4)})
		}
		for j, masks := range [][2]string{{"None", "None"}, {pythonMask, pythonPadding}, {pythonCausal, "None"}} {
			shape := []int{3, 4}
			if j == 0 {
				shape = []int{3, 2, 4}
			}
			options := func() nn.MaskOptions { return nn.MaskOptions{Mask: mask(masks[0]), KeyPaddingMask: mask(masks[1])} }
			cases = append(cases, moduleCase{layer, fmt.Sprintf("m(*x, src_mask=%s, src_key_padding_mask=%s)", masks[0], masks[1]),
				func() any { return makeLayer() },
				func(m any, x tensors) tensors {
					return tensors{m.(*nn.TransformerEncoderLayer).ForwardMasked(x[0], options())}
				}, [][]int{shape}, nil})
			cases = append(cases, moduleCase{"nn.TransformerEncoder(" + layer + ", 2, nn.LayerNorm(4))",
				fmt.Sprintf("m(*x, mask=%s, src_key_padding_mask=%s)", masks[0], masks[1]), makeStack,
				func(m any, x tensors) tensors {
					return tensors{m.(*nn.TransformerEncoder).ForwardMasked(x[0], options())}
				}, [][]int{shape}, nil})
		}
	}
	equalPython(t, cases)
}

func TestTransformerDecoderEqualsPython(t *testing.T) {
	var cases []moduleCase
	list, text := layerVariants()
	for i, o := range list {
		layer := "nn.TransformerDecoderLayer(4, 2, " + text[i] + ")"
		makeLayer := func() *nn.TransformerDecoderLayer { return nn.NewTransformerDecoderLayer(4, 2, o) }
		makeStack := func() any {
			l := makeLayer()
			defer nn.Close(l)
			return nn.NewTransformerDecoder(l, 2)
		}
		for j, masks := range [][2]string{{"None", "None"}, {pythonMask, pythonPadding}, {pythonCausal, "None"}} {
			shapes := [][]int{{3, 4}, {3, 4}}
			if j == 0 {
				shapes = [][]int{{3, 2, 4}, {3, 2, 4}}
			}
			options := func() nn.DecoderMasks {
				both := nn.MaskOptions{Mask: mask(masks[0]), KeyPaddingMask: mask(masks[1])}
				return nn.DecoderMasks{Target: both, Memory: both}
			}
			call := fmt.Sprintf("m(*x, tgt_mask=%[1]s, memory_mask=%[1]s, tgt_key_padding_mask=%[2]s, memory_key_padding_mask=%[2]s)",
				masks[0], masks[1])
			cases = append(cases, moduleCase{layer, call, func() any { return makeLayer() }, func(m any, x tensors) tensors {
				return tensors{m.(*nn.TransformerDecoderLayer).Forward(x[0], x[1], options())}
			}, shapes, nil})
			cases = append(cases, moduleCase{"nn.TransformerDecoder(" + layer + ", 2)", call, makeStack, func(m any, x tensors) tensors {
				return tensors{m.(*nn.TransformerDecoder).Forward(x[0], x[1], options())}
			}, shapes, nil})
		}
	}
	equalPython(t, cases)
}

func TestTransformerEqualsPython(t *testing.T) {
	var cases []moduleCase
	list, text := layerVariants()
	for i, o := range list {
		make := func() any {
			return nn.NewTransformer(nn.TransformerOptions{DModel: 4, NHead: 2, NumEncoderLayers: 1, NumDecoderLayers: 2, Layer: o})
		}
		for j, masks := range [][2]string{{"None", "None"}, {pythonMask, pythonPadding}} {
			shapes := [][]int{{3, 4}, {3, 4}}
			if j == 0 {
				shapes = [][]int{{3, 2, 4}, {3, 2, 4}}
			}
			cases = append(cases, moduleCase{"nn.Transformer(4, 2, num_encoder_layers=1, num_decoder_layers=2, " + text[i] + ")",
				fmt.Sprintf("m(*x, src_mask=%[1]s, tgt_mask=%[1]s, src_key_padding_mask=%[2]s, tgt_key_padding_mask=%[2]s)", masks[0], masks[1]), make,
				func(m any, x tensors) tensors {
					both := nn.MaskOptions{Mask: mask(masks[0]), KeyPaddingMask: mask(masks[1])}
					return tensors{m.(*nn.Transformer).Forward(x[0], x[1], nn.TransformerMasks{Source: both, DecoderMasks: nn.DecoderMasks{Target: both}})}
				}, shapes, nil})
		}
	}
	equalPython(t, cases)
}

func TestTransformerComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	m := nn.NewTransformer(nn.TransformerOptions{DModel: 4, NHead: 2, NumEncoderLayers: 1, NumDecoderLayers: 1,
		Layer: nn.TransformerLayerOptions{DimFeedforward: 4}})
	defer nn.Close(m)
	for _, c := range []struct {
		name string
		fn   func()
		want string
	}{
		{"no heads", func() { nn.NewMultiheadAttention(4, 0) },
			"embed_dim and num_heads must be greater than 0, got embed_dim=4 and num_heads=0 instead"},
		{"heads", func() { nn.NewMultiheadAttention(4, 3) }, "embed_dim must be divisible by num_heads"},
		{"batch", func() { m.Forward(torch.Ones(3, 2, 4), torch.Ones(3, 1, 4)) }, "the batch number of src and tgt must be equal"},
		{"features", func() { m.Forward(torch.Ones(3, 5), torch.Ones(3, 4)) }, "the feature number of src and tgt must be equal to d_model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() { require.ErrorContains(t, torch.Try(c.fn), c.want) })
		})
	}
}

// A copy has tensors of its own, and shares among its parts what the original shares.
func TestClone(t *testing.T) {
	torchtest.NoLeaks(t)
	type tied struct {
		Embed, Out *nn.Linear
		Weight     torch.Tensor
		Layers     nn.Sequential
		ByName     map[string]nn.Layer
		LSTM       *nn.LSTM
		Self       *tied
		Pair       [2]nn.Layer
	}
	shared := nn.NewLinear(2, 3)
	m := &tied{Embed: shared, Out: shared, Weight: shared.Weight, Layers: nn.Sequential{nn.NewBatchNorm1d(3), nn.ReLU{}},
		ByName: map[string]nn.Layer{"a": nn.NewDropout(0.5)}, LSTM: nn.NewLSTM(2, 3), Pair: [2]nn.Layer{shared, nil}}
	m.Self = m
	c := nn.Clone(m)
	defer nn.Close(m)
	defer nn.Close(c)
	require.Same(t, c, c.Self)
	require.Same(t, c.Embed, c.Out)
	require.NotSame(t, m.Embed, c.Embed)
	require.True(t, c.Weight.Is(c.Embed.Weight))
	nn.Eval(c)
	require.True(t, m.ByName["a"].(*nn.Dropout).Mode.Training())
	original := map[string]torch.Tensor{}
	for name, value := range nn.StateDict(m) {
		original[name] = value
	}
	for name, value := range nn.StateDict(c) {
		require.True(t, value.Equal(original[name]), name)
		require.False(t, value.Is(original[name]), name)
		require.Equal(t, original[name].RequiresGrad(), value.RequiresGrad(), name)
		delete(original, name)
	}
	require.Empty(t, original)
}

func ExampleTransformerEncoder() {
	torch.Scope(func() {
		layer := nn.NewTransformerEncoderLayer(16, 4, nn.TransformerLayerOptions{DimFeedforward: 32, BatchFirst: true})
		encoder := nn.NewTransformerEncoder(layer, 2)
		y := encoder.ForwardMasked(torch.RandN(2, 5, 16), nn.MaskOptions{Mask: nn.SubsequentMask(5, torch.TensorOptions{})})
		fmt.Println(y.Shape(), len(nn.Parameters(encoder)))
	})
	// Output: [2 5 16] 24
}
