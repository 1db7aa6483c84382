package export

import "github.com/libtorch-go/libtorch/torch"

// heads lets attentions on the CPU be computed by an operator of ours, which takes two thirds of the time and leaves to libtorch what it
// has no kernel for when it runs: few rows, and more keys than stay in the cache.
func heads(r *rewriter) {
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, _ := kindOf(n.arg("query"))
		m := r.p.Graph.Tensors[name]
		if n.Target != "torch.ops.aten.scaled_dot_product_attention.default" || !m.Device.IsCPU() || len(m.Sizes) != 4 || n.trains() ||
			n.arg("enable_gqa") == true || m.DType != torch.Float32 && m.DType != torch.BFloat16 {
			continue
		}
		to := n.with("torch.ops.libtorchgo.attention.default", given("query", n.arg("query")), given("key", n.arg("key")),
			given("value", n.arg("value")), given("mask", n.arg("attn_mask")), given("causal", n.arg("is_causal") == true),
			given("scale", n.arg("scale")))
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
	}
}
