package fuzz

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Case is one call, as data: the same text is a line of the corpus, of the samples, and
// what the driver hands to a child.
//
//	add.Tensor self=float32[2,3]+t other=&0 alpha=2
//
// The target is followed by arguments by their names. A value is nil, true, 2, 0.5, c(0.5,1.0),
// "text", dtype:float32, device:cpu, layout:sparse_csr, format:channels_last, gen:7, a list
// (1,2), a slice 0:2:1, or a tensor: its dtype and shape, a word for its elements (:z zeros,
// :i3 integers below 3; fills in make.go has all) or the elements in braces, and what is
// done to it (+t transposed in memory; forms in make.go). &0 is the first tensor of the case
// again.
type Case struct {
	Target string
	Args   []Arg
}

// Arg is an argument by its name.
type Arg struct {
	Name  string
	Value any // nil, int64, float64, bool, string, complex128, *Tensor, Ref, Word or List
}

// Tensor says how to make a tensor.
type Tensor struct {
	DType string
	Shape []int
	Fill  string // "" are small numbers of both signs
	Data  []int64
	Forms []string
}

// Ref is a tensor of the case once more, with forms of its own.
type Ref struct {
	Number int
	Forms  []string
}

// Word is a value of a kind that has names: dtype, device, layout, format, gen, go.
type Word struct{ Kind, Name string }

// List is a list of values.
type List []any

// Parse reads a case.
func Parse(line string) (c Case, err error) {
	p := parser{text: strings.TrimSpace(line)}
	defer func() {
		if e, ok := recover().(syntaxError); ok {
			err = fmt.Errorf("fuzz: %s at byte %d of %q", e, p.at, line)
		}
	}()
	c.Target = p.until(" ")
	for p.skip(" "); p.at < len(p.text); p.skip(" ") {
		name := p.until("=")
		p.expect("=")
		c.Args = append(c.Args, Arg{name, p.value()})
	}
	return c, nil
}

// ParseAll reads a case a line; empty lines and those that begin with # are none.
func ParseAll(text string) (list []Case, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := Parse(line)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

type syntaxError string

// parser reads a case from left to right.
type parser struct {
	text string
	at   int
}

func (p *parser) fail(what string) { panic(syntaxError(what)) }

func (p *parser) rest() string { return p.text[p.at:] }

// until takes all up to one of the bytes.
func (p *parser) until(stops string) string {
	n := strings.IndexAny(p.rest(), stops)
	if n < 0 {
		n = len(p.rest())
	}
	word := p.rest()[:n]
	p.at += n
	return word
}

func (p *parser) skip(word string) bool {
	if !strings.HasPrefix(p.rest(), word) || word == "" {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) expect(word string) {
	if !p.skip(word) {
		p.fail("expected " + word)
	}
}

var kinds = []string{"dtype", "device", "layout", "format", "gen", "go"}

func (p *parser) value() any {
	rest := p.rest()
	switch {
	case p.skip("("):
		return p.list()
	case p.skip("&"):
		n, err := strconv.Atoi(p.until(" +,)"))
		if err != nil {
			p.fail("expected the number of a tensor")
		}
		return Ref{n, p.forms()}
	case strings.HasPrefix(rest, `"`):
		return p.quoted()
	case p.skip("c("):
		return p.complex()
	}
	for _, kind := range kinds {
		if p.skip(kind + ":") {
			return Word{kind, p.until(" ,)")}
		}
	}
	if word := p.until(" ,()[]"); !strings.HasPrefix(p.rest(), "[") {
		return p.plain(word)
	} else {
		return p.tensor(word)
	}
}

func (p *parser) list() List {
	list := List{}
	for !p.skip(")") {
		list = append(list, p.value())
		if !p.skip(",") && !strings.HasPrefix(p.rest(), ")") {
			p.fail("expected , or )")
		}
	}
	return list
}

func (p *parser) quoted() string {
	q, err := strconv.QuotedPrefix(p.rest())
	if err != nil {
		p.fail("a text without an end")
	}
	p.at += len(q)
	s, _ := strconv.Unquote(q)
	return s
}

func (p *parser) complex() complex128 {
	re, err := strconv.ParseFloat(p.until(","), 64)
	p.expect(",")
	im, err2 := strconv.ParseFloat(p.until(")"), 64)
	p.expect(")")
	if err != nil || err2 != nil {
		p.fail("expected two numbers")
	}
	return complex(re, im)
}

func (p *parser) plain(word string) any {
	switch word {
	case "nil":
		return nil
	case "true", "false":
		return word == "true"
	}
	if i, err := strconv.ParseInt(word, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		p.fail(fmt.Sprintf("%q is no value", word))
	}
	return f
}

func (p *parser) tensor(dtype string) *Tensor {
	t := &Tensor{DType: dtype}
	p.expect("[")
	t.Shape = ints[int](p, "]")
	if p.skip(":") {
		t.Fill = p.until(" +,)")
	} else if p.skip("{") {
		t.Data = ints[int64](p, "}")
	}
	t.Forms = p.forms()
	return t
}

func ints[T int | int64](p *parser, end string) (list []T) {
	text := p.until(end)
	p.expect(end)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			p.fail(fmt.Sprintf("%q is no number", word))
		}
		list = append(list, T(v))
	}
	return list
}

