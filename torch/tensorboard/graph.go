package tensorboard

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch/export"
)

// AddGraph adds the graph of a program, for TensorBoard's page of graphs: SummaryWriter.add_graph. A model becomes a program by
// [export.Export]:
//
//	program, err := export.Export(model, []any{x})
//	…
//	err = log.AddGraph(program)
//
// A node is an operator ("aten::conv2d"), a parameter, buffer or constant that is read, an input or an output. It has the name that the
// program knows its value by, and stands in the boxes of its modules, "Net/Sequential[features]/Conv2d[0]/conv2d", where the
// program says which these are, as those of Python do. Elsewhere the names of parameters tell, and an operator that reads none is in
// the box that its neighbours have in common. Sizes that differ from call to call are -1. A graph that an operator runs, such
// as a branch of torch.cond, is a box with the operator's name. A run has one graph: TensorBoard shows the last.
func (w *Writer) AddGraph(program *export.Program) error {
	if len(program.Graph.Nodes) == 0 && len(program.Graph.Outputs) == 0 {
		return errors.New("tensorboard: the program is empty: there is no graph to show")
	}
	s := &sketch{taken: map[string]bool{}}
	s.draw(program)
	var graph, metadata message
	for _, n := range s.nodes {
		graph.in(1, n.put)
	}
	const producer = 22 // of the versions of graphs, as PyTorch writes it
	graph.in(4, func(versions *message) { versions.integer(1, producer) })
	metadata.in(1, func(stats *message) {
		stats.in(1, func(device *message) { device.text(1, "/device:CPU:0") })
	})
	if err := w.put(func(event *message) { event.bytes(4, graph) }); err != nil {
		return err
	}
	return w.put(func(event *message) {
		event.in(8, func(tagged *message) { tagged.text(1, "step1"); tagged.bytes(2, metadata) })
	})
}

// A vertex is a node of TensorBoard's graph.
type vertex struct {
	name, op string
	inputs   []string // "name", or "name:1" for the second result
	attr     string   // the arguments that are no tensors
	shapes   []shape  // of the results
}

// shape is the sizes of a result, -1 where they differ from call to call; nil for what is no tensor.
type shape []int64

func (v vertex) put(node *message) {
	node.text(1, v.name)
	node.text(2, v.op)
	for _, in := range v.inputs {
		node.text(3, in)
	}
	attribute := func(key string, fill func(value *message)) {
		node.in(5, func(entry *message) { entry.text(1, key); entry.in(2, fill) })
	}
	attribute("attr", func(value *message) { value.text(2, v.attr) })
	attribute("_output_shapes", func(value *message) {
		value.in(1, func(list *message) {
			for _, s := range v.shapes {
				list.in(7, s.put)
			}
		})
	})
}

func (s shape) put(m *message) {
	if s == nil {
		m.integer(3, 1) // the rank is not known
		return
	}
	for _, n := range s {
		m.in(2, func(dim *message) { dim.integer(1, n) })
	}
}

// A sketch is a graph of TensorBoard's that is being made.
type sketch struct {
	nodes []vertex
	taken map[string]bool // the names of nodes
}

// add adds a node and returns its name, which is changed where another node has it.
func (s *sketch) add(v vertex) string {
	name := v.name
	for i := 1; s.taken[v.name]; i++ {
		v.name = fmt.Sprintf("%s_%d", name, i)
	}
	s.taken[v.name] = true
	s.nodes = append(s.nodes, v)
	return v.name
}

// values tells which node, and which of its results, a value of a program's graph is.
type values map[string]string

// draw adds all of a program.
func (s *sketch) draw(p *export.Program) {
	g, scopes, known := &p.Graph, scopesOf(p), values{}
	read := map[string]bool{}
	for _, name := range slices.Concat(names(nodeInputs(g)), names(g.Outputs)) {
		read[name] = true
	}
	for i, in := range g.Inputs {
		name := valueName(in)
		if !read[name] {
			continue
		}
		v := vertex{name: "input/" + name, op: "IO Node", shapes: shapesOf(g, in)}
		if i < len(p.Signature.Inputs) {
			if spec := p.Signature.Inputs[i]; spec.Target != "" {
				v.name, v.op = scopes.of(spec.Target), title(spec.Kind)
			}
		}
		known[name] = s.add(v)
	}
	s.graph(g, known, scopes.nodes)
	for i, out := range g.Outputs {
		s.add(vertex{name: fmt.Sprint("output/output.", i+1), op: "IO Node", inputs: known.all(out), shapes: shapesOf(g, out)})
	}
}

// title is the op of a node with a program's tensor: "Parameter" for PARAMETER.
func title(kind export.InputKind) string {
	words := strings.Split(strings.ToLower(kind.String()), "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// graph adds the nodes of a graph whose inputs are known. Each is in the box that scope says.
func (s *sketch) graph(g *export.Graph, known values, scope []string) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name := n.Name
		if name == "" && len(n.Outputs) > 0 {
			name = valueName(n.Outputs[0])
		}
		v := vertex{name: join(scope[i], name), op: operator(n.Target), attr: settings(n), shapes: shapesOf(g, n.Outputs...)}
		for _, in := range n.Inputs {
			v.inputs = append(v.inputs, known.all(in.Value)...)
		}
		at, own := len(s.nodes), s.add(v)
		s.nodes[at].inputs = append(v.inputs, s.inner(n, own, known)...)
		for k, out := range flatten(n.Outputs) {
			known[valueName(out)] = own
			if k > 0 {
				known[valueName(out)] = fmt.Sprintf("%s:%d", own, k)
			}
		}
	}
}

