package main

import (
	"bytes"
	"fmt"
	"strings"
)

// emitter writes the Go forms of one package. Those of package torch call its own helpers
// (support.tmpl, torch/call.go), the others those of the same names in internal/form.
type emitter struct {
	bytes.Buffer
	aten bool
}

func (e *emitter) line(format string, args ...any) {
	fmt.Fprintf(e, format, args...)
	e.WriteByte('\n')
}

// statement writes a line of a function's body, in which helpers have their unqualified names.
func (e *emitter) statement(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if e.aten {
		text = helperCall().ReplaceAllStringFunc(text, func(name string) string { return "form." + exported(name) })
	}
	e.line("%s", text)
}

// qualify writes a type of package torch as this package sees it.
func (e *emitter) qualify(typ string) string {
	if !e.aten {
		return typ
	}
	i := strings.IndexFunc(typ, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	if i < 0 {
		return typ
	}
	return typ[:i] + "torch." + typ[i:]
}

// function writes one Go form with its documentation.
func (e *emitter) function(f *Func, doc []string) {
	e.WriteByte('\n')
	for _, l := range doc {
		e.line("//%s", l)
	}
	e.line("func %s%s(%s) %s{", e.receiver(f), f.Symbol, e.params(f), e.resultList(f))
	if f.Options != "" || f.Tensor {
		typ := f.Options
		if f.Tensor {
			typ = e.qualify("TensorOptions")
		}
		e.statement("var o %s\nif given(len(opts)) {\no = opts[0]\n}", typ)
	}
	if n := f.tail(); n > 0 {
		e.statement("atMost(len(%s), %d)", f.last().Name, n)
	}
	e.reductionFirst(f)
	e.statement("var c cgo.Call")
	e.begin(f)
	for i := range f.Slots {
		e.slot(f, &f.Slots[i])
	}
	e.result(f)
	e.statement("}")
}

// tail is how many optional arguments the variadic parameter stands for; 0 if it is an
// options struct or a list.
func (f *Func) tail() int {
	for _, s := range f.Slots {
		switch {
		case s.Source == FromInts:
			return s.Of
		case s.Source == FromVariadic && !s.Type.List:
			return 1
		}
	}
	return 0
}

func (e *emitter) receiver(f *Func) string {
	switch f.Recv {
	case "x":
		return "(x Tensor) "
	case "o":
		return "(o TensorOptions) "
	}
	return ""
}

func (e *emitter) params(f *Func) string {
	var parts []string
	for i, p := range f.Params {
		if i+1 < len(f.Params) && f.Params[i+1].Type == p.Type {
			parts = append(parts, p.Name)
			continue
		}
		parts = append(parts, p.Name+" "+e.qualify(p.Type))
	}
	switch {
	case f.Options != "":
		parts = append(parts, "opts ..."+f.Options)
	case f.Tensor:
		parts = append(parts, "opts ..."+e.qualify("TensorOptions"))
	}
	return strings.Join(parts, ", ")
}

// resultList is what stands between the parameters and the brace.
func (e *emitter) resultList(f *Func) string {
	results := f.Results
	if back := f.returnsArgs(); back != nil {
		results = back
	}
	var parts []string
	for i, r := range results {
		switch {
		case r.Name == "" || len(results) == 1:
			parts = append(parts, e.qualify(r.Type))
		case i+1 < len(results) && results[i+1].Type == r.Type:
			parts = append(parts, r.Name)
		default:
			parts = append(parts, r.Name+" "+e.qualify(r.Type))
		}
	}
	switch {
	case len(parts) == 0:
		return ""
	case len(parts) == 1:
		return parts[0] + " "
	}
	return "(" + strings.Join(parts, ", ") + ") "
}

// begin chooses the operator: a factory with a generator of its own has a second one.
func (e *emitter) begin(f *Func) {
	if s := f.Op.Seeded; s != nil {
		e.statement("op := cgo.%s\nif o.Generator != nil {\nop = cgo.%s\n}\nc.Begin(op)", f.Op.Const, s.Const)
		return
	}
	e.statement("c.Begin(cgo.%s)", f.Op.Const)
}

// slot writes the statement that packs one argument. Where the seeded twin of an
// operator has its generator, it is packed too.
func (e *emitter) slot(f *Func, s *Slot) {
	if seeded := f.Op.Seeded; seeded != nil && seededBefore(f.Op, seeded, s) {
		e.statement("if o.Generator != nil {\nputGenerator(&c, o.Generator)\n}")
	}
	e.statement("%s", e.put(s))
}

// seededBefore reports whether the seeded twin has its generator right before s.
func seededBefore(plain, seeded *Op, s *Slot) bool {
	for i, a := range seeded.Args {
		if a.Type.Base == "Generator" {
			return i < len(plain.Args) && plain.Args[i].Name == s.Name
		}
	}
	return false
}

// result runs the call and hands back what it made.
func (e *emitter) result(f *Func) {
	done := "done(&c)"
	if back := f.returnsArgs(); back != nil {
		e.statement("%s\nreturn %s", done, back[0].Name)
		return
	}
	if len(f.Results) == 0 {
		e.statement("%s", done)
		return
	}
	if one := f.uniform(); one != "" {
		call := one + "(&c)"
		switch {
		case e.aten && f.Tensor:
			call = fmt.Sprintf("finish(o, %s)", call)
		case f.Tensor || f.factory():
			call = fmt.Sprintf("o.finish(%s)", call)
		}
		e.statement("return %s", call)
		return
	}
	e.statement("%s", done)
	var parts []string
	for i, r := range f.Results {
		switch r.Type {
		case "Tensor":
			parts = append(parts, fmt.Sprintf("outTensor(&c, %d)", i))
		case "[]Tensor":
			parts = append(parts, fmt.Sprintf("outTensors(&c, %d)", i))
		case "float64":
			parts = append(parts, fmt.Sprintf("c.FloatResult(%d)", i))
		default:
			parts = append(parts, fmt.Sprintf("c.IntResult(%d)", i))
		}
	}
	e.statement("return %s", strings.Join(parts, ", "))
}

// uniform names the helper for results of one kind, "" for a mixture.
func (f *Func) uniform() string {
	if len(f.Results) == 1 {
		return map[string]string{
			"Tensor": "result1", "[]Tensor": "resultList", "int": "resultInt", "float64": "resultFloat",
			"bool": "resultBool", "DType": "resultDType", "Scalar": "resultScalar",
		}[f.Results[0].Type]
	}
	for _, r := range f.Results {
		if r.Type != "Tensor" {
			return ""
		}
	}
	if len(f.Results) > 5 {
		return ""
	}
	return fmt.Sprintf("result%d", len(f.Results))
}

// returnsArgs is the argument that an in-place operator hands back for chaining.
func (f *Func) returnsArgs() []Param {
	if len(f.Results) > 0 || len(f.Op.Returns) != 1 {
		return nil
	}
	for _, s := range f.Slots {
		if s.Type.Mutable && s.Type.Key() == f.Op.Returns[0].Type.Key() {
			return []Param{{s.Expr, map[bool]string{false: "Tensor", true: "[]Tensor"}[s.Type.List]}}
		}
	}
	return nil
}

// plainTwin writes the function Zeros for the method TensorOptions.Zeros.
func (e *emitter) plainTwin(f *Func, doc []string) {
	var names []string
	for _, p := range f.Params {
		if strings.HasPrefix(p.Type, "...") {
			p.Name += "..."
		}
		names = append(names, p.Name)
	}
	e.WriteByte('\n')
	for _, l := range doc {
		e.line("//%s", l)
	}
	e.line("func %s(%s) Tensor {\nreturn TensorOptions{}.%s(%s)\n}", f.Symbol, e.params(f), f.Symbol, strings.Join(names, ", "))
}
