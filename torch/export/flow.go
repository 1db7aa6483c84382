package export

import (
	"cmp"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// flow is what passes know of a graph: who makes a value and who reads it, which values may share memory, and which memory is written to.
// Passes that change nodes by [rewriter.change] and what is made of it go on with the same flow: to look at a whole graph anew after each
// change takes a minute for some thousand nodes.
type flow struct {
	maker    map[string]int   // the node that makes a value; none for inputs
	readers  map[string][]int // the nodes that read a value, once for each time; the graph's results count as a node behind the last
	shares   map[string]string
	written  map[string]bool // memory, by its root
	given    map[string]bool // memory of the caller's and the program's own tensors, by its root
	returned map[string]bool // and of results
	members  map[string][]string
	last     map[string]lastReader
}

// lastReader is the last node that reads memory, and how often.
type lastReader struct{ at, times int }

// fresh are the operators that make their results in memory of their own, always compute the same from the same, and change nothing.
// What is no such operator counts as one whose results share the memory of its arguments.
var fresh = setOf(`conv1d conv2d conv3d convolution linear addmm mm bmm baddbmm matmul layer_norm group_norm native_layer_norm
	lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
	batch_norm instance_norm rms_norm _fused_rms_norm _native_batch_norm_legit_no_training
	relu relu6 gelu silu sigmoid tanh hardswish hardsigmoid hardtanh leaky_relu elu softplus mish clamp clamp_min clamp_max
	exp log sqrt rsqrt neg abs sin cos erf pow reciprocal add sub rsub mul div maximum minimum where masked_fill
	exp2 expm1 log1p log2 log10 square tan asin acos atan sinh cosh floor ceil round trunc sign erfc nan_to_num isnan isinf isfinite
	selu celu hardshrink softshrink log_sigmoid glu atan2 fmod remainder floor_divide lerp addcmul addcdiv bitwise_and bitwise_or
	eq ne lt le gt ge logical_not logical_and logical_or bitwise_not tril triu cumsum argmax argmin
	erfinv logit hypot copysign xlogy sinc isclose threshold prelu outer dot mv cumprod count_nonzero sort topk
	softmax _softmax log_softmax _log_softmax mean sum prod amax amin var std logsumexp linalg_vector_norm any all cat stack embedding
	index index_select gather scatter scatter_add index_add index_put roll flip repeat pad constant_pad_nd one_hot
	clone _to_copy lift_fresh_copy
	conv_transpose1d conv_transpose2d conv_transpose3d upsample_nearest1d upsample_nearest2d upsample_linear1d upsample_bilinear2d
	upsample_nearest3d upsample_trilinear3d upsample_bicubic2d _upsample_nearest_exact1d _upsample_nearest_exact2d
	_upsample_bilinear2d_aa _upsample_bicubic2d_aa grid_sampler im2col col2im max_pool1d adaptive_max_pool2d
	max_pool3d avg_pool1d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool3d
	quantize_per_tensor int_repr
	max_pool2d avg_pool2d adaptive_avg_pool2d scaled_dot_product_attention
	max_pool2d_with_indices _adaptive_avg_pool2d nll_loss_forward nll_loss2d_forward mse_loss smooth_l1_loss huber_loss
	convolution_backward threshold_backward gelu_backward silu_backward mish_backward sigmoid_backward tanh_backward hardswish_backward
	hardsigmoid_backward hardtanh_backward leaky_relu_backward elu_backward softplus_backward log_sigmoid_backward glu_backward
	_softmax_backward_data _log_softmax_backward_data nll_loss_backward nll_loss2d_backward mse_loss_backward smooth_l1_loss_backward
	huber_loss_backward native_layer_norm_backward native_group_norm native_group_norm_backward native_batch_norm_backward
	embedding_dense_backward max_pool2d_with_indices_backward avg_pool2d_backward _adaptive_avg_pool2d_backward
	_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
	arange zeros ones full eye linspace scalar_tensor zeros_like ones_like full_like`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// trains tells whether a node draws random numbers, or changes statistics that its schema does not say it changes.
func (n *Node) trains() bool {
	for _, name := range []string{"training", "train", "use_input_stats"} {
		if own := n.arg(name); own != nil && own != false {
			return true
		}
	}
	p := n.arg("dropout_p")
	return p != nil && p != 0.0 && p != int64(0)
}

// isFresh tells whether a node's results have memory of their own and depend on nothing but its arguments.
func (n *Node) isFresh() bool {
	return fresh[n.op()] && !n.trains() || n.fuses() && !n.fusesInPlace() && n.arg("qaccum") == nil
}

// fusesInPlace tells whether a node that passes made writes to one of its arguments, and returns it.
func (n *Node) fusesInPlace() bool {
	return strings.Contains(n.Target, "pointwise_.") || isOwn(n) && strings.HasSuffix(n.Target, "_.default")
}

// fuses tells whether a node is one that passes made.
func (n *Node) fuses() bool {
	return strings.HasPrefix(n.Target, "torch.ops.mkldnn.") || strings.HasPrefix(n.Target, "torch.ops.onednn.") ||
		n.Target == "torch.ops.quantized.max_pool2d.default" || isOwn(n)
}

// root is one of the values that share a value's memory: the same one for all of them.
func (f *flow) root(name string) string {
	for f.shares[name] != name {
		if f.shares[name] == "" {
			f.shares[name] = name
		}
		f.shares[name] = cmp.Or(f.shares[f.shares[name]], f.shares[name]) // shorter for the next one
		name = f.shares[name]
	}
	return name
}

// joins has the memory of a value be another one's as well.
func (f *flow) joins(name, own string) {
	from, to := f.root(name), f.root(own)
	if from == to {
		return
	}
	f.shares[from] = to
	for _, of := range []map[string]bool{f.written, f.given, f.returned} {
		if of[from] {
			of[to] = true
		}
	}
	f.members[to] = append(f.members[to], f.members[from]...)
	delete(f.members, from)
	last := f.last[to]
	last.see(f.last[from])
	f.last[to] = last
}

// see adds what is known of the readers of other memory.
func (l *lastReader) see(other lastReader) {
	switch {
	case other.times == 0:
	case l.times == 0 || other.at > l.at:
		*l = other
	case other.at == l.at:
		l.times += other.times
	}
}

// reads says that a node reads a value.
func (f *flow) reads(name string, at int) {
	f.readers[name] = append(f.readers[name], at)
	root := f.root(name)
	last := f.last[root]
	last.see(lastReader{at, 1})
	f.last[root] = last
}

// makes says that a node makes a value, or that it is given if there is none.
func (f *flow) makes(name string) {
	root := f.root(name)
	f.members[root] = append(f.members[root], name)
}

// flow looks at the graph as it is now.
func (r *rewriter) flow() *flow {
	g := &r.p.Graph
	f := &flow{maker: map[string]int{}, readers: map[string][]int{}, shares: map[string]string{}, written: map[string]bool{},
		given: map[string]bool{}, returned: map[string]bool{}, members: map[string][]string{}, last: map[string]lastReader{}}
	for _, in := range g.Inputs {
		namesIn(in, func(name string) {
			f.makes(name)
			f.given[f.root(name)] = true
		})
	}
	for i := range g.Nodes {
		r.enter(f, i, &g.Nodes[i])
	}
	for _, out := range g.Outputs {
		namesIn(out, func(name string) {
			f.reads(name, len(g.Nodes))
			f.returned[f.root(name)] = true
		})
	}
	replaced := r.replaced()
	for _, in := range r.p.Signature.Inputs {
		if name, _ := kindOf(in.Arg); replaced[in.Target] || replaced[name] {
			f.written[f.root(name)] = true
		}
	}
	return f
}

// replaced are the names of what the program gives other values at its end, which is written to then.
func (r *rewriter) replaced() map[string]bool {
	names := map[string]bool{}
	for _, s := range r.p.Signature.Outputs {
		names[s.Target] = s.Target != ""
	}
	return names
}

// enter adds what a node at a place reads, makes and writes to.
func (r *rewriter) enter(f *flow, i int, n *Node) {
	g := &r.p.Graph
	var shared []string
	for _, in := range n.Inputs {
		namesIn(in.Value, func(name string) {
			shared = append(shared, name)
			f.reads(name, i)
		})
	}
	writes := r.writes(n)
	if _, known := r.schema(n); known && len(writes) > 0 && !n.trains() {
		shared = writes // what changes an argument returns it
	}
	for _, out := range n.Outputs {
		namesIn(out, func(name string) {
			f.maker[name] = i
			f.makes(name)
			if _, tensor := g.Tensors[name]; !tensor || n.isFresh() || empty[n.op()] {
				return
			}
			for _, own := range shared {
				if _, tensor := g.Tensors[own]; tensor {
					f.joins(name, own)
				}
			}
		})
	}
	for _, name := range writes {
		f.written[f.root(name)] = true
	}
}

// writes are the values that a node changes.
func (r *rewriter) writes(n *Node) (names []string) {
	see := func(name string) { names = append(names, name) }
	schema, ok := r.schema(n)
	if !ok { // a graph, which may change what it gets, or a calculation with numbers
		for _, in := range n.Inputs {
			namesIn(in.Value, see)
		}
		return names
	}
	for _, a := range schema.Arguments {
		if a.Changed || n.trains() && strings.HasPrefix(a.Name, "running_") {
			namesIn(n.arg(a.Name), see)
		}
	}
	return names
}

// only is the node that alone reads a value, once; -1 where there are others, or where the value's memory is shared or written to.
func (f *flow) only(name string) int {
	if len(f.readers[name]) != 1 || f.written[f.root(name)] {
		return nowhere
	}
	return f.readers[name][0]
}

// soleReader is the node that alone reads a value, once, and its place; nil, nowhere, where there is none, or others, or the value is
// returned.
func (r *rewriter) soleReader(f *flow, name string) (n *Node, at int) {
	if at = f.only(name); at < 0 || at >= len(r.p.Graph.Nodes) {
		return nil, nowhere
	}
	return &r.p.Graph.Nodes[at], at
}

// state is the tensor of an input of the graph that does not change while the program is compiled.
func (r *rewriter) state(f *flow, a Argument) (torch.Tensor, bool) {
	name, ok := a.(TensorArgument)
	if _, made := f.maker[string(name)]; !ok || made || f.written[f.root(string(name))] {
		return torch.Tensor{}, false
	}
	return r.held(a)
}

// held is the tensor of an input of the graph, if that is known not to be written to.
func (r *rewriter) held(a Argument) (torch.Tensor, bool) {
	name, _ := kindOf(a)
	s, ok := r.inputs[name]
	if !ok || s.Kind == UserInput || !r.frozen && s.Kind != ConstantTensor {
		return torch.Tensor{}, false
	}
	return r.p.state(s)
}
