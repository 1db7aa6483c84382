package export

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/frames"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// build makes the graph and the signature of the runs.
func (e *exporter) build() error {
	g := &e.p.Graph
	g.Tensors, g.SymInts = map[string]TensorMeta{}, map[string]Expr{}
	g.SymFloats, g.SymBools = map[string]Expr{}, map[string]Expr{}
	for _, s := range e.symbols {
		e.p.Ranges[s.Name] = s.bounds()
	}
	for i, s := range e.p.Signature.Inputs {
		e.see(e.runs[0].state[i], string(s.Arg.(TensorArgument)))
	}
	users := e.inputs()
	for i := range e.runs[0].calls {
		if err := e.node(i); err != nil {
			c := &e.runs[0].calls[i]
			return fmt.Errorf("%s, %s: %w", c.name, frames.Place(c.callers), err)
		}
	}
	for i, run := range e.runs {
		if len(run.calls) != len(e.runs[0].calls) {
			return fmt.Errorf("the model makes %d calls for sizes %v and %d for %v: it cannot be one program for all of them", len(e.runs[0].calls),
				e.sizes[0], len(run.calls), e.sizes[i])
		}
	}
	if err := e.outputs(); err != nil {
		return err
	}
	e.p.Signature.Inputs = append(append(e.p.Signature.Inputs, e.lifted...), users...)
	for _, s := range e.p.Signature.Inputs {
		g.Inputs = append(g.Inputs, s.Arg)
	}
	return nil
}

// bounds is the range of a symbol as PyTorch has it.
func (s symbol) bounds() Range {
	least, most := int64(s.Min), int64(s.Max)
	r := Range{Min: &least}
	if s.Max > 0 {
		r.Max = &most
	}
	return r
}

// see gives a tensor of the runs a name in the graph.
func (e *exporter) see(n int64, name string) {
	e.names[n] = name
	e.p.Graph.Tensors[name] = e.meta(n)
	if t := e.runs[0].tensors[n]; e.memory != nil && t.Layout() == torch.Strided {
		own := memoryOf(t)
		e.memory[own], e.bases[own.storage] = name, name
	}
}

// meta is what is known of a tensor.
func (e *exporter) meta(n int64) TensorMeta {
	t := e.runs[0].tensors[n]
	m := TensorMeta{DType: t.DType(), Device: t.Device(), Layout: t.Layout(), RequiresGrad: t.RequiresGrad(), StorageOffset: integer(0)}
	shapes, strides := make([][]int, len(e.runs)), make([][]int, len(e.runs))
	for i, run := range e.runs {
		shapes[i], strides[i] = run.tensors[n].Shape(), run.tensors[n].Stride()
	}
	m.Sizes, m.Strides = e.sizesOf(shapes, e.next), e.sizesOf(strides, nil)
	return m
}

// sizesOf are sizes in terms of the symbols; one that is nothing of them that is looked for, or depends on values, has a symbol of its own.
func (e *exporter) sizesOf(runs [][]int, likely [][]Expr) []Expr {
	list := make([]Expr, len(runs[0]))
	for d, n := range runs[0] {
		values := make([]int64, len(runs))
		for i, own := range runs {
			if len(own) == len(list) {
				values[i] = int64(own[d])
			}
		}
		var near []Expr
		if len(likely) == len(list) {
			near = likely[d]
		}
		found, ok := e.solve(values, near)
		if !ok {
			found = Expr{Op: "Symbol", Name: fmt.Sprint("u", e.unknown), Hint: int64(n), unfound: true} // PyTorch's name for such
			e.unknown++
		}
		list[d] = found
	}
	return list
}

// inputs are the specifications of what the caller gives.
func (e *exporter) inputs() (specs []InputSpec) {
	run, leaf := e.runs[0], 0
	for i, tree := range e.tree.Children {
		for k := range tree.leaves() {
			base := e.options.ArgNames[i]
			if tree.Type != "" {
				base = fmt.Sprint(base, "_", k)
			}
			base = e.name(base)
			spec := InputSpec{Kind: UserInput, Name: base}
			switch v := run.inputs[leaf].(type) {
			case torch.Tensor:
				if v.Defined() {
					e.see(run.numbers[v], base)
					spec = InputSpec{Kind: UserInput, Arg: TensorArgument(base)}
				}
			default:
				spec.Arg = v
			}
			specs = append(specs, spec)
			leaf++
		}
	}
	return specs
}

