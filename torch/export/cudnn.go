package export

import (
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// cudnn replaces convolutions of images on a card: weights lie with their channels last, and the ReLU behind one, with a sum before it,
// becomes part of cuDNN's operator where it has a kernel for that.
func cudnn(r *rewriter) {
	if !r.anyStrides() {
		return
	}
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		if _, ok := convolutionOf(n); !ok {
			continue
		}
		w, ok := r.state(f, n.arg("weight"))
		if x, _ := kindOf(n.arg("input")); !ok || w.Dim() != 4 || len(r.p.Graph.Tensors[x].Sizes) != 4 {
			continue
		}
		r.change(f, i, n.with(n.Target, set(n.Inputs, "weight", r.constant("channels_last", w.Contiguous(torch.ChannelsLast)))...))
	}
	for i := range r.p.Graph.Nodes {
		if r.p.Graph.Nodes[i].op() == "relu" {
			r.cudnnReLU(f, i)
		}
	}
}

// cudnnReLU makes a ReLU, and a sum before it, part of the convolution before that.
func (r *rewriter) cudnnReLU(f *flow, i int) {
	g := &r.p.Graph
	relu := &g.Nodes[i]
	in, _ := kindOf(relu.arg("self"))
	made, ok := f.maker[in]
	if !ok || f.only(in) != i {
		return
	}
	z, gone := Argument(nil), []int{made}
	if sum := &g.Nodes[made]; sum.isSum() {
		conv, other, ok := r.convolved(f, sum, made)
		if !ok {
			return
		}
		r.oneBias(f, f.maker[conv], string(other), made)
		made, z = f.maker[conv], other
		gone = append(gone, made)
	}
	n := &g.Nodes[made]
	c, ok := r.ungrouped(f, n)
	if !ok {
		return
	}
	to := rectifying(n, c, z)
	if !r.runs(&to) {
		return
	}
	to.makes(relu)
	for _, at := range gone {
		r.drop(f, at)
	}
	r.change(f, i, to)
}

// rectifying is cuDNN's operator for a convolution, the sum with z unless that is nil, and the ReLU behind it.
func rectifying(n *Node, c convolution, z Argument) Node {
	inputs, target := []NamedArgument{given("self", n.arg("input")), given("weight", n.arg("weight"))}, cudnnTarget+"_relu.default"
	if z != nil {
		inputs, target = append(inputs, given("z", z), given("alpha", 1.0)), cudnnTarget+"_add_relu.default"
	}
	return n.with(target, append(inputs, given("bias", n.arg("bias")), given("stride", c.stride), given("padding", c.padding),
		given("dilation", c.dilation), given("groups", c.groups))...)
}

const cudnnTarget = "torch.ops.aten.cudnn_convolution"

// onCuDNN tells whether a node is a convolution of images that cuDNN computes.
func onCuDNN(n *Node) bool {
	_, plain := convolutionOf(n)
	return plain || strings.HasPrefix(n.Target, cudnnTarget)
}

// runs tells whether an operator computes tensors of these sizes: cuDNN has not all of them for all sizes and dtypes.
func (r *rewriter) runs(n *Node) (ok bool) {
	torch.Scope(func() {
		var args []any
		for _, in := range n.Inputs {
			v := in.Value
			if name, tensor := v.(TensorArgument); tensor {
				m := r.p.Graph.Tensors[string(name)]
				sizes := m.hints()
				if sizes == nil {
					return
				}
				v = torch.TensorOptions{DType: m.DType, Device: m.Device}.Zeros(sizes...).Contiguous(lastFormat(sizes))
			}
			if list, is := v.([]int64); is {
				v = ints(list)
			}
			if n, is := v.(int64); is {
				v = int(n)
			}
			args = append(args, v)
		}
		_, ok = inner("aten::"+n.op(), args...)
	})
	return ok
}

// lastFormat is how tensors of these sizes lie on a card.
func lastFormat(sizes []int) torch.MemoryFormat {
	if len(sizes) == len("NCHW") {
		return torch.ChannelsLast
	}
	return torch.ContiguousFormat
}

// convolved are the two sides of a sum: a convolution that cuDNN computes with it, and what it adds.
func (r *rewriter) convolved(f *flow, sum *Node, at int) (conv string, other TensorArgument, ok bool) {
	for _, s := range r.sidesOf(f, sum, at) {
		made := f.maker[s.own]
		if _, is := r.ungrouped(f, &r.p.Graph.Nodes[made]); is && (!ok || made > f.maker[conv]) { // the later one
			conv, other, ok = s.own, TensorArgument(s.other), true
		}
	}
	return conv, other, ok
}

// ungrouped is a convolution of images with constant weights, all channels together, in a dtype that cuDNN has fused kernels for.
func (r *rewriter) ungrouped(f *flow, n *Node) (c convolution, ok bool) {
	if c, ok = convolutionOf(n); !ok || c.groups != 1 {
		return c, false
	}
	w, m, ok := r.frozenProduct(f, n)
	return c, ok && w.Dim() == 4 && len(m.Sizes) == 4 && slices.Contains([]torch.DType{torch.Float32, torch.Float16, torch.BFloat16}, m.DType)
}

// oneBias lets the first of two convolutions whose results are added add the biases of both: on a card the other one's is a pass through
// memory of its own.
func (r *rewriter) oneBias(f *flow, first int, other string, sum int) {
	made, ok := f.maker[other]
	if !ok || f.only(other) != sum {
		return
	}
	a, b := &r.p.Graph.Nodes[first], &r.p.Graph.Nodes[made]
	_, ok = convolutionOf(b)
	x, known := r.state(f, a.arg("bias"))
	y, also := r.state(f, b.arg("bias"))
	if !ok || !known || !also || x.DType() != y.DType() {
		return
	}
	both := x.To(torch.Float32).Add(y.To(torch.Float32)).To(x.DType())
	r.change(f, first, a.with(a.Target, set(a.Inputs, "bias", r.constant("both_biases", both))...))
	r.change(f, made, b.with(b.Target, set(b.Inputs, "bias", nil)...))
}
