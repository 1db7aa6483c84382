package main

import (
	"fmt"
	"slices"
	"strings"
)

// Plain is the form that people use of an operator over dimensions, x.Sum(1): it calls the
// form for all elements, or the one for dimensions, which take the options.
type Plain struct {
	Symbol string
	All    *Func // nil where Dims, given none, takes all elements
	Dims   *Func
	single bool // there may be one dimension only
}

func (p *Plain) key() string {
	if p.Dims.Recv == "x" {
		return "Tensor." + p.Symbol
	}
	return p.Symbol
}

// byDims builds the forms of an operator o with a line dims: other is the name of the one
// over dimensions, "" where o is both.
func byDims(o *Op, other string, names map[*Op]string, add func(o *Op, symbol, extra, without string) *Func) error {
	p := &Plain{Symbol: names[o]}
	o.Plain = p
	if other == "" {
		i := slices.IndexFunc(o.Args, func(a Arg) bool { return a.Name == "dim" })
		if i < 0 {
			return fmt.Errorf("%s: it has no argument dim", o.Name())
		}
		p.Dims = add(o, p.Symbol+"Dim", "dim", "")
		if p.single = !o.Args[i].Type.List; p.single {
			p.All = add(o, p.Symbol+"All", "", "dim")
			o.Also = p.All
		}
		o.Go = p.Dims
		return nil
	}
	for q := range names {
		if q.Name() == other {
			p.Dims = &Func{Op: q, Symbol: names[q], Recv: "x"}
			p.single = slices.ContainsFunc(q.Args, func(a Arg) bool { return a.Name == "dim" && !a.Type.List })
		}
	}
	if p.Dims == nil {
		return fmt.Errorf("%s: there is no operator %s over dimensions", o.Name(), other)
	}
	p.All = add(o, p.Symbol+"All", "", "")
	o.Go = p.All
	return nil
}

// plain writes the form without options.
func (e *emitter) plain(p *Plain, t *Tables) {
	name, rest := "dims", "dims"
	if p.single {
		name, rest = "dim", "dim[0]"
	} else if last := p.Dims.Params; len(last) > 0 && strings.HasPrefix(last[len(last)-1].Type, "...") {
		rest = "dims..."
	}
	receiver, call, self := "", "", "x, "
	if p.Dims.Recv == "x" {
		receiver, call, self = "(x Tensor) ", "x.", ""
	}
	params := "x Tensor, "
	if receiver != "" {
		params = ""
	}
	e.WriteByte('\n')
	for _, l := range wrap(t.plainSentence(p), docWidth) {
		e.line("//%s", l)
	}
	e.line("func %s%s(%s%s ...int) %s{", receiver, p.Symbol, params, name, e.resultList(p.Op().Go))
	if p.single {
		e.line("atMost(len(dim), 1)")
	}
	if p.All != nil {
		e.line("if len(%s) == 0 {\nreturn %s%s(%s)\n}", name, call, p.All.Symbol, strings.TrimSuffix(self, ", "))
	}
	if p.All == nil && !p.Dims.defaultDims() {
		e.line("if len(dims) == 0 {\ndims = allDims(x)\n}")
	}
	e.line("return %s%s(%s%s)\n}", call, p.Dims.Symbol, self, rest)
}

// defaultDims reports an operator that takes all dimensions itself where none is given.
func (f *Func) defaultDims() bool {
	return slices.ContainsFunc(f.Op.Args, func(a Arg) bool { return a.Name == "dim" && a.HasDefault })
}

// Op is the operator over all elements.
func (p *Plain) Op() *Op {
	if p.All != nil {
		return p.All.Op
	}
	return p.Dims.Op
}

// plainSentence documents the form without options.
func (t *Tables) plainSentence(p *Plain) string {
	call, second := "x."+p.Symbol, ""
	if p.Dims.Recv == "" {
		call = p.Symbol
	}
	if second = ", " + call + "(0, -1)"; p.single {
		second = ""
	}
	none := fmt.Sprintf("[%s], over all elements without any", p.Dims.key())
	if p.All != nil {
		none = fmt.Sprintf("[%s] over what dimension is given, [%s] without any", p.Dims.key(), p.All.key())
	}
	example := fmt.Sprintf("%s(), %s(1)%s", call, call, second)
	if p.Dims.Recv == "" {
		example = fmt.Sprintf("%s(x), %s(x, 1)", call, call)
	}
	return fmt.Sprintf("%s is %s: %s.", p.Symbol, none, example)
}
