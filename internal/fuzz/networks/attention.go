package networks

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// longest is the longest sequence whose rows all meet each other, or follow upon each other.
const longest = 256

// attends adds an attention of a sequence to itself, by the operator or spelled out.
func attends(n *Network) {
	shape := n.shape()
	length, wide := shape[1], shape[2]
	heads := one(n, 1, 2, 4)
	if wide%heads != 0 || wide > 128 || length > longest {
		return
	}
	each := wide / heads
	w, bias, out := n.weight(wide, 3*wide, wide), torch.RandN(3*wide), n.weight(wide, wide, wide)
	causal, spelled, masked := n.chance(3), n.chance(2), n.chance(4)
	mask := torch.RandN(length, length)
	n.on(func(x torch.Tensor) torch.Tensor {
		parts := F.Linear(x, like(w, x), like(bias, x)).Chunk(3, -1)
		for i, p := range parts {
			parts[i] = p.Reshape(p.Size(0), length, heads, each).Transpose(1, 2)
		}
		q, k, v := parts[0], parts[1], parts[2]
		var y torch.Tensor
		switch {
		case spelled:
			scores := q.MatMul(k.Transpose(-2, -1)).MulScalar(1 / math.Sqrt(float64(each)))
			if causal {
				scores = scores.Add(like(lower(length), x))
			} else if masked {
				scores = scores.Add(like(mask, x))
			}
			y = scores.Softmax(-1).MatMul(v)
		case masked:
			y = F.ScaledDotProductAttention(q, k, v, F.ScaledDotProductAttentionOptions{AttnMask: like(mask, x)})
		default:
			y = F.ScaledDotProductAttention(q, k, v, F.ScaledDotProductAttentionOptions{IsCausal: causal})
		}
		y = F.Linear(y.Transpose(1, 2).Reshape(x.Size(0), length, wide), like(out, x))
		return x.Add(y)
	}, "attention of %d heads of %d, causal %v, spelled out %v, masked %v", heads, each, causal, spelled, masked)
}

// lower is a mask of -infinity above the diagonal.
func lower(n int) torch.Tensor {
	return torch.Full([]int{n, n}, math.Inf(-1)).Triu(1)
}

// decodes adds an attention as decoders have it: of the last rows to all, which are turned by their places, with keys and values for some
// heads together.
func decodes(n *Network) {
	shape := n.shape()
	length, wide := shape[1], shape[2]
	heads, shared, rows := one(n, 1, 2, 4), one(n, 1, 1, 2), one(n, 1, 1, 2, 3, 5, 8, length)
	if wide%(2*heads) != 0 || heads%shared != 0 || wide > 128 || length > longest || rows > length {
		return
	}
	each, own := wide/heads, heads/shared
	wq, wk, wv, out := n.weight(wide, wide, wide), n.weight(wide, own*each, wide), n.weight(wide, own*each, wide), n.weight(wide, wide, wide)
	turned, repeated := n.chance(2), n.chance(2)
	places := torch.Arange(length).To(torch.Float32).Unsqueeze(1).Mul(torch.Rand(1, each))
	cos, sin := places.Cos(), places.Sin()
	n.on(func(x torch.Tensor) torch.Tensor {
		part := func(x, w torch.Tensor, heads int) torch.Tensor {
			return F.Linear(x, like(w, x)).Reshape(x.Size(0), x.Size(1), heads, each).Transpose(1, 2)
		}
		last := x.Narrow(1, length-rows, rows)
		q, k, v := part(last, wq, heads), part(x, wk, own), part(x, wv, own)
		if turned {
			q, k = turn(q, cos.Narrow(0, length-rows, rows), sin.Narrow(0, length-rows, rows)), turn(k, cos, sin)
		}
		o := F.ScaledDotProductAttentionOptions{EnableGQA: shared > 1 && !repeated}
		if shared > 1 && repeated {
			head := torch.RepeatInterleaveOptions{Dim: new(1)}
			k, v = k.RepeatInterleave(shared, head), v.RepeatInterleave(shared, head)
		}
		y := F.ScaledDotProductAttention(q, k, v, o).Transpose(1, 2).Reshape(x.Size(0), rows, wide)
		return last.Add(F.Linear(y, like(out, x)))
	}, "attention of the last %d rows, %d heads of %d, %d share keys, repeated %v, turned %v", rows, heads, each, shared, repeated, turned)
}

// turn is a rotary embedding.
func turn(x, cos, sin torch.Tensor) torch.Tensor {
	halves := x.Chunk(2, -1)
	return x.Mul(like(cos, x)).Add(torch.Cat([]torch.Tensor{halves[1].Neg(), halves[0]}, -1).Mul(like(sin, x)))
}

// gates adds two linear layers of which one opens the other, and one behind them.
func gates(n *Network) {
	wide := n.shape()[2]
	inner := one(n, 8, 33, 64)
	w1, w2, w3 := n.weight(wide, inner, wide), n.weight(wide, inner, wide), n.weight(inner, wide, inner)
	n.on(func(x torch.Tensor) torch.Tensor {
		return x.Add(F.Linear(F.SiLU(F.Linear(x, like(w1, x))).Mul(F.Linear(x, like(w2, x))), like(w3, x)))
	}, "gated layers %d -> %d -> %d", wide, inner, wide)
}
