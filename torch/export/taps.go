package export

import "slices"

// taps leaves out what of a convolution's weight meets nothing but the zeros around small images, short signals and flat volumes: of 3 x 3
// all but the middle, where there is one pixel. One weight that is left of a side lies apart from none.
func taps(r *rewriter) {
	f := r.flow()
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
		w, frozen := r.weight(f, n)
		if !frozen || w.Dim() != len(sizes) {
			continue
		}
		padding, dilation, own := slices.Clone(c.padding), slices.Clone(c.dilation), w
		for k := range padding {
			if size, fixed := sizes[2+k].Value(); fixed {
				first, n := c.sweep(k, int(size), w).thatMeet()
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
