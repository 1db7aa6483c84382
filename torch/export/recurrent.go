package export

import "github.com/libtorch-go/libtorch/torch"

// recurrentCell is a kind of recurrent layers that our kernels compute.
type recurrentCell struct {
	target string
	states []string // what our operator calls the states before
	gates  int
	apart  bool // the last gate weighs what states give to it, with its bias, before it is added to what inputs give
}

var recurrentCells = map[string]recurrentCell{
	"torch.ops.aten.lstm.input":     {"torch.ops.libtorchgo.lstm.default", []string{"h", "c"}, 4, false},
	"torch.ops.aten.gru.input":      {"torch.ops.libtorchgo.gru.default", []string{"h"}, 3, true},
	"torch.ops.aten.rnn_tanh.input": {"torch.ops.libtorchgo.rnn_tanh.default", []string{"h"}, 1, false},
	"torch.ops.aten.rnn_relu.input": {"torch.ops.libtorchgo.rnn_relu.default", []string{"h"}, 1, false},
}

// recurrent lets recurrent layers of float32 on the CPU be computed by operators of ours, which take from a half to nine tenths of the time
// of libtorch's: weights lie as they are read, and those that came last are the first of the next step.
func recurrent(r *rewriter) {
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		cell, known := recurrentCells[n.Target]
		if !known {
			continue
		}
		if to, ok := r.recurrentLayers(f, n, cell); ok {
			r.p.Graph.Nodes[i] = to
			r.calls(&to)
		}
	}
}

// recurrentLayers is our operator for a node, unless it drops numbers out, or projects its states.
func (r *rewriter) recurrentLayers(f *flow, n *Node, cell recurrentCell) (to Node, ok bool) {
	x, _ := kindOf(n.arg("input"))
	m := r.p.Graph.Tensors[x]
	if n.arg("train") == true && n.arg("dropout") != 0.0 || m.DType != torch.Float32 || !m.Device.IsCPU() || len(m.Sizes) != 3 {
		return to, false
	}
	states, _ := n.arg("hx").([]TensorArgument)
	if one, single := n.arg("hx").(TensorArgument); single {
		states = []TensorArgument{one}
	}
	weights, ok := r.recurrentWeights(f, n, cell)
	if !ok || len(states) != len(cell.states) {
		return to, false
	}
	inputs := []NamedArgument{given("x", n.arg("input"))}
	for i, name := range cell.states {
		inputs = append(inputs, given(name, states[i]))
	}
	return n.with(cell.target, append(inputs, given("weights", weights), given("bidirectional", n.arg("bidirectional") == true),
		given("batch_first", n.arg("batch_first") == true))...), true
}

// recurrentWeights are the weights of all layers and directions as our kernels read them: for inputs, for states, and the bias.
func (r *rewriter) recurrentWeights(f *flow, n *Node, cell recurrentCell) (all []TensorArgument, ok bool) {
	params, _ := n.arg("params").([]TensorArgument)
	each := 2
	if n.arg("has_biases") == true {
		each = 4
	}
	if len(params) == 0 || len(params)%each != 0 {
		return nil, false
	}
	for at := 0; at < len(params); at += each {
		var own []torch.Tensor
		for _, name := range params[at : at+each] {
			t, frozen := r.state(f, name)
			if !frozen || t.DType() != torch.Float32 {
				return nil, false
			}
			own = append(own, t)
		}
		w, ok := cell.packed(own)
		if !ok {
			return nil, false
		}
		all = append(all, r.constant("input_weight", w[0]), r.constant("state_weight", w[1]), r.constant("recurrent_bias", w[2]))
	}
	return all, true
}

// packed are a layer's weights in one direction; ok is false for those of states that are projected.
func (c recurrentCell) packed(params []torch.Tensor) (w [3]torch.Tensor, ok bool) {
	inputs, states := params[0], params[1]
	if inputs.Dim() != 2 || states.Dim() != 2 || states.Size(0) != c.gates*states.Size(1) || inputs.Size(0) != states.Size(0) {
		return w, false
	}
	if w[0], ok = linearWeight(inputs); !ok {
		return w, false
	}
	if w[1], ok = inner("libtorchgo::recurrent_weight", states, c.gates); !ok {
		return w, false
	}
	w[2] = c.bias(params[2:], states.Size(1))
	return w, true
}

// bias is what is added to what inputs give to the gates, and, of a gate that is apart, what is added to what states give to it.
func (c recurrentCell) bias(params []torch.Tensor, hidden int) torch.Tensor {
	all := c.gates * hidden
	if c.apart {
		all += hidden
	}
	bias := torch.Zeros(all)
	if len(params) == 0 {
		return bias
	}
	given, together := params[1], c.gates*hidden
	if c.apart {
		together -= hidden
		bias.Narrow(0, c.gates*hidden, hidden).CopyInPlace(given.Narrow(0, together, hidden))
	}
	bias.Narrow(0, 0, c.gates*hidden).CopyInPlace(params[0])
	bias.Narrow(0, 0, together).AddInPlace(given.Narrow(0, 0, together))
	return bias
}
