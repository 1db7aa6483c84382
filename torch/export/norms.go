package export

import (
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// batchNorms multiplies what a batch norm in evaluation multiplies by into the weights of the product before it, or of the linear layer
// behind it.
func batchNorms(r *rewriter) {
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		if n := &r.p.Graph.Nodes[i]; n.op() != "batch_norm" || n.trains() {
			continue
		}
		torch.Scope(func() { // what is computed on the way is several times as large as the weight
			if !r.foldBack(f, i) {
				r.foldAhead(f, i)
			}
		})
	}
}

// foldBack makes a batch norm part of the product before it, if nothing else reads that.
func (r *rewriter) foldBack(f *flow, i int) bool {
	n := &r.p.Graph.Nodes[i]
	in, _ := kindOf(n.arg("input"))
	made, ok := f.maker[in]
	if !ok || f.only(in) != i {
		return false
	}
	product := &r.p.Graph.Nodes[made]
	dims, outputs, ok := product.weightDims()
	if !ok || len(r.p.Graph.Tensors[in].Sizes) != dims {
		return false
	}
	s, known := r.scaling(f, n)
	w, b, frozen := r.doubles(f, product)
	if !known || !frozen || w.Dim() != dims || w.Size(outputs) != s.scale.Size(0) {
		return false
	}
	w, b = w.Mul(s.along(outputs, dims)), s.of(b)
	to := product.with(product.Target, r.folded(product, w, b)...)
	to.makes(n)
	r.drop(f, i)
	r.change(f, made, to)
	return true
}

// foldAhead makes a batch norm of rows part of the linear layer that alone reads it.
func (r *rewriter) foldAhead(f *flow, i int) {
	n := &r.p.Graph.Nodes[i]
	name, ok := n.result()
	linear, at := r.soleReader(f, name)
	if !ok || linear == nil || len(r.p.Graph.Tensors[name].Sizes) != matrix {
		return
	}
	s, known := r.scaling(f, n)
	w, b, frozen := r.doubles(f, linear)
	if linear.op() != "linear" || linear.arg("input") != TensorArgument(name) || !known || !frozen || w.Dim() != matrix ||
		w.Size(1) != s.scale.Size(0) {
		return
	}
	more := w.MatMul(s.shift)
	if b.Defined() {
		more = more.Add(b)
	}
	to := linear.with(linear.Target, set(r.folded(linear, w.Mul(s.scale), more), "input", n.arg("input"))...)
	r.drop(f, i)
	r.change(f, at, to)
}

// weightDims is the number of dimensions of a product's weight, and that of them which its outputs are.
func (n *Node) weightDims() (dims, outputs int, ok bool) {
	if dims, ok = products[n.op()]; ok {
		return dims, 0, n.arg("transposed") != true
	}
	transposed, ok := strings.CutPrefix(n.op(), "conv_transpose")
	groups := n.arg("groups")
	return products["conv"+transposed], 1, ok && (groups == nil || groups == int64(1))
}

// folded are a product's arguments with another weight and another bias, rounded to float32.
func (r *rewriter) folded(n *Node, w, b torch.Tensor) []NamedArgument {
	w, b = w.To(torch.Float32), b.To(torch.Float32)
	return set(set(n.Inputs, "weight", r.constant("folded_weight", w)), "bias", r.constant("folded_bias", b))
}

// doubles are a product's weight and bias in float64, if they are constants of float32; it may have no bias.
func (r *rewriter) doubles(f *flow, n *Node) (w, b torch.Tensor, ok bool) {
	if w, ok = r.state(f, n.arg("weight")); !ok || w.DType() != torch.Float32 {
		return w, b, false
	}
	if n.arg("bias") != nil {
		if b, ok = r.state(f, n.arg("bias")); !ok || b.DType() != torch.Float32 {
			return w, b, false
		}
		b = b.To(torch.Float64)
	}
	return w.To(torch.Float64), b, true
}

// scaling is what a batch norm does to each channel, in float64: it is multiplied, and then something is added.
type scaling struct{ scale, shift torch.Tensor }

// scaling is that of a batch norm, if all that it knows are constants of float32.
func (r *rewriter) scaling(f *flow, norm *Node) (s scaling, ok bool) {
	state := func(name string, usual float64, like torch.Tensor) torch.Tensor {
		t, known := r.state(f, norm.arg(name))
		switch {
		case known && t.DType() == torch.Float32 && t.Dim() == 1:
			return t.To(torch.Float64)
		case norm.arg(name) != nil || !like.Defined():
			ok = false
			return torch.Tensor{}
		}
		return torch.FullLike(like, usual)
	}
	ok = true
	mean := state("running_mean", 0, torch.Tensor{})
	eps, isNumber := norm.arg("eps").(float64)
	if !ok || !isNumber {
		return s, false
	}
	variance, scale, shift := state("running_var", 1, mean), state("weight", 1, mean), state("bias", 0, mean)
	if !ok {
		return s, false
	}
	scale = scale.Div(variance.AddScalar(eps).Sqrt())
	return scaling{scale, shift.Sub(mean.Mul(scale))}, true
}

// of is what becomes of the numbers of all channels, zeros if there are none.
func (s scaling) of(x torch.Tensor) torch.Tensor {
	if !x.Defined() {
		return s.shift
	}
	return x.Mul(s.scale).Add(s.shift)
}

// along are the factors as a tensor of so many dimensions, of which channels are one.
func (s scaling) along(channels, dims int) torch.Tensor {
	shape := slices.Repeat([]int{1}, dims)
	shape[channels] = -1
	return s.scale.Reshape(shape...)
}
