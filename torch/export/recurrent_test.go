package export

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// recurrentCase is a network of recurrent layers, and its input.
type recurrentCase struct {
	kind                     string
	in, hidden, steps, batch int
	options                  nn.RNNOptions
}

var recurrentCases = []recurrentCase{
	{"lstm", 10, 20, 7, 3, nn.RNNOptions{}},
	{"lstm", 128, 256, 9, 1, nn.RNNOptions{NumLayers: 2, BatchFirst: true}},
	{"lstm", 5, 8, 4, 5, nn.RNNOptions{NumLayers: 3, Bidirectional: true, BatchFirst: true}},
	{"lstm", 3, 1, 2, 1, nn.RNNOptions{NoBias: true}},
	{"lstm", 33, 17, 1, 13, nn.RNNOptions{Dropout: 0.5, NumLayers: 2}},
	{"lstm", 30, 150, 3, 50, nn.RNNOptions{}}, // more weights, and more rows, than stay near
	{"gru", 10, 20, 7, 3, nn.RNNOptions{}},
	{"gru", 10, 180, 3, 7, nn.RNNOptions{}},
	{"gru", 64, 100, 12, 9, nn.RNNOptions{NumLayers: 2, Bidirectional: true}},
	{"gru", 7, 16, 5, 2, nn.RNNOptions{BatchFirst: true, NoBias: true}},
	{"rnn", 10, 20, 7, 6, nn.RNNOptions{NumLayers: 2}},
	{"rnn", 4, 9, 30, 1, nn.RNNOptions{Nonlinearity: "relu", Bidirectional: true, BatchFirst: true}},
}

// network is the case's, of which a call takes states before, too, and all results.
func (c recurrentCase) network() (call func(x torch.Tensor, states []torch.Tensor) []torch.Tensor, target string) {
	switch c.kind {
	case "lstm":
		m := nn.Eval(nn.NewLSTM(c.in, c.hidden, c.options))
		return func(x torch.Tensor, s []torch.Tensor) []torch.Tensor {
			y, h, cell := m.Forward(x, s...)
			return []torch.Tensor{y, h, cell}
		}, "torch.ops.libtorchgo.lstm.default"
	case "gru":
		m := nn.Eval(nn.NewGRU(c.in, c.hidden, c.options))
		return func(x torch.Tensor, s []torch.Tensor) []torch.Tensor {
			y, h := m.Forward(x, s[:1]...)
			return []torch.Tensor{y, h}
		}, "torch.ops.libtorchgo.gru.default"
	}
	m := nn.Eval(nn.NewRNN(c.in, c.hidden, c.options))
	target = "torch.ops.libtorchgo.rnn_tanh.default"
	if c.options.Nonlinearity == "relu" {
		target = "torch.ops.libtorchgo.rnn_relu.default"
	}
	return func(x torch.Tensor, s []torch.Tensor) []torch.Tensor {
		y, h := m.Forward(x, s[:1]...)
		return []torch.Tensor{y, h}
	}, target
}

// Recurrent layers compute what the layers do, from any state on, and their results lie as those do.
func TestRecurrent(t *testing.T) { eachCase(t, recurrentCases, recurrentCase.test) }

func (c recurrentCase) test(t *testing.T) {
	call, target := c.network()
	rows := max(1, c.options.NumLayers)
	if c.options.Bidirectional {
		rows *= 2
	}
	x, h, cell := torch.RandN(c.steps, c.batch, c.in), torch.RandN(rows, c.batch, c.hidden), torch.RandN(rows, c.batch, c.hidden)
	if c.options.BatchFirst {
		x = x.Transpose(0, 1)
	}
	fn := func(x, h, cell torch.Tensor) []torch.Tensor { return call(x, []torch.Tensor{h, cell}) }
	compiled := forInference(t, fn, x, h, cell)
	require.Contains(t, compiled.String(), target)
	torch.Inference(func() {
		before := cell.Clone()
		got, err := compiled.Run(x, h, cell)
		require.NoError(t, err)
		require.True(t, before.Equal(cell), "the state before is read alone")
		for i, want := range fn(x, h, cell) {
			require.Equal(t, want.Stride(), got[i].Stride(), i)
			require.Less(t, got[i].Sub(want).Abs().Max().Float64(), 2e-6*max(1, want.Abs().Max().Float64()), i)
		}
	})
}

