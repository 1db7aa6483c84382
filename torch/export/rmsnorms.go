package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// rmsNorms lets norms by the root mean square be computed by an operator of ours: libtorch's own, which is six operators when it runs, and
// those that a program spells out.
func rmsNorms(r *rewriter) {
	s := &seeker{rewriter: r, f: r.flow()}
	for i := range slices.Backward(r.p.Graph.Nodes) { // weights before what they are multiplied by
		to, ok := s.rmsNorm(i)
		if !ok {
			continue
		}
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
	}
}

// rmsNorm is the norm that a node ends.
func (s *seeker) rmsNorm(i int) (to Node, ok bool) {
	n := &s.p.Graph.Nodes[i]
	var x, weight, eps Argument
	switch n.op() {
	case "rms_norm":
		shape, _ := n.arg("normalized_shape").([]int64)
		x, weight, eps, ok = n.arg("input"), n.arg("weight"), n.arg("eps"), len(shape) == 1
		if eps == nil {
			const epsilon = 1.1920928955078125e-07 // of float32
			eps = epsilon
		}
	case "mul":
		if x, eps, ok = s.normed(i); !ok {
			x, weight, eps, ok = s.weighedNorm(i)
		}
	}
	name, known := n.result()
	from, _ := kindOf(x)
	m, own := s.p.Graph.Tensors[from], s.p.Graph.Tensors[name]
	ok = ok && known && s.isRows(from) && s.isRows(name) && sameSizes(m.Sizes, own.Sizes)
	if w, _ := kindOf(weight); ok && weight != nil {
		sizes := s.p.Graph.Tensors[w].Sizes
		ok = s.isRows(w) && len(sizes) == 1 && sizes[0].String() == m.Sizes[len(m.Sizes)-1].String()
	}
	return n.with("torch.ops.libtorchgo.rms_norm.default", given("x", x), given("weight", weight), given("eps", eps)), ok
}

// isRows tells whether a tensor is rows of float32 in the processor's memory.
func (r *rewriter) isRows(name string) bool {
	m := r.p.Graph.Tensors[name]
	return len(m.Sizes) > 0 && m.DType == torch.Float32 && m.Device.IsCPU() && m.Layout == torch.Strided
}

// weighedNorm is a norm times a weight, which nothing else reads.
func (s *seeker) weighedNorm(i int) (x, weight, eps Argument, ok bool) {
	n := &s.p.Graph.Nodes[i]
	for _, sides := range bothSides {
		name, _ := kindOf(n.arg(sides[0]))
		_, at := s.node(name)
		if at < 0 || s.f.only(name) != i {
			continue
		}
		if x, eps, ok = s.normed(at); ok {
			return x, n.arg(sides[1]), eps, n.Target == "torch.ops.aten.mul.Tensor"
		}
	}
	return nil, nil, nil, false
}

// normed tells what a node multiplies by one over its root mean square: x * rsqrt(mean(x**2, -1, True) + eps).
func (s *seeker) normed(i int) (x, eps Argument, ok bool) {
	n := &s.p.Graph.Nodes[i]
	if n.Target != "torch.ops.aten.mul.Tensor" {
		return nil, nil, false
	}
	for _, sides := range bothSides {
		x, root := n.arg(sides[0]), s.maker(n.arg(sides[1]), "rsqrt")
		if root == nil {
			continue
		}
		sum := s.maker(root.arg("self"), "add")
		if sum == nil || s.number(sum.arg("alpha"), 1) != 1 {
			continue
		}
		mean := s.maker(sum.arg("self"), "mean")
		eps, isNumber := sum.arg("other").(float64)
		if mean == nil || !isNumber || !s.isOfRows(mean) || !s.squares(mean.arg("self"), x) {
			continue
		}
		name, _ := kindOf(x)
		return x, eps, !s.f.written[s.f.root(name)]
	}
	return nil, nil, false
}

// maker is the node that makes a value, if it calls that operator.
func (s *seeker) maker(a Argument, op string) *Node {
	name, _ := kindOf(a)
	if n, at := s.node(name); at >= 0 && n.op() == op {
		return n
	}
	return nil
}

// isOfRows tells whether a node is a mean of the last dimension, which stays.
func (s *seeker) isOfRows(n *Node) bool {
	name, _ := kindOf(n.arg("self"))
	dims, _ := n.arg("dim").([]int64)
	last := int64(len(s.p.Graph.Tensors[name].Sizes) - 1)
	return len(dims) == 1 && (dims[0] == -1 || dims[0] == last) && n.arg("keepdim") == true && n.arg("dtype") == nil
}

// squares tells whether a value is the square of x.
func (s *seeker) squares(a, x Argument) bool {
	if n := s.maker(a, "pow"); n != nil {
		return n.arg("self") == x && (n.arg("exponent") == int64(2) || n.arg("exponent") == 2.0)
	}
	if n := s.maker(a, "square"); n != nil {
		return n.arg("self") == x
	}
	n := s.maker(a, "mul")
	return n != nil && n.arg("self") == x && n.arg("other") == x
}
