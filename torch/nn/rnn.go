package nn

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// RNNOptions are the rarer arguments of [NewRNN], [NewGRU] and [NewLSTM].
type RNNOptions struct {
	NumLayers     int     // stacked, each on the results of the one below; default 1
	Nonlinearity  string  // "tanh" (default) or "relu"; for RNN only
	NoBias        bool    //
	BatchFirst    bool    // input and output are [N, L, ...]; default: [L, N, ...]
	Dropout       float64 // of the results of all layers but the last, in training; default 0
	Bidirectional bool    // a second pass in each layer, from the end to the beginning
	ProjSize      int     // features of the hidden state after a projection; default: none; for LSTM only
}

// The recurrent networks share their options.
type (
	GRUOptions  = RNNOptions
	LSTMOptions = RNNOptions
)

// Recurrent is what the recurrent networks have in common.
type Recurrent struct {
	Weights RecurrentWeights // one for each layer, or two where there are two directions
	Mode    Mode
	Input   int // features of the input
	Hidden  int // features of the hidden state, before the projection if there is one
	Options RNNOptions
}

// RecurrentWeight are the parameters of a layer in one direction. G is the number of gates:
// 1 for RNN, 3 for GRU, 4 for LSTM.
type RecurrentWeight struct {
	WeightIH, WeightHH torch.Tensor // [G*hidden, in] and [G*hidden, hidden or projection]
	BiasIH, BiasHH     torch.Tensor // [G*hidden], or undefined
	WeightHR           torch.Tensor // [projection, hidden], or undefined

	suffix string // of the names
}

// RecurrentWeights are the parameters of all layers, both directions of a layer side by
// side. In a state dict they bear PyTorch's names: weight_ih_l0, weight_ih_l0_reverse.
type RecurrentWeights []RecurrentWeight

// lent gives the tensors in PyTorch's order, which is also that of the fused operators.
func (w RecurrentWeights) lent() iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		for name, t := range w.fields() {
			if t.Defined() && !yield(name, *t) {
				return
			}
		}
	}
}

func (w RecurrentWeights) fields() iter.Seq2[string, *torch.Tensor] {
	return func(yield func(string, *torch.Tensor) bool) {
		for i := range w {
			l := &w[i]
			for k, t := range []*torch.Tensor{&l.WeightIH, &l.WeightHH, &l.BiasIH, &l.BiasHH, &l.WeightHR} {
				if name := []string{"weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"}[k]; !yield(name+l.suffix, t) {
					return
				}
			}
		}
	}
}

func (w RecurrentWeights) with(path string, tensors map[string]torch.Tensor) any {
	copied := slices.Clone(w)
	for name, at := range copied.fields() {
		if t, ok := tensors[join(path, name)]; ok {
			*at = t
			delete(tensors, join(path, name))
		}
	}
	return copied
}

// RNN is a recurrent network: hₜ = tanh(Wᵢₕ·xₜ + bᵢₕ + Wₕₕ·hₜ₋₁ + bₕₕ), or relu.
type RNN struct{ Recurrent }

// GRU is a network of gated recurrent units (Cho et al., 2014).
type GRU struct{ Recurrent }

// LSTM is a network of long short-term memory (Hochreiter and Schmidhuber, 1997); with
// projections that of Sak et al., 2014.
type LSTM struct{ Recurrent }

// NewRNN makes a network from in features to a hidden state of that many. All parameters
// are drawn uniformly from ±1/√hidden.
func NewRNN(in, hidden int, opts ...RNNOptions) *RNN {
	v := option.One(opts)
	v.Nonlinearity = nonlinearity("rnn", v.Nonlinearity)
	return &RNN{newRecurrent("rnn", 1, in, hidden, v)}
}

// NewGRU makes a network from in features to a hidden state of that many. All parameters
// are drawn uniformly from ±1/√hidden.
func NewGRU(in, hidden int, opts ...GRUOptions) *GRU {
	return &GRU{newRecurrent("gru", 3, in, hidden, option.One(opts))}
}

// NewLSTM makes a network from in features to hidden and cell states of that many. All
// parameters are drawn uniformly from ±1/√hidden.
func NewLSTM(in, hidden int, opts ...LSTMOptions) *LSTM {
	return &LSTM{newRecurrent("lstm", 4, in, hidden, option.One(opts))}
}

func newRecurrent(op string, gates, in, hidden int, o RNNOptions) Recurrent {
	if o.NumLayers == 0 {
		o.NumLayers = 1
	}
	refuse := func(bad bool, message string) {
		if bad {
			torch.Throw(op, torch.KindValue, "%s", message)
		}
	}
	refuse(!(o.Dropout >= 0 && o.Dropout <= 1),
		"dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
	refuse(in <= 0, "input_size must be greater than zero")
	refuse(hidden <= 0, "hidden_size must be greater than zero")
	refuse(o.NumLayers < 0, "num_layers must be greater than zero")
	refuse(o.NumLayers > mostLayers, "num_layers must be at most "+strconv.Itoa(mostLayers))
	refuse(o.ProjSize < 0, "proj_size should be a positive integer or zero to disable projections")
	refuse(o.ProjSize >= hidden, "proj_size has to be smaller than hidden_size")
	if o.Dropout > 0 && o.NumLayers == 1 {
		torch.Warn("dropout option adds dropout after all but last "+
			"recurrent layer, so non-zero dropout expects "+
			"num_layers greater than 1, but got dropout=%v and num_layers=1", o.Dropout)
	}
	refuse(o.ProjSize > 0 && op != "lstm", "proj_size argument is only supported for LSTM, not RNN or GRU")
	refuse(o.Nonlinearity != "" && op != "rnn", "nonlinearity argument is only supported for RNN, not LSTM or GRU")

	r := Recurrent{Input: in, Hidden: hidden, Options: o}
	create(func() {
		draw := drawer(hidden)
		for layer := range o.NumLayers {
			for direction := range r.directions() {
				w := RecurrentWeight{suffix: "_l" + strconv.Itoa(layer)}
				if direction == 1 {
					w.suffix += "_reverse"
				}
				w.WeightIH, w.WeightHH = draw(gates*hidden, in), draw(gates*hidden, r.features())
				if !o.NoBias {
					w.BiasIH, w.BiasHH = draw(gates*hidden), draw(gates*hidden)
				}
				if o.ProjSize > 0 {
					w.WeightHR = draw(o.ProjSize, hidden)
				}
				r.Weights = append(r.Weights, w)
			}
			in = r.features() * r.directions()
		}
	})
	return r
}

func nonlinearity(op, name string) string {
	switch name {
	case "":
		return "tanh"
	case "tanh", "relu":
	default:
		torch.Throw(op, torch.KindValue, "Unknown nonlinearity '%s'. Select from 'tanh' or 'relu'.", name)
	}
	return name
}

// drawer returns a function that makes parameters of recurrent layers with that many
// hidden features.
func drawer(hidden int) func(shape ...int) torch.Tensor {
	bound := 1 / math.Sqrt(float64(hidden))
	return func(shape ...int) torch.Tensor {
		return nninit.Uniform(torch.Empty(shape...), -bound, bound).SetRequiresGrad(true)
	}
}

func (r *Recurrent) directions() int {
	if r.Options.Bidirectional {
		return 2
	}
	return 1
}

// features is the number of features in the hidden state.
func (r *Recurrent) features() int {
	if r.Options.ProjSize > 0 {
		return r.Options.ProjSize
	}
	return r.Hidden
}
