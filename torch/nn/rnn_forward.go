package nn

import (
	"slices"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
)

// pass is a call of Forward under way.
type pass struct {
	*Recurrent
	op, name string
	x        torch.Tensor // [L, N, in], or [N, L, in] for BatchFirst
	batched  bool
	params   []torch.Tensor
}

// begin checks x, and gives it a batch dimension where it has none.
func (r *Recurrent) begin(op, name string, x torch.Tensor) *pass {
	p := &pass{Recurrent: r, op: op, name: name, x: x, batched: x.Dim() == 3}
	if n := x.Dim(); n != 2 && n != 3 {
		torch.Throw(op, torch.KindValue, "%s: Expected input to be 2D or 3D, got %dD instead", name, n)
	}
	if !p.batched {
		p.x = x.Unsqueeze(p.batchDim())
	}
	got, want := x.DType(), r.Weights[0].WeightIH.DType()
	if got != want && !torch.Autocasting(x.Device()).Enabled {
		torch.Throw(op, torch.KindValue, "the input is %v and the weights are %v; convert the input, x.To(torch.%[2]v), or the module, nn.To(m, torch.%[1]v)", got, want)
	}
	if got := x.Size(-1); got != r.Input {
		p.refuse("input.size(-1) must be equal to input_size. Expected %d, got %d", r.Input, got)
	}
	for _, t := range r.Weights.lent() {
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

// state is a state in the operators' form, [layers*directions, N, features]: the caller's,
// or zeros. Label and name are what PyTorch calls it.
func (p *pass) state(h torch.Tensor, label, name string, features int) torch.Tensor {
	want := []int{p.Options.Layers * p.directions(), p.x.Size(p.batchDim()), features}
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
	return h
}

// end takes the batch dimension away again, and the result out of the scope.
func (p *pass) end(t torch.Tensor, batchDim int) torch.Tensor {
	if !p.batched {
		t = t.SqueezeDim(batchDim)
	}
	return t.MoveOut()
}

// operator is a fused operator with one state.
type operator func(x, h torch.Tensor, params []torch.Tensor, biases bool, layers int, dropout float64, train, bidirectional, batchFirst bool) (output, hidden torch.Tensor)

func (r *Recurrent) forward(op, name string, run operator, x, h torch.Tensor) (output, hidden torch.Tensor) {
	torch.Scope(func() {
		p, o := r.begin(op, name, x), r.Options
		y, last := run(p.x, p.state(h, "hx", "hidden", r.features()), p.params, !o.NoBias, o.Layers, o.Dropout, r.Mode.Training(), o.Bidirectional, o.BatchFirst)
		output, hidden = p.end(y, p.batchDim()), p.end(last, 1)
	})
	return output, hidden
}

// Forward maps a sequence [L, N, in] and an initial state [layers*directions, N, hidden] to
// the results of the last layer [L, N, directions*hidden] and the final state, shaped like
// the initial one. BatchFirst exchanges L and N in sequences, not in states. All tensors may
// be without the N; an undefined initial state is zeros.
func (r *RNN) Forward(x, h torch.Tensor) (output, hidden torch.Tensor) {
	if r.Options.Nonlinearity == "relu" {
		return r.forward("rnn_relu", "RNN", torch.RNNReLU, x, h)
	}
	return r.forward("rnn_tanh", "RNN", torch.RNNTanh, x, h)
}

// Forward maps a sequence and an initial state to results and a final state, as
// [RNN.Forward] does.
func (g *GRU) Forward(x, h torch.Tensor) (output, hidden torch.Tensor) {
	return g.forward("gru", "GRU", torch.GRU, x, h)
}

// Forward maps a sequence [L, N, in], an initial hidden state [layers*directions, N, out],
// where out is the projection's size or else hidden, and an initial cell state
// [layers*directions, N, hidden] to the results of the last layer [L, N, directions*out] and
// the final states. BatchFirst exchanges L and N in sequences, not in states. All tensors
// may be without the N; undefined initial states are zeros.
func (l *LSTM) Forward(x, h, c torch.Tensor) (output, hidden, cell torch.Tensor) {
	torch.Scope(func() {
		p, o := l.begin("lstm", "LSTM", x), l.Options
		hx := []torch.Tensor{p.state(h, "hx", "hidden[0]", l.features()), p.state(c, "cx", "hidden[1]", l.Hidden)}
		y, h, c := torch.LSTM(p.x, hx, p.params, !o.NoBias, o.Layers, o.Dropout, l.Mode.Training(), o.Bidirectional, o.BatchFirst)
		output, hidden, cell = p.end(y, p.batchDim()), p.end(h, 1), p.end(c, 1)
	})
	return output, hidden, cell
}
