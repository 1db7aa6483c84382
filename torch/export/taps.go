package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// taps leaves out what of a convolution's weight meets nothing but the zeros around small images, short signals and flat volumes: of 3 x 3
// all but the middle, where there is one pixel. One weight that is left of a side lies apart from none.
func taps(r *rewriter) {
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		x, _ := kindOf(n.arg("input"))
		sizes := r.p.Graph.Tensors[x].Sizes
		if len(sizes) < matrix+1 {
			continue
		}
		c, ok := convolutionIn(n, len(sizes)-matrix)
		if !ok {
			continue
		}
		w, frozen := r.weight(r.flow(), n)
		if !frozen || w.Dim() != len(sizes) {
			continue
		}
		padding, dilation, own := slices.Clone(c.padding), slices.Clone(c.dilation), w
		for k := range padding {
			if size, fixed := sizes[2+k].Value(); fixed {
				first, n := tapsThatMeet(int(size), w.Size(2+k), int(c.stride[k]), int(c.padding[k]), int(c.dilation[k]))
				if n > 0 {
					own = own.Narrow(2+k, first, n)
					padding[k] -= int64(first) * c.dilation[k]
				}
			}
			if own.Size(2+k) == 1 {
				dilation[k] = 1
			}
		}
		if own.NumEl() < w.NumEl() {
			n.Inputs = set(n.Inputs, "weight", r.constant("used_weight", own.Contiguous()))
		}
		if !slices.Equal(padding, c.padding) {
			n.Inputs = set(n.Inputs, "padding", padding)
		}
		if !slices.Equal(dilation, c.dilation) {
			n.Inputs = set(n.Inputs, "dilation", dilation)
		}
	}
}

// tapsThatMeet are the taps of a side that some output multiplies by a pixel; n is 0 where without the others there would be more or fewer
// outputs.
func tapsThatMeet(size, taps, stride, padding, dilation int) (first, n int) {
	outputs := func(taps, padding int) int { return outputsOf(size, taps, stride, padding, dilation) }
	all := outputs(taps, padding)
	meets := func(tap int) bool { return meetings(size, all, stride, tap*dilation-padding) > 0 }
	last := taps - 1
	for first < taps && !meets(first) {
		first++
	}
	for last > first && !meets(last) {
		last--
	}
	n = last - first + 1
	if left := padding - first*dilation; first == taps || left < 0 || outputs(n, left) != all {
		return 0, 0
	}
	return first, n
}

// strays tells whether oneDNN may write where nothing is, and end the process: where pixels that the kernel sees lie apart, outputs, too,
// and some weight meets zeros around them alone. libtorch's own operators are kept from that (rules/kernels.cc).
func (c convolution) strays(sizes []Expr, w torch.Tensor) bool {
	for k, d := range c.dilation {
		if d == 1 || c.stride[k] == 1 || c.padding[k] == 0 {
			continue
		}
		size, fixed := sizes[2+k].Value()
		all := outputsOf(int(size), w.Size(2+k), int(c.stride[k]), int(c.padding[k]), int(d))
		for tap := range w.Size(2 + k) {
			if !fixed || meetings(int(size), all, int(c.stride[k]), tap*int(d)-int(c.padding[k])) == 0 {
				return true
			}
		}
	}
	return false
}

// meetings are how many of the outputs of a side multiply a tap by one of its pixels, and not by zeros around them: the first output by the
// pixel with that number, each other one by that a stride further.
func meetings(size, outputs, stride, at int) int {
	before := (max(0, -at) + stride - 1) / stride // the outputs that meet zeros in front
	return max(0, min(outputs, (size-at+stride-1)/stride)-before)
}