func (p *parser) forms() (list []string) {
	for p.skip("+") {
		list = append(list, p.until(" +,)"))
	}
	return list
}

// String is the line that Parse reads.
func (c Case) String() string {
	var b strings.Builder
	b.WriteString(c.Target)
	for _, a := range c.Args {
		b.WriteString(" " + a.Name + "=" + text(a.Value))
	}
	return b.String()
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case *Tensor:
		return v.String()
	case Ref:
		return strings.Join(append([]string{"&" + strconv.Itoa(v.Number)}, v.Forms...), "+")
	case Word:
		return v.Kind + ":" + v.Name
	case List:
		words := make([]string, len(v))
		for i, x := range v {
			words[i] = text(x)
		}
		return "(" + strings.Join(words, ",") + ")"
	case float64:
		return floatText(v)
	case complex128:
		return "c(" + floatText(real(v)) + "," + floatText(imag(v)) + ")"
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

// floatText is a number that does not read as an integer.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.ContainsAny(s, ".eIN") || math.IsNaN(f) {
		return s
	}
	return s + ".0"
}

// String is the tensor as it stands in a case.
func (t *Tensor) String() string {
	s := t.DType + "[" + join(t.Shape) + "]"
	if t.Data != nil {
		s += "{" + join(t.Data) + "}"
	} else if t.Fill != "" {
		s += ":" + t.Fill
	}
	for _, f := range t.Forms {
		s += "+" + f
	}
	return s
}

func join[T int | int64](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = strconv.FormatInt(int64(v), 10)
	}
	return strings.Join(words, ",")
}

// clone is a case that shares nothing with c.
func (c Case) clone() Case {
	args := make([]Arg, len(c.Args))
	for i, a := range c.Args {
		args[i] = Arg{a.Name, copied(a.Value)}
	}
	return Case{c.Target, args}
}

func copied(v any) any {
	switch v := v.(type) {
	case *Tensor:
		return &Tensor{v.DType, slices.Clone(v.Shape), v.Fill, slices.Clone(v.Data), slices.Clone(v.Forms)}
	case Ref:
		return Ref{v.Number, slices.Clone(v.Forms)}
	case List:
		list := make(List, len(v))
		for i, x := range v {
			list[i] = copied(x)
		}
		return list
	}
	return v
}

// tensors are those of the case, in the order in which references count them.
func (c Case) tensors() (list []*Tensor) {
	for _, a := range c.Args {
		list = append(list, tensorsOf(a.Value)...)
	}
	return list
}

// compressed tells whether a tensor is a sparse one in rows or columns. MKL's kernels of them load the last indices of a row as
// a vector of 32 bytes, with AVX-512, and use those that are there: there have to be 28 bytes behind a block that may be read, as
// there are behind the heap's and the pool's.
func (c Case) compressed() bool {
	return slices.ContainsFunc(c.tensors(), func(t *Tensor) bool {
		return slices.ContainsFunc(t.Forms, func(form string) bool { return slices.Contains([]string{"csr", "csc", "bsr", "bsc"}, form) })
	})
}

func tensorsOf(v any) (list []*Tensor) {
	switch v := v.(type) {
	case *Tensor:
		list = append(list, v)
	case List:
		for _, x := range v {
			list = append(list, tensorsOf(x)...)
		}
	}
	return list
}