// outputs are the results of the graph.
func (e *exporter) outputs() error {
	g, run := &e.p.Graph, e.runs[0]
	for i, v := range run.outputs {
		var arg Argument = v
		if t, ok := v.(torch.Tensor); ok {
			arg = nil
			if t.Defined() {
				name, err := e.tensor(run.numbers[t])
				if err != nil {
					return err
				}
				arg = TensorArgument(name)
			}
		} else if n, ok := v.(int64); ok {
			values := []int64{n}
			for _, other := range e.runs[1:] {
				m, _ := other.outputs[i].(int64)
				values = append(values, m)
			}
			var err error
			if arg, err = e.number(values); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
			g.Nodes, e.before = append(g.Nodes, e.before...), nil
		}
		g.Outputs = append(g.Outputs, arg)
		e.p.Signature.Outputs = append(e.p.Signature.Outputs, OutputSpec{Kind: UserOutput, Arg: arg})
	}
	return nil
}

// tensor is the name of a tensor. One that the model has from elsewhere becomes a constant.
func (e *exporter) tensor(n int64) (string, error) {
	if name, ok := e.names[n]; ok {
		return name, nil
	}
	if name, ok := e.found(n); ok {
		return name, nil
	}
	t := e.runs[0].tensors[n]
	for i, run := range e.runs[1:] {
		if n >= int64(len(run.tensors)) || !alike(t, run.tensors[n]) {
			return "", fmt.Errorf("a tensor that the model makes of Go's values differs for the sizes %v and %v: "+
				"make it of operators (Arange, Full)", e.sizes[0], e.sizes[i+1])
		}
	}
	target := fmt.Sprint("lifted_tensor_", len(e.lifted))
	name := e.name("c_" + target)
	e.p.Constants[target] = t
	e.lifted = append(e.lifted, InputSpec{Kind: ConstantTensor, Arg: TensorArgument(name), Target: target})
	e.see(n, name)
	return name, nil
}

// alike tells whether two tensors have the same dtype, shape and values.
func alike(a, b torch.Tensor) bool {
	return a.DType() == b.DType() && slices.Equal(a.Shape(), b.Shape()) && a.Equal(b)
}

// like tells whether two calls are of the same operator with as many results.
func (c *called) like(other *called) bool {
	return c.name == other.name && c.overload == other.overload && len(c.results) == len(other.results)
}

// node adds the node of a call, which all runs have to have made.
func (e *exporter) node(i int) error {
	c := &e.runs[0].calls[i]
	for k, run := range e.runs {
		if i >= len(run.calls) || !run.calls[i].like(c) {
			return fmt.Errorf("for the sizes %v the model calls something else: it cannot be one program for all of them", e.sizes[k])
		}
	}
	full := c.name
	if c.overload != "" {
		full += "." + c.overload
	}
	schema, ok := e.schemas[full]
	if !ok {
		schema = library.Lookup(full)
		e.schemas[full] = schema
	}
	space, op, _ := strings.Cut(c.name, "::")
	if space != "aten" && !slices.Contains(e.p.operators, c.name) {
		e.p.operators = append(e.p.operators, c.name)
	}
	n := Node{Name: e.name(op), Target: fmt.Sprintf("torch.ops.%s.%s.%s", space, op, c.overload), Metadata: place(c.callers)}
	if c.overload == "" {
		n.Target += "default"
	}
	gap := false
	for k, a := range schema.Arguments {
		values := make([]any, len(e.runs))
		usual := true
		for r, run := range e.runs {
			values[r] = run.calls[i].args[k]
			own, tuple := values[r].(cgo.Tuple)
			usual = usual && tuple && len(own) == 0
		}
		if usual {
			gap = true
			continue
		}
		v, err := e.argument(a.Type, values)
		if err != nil {
			return fmt.Errorf("argument %q: %w", a.Name, err)
		}
		n.Inputs = append(n.Inputs, NamedArgument{Name: a.Name, Value: v, Keyword: gap || a.Keyword})
	}
	g := &e.p.Graph
	g.Nodes, e.before = append(g.Nodes, e.before...), nil
	e.next = e.likely(&n)
	for k, v := range c.results {
		n.Outputs = append(n.Outputs, e.result(n.Name, len(c.results) > 1, k, v))
	}
	g.Nodes = append(g.Nodes, n)
	return nil
}

