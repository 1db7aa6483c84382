package networks

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// linear adds a linear layer of the last dimension.
func linear(n *Network) {
	shape := n.shape()
	in, out := shape[len(shape)-1], width(n)
	if in*out > 1<<18 {
		return
	}
	w, bias := n.weight(in, out, in), torch.Tensor{}
	if !n.chance(3) {
		bias = torch.RandN(out)
	}
	ok := n.on(func(x torch.Tensor) torch.Tensor { return F.Linear(x, like(w, x), like(bias, x)) },
		"linear %d -> %d, bias %v", in, out, bias.Defined())
	if ok && !n.chance(3) {
		activate(n)
	}
}

// norms adds a norm of the last dimension.
func norms(n *Network) {
	shape := n.shape()
	of := shape[len(shape)-1]
	w, bias := torch.RandN(of), torch.RandN(of)
	switch n.rand.IntN(4) {
	case 0:
		n.on(func(x torch.Tensor) torch.Tensor {
			return F.RMSNorm(x, of, F.RMSNormOptions{Weight: like(w, x), Eps: new(1e-3)})
		}, "rms norm of %d", of)
	case 1:
		n.on(func(x torch.Tensor) torch.Tensor {
			return x.Mul(x.Square().Mean(-1).Unsqueeze(-1).AddScalar(1e-3).Rsqrt()).Mul(like(w, x))
		}, "rms norm, spelled out, of %d", of)
	case 2:
		n.on(func(x torch.Tensor) torch.Tensor { return x.Softmax(-1).MulScalar(float64(of)) }, "softmax of %d", of)
	default:
		n.on(func(x torch.Tensor) torch.Tensor {
			return F.LayerNorm(x, of, F.LayerNormOptions{Weight: like(w, x), Bias: like(bias, x), Eps: new(1e-3)})
		}, "layer norm of %d", of)
	}
}

// takes keeps every other thing: a part of the last dimension, or one gated by the other.
func takes(n *Network) {
	shape := n.shape()
	last := len(shape) - 1
	all := shape[last]
	switch {
	case all%2 == 0 && n.chance(2):
		n.on(func(x torch.Tensor) torch.Tensor { return F.GLU(x) }, "one half gated by the other")
	case all%2 == 0 && n.chance(2):
		n.on(func(x torch.Tensor) torch.Tensor {
			parts := x.Chunk(2, -1)
			return F.SiLU(parts[0]).Mul(parts[1])
		}, "silu of one half times the other")
	default:
		from := n.rand.IntN(all)
		n.on(func(x torch.Tensor) torch.Tensor { return x.Narrow(last, from, all-from) }, "from %d on", from)
	}
}

// rows goes on with rows of numbers.
func rows(n *Network) {
	for range 1 + n.rand.IntN(4) {
		one(n, linear, linear, linear, norms, adds, joins, activate, takes, writes, moves, mixes)(n)
	}
}

// recurs adds a recurrent layer.
func recurs(n *Network) {
	shape := n.shape()
	if shape[1] > longest {
		return
	}
	in, hidden := shape[2], one(n, 1, 5, 8, 16, 24, 33)
	o := nn.RNNOptions{BatchFirst: true, Bidirectional: n.chance(3), NumLayers: 1 + n.rand.IntN(2)}
	kind := n.rand.IntN(3)
	var all any
	switch kind {
	case 0:
		all = nn.Eval(nn.NewLSTM(in, hidden, o))
	case 1:
		all = nn.Eval(nn.NewGRU(in, hidden, o))
	default:
		all = nn.Eval(nn.NewRNN(in, hidden, o))
	}
	var params []torch.Tensor
	for _, p := range nn.Parameters(all) {
		params = append(params, p.Detach())
	}
	n.Weights = append(n.Weights, params...)
	n.on(func(x torch.Tensor) torch.Tensor {
		weights := make([]torch.Tensor, len(params))
		for i, p := range params {
			weights[i] = like(p, x)
		}
		directions := 1
		if o.Bidirectional {
			directions = 2
		}
		zero := torch.Zeros(directions*o.NumLayers, x.Size(0), hidden).To(x.DType())
		return recurrent(kind, x, zero, weights, o)
	}, "%s %d -> %d, %d layers, both ways %v", []string{"lstm", "gru", "rnn"}[kind], in, hidden, o.NumLayers, o.Bidirectional)
}

// recurrent is a recurrent layer whose states are zero before.
func recurrent(kind int, x, zero torch.Tensor, weights []torch.Tensor, o nn.RNNOptions) (y torch.Tensor) {
	name, states := "aten::lstm.input", any([]torch.Tensor{zero, zero})
	if kind > 0 {
		name, states = []string{"", "aten::gru.input", "aten::rnn_tanh.input"}[kind], zero
	}
	return torch.Call(name, x, states, weights, true, o.NumLayers, 0.0, false, o.Bidirectional, true)[0].(torch.Tensor)
}

// sequence goes on with rows of numbers that follow upon each other.
func sequence(n *Network) {
	for range 1 + n.rand.IntN(5) {
		one(n, linear, linear, norms, norms, attends, attends, decodes, decodes, gates, recurs, adds, joins, returns, activate, takes, moves,
			mixes, mixes, products)(n)
	}
	switch {
	case n.chance(4):
		n.on(func(x torch.Tensor) torch.Tensor { return x.Mean(1) }, "mean of all")
		rows(n)
	case n.chance(4):
		n.on(func(x torch.Tensor) torch.Tensor { return x.Narrow(1, 0, 1).Squeeze(1) }, "the first")
		rows(n)
	}
}

// sequences draws a network of sequences.
func sequences(n *Network) {
	n.values = []torch.Tensor{torch.RandN(one(n, 1, 1, 2, 3), one(n, 1, 2, 5, 16, 33), one(n, 8, 16, 32, 33, 64, 96))}
	if n.chance(4) {
		tokens(n)
	}
	sequence(n)
}
