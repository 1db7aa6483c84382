package nn

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
)

// pass is a call of Forward under way.
type pass struct {
	*Recurrent
	op, name string
	x        torch.Tensor // [L, N, in], or [N, L, in] for BatchFirst; of a packed sequence its data
	packed   *rnn.PackedSequence
	batched  bool
	params   []torch.Tensor
}

// begin checks x and adds a batch dimension if there is none.
func (r *Recurrent) begin(op, name string, x torch.Tensor) *pass {
	p := &pass{Recurrent: r, op: op, name: name, x: x, batched: x.Dim() == 3}
	if n := x.Dim(); n != 2 && n != 3 {
		torch.Throw(op, torch.KindValue, "%s: Expected input to be 2D or 3D, got %dD instead", name, n)
	}
	if !p.batched {
		p.x = x.Unsqueeze(p.batchDim())
	}
	return p.check()
}

// beginPacked is begin for a packed sequence.
func (r *Recurrent) beginPacked(op, name string, x *rnn.PackedSequence) *pass {
	p := &pass{Recurrent: r, op: op, name: name, x: x.Data, packed: x, batched: true}
	if n := x.Data.Dim(); n != 2 {
		p.refuse("input must have 2 dimensions, got %d", n)
	}
	return p.check()
}

func (p *pass) check() *pass {
	got, want := p.x.DType(), p.Weights[0].WeightIH.DType()
	if got != want && !torch.Autocasting(p.x.Device()).Enabled {
		torch.Throw(p.op, torch.KindValue,
			"the input is %v and the weights are %v; convert the input, x.To(torch.%[2]v), or the module, nn.To(m, torch.%[1]v)", got, want)
	}
	if got := p.x.Size(-1); got != p.Input {
		p.refuse("input.size(-1) must be equal to input_size. Expected %d, got %d", p.Input, got)
	}
	for _, t := range p.Weights.lent() {
		p.params = append(p.params, t)
	}
	return p
}

func (p *pass) refuse(format string, args ...any) {
	torch.Throw(p.op, torch.KindGeneric, format, args...)
}

func (p *pass) batchDim() int {
	if p.Options.BatchFirst {
		return 0
	}
	return 1
}

// batch is the number of sequences.
func (p *pass) batch() int {
	if p.packed == nil {
		return p.x.Size(p.batchDim())
	}
	return torch.Values[int](p.packed.BatchSizes)[0]
}

// state is a state in the operators' form, [layers*directions, N, features]: the caller's,
// or zeros. Label and name are what PyTorch calls it.
func (p *pass) state(h torch.Tensor, label, name string, features int) torch.Tensor {
	want := []int{p.Options.NumLayers * p.directions(), p.batch(), features}
	if !h.Defined() {
		return torch.TensorOptions{DType: p.x.DType(), Device: p.x.Device()}.Zeros(want...)
	}
	switch n := h.Dim(); {
	case p.batched && n != 3:
		p.refuse("For batched 3-D input, %s should also be 3-D but got %d-D tensor", label, n)
	case !p.batched && n != 2:
		p.refuse("For unbatched 2-D input, %s should also be 2-D but got %d-D tensor", label, n)
	}
	if !p.batched {
		h = h.Unsqueeze(1)
	}
	if got := h.Shape(); !slices.Equal(got, want) {
		p.refuse("Expected %s size %s, got %s", name, pytext.Tuple(want), pytext.List(got))
	}
	if p.packed != nil {
		return permuted(h, p.packed.SortedIndices)
	}
	return h
}

// permuted is a state with its sequences in another order.
func permuted(h, order torch.Tensor) torch.Tensor {
	if !order.Defined() {
		return h
	}
	return h.IndexSelect(1, order)
}

// end removes the batch dimension again and moves the result out of the scope.
func (p *pass) end(t torch.Tensor, batchDim int) torch.Tensor {
	if !p.batched {
		t = t.SqueezeDim(batchDim)
	}
	return t.MoveOut()
}

// endState is the final state in the order of the caller's sequences, out of the scope.
func (p *pass) endState(h torch.Tensor) torch.Tensor {
	if p.packed != nil {
		h = permuted(h, p.packed.UnsortedIndices)
	}
	return p.end(h, 1)
}

// operator is a fused operator with one state, in its forms for padded and packed sequences.
type operator struct {
	op, name string
	padded   func(x, h torch.Tensor, params []torch.Tensor, biases bool, layers int, dropout float64,
		train, bidirectional, batchFirst bool) (output, hidden torch.Tensor)
	packed func(x, sizes, h torch.Tensor, params []torch.Tensor, biases bool, layers int, dropout float64,
		train, bidirectional bool) (output, hidden torch.Tensor)
}

func (r *Recurrent) forward(run operator, x, h torch.Tensor) (output, hidden torch.Tensor) {
	torch.Scope(func() {
		p, o := r.begin(run.op, run.name, x), r.Options
		y, last := run.padded(p.x, p.state(h, "hx", "hidden", r.features()), p.params, !o.NoBias, o.NumLayers, o.Dropout,
			r.Mode.Training(), o.Bidirectional, o.BatchFirst)
		output, hidden = p.end(y, p.batchDim()), p.endState(last)
	})
	return output, hidden
}