// result names what a call returns.
func (e *exporter) result(base string, many bool, k int, v any) Argument {
	one := func(v any, name string) TensorArgument {
		e.see(v.(cgo.Tuple)[0].(int64), name)
		return TensorArgument(name)
	}
	switch v := v.(type) {
	case cgo.Tuple:
		if many {
			base = e.name(fmt.Sprint(base, "_", k))
		}
		return one(v, base)
	case []any:
		list := make([]TensorArgument, len(v))
		for i, own := range v {
			list[i] = one(own, e.name(fmt.Sprint(base, "_", i)))
		}
		return list
	}
	return nil
}

// argument is a value of a schema's type, from all runs.
func (e *exporter) argument(typ string, values []any) (Argument, error) {
	typ = strings.TrimSuffix(typ, "?")
	switch v := values[0].(type) {
	case nil:
		return nil, e.same(values)
	case cgo.Tuple:
		if len(v) == 0 {
			return nil, fmt.Errorf("it is given for some sizes and not for others")
		}
		n := v[0].(int64)
		for _, own := range values {
			if other, ok := own.(cgo.Tuple); !ok || len(other) != 1 || other[0] != n {
				return nil, fmt.Errorf("it is another tensor for some sizes")
			}
		}
		name, err := e.tensor(n)
		return TensorArgument(name), err
	case []any:
		return e.list(typ, v, values)
	case cgo.DeviceCode:
		return bridge.Device[torch.Device](uint64(v)), e.same(values)
	case int64:
		switch typ {
		case "ScalarType":
			return bridge.Enum[torch.DType](v), e.same(values)
		case "Layout":
			return bridge.Enum[torch.Layout](v), e.same(values)
		case "MemoryFormat":
			return bridge.Enum[torch.MemoryFormat](v), e.same(values)
		}
		numbers := make([]int64, len(values))
		for i, own := range values {
			n, ok := own.(int64)
			if !ok {
				return nil, fmt.Errorf("it is %v for some sizes and %v for others", v, own)
			}
			numbers[i] = n
		}
		return e.number(numbers)
	}
	return values[0], e.same(values)
}

// same tells whether a value does not depend on sizes.
func (e *exporter) same(values []any) error {
	for i, v := range values {
		if v != values[0] && !(v != v && values[0] != values[0]) {
			return fmt.Errorf("it is %v for the sizes %v and %v for %v: of what depends on sizes a program knows whole numbers alone",
				values[0], e.sizes[0], v, e.sizes[i])
		}
	}
	return nil
}

