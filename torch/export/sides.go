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
	if found, ok = quotient(e.symbols, e.sizes, values); !ok {
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
	if len(e.symbols) == 0 {
		return nil
	}
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
	for k, window := range e.windows(n, len(sizes)-matrix) {
		if d := matrix + k; sides[d] != nil {
			sides[d] = append(sides[d], window.leaves(sizes[d], true), window.leaves(sizes[d], false))
		}
	}
	return sides
}

// windows is how a node's kernel goes over the sides of its input, a convolution's or a pool's of so many dimensions; none otherwise. Their
// sizes are left to the caller.
func (e *exporter) windows(n *Node, dims int) (list []sweep) {
	if dims < 1 {
		return nil
	}
	c, ok := convolutionIn(n, dims)
	var taps []int64
	if ok {
		weight, _ := kindOf(n.arg("weight"))
		for _, size := range e.p.Graph.Tensors[weight].Sizes[matrix:] {
			k, _ := size.Value()
			taps = append(taps, k)
		}
	} else if strings.Contains(n.op(), "pool") {
		taps, c.stride, c.padding = n.sides("kernel_size", 0, dims), n.sides("stride", 0, dims), n.sides("padding", 0, dims)
		c.dilation = n.sides("dilation", 1, dims)
		if given, _ := n.arg("stride").([]int64); len(given) == 0 {
			c.stride = taps
		}
	}
	each := [][]int64{taps, c.stride, c.padding, c.dilation}
	if slices.ContainsFunc(each, func(list []int64) bool { return len(list) != dims }) || slices.Min(c.stride) < 1 {
		return nil
	}
	for k := range dims {
		list = append(list, sweep{taps: int(taps[k]), stride: int(c.stride[k]), padding: int(c.padding[k]), dilation: int(c.dilation[k])})
	}
	return list
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
