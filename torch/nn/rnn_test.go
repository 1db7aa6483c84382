package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Their configurations are those of PyTorch's module database, with and without a batch
// dimension, and those with dropout.
func TestRecurrentEqualPython(t *testing.T) {
	var cases []moduleCase
	for i := range 8 {
		o := nn.RNNOptions{NumLayers: 2, NoBias: i&1 != 0, BatchFirst: i&2 != 0, Bidirectional: i&4 != 0}
		text := fmt.Sprintf("2, 3, num_layers=2, bias=%s, batch_first=%s, bidirectional=%s", python(!o.NoBias), python(o.BatchFirst),
			python(o.Bidirectional))
		projected, relu := o, o
		projected.ProjSize, relu.Nonlinearity = 2, "relu"
		cases = append(cases, recurrent("nn.RNN("+text+")", o)...)
		cases = append(cases, recurrent("nn.RNN("+text+", nonlinearity='relu')", relu)...)
		cases = append(cases, recurrent("nn.GRU("+text+")", o)...)
		cases = append(cases, recurrent("nn.LSTM("+text+")", o)...)
		cases = append(cases, recurrent("nn.LSTM("+text+", proj_size=2)", projected)...)
	}
	dropping := nn.RNNOptions{NumLayers: 3, Dropout: 0.4}
	for _, name := range []string{"RNN", "GRU", "LSTM"} {
		cases = append(cases, recurrent("nn."+name+"(2, 3)", nn.RNNOptions{})...)
		cases = append(cases, recurrent("nn."+name+"(2, 3, num_layers=3, dropout=0.4)", dropping)...)
	}
	equalPython(t, cases)
}

