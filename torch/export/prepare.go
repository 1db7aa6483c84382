package export

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// slot is the number of a value: it stands in a step's arguments where the value comes.
type slot int

// block is a graph that was verified and is ready to run: names are numbers, and what each call needs is at hand.
type block struct {
	slots   int
	inputs  []slot // -1 for a constant
	steps   []step
	outputs []any // a slot or a value each
	single  bool
}

// step is a node that is ready to run.
type step struct {
	node    *Node
	do      doing
	op      string // of libtorch
	args    []any  // values, slots, lists of such, torch.Named and *block
	outputs []any  // a slot, a []slot for a list, or nil for what nobody wants
	frees   []slot // after this step nothing reads them
}

// doing is what a step does with its arguments, given their values. The context is that of the run.
type doing func(ctx context.Context, args []any) ([]any, error)

// preparer makes blocks, and refuses what is not sound.
type preparer struct {
	program *Program
	schemas map[string]library.Schema
}

// names are the values of a graph that are defined so far.
type names struct {
	graph *Graph
	slots map[string]slot
	kinds []string // of each value: "Tensor", "SymInt", …
}

func kindOf(a Argument) (name, kind string) {
	switch a := a.(type) {
	case TensorArgument:
		return string(a), "Tensor"
	case SymIntArgument:
		return string(a), "SymInt"
	case SymFloatArgument:
		return string(a), "SymFloat"
	case SymBoolArgument:
		return string(a), "SymBool"
	}
	return "", ""
}

// define gives a value its number. What is known of it has to stand in the graph.
func (n *names) define(a Argument) (slot, error) {
	name, kind := kindOf(a)
	if kind == "" {
		return -1, fmt.Errorf("expected the name of a value, found %T", a)
	}
	if _, twice := n.slots[name]; twice {
		return -1, fmt.Errorf("two values have the name %q", name)
	}
	known := false
	switch kind {
	case "Tensor":
		_, known = n.graph.Tensors[name]
	case "SymInt":
		_, known = n.graph.SymInts[name]
	case "SymFloat":
		_, known = n.graph.SymFloats[name]
	case "SymBool":
		_, known = n.graph.SymBools[name]
	}
	if !known {
		return -1, fmt.Errorf("the graph says nothing of the %s %q", kind, name)
	}
	s := slot(len(n.kinds))
	n.slots[name], n.kinds = s, append(n.kinds, kind)
	return s, nil
}

