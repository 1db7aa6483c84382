package nn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// Cell is what the cells of recurrent networks have in common. G is the number of gates:
// 1 for RNNCell, 3 for GRUCell, 4 for LSTMCell.
type Cell struct {
	WeightIH, WeightHH torch.Tensor // [G*hidden, in] and [G*hidden, hidden]
	BiasIH, BiasHH     torch.Tensor // [G*hidden], or undefined
}

// RNNCellOptions are the rarer arguments of [NewRNNCell].
type RNNCellOptions struct {
	NoBias       bool
	Nonlinearity string // "tanh" (default) or "relu"
}

// CellOptions are the rarer arguments of the other cells.
type CellOptions struct {
	NoBias bool
}

// The gated cells share their options.
type (
	GRUCellOptions  = CellOptions
	LSTMCellOptions = CellOptions
)

// RNNCell is one step of an [RNN] of one layer.
type RNNCell struct {
	Cell
	Nonlinearity string // "tanh" or "relu"
}

// GRUCell is one step of a [GRU] of one layer.
type GRUCell struct{ Cell }

// LSTMCell is one step of an [LSTM] of one layer.
type LSTMCell struct{ Cell }

// NewRNNCell makes a cell from in features to a hidden state of that many. All parameters
// are drawn uniformly from ±1/√hidden.
func NewRNNCell(in, hidden int, opts ...RNNCellOptions) *RNNCell {
	v := option.One(opts)
	return &RNNCell{newCell("rnn_cell", 1, in, hidden, v.NoBias), nonlinearity("rnn_cell", v.Nonlinearity)}
}

// NewGRUCell makes a cell from in features to a hidden state of that many. All parameters
// are drawn uniformly from ±1/√hidden.
func NewGRUCell(in, hidden int, opts ...GRUCellOptions) *GRUCell {
	return &GRUCell{newCell("gru_cell", 3, in, hidden, option.One(opts).NoBias)}
}

// NewLSTMCell makes a cell from in features to hidden and cell states of that many. All
// parameters are drawn uniformly from ±1/√hidden.
func NewLSTMCell(in, hidden int, opts ...LSTMCellOptions) *LSTMCell {
	return &LSTMCell{newCell("lstm_cell", 4, in, hidden, option.One(opts).NoBias)}
}

func newCell(op string, gates, in, hidden int, noBias bool) (c Cell) {
	if in < 0 || hidden <= 0 {
		torch.Throw(op, torch.KindValue, "a cell has at least 0 inputs and 1 hidden feature, got %d and %d", in, hidden)
	}
	create(func() {
		draw := drawer(hidden)
		c.WeightIH, c.WeightHH = draw(gates*hidden, in), draw(gates*hidden, hidden)
		if !noBias {
			c.BiasIH, c.BiasHH = draw(gates*hidden), draw(gates*hidden)
		}
	})
	return c
}

// step is a call of Forward under way.
type step struct {
	cell    *Cell
	op      string
	name    string
	x       torch.Tensor // [N, in]
	batched bool
}

// begin checks x and adds a batch dimension if there is none.
func (c *Cell) begin(op, name string, x torch.Tensor) *step {
	s := &step{c, op, name, x, x.Dim() == 2}
	if n := x.Dim(); n != 1 && n != 2 {
		torch.Throw(op, torch.KindValue, "%s: Expected input to be 1D or 2D, got %dD instead", name, n)
	}
	if !s.batched {
		s.x = x.Unsqueeze(0)
	}
	return s
}

// state is the caller's, or zeros: [N, hidden].
func (s *step) state(h torch.Tensor, label string) torch.Tensor {
	if !h.Defined() {
		return torch.TensorOptions{DType: s.x.DType(), Device: s.x.Device()}.Zeros(s.x.Size(0), s.cell.WeightHH.Size(1))
	}
	if n := h.Dim(); n != 1 && n != 2 {
		torch.Throw(s.op, torch.KindValue, "%s: Expected %s to be 1D or 2D, got %dD instead", s.name, label, n)
	}
	if !s.batched {
		return h.Unsqueeze(0)
	}
	return h
}

// end removes the batch dimension again and moves the result out of the scope.
func (s *step) end(t torch.Tensor) torch.Tensor {
	if !s.batched {
		t = t.SqueezeDim(0)
	}
	return t.MoveOut()
}

// Forward maps an input [N, in] and a hidden state [N, hidden] to the next hidden state, or
// all without the N. The hidden state may be left out: it is zeros.
func (r *RNNCell) Forward(x torch.Tensor, hx ...torch.Tensor) (hidden torch.Tensor) {
	h, _ := initial("RNNCell", 1, hx)
	HookedAll(r, refs{&x, &h}, refs{&hidden}, func() {
		torch.Scope(func() {
			s := r.begin("rnn_cell", "RNNCell", x)
			h := s.state(h, "hidden")
			if r.Nonlinearity == "relu" {
				hidden = aten.RNNReLUCell(s.x, h, r.WeightIH, r.WeightHH, aten.RNNReLUCellOptions{BIH: r.BiasIH, BHH: r.BiasHH})
			} else {
				hidden = aten.RNNTanhCell(s.x, h, r.WeightIH, r.WeightHH, aten.RNNTanhCellOptions{BIH: r.BiasIH, BHH: r.BiasHH})
			}
			hidden = s.end(hidden)
		})
	})
	return hidden
}

// Forward maps an input [N, in] and a hidden state [N, hidden] to the next hidden state, or
// all without the N. The hidden state may be left out: it is zeros.
func (g *GRUCell) Forward(x torch.Tensor, hx ...torch.Tensor) (hidden torch.Tensor) {
	h, _ := initial("GRUCell", 1, hx)
	HookedAll(g, refs{&x, &h}, refs{&hidden}, func() {
		torch.Scope(func() {
			s := g.begin("gru_cell", "GRUCell", x)
			hidden = s.end(aten.GRUCell(s.x, s.state(h, "hidden"), g.WeightIH, g.WeightHH, aten.GRUCellOptions{BIH: g.BiasIH, BHH: g.BiasHH}))
		})
	})
	return hidden
}

// Forward maps an input [N, in], a hidden and a cell state [N, hidden] to the next states,
// or all without the N. The states may be left out: they are zeros.
func (l *LSTMCell) Forward(x torch.Tensor, hx ...torch.Tensor) (hidden, cell torch.Tensor) {
	h, c := initial("LSTMCell", 2, hx)
	HookedAll(l, refs{&x, &h, &c}, refs{&hidden, &cell}, func() {
		torch.Scope(func() {
			s := l.begin("lstm_cell", "LSTMCell", x)
			hx := []torch.Tensor{s.state(h, "hx[0]"), s.state(c, "hx[1]")}
			h, c := aten.LSTMCell(s.x, hx, l.WeightIH, l.WeightHH, aten.LSTMCellOptions{BIH: l.BiasIH, BHH: l.BiasHH})
			hidden, cell = s.end(h), s.end(c)
		})
	})
	return hidden, cell
}