// Cells that are full, or no number, are so afterwards, too, and nowhere else.
func TestRecurrentAtTheEdges(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, kind := range []string{"lstm", "gru", "rnn"} {
		c := recurrentCase{kind, 6, 10, 3, 4, nn.RNNOptions{}}
		torch.Scope(func() {
			call, _ := c.network()
			x, h, cell := torch.RandN(3, 4, 6).MulScalar(100), torch.RandN(1, 4, 10), torch.RandN(1, 4, 10).MulScalar(1e30)
			x.Select(1, 2).FillInPlace(math.NaN())
			fn := func(x, h, cell torch.Tensor) []torch.Tensor { return call(x, []torch.Tensor{h, cell}) }
			compiled := forInference(t, fn, x, h, cell)
			torch.Inference(func() {
				got, err := compiled.Run(x, h, cell)
				require.NoError(t, err)
				for i, want := range fn(x, h, cell) {
					require.True(t, want.IsNaN().Equal(got[i].IsNaN()), kind)
					apart := got[i].NaNToNum().Sub(want.NaNToNum()).Abs().Max().Float64()
					require.Less(t, apart, 1e-4*max(1, want.NaNToNum().Abs().Max().Float64()), kind)
				}
			})
		})
	}
}

// What our kernels do not compute stays libtorch's: projected states, other dtypes, and states that are dropped out.
func TestRecurrentOfLibtorch(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for name, c := range map[string]struct {
			net *nn.LSTM
			x   torch.Tensor
		}{
			"projected": {nn.Eval(nn.NewLSTM(4, 6, nn.LSTMOptions{ProjSize: 2})), torch.RandN(3, 2, 4)},
			"double":    {nn.To(nn.Eval(nn.NewLSTM(4, 6)), torch.Float64), torch.RandN(3, 2, 4).To(torch.Float64)},
			"dropped":   {nn.NewLSTM(4, 6, nn.LSTMOptions{NumLayers: 2, Dropout: 0.5}), torch.RandN(3, 2, 4)},
		} {
			compiled := forInference(t, func(x torch.Tensor) torch.Tensor {
				y, _, _ := c.net.Forward(x)
				return y
			}, c.x)
			require.Contains(t, compiled.String(), "torch.ops.aten.lstm.input", name)
			torch.Inference(func() {
				got, err := compiled.Run(c.x)
				require.NoError(t, err, name)
				require.Equal(t, 3, got[0].Size(0), name)
			})
		}
	})
}

// What does not fit is an error that says what does not.
func TestRecurrentErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		weight := func(gates int) torch.Tensor {
			w, ok := inner("libtorchgo::recurrent_weight", torch.RandN(gates*4, 4), gates)
			require.True(t, ok)
			return w
		}
		given, ok := inner("libtorchgo::direct_weight", torch.RandN(16, 5, 1, 1))
		require.True(t, ok)
		x, h, bias := torch.RandN(2, 3, 5), torch.RandN(1, 3, 4), torch.Zeros(16)
		refusesAll(t, "lstm", map[string][]any{
			"expected sequences":            {torch.RandN(2, 5), h, h, []torch.Tensor{given, weight(4), bias}, false, false},
			"do not fit 3 sequences":        {x, torch.RandN(1, 2, 4), h, []torch.Tensor{given, weight(4), bias}, false, false},
			"weights do not fit":            {x, h, h, []torch.Tensor{given, weight(4)}, false, false},
			"do not fit states":             {x, h, h, []torch.Tensor{given, weight(4), bias}, true, false},
			"are not those of recurrent":    {x, h, h, []torch.Tensor{given, weight(3), bias}, false, false},
			"a bias of":                     {x, h, h, []torch.Tensor{given, weight(4), torch.Zeros(15)}, false, false},
			"states of [1, 3, 5] do not":    {x, h, torch.RandN(1, 3, 5), []torch.Tensor{given, weight(4), bias}, false, false},
			"expected sequences of float32": {x.To(torch.Float64), h, h, []torch.Tensor{given, weight(4), bias}, false, false},
		})
		torch.Unsafe(func() {
			err := torch.Try(func() { torch.Call("libtorchgo::recurrent_weight", torch.RandN(8, 4), 3) })
			require.ErrorContains(t, err, "expected squares of float32 weights for 3 gates, got [8, 4]")
		})
	})
}