// list is a value that is a list.
func (e *exporter) list(typ string, first []any, values []any) (Argument, error) {
	elem := typ
	if i := strings.LastIndexByte(typ, '['); i >= 0 {
		elem = typ[:i]
	}
	var list []Argument
	for k := range first {
		own := make([]any, len(values))
		for i, v := range values {
			other, ok := v.([]any)
			if !ok || len(other) != len(first) {
				return nil, fmt.Errorf("it is a list of another length for some sizes")
			}
			own[i] = other[k]
		}
		v, err := e.argument(elem, own)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	switch strings.TrimSuffix(elem, "?") {
	case "Tensor":
		if strings.HasSuffix(elem, "?") {
			return OptionalTensors(list), nil
		}
		return typed[TensorArgument](list)
	case "int", "SymInt":
		if slices.ContainsFunc(list, func(v Argument) bool { _, ok := v.(SymIntArgument); return ok }) {
			return SymInts(list), nil
		}
		return typed[int64](list)
	case "float":
		return typed[float64](list)
	case "bool":
		return typed[bool](list)
	case "str":
		return typed[string](list)
	}
	return nil, fmt.Errorf("a program has no lists of %s", elem)
}

func typed[T any](list []Argument) (Argument, error) {
	all := make([]T, len(list))
	for i, v := range list {
		own, ok := v.(T)
		if !ok {
			return nil, fmt.Errorf("element %d of a list is %T, expected %T", i, v, own)
		}
		all[i] = own
	}
	return all, nil
}

// number is a whole number: itself, or what computes it from sizes.
func (e *exporter) number(values []int64) (Argument, error) {
	expr, ok := e.solve(values, nil)
	if !ok {
		return nil, fmt.Errorf("it is %d for the sizes %v, which is no sum of products of them, nor a quotient", values, e.sizes)
	}
	return e.compute(expr)
}

var operatorOf = map[string]string{"Add": "_operator.add", "Mul": "_operator.mul", "FloorDiv": "_operator.floordiv"}

// compute adds the nodes that compute an expression, unless they are there.
func (e *exporter) compute(expr Expr) (Argument, error) {
	if n, ok := expr.Value(); ok {
		return n, nil
	}
	key := expr.String()
	if name, ok := e.computed[key]; ok {
		return name, nil
	}
	if expr.Op == "Symbol" {
		name := SymIntArgument(e.name("sym_size_int"))
		e.p.Graph.SymInts[string(name)], e.computed[key] = expr, name
		e.before = append(e.before, e.sizeNode(expr.Name, name))
		return name, nil
	}
	left, err := e.compute(expr.Args[0])
	for k := 1; k < len(expr.Args) && err == nil; k++ {
		var right Argument
		if right, err = e.compute(expr.Args[k]); err != nil {
			break
		}
		name := SymIntArgument(e.name(strings.TrimPrefix(operatorOf[expr.Op], "_operator.")))
		part := Expr{Op: expr.Op, Args: expr.Args[:k+1]}
		n, _ := part.Eval(e.sizes[0])
		e.p.Graph.SymInts[string(name)] = hinted(part, n)
		e.before = append(e.before, Node{Name: string(name), Target: operatorOf[expr.Op], Outputs: []Argument{name},
			Inputs: []NamedArgument{{Value: left}, {Value: right}}})
		left = name
	}
	if name, ok := left.(SymIntArgument); ok && err == nil {
		e.computed[key] = name
	}
	return left, err
}

// sizeNode is the node that asks an input for a size.
func (e *exporter) sizeNode(symbol string, to SymIntArgument) Node {
	n := Node{Name: string(to), Target: "torch.ops.aten.sym_size.int", Outputs: []Argument{to}}
	for _, input := range slices.Sorted(maps.Keys(e.options.DynamicShapes)) {
		for d, dim := range e.options.DynamicShapes[input] {
			t := e.runs[0].inputs[e.leaf(input)].(torch.Tensor)
			if dim.Name == symbol {
				n.Inputs = []NamedArgument{{Name: "self", Value: TensorArgument(e.names[e.runs[0].numbers[t]])}, {Name: "dim", Value: int64(d)}}
			}
		}
	}
	return n
}

// leaf is the place of an input that is a tensor among the leaves of all inputs.
func (e *exporter) leaf(input string) (at int) {
	for i, tree := range e.tree.Children {
		if e.options.ArgNames[i] == input {
			break
		}
		at += tree.leaves()
	}
	return at
}

// place is where a node comes from, as Python writes it.
func place(callers []uintptr) map[string]string {
	f, ok := frames.User(callers)
	if !ok {
		return nil
	}
	return map[string]string{"stack_trace": fmt.Sprintf("  File \"%s\", line %d, in %s\n    %s\n", f.File, f.Line,
		f.Function[strings.LastIndexByte(f.Function, '.')+1:], lineOf(f.File, f.Line))}
}

// lineOf is a line of a file, if that is there.
func lineOf(file string, n int) string {
	b, err := os.ReadFile(file)
	lines := strings.Split(string(b), "\n")
	if err != nil || n < 1 || n > len(lines) {
		return "line " + strconv.Itoa(n)
	}
	return strings.TrimSpace(lines[n-1])
}