func python(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

// recurrent are the cases of a network of 2 features and a hidden state of 3: with and
// without a batch, with and without initial states.
func recurrent(text string, o nn.RNNOptions) (cases []moduleCase) {
	states := max(o.NumLayers, 1)
	if o.Bidirectional {
		states *= 2
	}
	features := max(o.ProjSize, 0)
	if features == 0 {
		features = 3
	}
	for _, c := range []struct {
		call   string
		inputs [][]int
	}{
		{"m(x[0])", [][]int{{5, 2}}},
		{"m(x[0])", [][]int{{4, 3, 2}}},
		{"m(x[0], x[1])", [][]int{{5, 2}, {states, features}, {states, 3}}},
		{"m(x[0], x[1])", [][]int{{4, 4, 2}, {states, 4, features}, {states, 4, 3}}},
	} {
		m := moduleCase{python: text, call: c.call, inputs: c.inputs}
		switch text[:6] {
		case "nn.LST":
			if len(c.inputs) > 1 {
				m.call = "m(x[0], (x[1], x[2]))"
			}
			m.make = func() any { return nn.NewLSTM(2, 3, o) }
			m.forward = func(m any, x tensors) tensors {
				x = append(x, torch.Tensor{}, torch.Tensor{})
				y, h, c := m.(*nn.LSTM).Forward(x[0], x[1], x[2])
				return tensors{y, h, c}
			}
		case "nn.GRU":
			m.make = func() any { return nn.NewGRU(2, 3, o) }
			m.forward = withState(func(m any, x, h torch.Tensor) (y, last torch.Tensor) { return m.(*nn.GRU).Forward(x, h) })
		default:
			m.make = func() any { return nn.NewRNN(2, 3, o) }
			m.forward = withState(func(m any, x, h torch.Tensor) (y, last torch.Tensor) { return m.(*nn.RNN).Forward(x, h) })
		}
		if text[:6] != "nn.LST" && len(c.inputs) > 1 {
			m.inputs = c.inputs[:2]
		}
		cases = append(cases, m)
	}
	return cases
}

func withState(forward func(m any, x, h torch.Tensor) (y, last torch.Tensor)) func(any, tensors) tensors {
	return func(m any, x tensors) tensors {
		y, h := forward(m, x[0], append(x, torch.Tensor{})[1])
		return tensors{y, h}
	}
}

func TestCellsEqualPython(t *testing.T) {
	var cases []moduleCase
	for _, c := range []struct {
		python  string
		make    func() any
		forward func(m any, x tensors) tensors
	}{
		{"nn.RNNCell(5, 10)", func() any { return nn.NewRNNCell(5, 10) }, rnnCell},
		{"nn.RNNCell(5, 10, bias=False)", func() any { return nn.NewRNNCell(5, 10, nn.RNNCellOptions{NoBias: true}) }, rnnCell},
		{"nn.RNNCell(5, 10, nonlinearity='relu')", func() any { return nn.NewRNNCell(5, 10, nn.RNNCellOptions{Nonlinearity: "relu"}) }, rnnCell},
		{"nn.GRUCell(5, 10)", func() any { return nn.NewGRUCell(5, 10) }, gruCell},
		{"nn.GRUCell(5, 10, bias=False)", func() any { return nn.NewGRUCell(5, 10, nn.GRUCellOptions{NoBias: true}) }, gruCell},
		{"nn.LSTMCell(5, 10)", func() any { return nn.NewLSTMCell(5, 10) }, lstmCell},
		{"nn.LSTMCell(5, 10, bias=False)", func() any { return nn.NewLSTMCell(5, 10, nn.LSTMCellOptions{NoBias: true}) }, lstmCell},
	} {
		lstm := c.python[:5] == "nn.LS"
		for _, inputs := range [][][]int{{{5}}, {{3, 5}}, {{5}, {10}}, {{3, 5}, {3, 10}}} {
			m := moduleCase{python: c.python, make: c.make, forward: c.forward, inputs: inputs}
			if lstm && len(inputs) > 1 {
				m.call, m.inputs = "m(x[0], (x[1], x[2]))", append(slices.Clone(inputs), inputs[1])
			}
			cases = append(cases, m)
		}
	}
	equalPython(t, cases)
}

func rnnCell(m any, x tensors) tensors {
	return tensors{m.(*nn.RNNCell).Forward(x[0], append(x, torch.Tensor{})[1])}
}

func gruCell(m any, x tensors) tensors {
	return tensors{m.(*nn.GRUCell).Forward(x[0], append(x, torch.Tensor{})[1])}
}

func lstmCell(m any, x tensors) tensors {
	x = append(x, torch.Tensor{}, torch.Tensor{})
	h, c := m.(*nn.LSTMCell).Forward(x[0], x[1], x[2])
	return tensors{h, c}
}

func TestRecurrentComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	lstm, gru := nn.NewLSTM(2, 3), nn.NewGRU(2, 3)
	defer nn.Close(lstm)
	defer nn.Close(gru)
	var none torch.Tensor
	for _, c := range []struct {
		name string
		fn   func()
		kind torch.Kind
		want string
	}{
		{"layers without end", func() { nn.NewGRU(2, 2, nn.GRUOptions{NumLayers: 1 << 40}) }, torch.KindValue,
			"num_layers must be at most 65536"},
		{"a stack of fewer than no layers",
			func() { nn.NewTransformer(nn.TransformerOptions{DModel: 4, NHead: 1, NumDecoderLayers: -1}) }, torch.KindValue,
			"expected 0 to 65536 layers, got -1"},
		{"a stack without layers", func() { (&nn.TransformerEncoder{}).Forward(torch.Ones(2, 4)) }, torch.KindIndex, "there are no layers"},
		{"no hidden features", func() { nn.NewRNN(2, 0) }, torch.KindValue, "hidden_size must be greater than zero"},
		{"no inputs", func() { nn.NewRNN(0, 2) }, torch.KindValue, "input_size must be greater than zero"},
		{"fewer than no layers", func() { nn.NewLSTM(2, 2, nn.LSTMOptions{NumLayers: -1}) }, torch.KindValue,
			"num_layers must be greater than zero"},
		{"dropout", func() { nn.NewRNN(2, 2, nn.RNNOptions{Dropout: 2}) }, torch.KindValue, "dropout should be a number in range [0, 1]"},
		{"nonlinearity", func() { nn.NewRNN(2, 2, nn.RNNOptions{Nonlinearity: "sigmoid"}) }, torch.KindValue, "Unknown nonlinearity 'sigmoid'"},
		{"nonlinearity of a GRU", func() { nn.NewGRU(2, 2, nn.GRUOptions{Nonlinearity: "relu"}) }, torch.KindValue, "only supported for RNN"},
		{"projection of a GRU", func() { nn.NewGRU(2, 2, nn.GRUOptions{ProjSize: 1}) }, torch.KindValue, "only supported for LSTM"},
		{"projection too large", func() { nn.NewLSTM(2, 2, nn.LSTMOptions{ProjSize: 2}) }, torch.KindValue,
			"proj_size has to be smaller than hidden_size"},
		{"dimensions", func() { gru.Forward(torch.Ones(2), none) }, torch.KindValue, "GRU: Expected input to be 2D or 3D, got 1D instead"},
		{"features", func() { gru.Forward(torch.Ones(2, 4), none) }, torch.KindGeneric,
			"input.size(-1) must be equal to input_size. Expected 2, got 4"},
		{"dtype", func() { gru.Forward(torch.TensorOptions{DType: torch.Float64}.Ones(2, 2), none) }, torch.KindValue,
			"the input is float64 and the weights are float32"},
		{"state's dimensions", func() { gru.Forward(torch.Ones(4, 2), torch.Ones(1, 1, 3)) }, torch.KindGeneric,
			"For unbatched 2-D input, hx should also be 2-D but got 3-D tensor"},
		{"state's dimensions, batch", func() { gru.Forward(torch.Ones(4, 1, 2), torch.Ones(1, 3)) }, torch.KindGeneric,
			"For batched 3-D input, hx should also be 3-D but got 2-D tensor"},
		{"state's size", func() { gru.Forward(torch.Ones(4, 2), torch.Ones(2, 3)) }, torch.KindGeneric,
			"Expected hidden size (1, 1, 3), got [2, 1, 3]"},
		{"cell state's size", func() { lstm.Forward(torch.Ones(4, 2), none, torch.Ones(2, 3)) }, torch.KindGeneric,
			"Expected hidden[1] size (1, 1, 3), got [2, 1, 3]"},
		{"empty cell", func() { nn.NewGRUCell(2, 0) }, torch.KindValue, "at least 0 inputs and 1 hidden feature"},
	} {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() {
				err := torch.Try(c.fn)
				var typed *torch.Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, c.kind, typed.Kind)
				require.ErrorContains(t, err, c.want)
			})
		})
	}
}

func ExampleLSTM() {
	torch.Scope(func() {
		lstm := nn.NewLSTM(10, 20, nn.LSTMOptions{NumLayers: 2, Bidirectional: true})
		output, hidden, cell := lstm.Forward(torch.RandN(5, 3, 10))
		fmt.Println(output.Shape(), hidden.Shape(), cell.Shape())
		for name := range nn.NamedParameters(lstm) {
			fmt.Println(name)
			break
		}
	})
	// Output:
	// [5 3 40] [4 3 20] [4 3 20]
	// weight_ih_l0
}
