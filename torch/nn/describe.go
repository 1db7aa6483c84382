package nn

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Describer is a module that says more about itself between its brackets in [String] than its
// parts do: PyTorch's extra_repr. The text may have several lines.
type Describer interface{ ExtraRepr() string }

// The layers of this package say it without an exported method.
type describer interface{ extraRepr() string }

// Renamed is a module that [String] calls by another name than that of its type.
type Renamed interface{ ReprName() string }

// partNamer is a module whose parts PyTorch makes of classes with other names.
type partNamer interface{ partName(part string) string }

// String describes a module as PyTorch prints it: its type, what it was made of, and the modules
// in it by their names. No weights are printed. The layers of this package print themselves so;
// a struct of one's own does with
//
//	func (n *Net) String() string { return nn.String(n) }
//
// Parts are found as [NamedModules] finds them: a slice is a ModuleList, a map a ModuleDict, and
// tensors in them a ParameterList or a ParameterDict.
func String(m any) string {
	refuseOthers(m)
	n, _ := nodeOf("", reflect.ValueOf(m))
	return n.describe("", map[any]bool{})
}

// describe is the text for a module; class is its name, where the module around it knows.
func (n node) describe(class string, open map[any]bool) string {
	if n.pointer != nil {
		if open[n.pointer] {
			return n.className(class) + "(...)" // it is around itself
		}
		open[n.pointer] = true
		defer delete(open, n.pointer)
	}
	var lines []string
	extra := n.extra()
	single := !strings.Contains(extra, "\n")
	if extra = strings.TrimPrefix(extra, "\n"); extra != "" {
		lines = strings.Split(extra, "\n")
	}
	for _, p := range n.described() {
		name := ""
		if namer, ok := n.module().(partNamer); ok {
			name = namer.partName(p.path)
		}
		single = false
		lines = append(lines, "("+p.path+"): "+indented(p.describe(name, open)))
	}
	if n.isList() {
		lines = compressed(lines)
	}
	switch {
	case len(lines) == 0:
		return n.className(class) + "()"
	case single:
		return n.className(class) + "(" + lines[0] + ")"
	}
	return n.className(class) + "(\n  " + strings.Join(lines, "\n  ") + "\n)"
}

// extra is what the module says about itself.
func (n node) extra() string {
	switch m := n.module().(type) {
	case Describer:
		return m.ExtraRepr()
	case describer:
		return m.extraRepr()
	}
	return n.tensorsText()
}

// described are the modules in n, with their names in the place of their paths.
func (n node) described() (list []node) {
	if n.value.Type().Name() == "" && n.holdsTensors() {
		return nil
	}
	for p := range n.parts() {
		if p.value.Type() == tensorType {
			continue
		}
		child, ok := nodeOf(p.name, p.value)
		if ok && (child.value.Kind() == reflect.Slice || child.value.Kind() == reflect.Map) && child.value.IsNil() {
			continue // absent, as a nil pointer is
		}
		if ok && (child.isModule() || child.says() || child.value.Kind() != reflect.Struct && len(child.described()) > 0) {
			list = append(list, child)
		}
	}
	return list
}

// says tells whether the module describes itself, as those do that have neither tensors nor a
// Forward of one input.
func (n node) says() bool {
	switch n.module().(type) {
	case Describer, describer, Renamed:
		return true
	}
	return false
}

// className is PyTorch's name for the type.
func (n node) className(given string) string {
	if given != "" {
		return given
	}
	if m, ok := n.module().(Renamed); ok {
		return m.ReprName()
	}
	t := n.value.Type()
	if t.Name() != "" {
		return typeName(n.value.Interface())
	}
	kind := "Module"
	if n.holdsTensors() {
		kind = "Parameter"
	}
	switch {
	case t.Kind() == reflect.Map:
		return kind + "Dict"
	case t.Kind() == reflect.Struct:
		return "Module" // of a type without a name
	case isNamed(t.Elem()):
		return kind + "Dict"
	}
	return kind + "List"
}

// isNamed tells whether t is a [Named], a slice of which is PyTorch's ModuleDict.
func isNamed(t reflect.Type) bool { return t.Implements(namerType) }

// isList tells whether n is PyTorch's ModuleList, which prints equal modules once.
func (n node) isList() bool {
	t := n.value.Type()
	return t.Name() == "" && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !n.holdsTensors() && !isNamed(t.Elem())
}

func (n node) holdsTensors() bool {
	switch n.value.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return n.value.Type().Elem() == tensorType
	}
	return false
}

// tensorsText are the lines for a list or a map of tensors.
func (n node) tensorsText() string {
	if !n.holdsTensors() {
		return ""
	}
	var lines []string
	for p := range n.parts() {
		t := p.value.Interface().(torch.Tensor)
		kind, size := "Tensor", make([]string, 0, t.Dim())
		if t.RequiresGrad() {
			kind = "Parameter"
		}
		for _, d := range t.Shape() {
			size = append(size, strconv.Itoa(d))
		}
		device := ""
		if t.Device().IsCUDA() {
			device = fmt.Sprintf(" (%v)", t.Device())
		}
		of := "torch." + fmt.Sprint(t.DType())
		if n.value.Kind() == reflect.Map {
			of = legacyType(t)
		}
		lines = append(lines, fmt.Sprintf("  (%s): %s containing: [%s of size %s]", p.name, kind, of, strings.Join(size, "x")+device))
	}
	return strings.Join(lines, "\n")
}

// legacyType is what PyTorch calls the tensor in a ParameterDict.
func legacyType(t torch.Tensor) string {
	names := map[torch.DType]string{
		torch.Float32: "Float", torch.Float64: "Double", torch.Float16: "Half", torch.BFloat16: "BFloat16", torch.Int64: "Long",
		torch.Int32: "Int",
		torch.Int16: "Short", torch.Int8: "Char", torch.Uint8: "Byte", torch.Bool: "Bool", torch.Complex64: "ComplexFloat",
		torch.Complex128: "ComplexDouble",
	}
	room := "torch."
	if t.Device().IsCUDA() {
		room = "torch.cuda."
	}
	return room + names[t.DType()] + "Tensor"
}

// indented moves all lines but the first to the right.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// compressed writes equal modules in a row once, with their number, as PyTorch's ModuleList does.
func compressed(lines []string) (list []string) {
	bodies := make([]string, len(lines))
	for i, line := range lines {
		_, bodies[i], _ = strings.Cut(line, ": ")
	}
	for at := 0; at < len(lines); {
		n := slices.IndexFunc(bodies[at:], func(b string) bool { return b != bodies[at] })
		if n < 0 {
			n = len(lines) - at
		}
		if n == 1 {
			list = append(list, lines[at])
		} else {
			list = append(list, fmt.Sprintf("(%d-%d): %d x %s", at, at+n-1, n, bodies[at]))
		}
		at += n
	}
	return list
}
