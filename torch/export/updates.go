package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// fusedOptimizers are the kernels that update many parameters, and their lists: parameters, gradients and what belongs to each.
var fusedOptimizers = map[string][]string{
	"_fused_sgd_":   {"self", "grads", "momentum_buffer_list"},
	"_fused_adam_":  {"self", "grads", "exp_avgs", "exp_avg_sqs", "state_steps"},
	"_fused_adamw_": {"self", "grads", "exp_avgs", "exp_avg_sqs", "state_steps"},
}

// updates lets an optimizer take gradients from the products that make them, number by number: what nobody else reads need not go through
// memory. A parameter is updated where the optimizer was, and those that have no such gradient stay with it. The products are dead then.
func updates(r *rewriter) {
	f := r.flow()
	before := map[int][]Node{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		lists, plain := fusedOptimizers[n.op()], n.overload() == "tensor_lr"
		for _, name := range []string{"grad_scale", "found_inf", "is_first_step", "amsgrad"} {
			plain = plain && (n.arg(name) == nil || n.arg(name) == false)
		}
		if lists == nil || !plain {
			continue
		}
		for k := len(listed(n, "grads")) - 1; k >= 0; k-- {
			made, ok := r.product(f, n, i, k)
			if !ok {
				continue
			}
			to := updated(n, &r.p.Graph.Nodes[made], k)
			before[i] = append(before[i], to)
			r.calls(&to)
			for _, name := range lists {
				if list := listed(n, name); k < len(list) {
					n.Inputs = set(n.Inputs, name, slices.Delete(slices.Clone(list), k, k+1))
				}
			}
		}
	}
	r.insert(before)
	r.p.Graph.Nodes = slices.DeleteFunc(r.p.Graph.Nodes, func(n Node) bool {
		return fusedOptimizers[n.op()] != nil && len(listed(&n, "self")) == 0
	})
}

func listed(n *Node, name string) []TensorArgument {
	list, _ := n.arg(name).([]TensorArgument)
	return list
}

// product finds the node that multiplies two matrices to what is only the gradient of an optimizer's parameter, node i's k-th: one that our
// kernels may compute, and matrices that do not change until then and take no more memory than the gradient would.
func (r *rewriter) product(f *flow, n *Node, i, k int) (made int, ok bool) {
	const least, most, deepest = 1 << 18, 1 << 30, 64
	gradient := string(listed(n, "grads")[k])
	made, ok = f.maker[gradient]
	if !ok || r.p.Graph.Nodes[made].Target != "torch.ops.aten.mm.default" || !slices.Equal(f.readers[gradient], []int{i}) {
		return 0, false
	}
	a, _ := kindOf(r.p.Graph.Nodes[made].arg("self"))
	b, _ := kindOf(r.p.Graph.Nodes[made].arg("mat2"))
	var sizes []int // rows, depth and columns
	for _, s := range append(slices.Clone(r.p.Graph.Tensors[a].Sizes), r.p.Graph.Tensors[gradient].Sizes[1]) {
		known, fixed := s.Value()
		if !fixed || known > most {
			return 0, false
		}
		sizes = append(sizes, int(known))
	}
	rows, depth, columns := sizes[0], sizes[1], sizes[2]
	ok = depth <= deepest && depth*(rows+columns) <= rows*columns && rows*depth*columns >= least && rows*columns <= most/max(1, depth)
	for _, name := range []string{a, b} {
		ok = ok && !f.written[f.root(name)]
	}
	alike := []string{gradient}
	for _, list := range fusedOptimizers[n.op()] {
		if own := listed(n, list); list != "state_steps" && k < len(own) {
			alike = append(alike, string(own[k]))
		}
	}
	for _, name := range alike {
		m := r.p.Graph.Tensors[name]
		ok = ok && m.DType == torch.Float32 && m.Device.IsCPU() && m.Layout == torch.Strided && r.lieAlike(name, gradient)
	}
	return made, ok
}

// updated is the node that updates an optimizer's k-th parameter with the gradient that a product makes.
func updated(n, product *Node, k int) Node {
	at := func(name, list string) NamedArgument {
		if own := listed(n, list); k < len(own) {
			return given(name, own[k])
		}
		return given(name, nil)
	}
	same := func(names ...string) (list []NamedArgument) {
		for _, name := range names {
			list = append(list, given(name, n.arg(name)))
		}
		return list
	}
	inputs := []NamedArgument{at("param", "self"), given("a", product.arg("self")), given("b", product.arg("mat2"))}
	to := Node{Name: product.Name, Target: "torch.ops.libtorchgo.sgd_by_product_.default", Metadata: n.Metadata}
	if n.op() == "_fused_sgd_" {
		inputs = append(inputs, at("mean", "momentum_buffer_list"))
		to.Inputs = append(inputs, same("weight_decay", "momentum", "lr", "dampening", "nesterov", "maximize")...)
		return to
	}
	to.Target = "torch.ops.libtorchgo.adam_by_product_.default"
	inputs = append(inputs, at("mean", "exp_avgs"), at("square", "exp_avg_sqs"), at("at", "state_steps"),
		given("adamw", n.op() == "_fused_adamw_"))
	to.Inputs = append(inputs, same("lr", "beta1", "beta2", "weight_decay", "eps", "maximize")...)
	return to
}
