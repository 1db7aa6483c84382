package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// object is a JSON object; its keys are written in the order of the alphabet.
type object = map[string]any

// ordered is an object whose order matters.
type ordered []entry

type entry struct {
	key   string
	value any
}

// MarshalJSON writes the object.
func (o ordered) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, e := range o {
		key, err := text(e.key)
		value, err2 := text(e.value)
		if err = errors.Join(err, err2); err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// decimal is a number that Python has to read as a float.
type decimal float64

// MarshalJSON writes a point or an exponent always; what JSON has no number for is a text, as PyTorch has it.
func (x decimal) MarshalJSON() ([]byte, error) {
	switch f := float64(x); {
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	default:
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return []byte(text), nil
	}
}

// encoder writes a program as JSON. It keeps the first error.
type encoder struct{ err error }

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// text is the JSON of a value.
func text(v any) ([]byte, error) {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	err := w.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// program is models/model.json.
func (e *encoder) program(p *Program) object {
	ranges := ordered{}
	for _, name := range p.symbols() {
		r := p.Ranges[name]
		ranges = append(ranges, entry{name, object{"min_val": r.Min, "max_val": r.Max}})
	}
	fields := object{}
	for name, list := range p.NamedTuple {
		fields[name] = object{"field_names": filled(list)}
	}
	return object{
		"graph_module": object{
			"graph": e.graph(&p.Graph), "signature": e.signature(&p.Signature),
			"module_call_graph": each(p.Modules, e.moduleCall), "metadata": orEmpty(p.Metadata), "treespec_namedtuple_fields": fields,
		},
		"opset_version": orEmpty(p.Opset), "range_constraints": ranges,
		"schema_version": object{"major": schemaMajor, "minor": schemaMinor},
		"verifiers":      filled(p.Verifiers), "torch_version": p.Torch, "guards_code": filled(p.Guards),
	}
}

func orEmpty[T any](m map[string]T) map[string]T {
	if m == nil {
		return map[string]T{}
	}
	return m
}

// filled is a list that JSON does not write as null.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func each[T, R any](list []T, fn func(T) R) []R {
	all := make([]R, len(list))
	for i, v := range list {
		all[i] = fn(v)
	}
	return all
}

func (e *encoder) graph(g *Graph) object {
	tensors, objects := object{}, object{}
	for name, m := range g.Tensors {
		tensors[name] = e.tensorMeta(m)
	}
	for name, o := range g.Objects {
		objects[name] = object{"name": o.Name, "class_fqn": o.Class}
	}
	syms := func(m map[string]Expr, number string) object {
		all := object{}
		for name, s := range m {
			all[name] = e.sym(s, number)
		}
		return all
	}
	return object{
		"inputs": each(g.Inputs, e.argument), "outputs": each(g.Outputs, e.argument), "nodes": each(g.Nodes, e.node),
		"tensor_values": tensors, "sym_int_values": syms(g.SymInts, "as_int"), "sym_float_values": syms(g.SymFloats, "as_float"),
		"sym_bool_values": syms(g.SymBools, "as_bool"), "is_single_tensor_return": g.Single, "custom_obj_values": objects,
	}
}

func (e *encoder) node(n Node) object {
	o := object{"target": n.Target, "outputs": each(n.Outputs, e.argument), "metadata": orEmpty(n.Metadata),
		"is_hop_single_tensor_return": n.single, "name": nil, "inputs": each(n.Inputs, func(a NamedArgument) object {
			const positional, keyword = 1, 2
			kind := positional
			if a.Keyword {
				kind = keyword
			}
			return object{"name": a.Name, "arg": e.argument(a.Value), "kind": kind}
		})}
	if n.Name != "" {
		o["name"] = n.Name
	}
	return o
}

func tensorName(t TensorArgument) object { return object{"name": string(t)} }

// argument is a value with its kind.
func (e *encoder) argument(a Argument) object {
	switch a := a.(type) {
	case nil:
		return object{"as_none": true}
	case int64:
		return object{"as_int": a}
	case float64:
		return object{"as_float": decimal(a)}
	case bool:
		return object{"as_bool": a}
	case string:
		return object{"as_string": a}
	case complex128:
		return object{"as_complex": object{"real": decimal(real(a)), "imag": decimal(imag(a))}}
	case TensorArgument:
		return object{"as_tensor": tensorName(a)}
	case SymIntArgument, SymFloatArgument, SymBoolArgument:
		_, kind := kindOf(a)
		return object{map[string]string{"SymInt": "as_sym_int", "SymFloat": "as_sym_float", "SymBool": "as_sym_bool"}[kind]: e.symArgument(a)}
	case torch.DType:
		return object{"as_scalar_type": number64(e, dtypes, a)}
	case torch.MemoryFormat:
		return object{"as_memory_format": number64(e, memoryFormats, a)}
	case torch.Layout:
		return object{"as_layout": number64(e, layouts, a)}
	case torch.Device:
		return object{"as_device": device(a)}
	case OperatorArgument:
		return object{"as_operator": string(a)}
	case CustomObjArgument:
		return object{"as_custom_obj": object{"name": a.Name, "class_fqn": a.Class}}
	case *GraphArgument:
		return object{"as_graph": object{"name": a.Name, "graph": e.graph(&a.Graph)}}
	case map[string]Argument:
		m := object{}
		for key, v := range a {
			m[key] = e.argument(v)
		}
		return object{"as_string_to_argument": m}
	}
	return e.list(a)
}

// list is a list with its kind.
func (e *encoder) list(a Argument) object {
	switch a := a.(type) {
	case []int64:
		return object{"as_ints": filled(a)}
	case []float64:
		return object{"as_floats": each(a, func(x float64) decimal { return decimal(x) })}
	case []bool:
		return object{"as_bools": filled(a)}
	case []string:
		return object{"as_strings": filled(a)}
	case [][]int64:
		return object{"as_int_lists": filled(a)}
	case []TensorArgument:
		return object{"as_tensors": each(a, tensorName)}
	case [][]TensorArgument:
		return object{"as_nested_tensors": each(a, func(list []TensorArgument) []object { return each(list, tensorName) })}
	case OptionalTensors:
		return object{"as_optional_tensors": each(a, e.argument)}
	case SymInts:
		return object{"as_sym_ints": each(a, e.symArgument)}
	case SymFloats:
		return object{"as_sym_floats": each(a, e.symArgument)}
	case SymBools:
		return object{"as_sym_bools": each(a, e.symArgument)}
	}
	e.fail("a value of type %T cannot stand in a program", a)
	return nil
}

// symArgument is the name of a number, or the number.
func (e *encoder) symArgument(a Argument) object {
	if name, _ := kindOf(a); name != "" {
		return object{"as_name": name}
	}
	return e.argument(a)
}

func number64[T comparable](e *encoder, all map[int64]T, v T) int64 {
	n, err := numberOf(all, v)
	if err != nil {
		e.fail("%w", err)
	}
	return n
}

func device(d torch.Device) object {
	if i := d.Index(); i >= 0 && !d.IsCPU() {
		return object{"type": d.Type().String(), "index": i}
	}
	return object{"type": d.Type().String(), "index": nil}
}

// sym is an expression or its value.
func (e *encoder) sym(s Expr, number string) object {
	switch s.Op {
	case "Integer":
		return object{"as_int": s.Int}
	case "Float":
		if number == "as_float" {
			return object{"as_float": decimal(s.Num)}
		}
	case "Boolean":
		if number == "as_bool" {
			return object{"as_bool": s.Int != 0}
		}
	}
	if s.unfound {
		return object{"as_int": s.Hint} // Python knows no such symbols from files
	}
	expr := object{"expr_str": s.srepr(), "hint": nil}
	switch hint := s.Hint.(type) {
	case int64:
		expr["hint"] = object{"as_int": hint}
	case float64:
		expr["hint"] = object{"as_float": decimal(hint)}
	case bool:
		expr["hint"] = object{"as_bool": hint}
	}
	return object{"as_expr": expr}
}

// srepr is the expression as sympy's srepr writes it: as it was read, if it was.
func (s Expr) srepr() string {
	if s.text != "" {
		return s.text
	}
	switch s.Op {
	case "Integer":
		return fmt.Sprintf("Integer(%d)", s.Int)
	case "Symbol":
		return fmt.Sprintf("Symbol('%s', positive=True, integer=True)", s.Name)
	case "Boolean":
		return map[int64]string{0: "false", 1: "true"}[s.Int]
	case "Float":
		return fmt.Sprintf("Float('%s', precision=53)", strconv.FormatFloat(s.Num, 'g', -1, 64))
	}
	return s.Op + "(" + strings.Join(each(s.Args, Expr.srepr), ", ") + ")"
}

func (e *encoder) tensorMeta(m TensorMeta) object {
	integers := func(list []Expr) []object { return each(list, func(s Expr) object { return e.sym(s, "as_int") }) }
	return object{"dtype": number64(e, dtypes, m.DType), "sizes": integers(m.Sizes), "strides": integers(m.Strides),
		"storage_offset": e.sym(m.StorageOffset, "as_int"), "requires_grad": m.RequiresGrad, "device": device(m.Device),
		"layout": number64(e, layouts, m.Layout)}
}

// signature is what inputs and outputs are.
func (e *encoder) signature(s *Signature) object {
	return object{"input_specs": each(s.Inputs, e.inputSpec), "output_specs": each(s.Outputs, e.outputSpec)}
}

func (e *encoder) inputSpec(s InputSpec) object {
	name, kind := kindOf(s.Arg)
	if s.Kind == UserInput && kind == "" {
		return object{"constant_input": object{"name": s.Name, "value": e.argument(s.Arg)}}
	}
	for key, k := range inputKinds {
		if k.kind != s.Kind || key == "constant_input" {
			continue
		}
		o := object{"arg": object{"name": name}}
		switch {
		case s.Kind == UserInput:
			o["arg"] = e.argument(s.Arg)
		case s.Kind == Buffer:
			o["persistent"] = s.Persistent
		}
		if k.target != "" {
			o[k.target] = s.Target
		}
		return object{key: o}
	}
	e.fail("there is no kind of inputs %q", s.Kind.name)
	return nil
}

func (e *encoder) outputSpec(s OutputSpec) object {
	for key, k := range outputKinds {
		if k.kind != s.Kind {
			continue
		}
		if s.Kind == UserOutput {
			return object{key: object{"arg": e.argument(s.Arg)}}
		}
		name, _ := kindOf(s.Arg)
		o := object{"arg": object{"name": name}}
		if k.target != "" {
			o[k.target] = s.Target
		}
		return object{key: o}
	}
	e.fail("there is no kind of outputs %q", s.Kind.name)
	return nil
}

func (e *encoder) moduleCall(m ModuleCall) object {
	if m.Signature == nil {
		return object{"fqn": m.Name, "signature": nil}
	}
	s := m.Signature
	o := object{"inputs": each(s.Inputs, e.argument), "outputs": each(s.Outputs, e.argument), "in_spec": e.tree(s.In),
		"out_spec": e.tree(s.Out), "forward_arg_names": nil}
	if s.ArgNames != nil {
		o["forward_arg_names"] = s.ArgNames
	}
	return object{"fqn": m.Name, "signature": o}
}

// tree is a tree as JSON within a text.
func (e *encoder) tree(t *TreeSpec) string {
	const version = 1
	b, err := text([]any{version, e.treeObject(t)})
	if err != nil {
		e.fail("%w", err)
	}
	return string(b)
}

func (e *encoder) treeObject(t *TreeSpec) object {
	o := object{"type": nil, "context": nil, "children_spec": each(t.Children, e.treeObject)}
	switch {
	case t.isDict():
		keys, err := text(filled(t.Keys))
		if err != nil {
			e.fail("%w", err)
		}
		o["type"], o["context"] = t.Type, string(keys)
	case t.Type != "":
		o["type"], o["context"] = t.Type, cmp.Or(t.Context, "null")
	}
	return o
}
