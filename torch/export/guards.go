package export

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// guard is a condition on sizes of the inputs that the program was found to depend on when it was exported.
type guard struct {
	text string // as Python has it
	is   Expr   // in terms of the program's symbols
}

// guards are the conditions that can be computed and do not hold anyway.
func (m *Module) guards() (list []guard) {
	if len(m.program.Guards) == 0 {
		return nil
	}
	sources := m.sources()
	for _, text := range m.program.Guards {
		p := guardParser{text: text, sources: sources}
		e := p.either()
		if p.skip(); p.failed || p.at < len(text) || e.Op == "Equality" && e.Args[0].String() == e.Args[1].String() {
			continue
		}
		list = append(list, guard{text, e})
	}
	return list
}

// sources are the sizes and whole numbers among the inputs, as Python's guards name them: "L['x'].size()[0]".
func (m *Module) sources() map[string]Expr {
	g, all, leaf := &m.program.Graph, map[string]Expr{}, 0
	add := func(path string) {
		name, kind := kindOf(m.program.Signature.Inputs[m.inputs[leaf]].Arg)
		for _, prefix := range []string{path, fmt.Sprintf("L['flat_args'][%d]", leaf)} {
			if kind == "SymInt" {
				all[prefix] = g.SymInts[name]
			}
			for d, n := range g.Tensors[name].Sizes {
				all[fmt.Sprintf("%s.size()[%d]", prefix, d)] = n
			}
		}
		leaf++
	}
	for i, name := range m.call.names() {
		child(i, m.call.In.Children[0], m.call.In.Children[1]).paths("L['"+name+"']", add)
	}
	return all
}

// paths visits the leaves of a tree by their places in Python's words.
func (t *TreeSpec) paths(path string, visit func(string)) {
	if t.Type == "" {
		visit(path)
		return
	}
	for i, c := range t.Children {
		key := strconv.Itoa(i)
		if t.isDict() {
			key = "'" + t.Keys[i] + "'"
		}
		c.paths(path+"["+key+"]", visit)
	}
}

// check tells whether the symbols keep a condition. One that cannot be computed is kept.
func (g guard) check(symbols map[string]int64) error {
	if yes, known := g.is.holds(symbols); known && !yes {
		return fmt.Errorf("the inputs break a condition of the program: %s", g.text)
	}
	return nil
}

// comparisons are the relations of two numbers, by the signs that they have in Python.
var comparisons = []struct {
	sign, op string
	holds    func(a, b int64) bool
}{
	{"==", "Equality", func(a, b int64) bool { return a == b }},
	{"!=", "Unequality", func(a, b int64) bool { return a != b }},
	{"<=", "LessThan", func(a, b int64) bool { return a <= b }},
	{">=", "GreaterThan", func(a, b int64) bool { return a >= b }},
	{"<", "StrictLessThan", func(a, b int64) bool { return a < b }},
	{">", "StrictGreaterThan", func(a, b int64) bool { return a > b }},
}

// holds tells whether a condition is true, if that is known.
func (e Expr) holds(symbols map[string]int64) (yes, known bool) {
	if e.Op == "And" || e.Op == "Or" {
		a, first := e.Args[0].holds(symbols)
		b, second := e.Args[1].holds(symbols)
		if e.Op == "And" {
			return a && b, first && second
		}
		return a || b, first && second
	}
	for _, c := range comparisons {
		if c.op == e.Op {
			a, first := e.Args[0].Eval(symbols)
			b, second := e.Args[1].Eval(symbols)
			return c.holds(a, b), first && second
		}
	}
	return false, false
}

// guardParser reads a condition as Python writes it. It fails at what it does not know.
type guardParser struct {
	text      string
	at, depth int
	failed    bool
	sources   map[string]Expr
}

func (p *guardParser) skip() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

// take reads a sign or a word if it comes next.
func (p *guardParser) take(sign string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.text[p.at:], sign)
	if ok {
		p.at = len(p.text) - len(rest)
	}
	return ok
}

func (p *guardParser) fail() Expr {
	p.failed = true
	return Expr{}
}

