package library

import (
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
)

// Schema is what an operator takes and returns.
type Schema struct {
	Name      string // "aten::add.Tensor": the namespace, the operator and its overload, if it has one
	Text      string // all of it, as libtorch writes it
	Arguments []Argument
	Results   []Argument
}

// Argument is one argument of an operator, or one of its results.
type Argument struct {
	Name    string // empty for most results
	Type    string // "Tensor", "int[]", "Scalar?", "ScalarType"
	Keyword bool   // it is given by its name, see torch.Arg
	Changed bool   // the operator writes to it
	Default string // as libtorch writes it; empty if there is none
}

// Lookup finds the schema of an operator by its full name, "mylib::scale" or "aten::add.Tensor".
// It panics with a *torch.Error of KindNotImplemented if there is no operator of that name.
func Lookup(name string) Schema {
	operator, overload, _ := strings.Cut(name, ".")
	var c cgo.Call
	c.Begin(cgo.OpOperatorSchema)
	c.Str(operator)
	c.Str(overload)
	bridge.Done(&c)
	text, rest, _ := strings.Cut(c.Text(0), "\n")
	s := Schema{Name: name, Text: text}
	for line := range strings.Lines(rest) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		a := Argument{Name: fields[1], Type: fields[2], Keyword: fields[3] != "", Changed: fields[4] != ""}
		if len(fields) > 5 {
			a.Default = fields[5]
		}
		if fields[0] == "result" {
			s.Results = append(s.Results, a)
		} else {
			s.Arguments = append(s.Arguments, a)
		}
	}
	return s
}

// String is the schema as libtorch writes it.
func (s Schema) String() string { return s.Text }

// functional tells whether the operator changes none of its arguments.
func (s Schema) functional() bool {
	for _, a := range s.Arguments {
		if a.Changed {
			return false
		}
	}
	return true
}
