package main

import (
	"cmp"
	"fmt"
	"go/format"
	"slices"
	"strings"
)

// tableFile is internal/optable/forms_gen.go: every Go form with the place of each
// argument of the schema in it, for tests and tools that work on all operators alike.
// Its doc.go explains the notation.
func tableFile(funcs []*Func) ([]byte, error) {
	type row struct{ op, text string }
	var rows []row
	add := func(f *Func, op *Op) {
		rows = append(rows, row{op.Name(), fmt.Sprintf("{%q, %s, %q, %t},\n", op.Name(), expression(f), places(f, op), !op.Known)})
	}
	for _, f := range funcs {
		add(f, f.Op)
		if f.Op.Seeded != nil {
			add(f, f.Op.Seeded)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.op, b.op) })
	var b strings.Builder
	b.WriteString(banner("//"))
	fmt.Fprintf(&b, "package optable\n\nimport (\n")
	for _, path := range []string{"torch", "torch/aten", "torch/fft", "torch/linalg", "torch/special"} {
		fmt.Fprintf(&b, "\"%s/%s\"\n", module, path)
	}
	b.WriteString(")\n\nvar forms = [...]Form{\n")
	for _, r := range rows {
		b.WriteString(r.text)
	}
	b.WriteString("}\n")
	return format.Source([]byte(b.String()))
}

// expression is the form as a Go expression: torch.Tensor.Add, torch.Cat.
func expression(f *Func) string {
	switch {
	case f.Op.Place != Public:
		return rooms[f.Op.Place].name + "." + f.Symbol
	case f.Recv == "x":
		return "torch.Tensor." + f.Symbol
	case f.factory():
		return "torch.TensorOptions." + f.Symbol
	}
	return "torch." + f.Symbol
}

// places says for each argument of op where the form f has it.
func places(f *Func, op *Op) string {
	var parts []string
	generator := op != f.Op
	for i := range f.Slots {
		s := &f.Slots[i]
		if generator && seededBefore(f.Op, op, s) {
			parts = append(parts, "generator=.Generator")
		}
		if s.Source == FromTensor {
			for _, name := range quartetNames {
				parts = append(parts, name+"=."+
					map[string]string{"dtype": "DType", "layout": "Layout", "device": "Device", "pin_memory": "PinMemory"}[name])
			}
			continue
		}
		parts = append(parts, s.Name+"="+f.placeOf(s))
	}
	return strings.Join(parts, " ")
}

func (f *Func) placeOf(s *Slot) string {
	switch s.Source {
	case FromField:
		name := strings.TrimPrefix(s.Expr, "o.")
		if s.Negate {
			return "!" + name
		}
		return "." + name
	case FromDefault:
		return ":" + s.Default
	}
	index := slices.IndexFunc(f.Params, func(p Param) bool { return p.Name == s.Expr })
	if f.Recv != "" {
		index++
	}
	if s.Source == FromInts || s.Source == FromVariadic && !s.Type.List {
		return fmt.Sprintf("#%d.%d", index, s.Index)
	}
	return fmt.Sprintf("#%d", index)
}
