package parity

import (
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// overloads lists the operators of a name, without those that write to an "out".
func overloads(name string) []string {
	var list []string
	for _, op := range torch.Operators() {
		op = strings.TrimSuffix(op, ".")
		base, overload, _ := strings.Cut(strings.TrimPrefix(op, "aten::"), ".")
		if base == name && strings.HasPrefix(op, "aten::") && !strings.Contains(overload, "out") {
			list = append(list, op)
		}
	}
	return list
}

// refused makes the call that Python refused before it came to any operator, and says
// how the error differs, or "". Functions that Python composes have their Go form
// (composed.go) and Python's words; operators get a number where a tensor belongs, say, with
// which typed functions do not compile: all overloads are called by name.
func (c *chunk) refused(name string, f *Failure) string {
	tensors := c.load(f.Tensors)
	fn := composed[name]
	if fn == nil {
		fn = nnFunctional[name]
	}
	if fn != nil {
		want := Failure{Type: f.Type, Text: words.Replace(f.Text)}
		return want.differs(torch.Try(func() { fn(arguments{f.Named, tensors}) }))
	}
	var args []any
	for _, v := range f.Args {
		args = append(args, v.argument(tensors))
	}
	for name, v := range f.KwArgs {
		args = append(args, torch.Arg(name, v.argument(tensors)))
	}
	list := overloads(f.Op)
	if len(list) == 0 {
		return fmt.Sprintf("no Go form to refuse it: %s: %s: %s", f.Type, f.Text, f.Input)
	}
	for _, op := range list {
		err := torch.Try(func() { torch.Call(op, args...) })
		if err == nil {
			return fmt.Sprintf("%s accepts it, Python does not: %s", op, f.Text)
		}
		if e := err.(*torch.Error); e.Kind != kinds[f.Type] {
			return fmt.Sprintf("%s: error of kind %v (%s), want %s: %s", op, e.Kind, e.Msg, f.Type, f.Text)
		}
	}
	return ""
}
