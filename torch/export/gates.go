package export

import (
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// gates lets the means of images that convolutions of ours made, and products with a number for each channel, be computed by operators of
// ours: between them lies what weighs the channels in networks with few multiplications, where libtorch's take as long as a convolution. So
// are the largest of neighbouring pixels, which libtorch finds together with their places.
func gates(r *rewriter) {
	f := r.flow()
	ours := func(a Argument) bool { // images, which lie with their channels last
		name, _ := kindOf(a)
		made, ok := f.maker[name]
		own := ok && (isOwnConvolution(&r.p.Graph.Nodes[made]) || isWholeConvolution(&r.p.Graph.Nodes[made]))
		m := r.p.Graph.Tensors[name]
		floats := m.DType == torch.Float32 || m.DType == torch.BFloat16 // not in eight bits
		return own && len(m.Sizes) == 4 && floats && !f.written[f.root(name)]
	}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		to := Node{}
		switch self, other := n.arg("self"), n.arg("other"); {
		case isMeans(n) && ours(self):
			to = n.with("torch.ops.libtorchgo.means.default", given("x", self), r.keeps(n))
		case n.Target == "torch.ops.aten.max_pool2d.default" && ours(self):
			to = largest(n)
		case n.Target != "torch.ops.aten.mul.Tensor":
		case ours(self) && r.isGate(other, self):
			to = r.scale(f, i, self, other)
		case ours(other) && r.isGate(self, other):
			to = r.scale(f, i, other, self)
		}
		if to.Target != "" {
			r.p.Graph.Nodes[i] = to
			r.calls(&to)
		}
	}
}

// keeps tells whether means are images of one pixel, and not rows.
func (r *rewriter) keeps(n *Node) NamedArgument {
	name, _ := n.result()
	return given("keep", len(r.p.Graph.Tensors[name].Sizes) == 4)
}

var makesRows = setOf("flatten view reshape _unsafe_view")

// flattened has operators of ours make means as rows where what alone reads them makes rows of them.
func flattened(r *rewriter) {
	g, f, gone := &r.p.Graph, r.flow(), map[int]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name, _ := n.result()
		next, at := r.soleReader(f, name)
		if next == nil || !strings.HasPrefix(n.Target, "torch.ops.libtorchgo.means") || n.arg("keep") != true {
			continue
		}
		row, _ := next.result()
		if sizes := g.Tensors[row].Sizes; makesRows[next.op()] && len(sizes) == 2 && sameSizes(sizes, g.Tensors[name].Sizes[:2]) {
			n.Inputs = set(n.Inputs, "keep", false)
			n.makes(next)
			gone[at] = true
		}
	}
	r.remove(gone)
}

// scale multiplies images by a number for each channel, in their own memory where nothing else reads them.
func (r *rewriter) scale(f *flow, at int, x, by Argument) Node {
	target := "torch.ops.libtorchgo.scale.default"
	if name, _ := kindOf(x); r.overwritable(f, name, at) {
		target = "torch.ops.libtorchgo.scale_.default"
	}
	return r.p.Graph.Nodes[at].with(target, given("x", x), given("by", by))
}

// largest is the operator of ours for a node that takes the largest of neighbouring pixels; none where the window has holes or reaches out.
func largest(n *Node) (to Node) {
	w := windowOf(n)
	if w.ceil || !slices.Equal(w.dilation, []int64{1, 1}) {
		return to
	}
	return n.with("torch.ops.libtorchgo.max_pool2d.default", given("x", n.arg("self")), given("kernel", w.kernel), given("stride", w.stride),
		given("padding", w.padding))
}

// window is what a node says that takes the largest of neighbouring pixels.
type window struct {
	kernel, stride, padding, dilation []int64
	ceil                              bool
}

func windowOf(n *Node) window {
	pair := func(name string, usual []int64) []int64 {
		list, _ := n.arg(name).([]int64)
		switch len(list) {
		case 0:
			return usual
		case 1:
			return []int64{list[0], list[0]}
		}
		return list
	}
	kernel := pair("kernel_size", nil)
	return window{kernel, pair("stride", kernel), pair("padding", []int64{0, 0}), pair("dilation", []int64{1, 1}), n.arg("ceil_mode") == true}
}

// isMeans tells whether a node makes the means of images, as images of one pixel or as rows.
func isMeans(n *Node) bool {
	dims, _ := n.arg("dim").([]int64)
	size, _ := n.arg("output_size").([]int64)
	switch n.Target {
	case "torch.ops.aten.adaptive_avg_pool2d.default":
		return slices.Equal(size, []int64{1, 1})
	case "torch.ops.aten.mean.dim":
		last := slices.Equal(dims, []int64{2, 3}) || slices.Equal(dims, []int64{-2, -1}) || slices.Equal(dims, []int64{-1, -2})
		return last && n.arg("dtype") == nil
	}
	return false
}

// isGate tells whether a tensor has a number for each channel of images, and nothing else.
func (r *rewriter) isGate(gate, images Argument) bool {
	name, _ := kindOf(gate)
	of, _ := kindOf(images)
	g, x := r.p.Graph.Tensors[name], r.p.Graph.Tensors[of]
	return len(g.Sizes) == 4 && len(x.Sizes) == 4 && sameSizes(g.Sizes[:2], x.Sizes[:2]) && g.DType == x.DType &&
		g.Sizes[2].String() == "1" && g.Sizes[3].String() == "1"
}