func (p *guardParser) either() Expr {
	e := p.both()
	for !p.failed && p.take("or ") {
		e = Expr{Op: "Or", Args: []Expr{e, p.both()}}
	}
	return e
}

func (p *guardParser) both() Expr {
	e := p.comparison()
	for !p.failed && p.take("and ") {
		e = Expr{Op: "And", Args: []Expr{e, p.comparison()}}
	}
	return e
}

func (p *guardParser) comparison() Expr {
	e := p.terms()
	for _, c := range comparisons {
		if !p.failed && p.take(c.sign) {
			return Expr{Op: c.op, Args: []Expr{e, p.terms()}}
		}
	}
	return e
}

func (p *guardParser) terms() Expr {
	e := p.factors()
	for !p.failed {
		switch {
		case p.take("+"):
			e = Expr{Op: "Add", Args: []Expr{e, p.factors()}}
		case p.take("-"):
			e = Expr{Op: "Add", Args: []Expr{e, {Op: "Mul", Args: []Expr{integer(-1), p.factors()}}}}
		default:
			return e
		}
	}
	return e
}

func (p *guardParser) factors() Expr {
	e := p.power()
	for !p.failed {
		switch {
		case p.take("//"):
			e = Expr{Op: "FloorDiv", Args: []Expr{e, p.power()}}
		case p.take("*"):
			e = Expr{Op: "Mul", Args: []Expr{e, p.power()}}
		case p.take("%"):
			e = Expr{Op: "Mod", Args: []Expr{e, p.power()}}
		default:
			return e
		}
	}
	return e
}

func (p *guardParser) power() Expr {
	if p.depth++; p.depth > deepestExpr {
		return p.fail()
	}
	defer func() { p.depth-- }()
	if p.take("-") {
		return Expr{Op: "Mul", Args: []Expr{integer(-1), p.power()}}
	}
	e := p.atom()
	if !p.failed && p.take("**") {
		e = Expr{Op: "Pow", Args: []Expr{e, p.power()}}
	}
	return e
}

// atom reads a number, a source, the largest or least of some, or what is in brackets.
func (p *guardParser) atom() Expr {
	if p.take("(") {
		e := p.either()
		if !p.take(")") {
			return p.fail()
		}
		return e
	}
	for _, op := range []string{"Max", "Min", "Mod", "FloorDiv"} {
		if p.take(op + "(") {
			return p.call(op)
		}
	}
	from := p.at
	if p.take("L") {
		e, ok := p.sources[p.source(from)]
		if !ok {
			return p.fail()
		}
		return e
	}
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.ParseInt(p.text[from:p.at], 10, 64)
	if err != nil {
		return p.fail()
	}
	return integer(n)
}

func (p *guardParser) call(op string) Expr {
	e := Expr{Op: op}
	for !p.failed {
		e.Args = append(e.Args, p.terms())
		if p.take(")") {
			break
		}
		if !p.take(",") {
			return p.fail()
		}
	}
	return e
}

// source reads the rest of the name of a size.
func (p *guardParser) source(from int) string {
	for {
		rest := p.text[p.at:]
		switch end := strings.Index(rest, "]"); {
		case strings.HasPrefix(rest, "['"):
			end = strings.Index(rest, "']")
			if end < 0 {
				return ""
			}
			p.at += end + len("']")
		case strings.HasPrefix(rest, "[") && end > 0:
			p.at += end + 1
		case strings.HasPrefix(rest, ".size()"):
			p.at += len(".size()")
		default:
			return p.text[from:p.at]
		}
	}
}

// equalSizes are guards that sizes with the same name are equal, as Python has them.
func (o ExportOptions) equalSizes() (list []string) {
	first := map[string]string{}
	for _, name := range o.ArgNames {
		dims := o.DynamicShapes[name]
		for _, d := range slices.Sorted(maps.Keys(dims)) {
			source := fmt.Sprintf("L['%s'].size()[%d]", name, d)
			if before, ok := first[dims[d].Name]; ok {
				list = append(list, before+" == "+source)
			} else {
				first[dims[d].Name] = source
			}
		}
	}
	return list
}