// inner adds the graphs that a node runs, in boxes below its own name, and returns their results. What stands behind the graphs among the
// arguments are their inputs.
func (s *sketch) inner(n *export.Node, name string, known values) (results []string) {
	isGraph := func(in export.NamedArgument) bool { _, ok := in.Value.(*export.GraphArgument); return ok }
	last := -1
	for i, in := range n.Inputs {
		if isGraph(in) {
			last = i
		}
	}
	var operands []string
	for _, in := range n.Inputs[last+1:] {
		for _, a := range flatten([]export.Argument{in.Value}) {
			operands = append(operands, strings.Join(known.all(a), ""))
		}
	}
	for _, in := range n.Inputs {
		if !isGraph(in) {
			continue
		}
		sub := in.Value.(*export.GraphArgument)
		box, own := join(name, sub.Name), values{}
		for i, a := range sub.Graph.Inputs {
			v := vertex{name: join(box, "input/"+valueName(a)), op: "IO Node", shapes: shapesOf(&sub.Graph, a)}
			if i < len(operands) && operands[i] != "" {
				v.inputs = operands[i : i+1]
			}
			own[valueName(a)] = s.add(v)
		}
		s.graph(&sub.Graph, own, slices.Repeat([]string{box}, len(sub.Graph.Nodes)))
		for _, out := range sub.Graph.Outputs {
			results = append(results, own.all(out)...)
		}
	}
	return results
}

// all are the nodes of the values in an argument.
func (v values) all(a export.Argument) (list []string) {
	for _, name := range names([]export.Argument{a}) {
		if at, ok := v[name]; ok {
			list = append(list, at)
		}
	}
	return list
}

// nodeInputs are the arguments of all nodes.
func nodeInputs(g *export.Graph) (list []export.Argument) {
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			list = append(list, in.Value)
		}
	}
	return list
}

// valueName is the name of a value; empty for a constant.
func valueName(a export.Argument) string {
	switch a := a.(type) {
	case export.TensorArgument:
		return string(a)
	case export.SymIntArgument:
		return string(a)
	case export.SymFloatArgument:
		return string(a)
	case export.SymBoolArgument:
		return string(a)
	}
	return ""
}

// flatten are arguments with the elements of lists in the place of these.
func flatten(list []export.Argument) (all []export.Argument) {
	for _, a := range list {
		switch r := reflect.ValueOf(a); {
		case a != nil && r.Kind() == reflect.Slice:
			for i := range r.Len() {
				all = append(all, flatten([]export.Argument{r.Index(i).Interface()})...)
			}
		case a != nil && r.Kind() == reflect.Map:
			m := a.(map[string]export.Argument)
			for _, key := range slices.Sorted(maps.Keys(m)) {
				all = append(all, flatten([]export.Argument{m[key]})...)
			}
		default:
			all = append(all, a)
		}
	}
	return all
}

// names are those of all values in arguments.
func names(list []export.Argument) (all []string) {
	for _, a := range flatten(list) {
		if name := valueName(a); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// shapesOf are the shapes of values.
func shapesOf(g *export.Graph, list ...export.Argument) (all []shape) {
	for _, a := range flatten(list) {
		meta, ok := g.Tensors[valueName(a)]
		if !ok {
			all = append(all, nil)
			continue
		}
		s := shape{}
		for _, size := range meta.Sizes {
			n, fixed := size.Value()
			if !fixed {
				n = -1
			}
			s = append(s, n)
		}
		all = append(all, s)
	}
	return all
}

// operator is the name of an operator as TorchScript has it: "aten::conv2d" for "torch.ops.aten.conv2d.default".
func operator(target string) string {
	rest, ok := strings.CutPrefix(target, "torch.ops.")
	if parts := strings.Split(rest, "."); ok && len(parts) > 1 {
		return parts[0] + "::" + parts[1]
	}
	return target
}

// settings are the arguments of a node that are no tensors: "{stride: [1, 1], padding: [0, 0]}".
func settings(n *export.Node) string {
	var list []string
	for i, in := range n.Inputs {
		switch in.Value.(type) {
		case export.TensorArgument, []export.TensorArgument, export.OptionalTensors, [][]export.TensorArgument, *export.GraphArgument:
			continue
		}
		name := in.Name
		if name == "" {
			name = fmt.Sprint(i)
		}
		list = append(list, name+": "+written(in.Value))
	}
	if len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// written is an argument as Python writes it.
func written(a export.Argument) string {
	switch a := a.(type) {
	case nil:
		return "None"
	case bool:
		return strings.ToUpper(fmt.Sprint(a)[:1]) + fmt.Sprint(a)[1:]
	}
	r := reflect.ValueOf(a)
	if r.Kind() != reflect.Slice {
		return fmt.Sprint(a)
	}
	list := make([]string, r.Len())
	for i := range list {
		list[i] = written(r.Index(i).Interface())
	}
	return "[" + strings.Join(list, ", ") + "]"
}