func (r *Recurrent) forwardPacked(run operator, x *rnn.PackedSequence, h torch.Tensor) (output *rnn.PackedSequence, hidden torch.Tensor) {
	var data torch.Tensor
	torch.Scope(func() {
		p, o := r.beginPacked(run.op, run.name, x), r.Options
		y, last := run.packed(p.x, x.BatchSizes, p.state(h, "hx", "hidden", r.features()), p.params, !o.NoBias, o.NumLayers, o.Dropout,
			r.Mode.Training(), o.Bidirectional)
		data, hidden = y.MoveOut(), p.endState(last)
	})
	return x.With(data), hidden
}

func (r *RNN) operator() operator {
	if r.Options.Nonlinearity == "relu" {
		return operator{"rnn_relu", "RNN", aten.RNNReLU, aten.RNNReLUPacked}
	}
	return operator{"rnn_tanh", "RNN", aten.RNNTanh, aten.RNNTanhPacked}
}

// initial are the initial states of a recurrent module that has one or two. They are left out
// together, and undefined then, as one that is to be zeros may be.
func initial(name string, n int, hx []torch.Tensor) (h, c torch.Tensor) {
	if len(hx) != 0 && len(hx) != n {
		torch.Throw(name, torch.KindValue, "expected %d initial states or none, got %d", n, len(hx))
	}
	for i, at := range []*torch.Tensor{&h, &c}[:len(hx)] {
		*at = hx[i]
	}
	return h, c
}

// Forward maps a sequence [L, N, in] to the results of the last layer
// [L, N, directions*hidden] and the final state [layers*directions, N, hidden]. The initial
// state, shaped like the final one, may be left out: it is zeros. BatchFirst exchanges L and N
// in sequences, not in states. All tensors may be without the N.
func (r *RNN) Forward(x torch.Tensor, hx ...torch.Tensor) (output, hidden torch.Tensor) {
	h, _ := initial("RNN", 1, hx)
	HookedAll(r, refs{&x, &h}, refs{&output, &hidden}, func() { output, hidden = r.forward(r.operator(), x, h) })
	return output, hidden
}

// ForwardPacked is Forward for sequences of different lengths. States are in the order that
// the sequences had before they were packed.
func (r *RNN) ForwardPacked(x *rnn.PackedSequence, hx ...torch.Tensor) (output *rnn.PackedSequence, hidden torch.Tensor) {
	h, _ := initial("RNN", 1, hx)
	return r.forwardPacked(r.operator(), x, h)
}

func (g *GRU) operator() operator { return operator{"gru", "GRU", aten.GRU, aten.GRUPacked} }

// Forward maps a sequence and, unless it is zeros, an initial state to results and a final
// state, as [RNN.Forward] does.
func (g *GRU) Forward(x torch.Tensor, hx ...torch.Tensor) (output, hidden torch.Tensor) {
	h, _ := initial("GRU", 1, hx)
	HookedAll(g, refs{&x, &h}, refs{&output, &hidden}, func() { output, hidden = g.forward(g.operator(), x, h) })
	return output, hidden
}

// ForwardPacked is Forward for sequences of different lengths, as [RNN.ForwardPacked] is.
func (g *GRU) ForwardPacked(x *rnn.PackedSequence, hx ...torch.Tensor) (output *rnn.PackedSequence, hidden torch.Tensor) {
	h, _ := initial("GRU", 1, hx)
	return g.forwardPacked(g.operator(), x, h)
}

// states are the initial states in the operator's form.
func (l *LSTM) states(p *pass, h, c torch.Tensor) []torch.Tensor {
	return []torch.Tensor{p.state(h, "hx", "hidden[0]", l.features()), p.state(c, "cx", "hidden[1]", l.Hidden)}
}

// Forward maps a sequence [L, N, in] to the results of the last layer [L, N, directions*out],
// where out is the projection's size or else hidden, the final hidden state
// [layers*directions, N, out] and the final cell state [layers*directions, N, hidden]. The
// initial states, hidden and cell, may be left out: they are zeros. BatchFirst exchanges L and N
// in sequences, not in states. All tensors may be without the N.
func (l *LSTM) Forward(x torch.Tensor, hx ...torch.Tensor) (output, hidden, cell torch.Tensor) {
	h, c := initial("LSTM", 2, hx)
	HookedAll(l, refs{&x, &h, &c}, refs{&output, &hidden, &cell}, func() { output, hidden, cell = l.forward(x, h, c) })
	return output, hidden, cell
}

func (l *LSTM) forward(x, h, c torch.Tensor) (output, hidden, cell torch.Tensor) {
	torch.Scope(func() {
		p, o := l.begin("lstm", "LSTM", x), l.Options
		y, h, c := aten.LSTM(p.x, l.states(p, h, c), p.params, !o.NoBias, o.NumLayers, o.Dropout, l.Mode.Training(), o.Bidirectional,
			o.BatchFirst)
		output, hidden, cell = p.end(y, p.batchDim()), p.endState(h), p.endState(c)
	})
	return output, hidden, cell
}

// ForwardPacked is Forward for sequences of different lengths, as [RNN.ForwardPacked] is.
func (l *LSTM) ForwardPacked(x *rnn.PackedSequence, hx ...torch.Tensor) (output *rnn.PackedSequence, hidden, cell torch.Tensor) {
	h, c := initial("LSTM", 2, hx)
	var data torch.Tensor
	torch.Scope(func() {
		p, o := l.beginPacked("lstm", "LSTM", x), l.Options
		y, h, c := aten.LSTMPacked(p.x, x.BatchSizes, l.states(p, h, c), p.params, !o.NoBias, o.NumLayers, o.Dropout, l.Mode.Training(),
			o.Bidirectional)
		data, hidden, cell = y.MoveOut(), p.endState(h), p.endState(c)
	})
	return x.With(data), hidden, cell
}
