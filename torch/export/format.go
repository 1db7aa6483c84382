package export

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/internal/refused"
	"github.com/libtorch-go/libtorch/torch"
)

// String prints a program as Python's print(program) does.
func (p *Program) String() string {
	var b strings.Builder
	b.WriteString("ExportedProgram:\n")
	w := printer{b: &b, graph: &p.Graph, indent: "    ", blank: "    \n"}
	w.class("GraphModule", p.Signature.Inputs)
	b.WriteString("    \nGraph signature: \n    # inputs\n")
	for _, s := range p.Signature.Inputs {
		name, kind := kindOf(s.Arg)
		if kind == "" {
			name = s.Name
		}
		fmt.Fprintf(&b, "    %s: %s", name, s.Kind)
		if s.Target != "" {
			fmt.Fprintf(&b, " target='%s'", s.Target)
		}
		if s.Kind == Buffer {
			fmt.Fprintf(&b, " persistent=%s", pythonBool(s.Persistent))
		}
		b.WriteString("\n")
	}
	b.WriteString("    \n    # outputs\n")
	for _, s := range p.Signature.Outputs {
		name, _ := kindOf(s.Arg)
		fmt.Fprintf(&b, "    %s: %s", name, s.Kind)
		if s.Target != "" {
			fmt.Fprintf(&b, " target='%s'", s.Target)
		}
		b.WriteString("\n")
	}
	var ranges []string
	for _, name := range p.symbols() {
		r := p.Ranges[name]
		ranges = append(ranges, fmt.Sprintf("%s: VR[%s, %s]", name, bound(r.Min, "-int_oo"), bound(r.Max, "int_oo")))
	}
	fmt.Fprintf(&b, "    \nRange constraints: {%s}\n", strings.Join(ranges, ", "))
	return refused.Lines(b.String())
}

// symbols are the names of those that have a range, in the order of the file.
func (p *Program) symbols() []string {
	var names []string
	seen := map[string]bool{}
	for _, name := range p.order {
		if _, ok := p.Ranges[name]; ok && !seen[name] {
			names, seen[name] = append(names, name), true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Ranges)) {
		if !seen[name] {
			names = append(names, name)
		}
	}
	return names
}

// pythonText is a text as Python's repr writes it.
func pythonText(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	own := strings.Trim(strconv.Quote(s), `"`)
	if quote == "'" {
		own = strings.ReplaceAll(strings.ReplaceAll(own, `\"`, `"`), "'", `\'`)
	}
	return quote + own + quote
}

// pythonComplex is a complex number as Python writes it: "1j", "(2+3j)".
func pythonComplex(v complex128) string {
	part := func(x float64) string { return strings.TrimSuffix(pytext.Float(x), ".0") }
	if re := real(v); re != 0 || math.Signbit(re) {
		sign := "+"
		if math.Signbit(imag(v)) {
			sign = ""
		}
		return "(" + part(re) + sign + part(imag(v)) + "j)"
	}
	return part(imag(v)) + "j"
}

func bound(n *int64, none string) string {
	if n == nil {
		return none
	}
	return strconv.FormatInt(*n, 10)
}

