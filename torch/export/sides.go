package export

import (
	"slices"
	"strings"
)

// solve finds the expression that has these values in the runs: what a node is likely to make of the sizes that it is given, a sum of
// products, one that was found before, or with a number added, or what quotients, and multiples and quotients of those, there are.
func (e *exporter) solve(values []int64, likely []Expr) (found Expr, ok bool) {
	for _, list := range [][]Expr{likely, {polynomial(e.symbols, values)}, e.solved} {
		for _, x := range slices.Backward(list) {
			if has(x, e.sizes, values) {
				return e.keep(hinted(x, values[0])), true
			}
		}
	}
	for _, x := range slices.Backward(e.solved) {
		n, _ := x.Eval(e.sizes[0])
		if x = sum(x, values[0]-n); has(x, e.sizes, values) {
			return e.keep(hinted(x, values[0])), true
		}
	}
	if found, ok = solve(e.symbols, e.sizes, values); !ok {
		found, ok = e.solveFrom(values)
	}
	if ok {
		e.keep(found)
	}
	return found, ok
}

// keep remembers an expression, once.
func (e *exporter) keep(x Expr) Expr {
	_, fixed := x.Value()
	if !fixed && !slices.ContainsFunc(e.solved, func(other Expr) bool { return x.String() == other.String() }) {
		e.solved = append(e.solved, x)
	}
	return x
}

// likely are what a node may make of each side of its input, the likeliest last: quotients, multiples, the same, and what a window leaves
// of it.
func (e *exporter) likely(n *Node) (sides [][]Expr) {
	x, _ := kindOf(n.arg("input"))
	if x == "" {
		x, _ = kindOf(n.arg("self"))
	}
	const mostTimes = 4
	sizes := e.p.Graph.Tensors[x].Sizes
	for d, size := range sizes {
		sides = append(sides, nil)
		if _, fixed := size.Value(); fixed {
			continue
		}
		for times := int64(mostTimes); times > 1; times-- {
			sides[d] = append(sides[d], Expr{Op: "FloorDiv", Args: []Expr{size, integer(times)}},
				Expr{Op: "Mul", Args: []Expr{integer(times), size}})
		}
		sides[d] = append(sides[d], size)
	}
	w := e.slide(n, len(sizes)-matrix)
	for k := range w.stride {
		if d := matrix + k; sides[d] != nil {
			sides[d] = append(sides[d], w.leaves(k, sizes[d], true), w.leaves(k, sizes[d], false))
		}
	}
	return sides
}

// slide is a window that goes over the sides of images, or signals or volumes.
type slide struct {
	convolution
	taps []int64
}

// slide is that of a node, a convolution or a pool of so many dimensions; it has no sides otherwise.
func (e *exporter) slide(n *Node, dims int) (w slide) {
	var ok bool
	if dims < 1 {
		return slide{}
	}
	if w.convolution, ok = convolutionIn(n, dims); ok {
		weight, _ := kindOf(n.arg("weight"))
		for _, size := range e.p.Graph.Tensors[weight].Sizes[matrix:] {
			k, _ := size.Value()
			w.taps = append(w.taps, k)
		}
	} else if strings.Contains(n.op(), "pool") {
		w.taps, w.stride, w.padding = n.sides("kernel_size", 0, dims), n.sides("stride", 0, dims), n.sides("padding", 0, dims)
		w.dilation = n.sides("dilation", 1, dims)
		if given, _ := n.arg("stride").([]int64); len(given) == 0 {
			w.stride = w.taps
		}
	}
	each := [][]int64{w.taps, w.stride, w.padding, w.dilation}
	if slices.ContainsFunc(each, func(list []int64) bool { return len(list) != dims }) || slices.Min(w.stride) < 1 {
		return slide{}
	}
	return w
}

// leaves is the size of a side of the results, rounded up or down.
func (w slide) leaves(k int, size Expr, up bool) Expr {
	room := sum(size, 2*w.padding[k]-w.dilation[k]*(w.taps[k]-1)-1)
	if w.stride[k] == 1 {
		return sum(room, 1)
	}
	if up {
		room = sum(room, w.stride[k]-1)
	}
	return sum(Expr{Op: "FloorDiv", Args: []Expr{room, integer(w.stride[k])}}, 1)
}

// solveFrom looks at multiples of what was found before, and at quotients.
func (e *exporter) solveFrom(values []int64) (Expr, bool) {
	const mostTried, mostTimes = 32, 8
	for _, from := range slices.Backward(e.solved[max(0, len(e.solved)-mostTried):]) {
		for times := int64(2); times <= mostTimes; times++ {
			list := []Expr{{Op: "Mul", Args: []Expr{integer(times), from}}}
			for offset := range times {
				list = append(list, Expr{Op: "FloorDiv", Args: []Expr{sum(from, offset), integer(times)}})
			}
			for _, x := range list {
				n, _ := x.Eval(e.sizes[0])
				if x = sum(x, values[0]-n); has(x, e.sizes, values) {
					return hinted(x, values[0]), true
				}
			}
		}
	}
	return Expr{}, false
}
