package export

import "github.com/libtorch-go/libtorch/torch"

const rectifiedTarget = "torch.ops.libtorchgo.rectified_product.default"

// rectified makes one operator of a product of matrices and the ReLU behind it, or that function's derivative, which so find the product's
// numbers still near and are no call of their own.
func rectified(r *rewriter) {
	f := r.flow()
	gone := map[int]bool{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		made, by, ok := r.rectifies(f, n)
		if !ok {
			continue
		}
		product := &r.p.Graph.Nodes[made]
		start, a, b := Argument(nil), product.arg("self"), product.arg("mat2")
		if product.op() == "addmm" {
			start, a = a, product.arg("mat1")
		}
		*product = n.with(rectifiedTarget, given("start", start), given("a", a), given("b", b), given("by", by))
		gone[i] = true
	}
	if len(gone) > 0 {
		r.calls(&Node{Target: rectifiedTarget})
	}
	r.remove(gone)
}

// rectifies finds the product whose negative numbers become zeros in node n, or those where another matrix is not positive, which it
// returns: a product that nothing else reads, before which that matrix is there.
func (r *rewriter) rectifies(f *flow, n *Node) (made int, by Argument, ok bool) {
	of := n.arg("self")
	switch n.op() {
	case "relu":
	case "threshold_backward":
		of, by = n.arg("grad_output"), n.arg("self")
		if limit := n.arg("threshold"); limit != int64(0) && limit != 0.0 {
			return 0, nil, false
		}
	default:
		return 0, nil, false
	}
	name, _ := kindOf(of)
	made, ok = f.maker[name]
	if !ok || len(f.readers[name]) != 1 || f.written[f.root(name)] {
		return 0, nil, false
	}
	list := []Argument{of}
	switch p := &r.p.Graph.Nodes[made]; p.Target {
	case "torch.ops.aten.mm.default":
	case "torch.ops.aten.addmm.default":
		for _, factor := range []Argument{p.arg("alpha"), p.arg("beta")} {
			ok = ok && (factor == nil || factor == int64(1) || factor == 1.0)
		}
	default:
		return 0, nil, false
	}
	if by != nil {
		name, _ := kindOf(by)
		at, inside := f.maker[name]
		ok, list = ok && !f.written[f.root(name)] && (!inside || at < made), append(list, by)
	}
	for _, a := range list {
		name, _ := kindOf(a)
		m := r.p.Graph.Tensors[name]
		ok = ok && m.DType == torch.Float32 && m.Device.IsCPU() && m.Layout == torch.Strided
	}
	return made, by, ok
}