// resolve brings an argument into the form in which a step has it.
func (n *names) resolve(a Argument) (any, error) {
	if name, kind := kindOf(a); kind != "" {
		s, ok := n.slots[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("value %q is used before it is defined", name)
		case n.kinds[s] != kind:
			return nil, fmt.Errorf("value %q is a %s, and is used as a %s", name, n.kinds[s], kind)
		}
		return s, nil
	}
	if list, ok := elementsOf(a); ok {
		all := make([]any, len(list))
		for i, v := range list {
			var err error
			if all[i], err = n.resolve(v); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	switch a := a.(type) {
	case int64:
		return int(a), nil
	case nil, float64, bool, string, complex128, torch.DType, torch.Device, torch.Layout, torch.MemoryFormat:
		return a, nil
	}
	return nil, fmt.Errorf("a value of type %T cannot be passed", a)
}

// block prepares a graph.
func (p *preparer) block(g *Graph, depth int) (*block, error) {
	const deepestGraph = 16
	if depth > deepestGraph {
		return nil, malformed("graphs nest more than %d deep", deepestGraph)
	}
	g = expanded(g)
	b, n := &block{single: g.Single}, &names{graph: g, slots: map[string]slot{}}
	for i, in := range g.Inputs {
		s := slot(-1)
		if _, kind := kindOf(in); kind != "" {
			var err error
			if s, err = n.define(in); err != nil {
				return nil, malformed("input %d: %w", i, err)
			}
		}
		b.inputs = append(b.inputs, s)
	}
	for i := range g.Nodes {
		node := &g.Nodes[i]
		s, err := p.step(node, n, depth)
		if err != nil {
			if refused, ok := err.(*OperatorError); ok {
				return nil, refused
			}
			return nil, malformed("node %d, %q, %s: %w", i, node.Name, node.Target, err)
		}
		b.steps = append(b.steps, *s)
	}
	for i, out := range g.Outputs {
		v, err := n.resolve(out)
		if err != nil {
			return nil, malformed("output %d: %w", i, err)
		}
		b.outputs = append(b.outputs, v)
	}
	if b.single && len(b.outputs) != 1 {
		return nil, malformed("a graph returns one tensor and has %d outputs", len(b.outputs))
	}
	b.slots = len(n.kinds)
	b.free()
	return b, nil
}

// slotsIn calls see for each slot in a value.
func slotsIn(v any, see func(slot)) {
	switch v := v.(type) {
	case slot:
		see(v)
	case []slot:
		for _, s := range v {
			see(s)
		}
	case []any:
		for _, own := range v {
			slotsIn(own, see)
		}
	case torch.Named:
		slotsIn(v.Value, see)
	}
}

// free finds the step after which nothing reads a value. Inputs and outputs are not freed.
func (b *block) free() {
	last := make([]int, b.slots)
	const never = -1
	for i, s := range b.steps {
		slotsIn(s.args, func(v slot) { last[v] = i })
		slotsIn(s.outputs, func(v slot) { last[v] = i })
	}
	for _, s := range b.inputs {
		if s >= 0 {
			last[s] = never
		}
	}
	slotsIn(b.outputs, func(v slot) { last[v] = never })
	for v, i := range last {
		if i != never {
			b.steps[i].frees = append(b.steps[i].frees, slot(v))
		}
	}
}

// step prepares a node.
func (p *preparer) step(node *Node, n *names, depth int) (*step, error) {
	s := &step{node: node}
	var err error
	target := node.Target
	fn, isSymbolic := symbolic[target]
	higher, isHigher := strings.CutPrefix(target, "torch.ops.higher_order.")
	op, isOp := strings.CutPrefix(target, "torch.ops.")
	switch {
	case isSymbolic:
		s.do, err = fn.run, p.plain(s, n, fn.args)
	case isHigher:
		err = p.higherOrder(s, higher, n, depth)
	case isOp && strings.Count(op, ".") == 2:
		err = p.operator(s, op, n)
	default:
		err = &OperatorError{target, node.Name, "it is no operator of libtorch"}
	}
	if err != nil {
		return nil, err
	}
	for i, out := range node.Outputs {
		v, err := n.output(out)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		s.outputs = append(s.outputs, v)
	}
	return s, nil
}

// output gives what a step returns its number.
func (n *names) output(a Argument) (any, error) {
	switch list, ok := elementsOf(a); {
	case a == nil:
		return nil, nil
	case ok:
		all := make([]slot, len(list))
		for i, v := range list {
			var err error
			if all[i], err = n.define(v); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return n.define(a)
}

// plain prepares a call without a schema: its arguments are given by their places, so many of them.
func (p *preparer) plain(s *step, n *names, count int) error {
	if count >= 0 && len(s.node.Inputs) != count || len(s.node.Outputs) > 1 {
		return fmt.Errorf("%d arguments and %d results, expected %d and 1", len(s.node.Inputs), len(s.node.Outputs), count)
	}
	for i, in := range s.node.Inputs {
		v, err := n.resolve(in.Value)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		s.args = append(s.args, v)
	}
	return nil
}

// operator prepares a call of one of libtorch's operators: "aten.add.Tensor".
func (p *preparer) operator(s *step, target string, n *names) error {
	space, rest, _ := strings.Cut(target, ".")
	name, overload, _ := strings.Cut(rest, ".")
	s.op = space + "::" + name
	if err := p.permitted(s.op, s.node); err != nil {
		return err
	}
	if overload != "default" {
		s.op += "." + overload
	}
	schema, err := p.schema(s.op, s.node)
	if err != nil {
		return err
	}
	if schema, err = p.ofNumber(s, schema, overload); err != nil {
		return err
	}
	s.do = operator(s.op)
	if own, ok := replaced[s.op]; ok {
		s.do = own
	}
	if err := s.arguments(schema, n); err != nil {
		return err
	}
	return s.results(schema)
}

// ofNumber finds the form of an operator that takes a number where the node gives one for a tensor, which Python makes of it:
// mul.Scalar for mul.Tensor. libtorch computes both alike.
func (p *preparer) ofNumber(s *step, schema library.Schema, overload string) (library.Schema, error) {
	if s.fits(schema) {
		return schema, nil
	}
	op, _, _ := strings.Cut(s.op, ".")
	for _, form := range []string{strings.ReplaceAll(overload, "Tensor", "Scalar"), strings.Replace(overload, "Tensor", "Scalar", 1),
		"Scalar", "Tensor_Scalar", "ScalarOther", "ScalarSelf", "Scalar_Tensor"} {
		other, err := p.schema(op+"."+form, s.node)
		if err == nil && s.fits(other) {
			s.op = op + "." + form
			return other, nil
		}
	}
	return schema, nil
}

// fits tells whether all of a node's arguments are of the schema's types.
func (s *step) fits(schema library.Schema) bool {
	for _, in := range s.node.Inputs {
		if !slices.ContainsFunc(schema.Arguments, func(a library.Argument) bool { return a.Name == in.Name && fits(a.Type, in.Value) }) {
			return false
		}
	}
	return true
}

// arguments brings a node's arguments into the order of the schema: by their places as long as none is left out, then by name.
func (s *step) arguments(schema library.Schema, n *names) error {
	given := map[string]NamedArgument{}
	for _, in := range s.node.Inputs {
		if _, twice := given[in.Name]; twice {
			return fmt.Errorf("argument %q was given twice", in.Name)
		}
		given[in.Name] = in
	}
	gap := false
	for _, a := range schema.Arguments {
		in, ok := given[a.Name]
		switch {
		case !ok && a.Default == "" && !strings.HasSuffix(a.Type, "?"):
			return fmt.Errorf("argument %q is missing: %s", a.Name, schema.Text)
		case !ok:
			gap = true
			continue
		}
		if !fits(a.Type, in.Value) {
			return fmt.Errorf("argument %q is %s, expected %s: %s", a.Name, formatArgument(in.Value), a.Type, schema.Text)
		}
		v, err := n.resolve(in.Value)
		if err != nil {
			return fmt.Errorf("argument %q: %w", a.Name, err)
		}
		if gap = gap || a.Keyword; gap {
			v = torch.Arg(a.Name, v)
		}
		s.args = append(s.args, v)
		delete(given, a.Name)
	}
	for name := range given {
		return fmt.Errorf("there is no argument %q: %s", name, schema.Text)
	}
	return nil
}

// results compares a node's results with the schema.
func (s *step) results(schema library.Schema) error {
	if len(s.node.Outputs) != len(schema.Results) {
		return fmt.Errorf("%d results, expected %d: %s", len(s.node.Outputs), len(schema.Results), schema.Text)
	}
	for i, out := range s.node.Outputs {
		if typ := schema.Results[i].Type; out != nil && !fits(typ, out) {
			return fmt.Errorf("result %d is %s, expected %s: %s", i, formatArgument(out), typ, schema.Text)
		}
	}
	return nil
}

// forbidden are the operators of aten that do more than compute.
var forbidden = []string{"aten::from_file", "aten::_print", "aten::record_stream", "aten::_backward", "aten::set_data"}

// permitted tells whether a program may call an operator.
func (p *preparer) permitted(op string, node *Node) error {
	space, _, _ := strings.Cut(op, "::")
	listed := slices.ContainsFunc(p.program.operators, func(pattern string) bool {
		all, ok := strings.CutSuffix(pattern, "*")
		return pattern == op || ok && strings.HasPrefix(op, all)
	})
	switch {
	case listed:
		return nil
	case space != "aten":
		return &OperatorError{op, node.Name, "it is none of aten's; LoadOptions.Operators permits it"}
	case slices.Contains(forbidden, op):
		return &OperatorError{op, node.Name, "it does more than compute; LoadOptions.Operators permits it"}
	}
	return nil
}

// plainTypes are the types of what a program may pass to an operator.
var plainTypes = []string{"Tensor", "int", "SymInt", "float", "SymFloat", "bool", "SymBool", "complex", "Scalar", "number", "str",
	"ScalarType", "Layout", "Device", "MemoryFormat", "Generator"}

// schema finds what an operator takes.
func (p *preparer) schema(op string, node *Node) (library.Schema, error) {
	if s, ok := p.schemas[op]; ok {
		return s, nil
	}
	s, err := torch.Try1(func() library.Schema { return library.Lookup(op) })
	if err != nil {
		return s, &OperatorError{op, node.Name, "libtorch has no such operator: " + firstLine(err)}
	}
	for _, a := range s.Arguments {
		if typ, _, _ := strings.Cut(strings.TrimRight(a.Type, "?"), "["); !slices.Contains(plainTypes, strings.TrimRight(typ, "?")) &&
			a.Default == "" {
			return s, &OperatorError{op, node.Name, "it takes a " + a.Type}
		}
	}
	p.schemas[op] = s
	return s, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