func pythonBool(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

// String prints a graph as Python prints the module that has it.
func (g Graph) String() string {
	var b strings.Builder
	w := printer{b: &b, graph: &g, blank: "\n"}
	w.class("GraphModule", nil)
	return refused.Lines(b.String())
}

// printer prints a graph.
type printer struct {
	b      *strings.Builder
	graph  *Graph
	indent string
	blank  string // an empty line
	used   map[string]bool
	inner  []*GraphArgument
}

func (w *printer) line(depth int, text string) {
	w.b.WriteString(w.indent + strings.Repeat("    ", depth) + text + "\n")
}

// class prints a graph as a module, and those within it.
func (w *printer) class(name string, inputs []InputSpec) {
	w.line(0, "class "+name+"(torch.nn.Module):")
	params := []string{"self"}
	for i, in := range w.graph.Inputs {
		own, kind := kindOf(in)
		switch {
		case kind != "":
			own += w.annotation(in)
		case i < len(inputs):
			own = inputs[i].Name
		default:
			own = fmt.Sprint("arg", i)
		}
		params = append(params, own)
	}
	w.line(1, "def forward("+strings.Join(params, ", ")+"):")
	var others [][2]string
	w.graph, others = w.graph.named()
	for _, in := range others {
		w.line(2, in[1]+" = "+in[0])
	}
	w.used = w.graph.used()
	last := w.lastUses()
	before := ""
	for i := range w.graph.Nodes {
		n := &w.graph.Nodes[i]
		if text := n.comment(); text != before {
			if i > 0 || len(others) > 0 {
				w.b.WriteString(w.blank)
			}
			w.line(2, text)
			before = text
		}
		w.node(n, last[i])
	}
	outputs := each(w.graph.Outputs, formatArgument)
	text := tuple(outputs)
	if w.graph.Single {
		text = strings.Join(outputs, ", ")
	}
	w.line(2, "return "+text)
	for _, g := range w.inner {
		w.b.WriteString(w.blank)
		own := printer{b: w.b, graph: &g.Graph, indent: w.indent + "    ", blank: w.blank}
		own.class(g.Name, nil)
	}
}

// tuple is a tuple in Python.
func tuple(list []string) string {
	if len(list) == 1 {
		return "(" + list[0] + ",)"
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// comment is where a node comes from.
func (n *Node) comment() string {
	file, line, function, code := n.Line()
	if file == "" {
		return "# No stacktrace found for following nodes"
	}
	return fmt.Sprintf("# File: %s:%s in %s, code: %s", file, line, function, code)
}

// annotation is the type of a value.
func (w *printer) annotation(a Argument) string {
	name, kind := kindOf(a)
	switch kind {
	case "Tensor":
		m, ok := w.graph.Tensors[name]
		if !ok {
			return ""
		}
		sizes := each(m.Sizes, Expr.String)
		return fmt.Sprintf(": \"%s[%s]\"", short[m.DType], strings.Join(sizes, ", "))
	case "SymInt":
		return fmt.Sprintf(": \"Sym(%v)\"", w.graph.SymInts[name])
	case "SymFloat":
		return fmt.Sprintf(": \"Sym(%v)\"", w.graph.SymFloats[name])
	case "SymBool":
		return fmt.Sprintf(": \"Sym(%v)\"", w.graph.SymBools[name])
	}
	return ""
}

// isList tells whether Python has a call's results one by one from a tuple.
func (n *Node) isList() bool {
	if len(n.Outputs) != 1 {
		return true
	}
	_, ok := elementsOf(n.Outputs[0])
	return ok || n.single != nil && !*n.single
}

// valueName is what Python calls the value of a call.
func (n *Node) valueName() string {
	if n.Name == "" && len(n.Outputs) == 1 {
		name, _ := kindOf(n.Outputs[0])
		return name
	}
	return n.Name
}

// node prints a call, and the values that it was the last to use.
func (w *printer) node(n *Node, dead []string) {
	var args []string
	for _, in := range n.Inputs {
		if g, ok := in.Value.(*GraphArgument); ok {
			w.inner = append(w.inner, g)
			w.line(2, g.Name+" = self."+g.Name)
		}
		text := formatArgument(in.Value)
		if list, ok := elementsOf(in.Value); ok && strings.HasPrefix(n.Target, "torch.ops.higher_order.") {
			text = tuple(each(list, formatArgument))
		}
		if in.Keyword && in.Name != "" {
			text = in.Name + " = " + text
		}
		args = append(args, text)
	}
	name, annotation := n.valueName(), ""
	if !n.isList() {
		annotation = w.annotation(n.Outputs[0])
	}
	unused := !n.isList() && !w.used[name] || n.isList() && len(n.Outputs) == 0
	if unused {
		dead = append(dead, name)
	}
	w.line(2, name+annotation+" = "+call(n.Target, args)+deleted(dead))
	if n.isList() {
		w.items(n, name)
	}
}

// items prints how a call's results are taken from its tuple.
func (w *printer) items(n *Node, name string) {
	outputs := n.Outputs
	if list, ok := []Argument(nil), false; len(outputs) == 1 {
		if list, ok = elementsOf(outputs[0]); ok {
			outputs = list
		}
	}
	var lines []string
	for i, out := range outputs {
		own, kind := kindOf(out)
		if kind == "" || strings.Contains(own, "_unused_") {
			continue
		}
		text := fmt.Sprintf("%s%s = %s[%d]", own, w.annotation(out), name, i)
		if !w.used[own] {
			text += ";  " + own + " = None"
		}
		lines = append(lines, text)
	}
	for i, text := range lines {
		if i == len(lines)-1 {
			before, after, cut := strings.Cut(text, ";  ")
			text = before + ";  " + name + " = "
			if cut {
				text += after
			} else {
				text += "None"
			}
		}
		w.line(2, text)
	}
}

func deleted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ";  " + strings.Join(names, " = ") + " = None"
}

// infixes are the functions that Python prints as operators.
var infixes = map[string]string{"_operator.add": "+", "_operator.sub": "-", "_operator.mul": "*", "_operator.floordiv": "//",
	"_operator.truediv": "/", "_operator.mod": "%", "_operator.pow": "**", "_operator.eq": "==", "_operator.ne": "!=",
	"_operator.lt": "<", "_operator.le": "<=", "_operator.gt": ">", "_operator.ge": ">=", "_operator.and_": "&", "_operator.or_": "|",
	"_operator.lshift": "<<", "_operator.rshift": ">>"}

func call(target string, args []string) string {
	if op, ok := infixes[target]; ok && len(args) == 2 {
		return args[0] + " " + op + " " + args[1]
	}
	if target == "_operator.neg" && len(args) == 1 {
		return "-" + args[0]
	}
	return target + "(" + strings.Join(args, ", ") + ")"
}

// used are the values that anything reads.
func (g *Graph) used() map[string]bool {
	all := map[string]bool{}
	see := func(name string) { all[name] = true }
	for i := range g.Nodes {
		for _, in := range g.Nodes[i].Inputs {
			namesIn(in.Value, see)
		}
	}
	for _, out := range g.Outputs {
		namesIn(out, see)
	}
	return all
}

// namesIn calls see for the names of all values in an argument.
func namesIn(a Argument, see func(string)) {
	if name, kind := kindOf(a); kind != "" {
		see(name)
		return
	}
	list, _ := elementsOf(a)
	for _, v := range list {
		namesIn(v, see)
	}
}

// lastUses finds for each node the values that it is the last to use, in the order of its arguments.
func (w *printer) lastUses() [][]string {
	last, seen := make([][]string, len(w.graph.Nodes)), map[string]bool{}
	for _, out := range w.graph.Outputs {
		namesIn(out, func(name string) { seen[name] = true })
	}
	for i := len(w.graph.Nodes) - 1; i >= 0; i-- {
		for _, in := range w.graph.Nodes[i].Inputs {
			if g, ok := in.Value.(*GraphArgument); ok {
				last[i] = append(last[i], g.Name)
			}
			namesIn(in.Value, func(name string) {
				if !seen[name] {
					seen[name], last[i] = true, append(last[i], name)
				}
			})
		}
	}
	return last
}

// formatArgument prints a value as Python does.
func formatArgument(a Argument) string {
	if name, kind := kindOf(a); kind != "" {
		return name
	}
	if list, ok := elementsOf(a); ok {
		return "[" + strings.Join(each(list, formatArgument), ", ") + "]"
	}
	switch a := a.(type) {
	case nil:
		return "None"
	case bool:
		return pythonBool(a)
	case int64:
		return strconv.FormatInt(a, 10)
	case float64:
		return pytext.Float(a)
	case complex128:
		return pythonComplex(a)
	case string:
		return pythonText(a)
	case torch.DType:
		return "torch." + a.String()
	case torch.Layout:
		return "torch." + a.String()
	case torch.MemoryFormat:
		return "torch." + a.String()
	case torch.Device:
		if i := a.Index(); i >= 0 && !a.IsCPU() {
			return fmt.Sprintf("device(type='%v', index=%d)", a.Type(), i)
		}
		return fmt.Sprintf("device(type='%v')", a.Type())
	case *GraphArgument:
		return a.Name
	case OperatorArgument:
		return string(a)
	}
	return fmt.Sprintf("%v", a)
}
