package networks

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// moves has numbers of the last value lie in other places, some of them several times, or leaves some out.
func moves(n *Network) {
	shape := n.shape()
	d := 1 + n.rand.IntN(len(shape)-1) // how many there are of the first may be free
	size := shape[d]
	from, step := n.rand.IntN(size), 1+n.rand.IntN(3)
	switch n.rand.IntN(8) {
	case 0:
		o := torch.SliceOptions{Dim: d, Start: &from, Step: &step}
		n.on(func(x torch.Tensor) torch.Tensor { return x.Slice(o) }, "every %d of dimension %d from %d on", step, d, from)
	case 1:
		n.on(func(x torch.Tensor) torch.Tensor { return x.Flip(d) }, "dimension %d turned round", d)
	case 2:
		n.on(func(x torch.Tensor) torch.Tensor { return x.Roll([]int{from}, d) }, "dimension %d rolled by %d", d, from)
	case 3:
		picks(n, d)
	case 4:
		o := torch.RepeatInterleaveOptions{Dim: &d}
		n.on(func(x torch.Tensor) torch.Tensor { return x.RepeatInterleave(2, o) }, "each of dimension %d twice", d)
	case 5:
		n.on(func(x torch.Tensor) torch.Tensor {
			parts := x.Split((size+step)/(step+1), d)
			slices.Reverse(parts)
			return torch.Cat(parts, d)
		}, "parts of dimension %d in another order", d)
	case 6:
		last, anew := len(shape)-1, n.chance(2)
		n.on(func(x torch.Tensor) torch.Tensor {
			if x = x.Transpose(1, last); anew {
				x = x.Contiguous()
			}
			return x
		}, "dimensions 1 and %d in turn, anew: %v", last, anew)
	default:
		stacks(n, d)
	}
}

// picks are some of a dimension's, in any order, which no program decides.
func picks(n *Network, d int) {
	list := make([]int64, 1+n.rand.IntN(n.shape()[d]))
	for i := range list {
		list[i] = int64(n.rand.IntN(n.shape()[d]))
	}
	index := torch.FromSlice(list)
	n.on(func(x torch.Tensor) torch.Tensor { return x.IndexSelect(d, index) }, "%v of dimension %d", list, d)
}

// stacks puts an earlier value on the last one, of which sums are taken apart again.
func stacks(n *Network, d int) {
	k, ok := n.alike(-1)
	if !ok {
		return
	}
	n.step([]int{n.last(), k}, func(in ...torch.Tensor) torch.Tensor {
		parts := torch.Stack(in, d).CumSum(d).Unbind(d)
		return parts[1].Sub(parts[0].MulScalar(0.5))
	}, "stacked in dimension %d", d)
}

// tokens are numbers of rows of a table, as many as the signs of some numbers tell.
func tokens(n *Network) {
	bits, wide := 1+n.rand.IntN(4), one(n, 8, 16, 32, 33, 64)
	powers := make([]int64, bits)
	for i := range powers {
		powers[i] = 1 << i
	}
	table, of := n.weight(1, 1<<bits, wide), torch.FromSlice(powers)
	n.on(func(x torch.Tensor) torch.Tensor {
		rows := x.Narrow(-1, 0, bits).GtScalar(0).To(torch.Int64).Mul(of).Sum(-1)
		return torch.Call("aten::embedding", like(table, x), rows)[0].(torch.Tensor)
	}, "rows of a table of %d x %d", 1<<bits, wide)
}
