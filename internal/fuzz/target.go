package fuzz

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// A target is something that can be called.
type target struct {
	name     string
	writes   bool // to its arguments
	random   bool // results are not the same twice, for a reason in unspecified
	call     func(m *maker, args []Arg) []any
	fn       *function // that it calls, where it is one
	operator bool      // Python knows it by the same name
	params   []hint
	samples  []Case
}

// hint is what a generator has to know of a parameter.
type hint struct {
	name   string
	typ    reflect.Type // of Go, or nil
	schema string       // type of the schema, or ""
	needed bool
}

// part is a group of targets that a run counts together.
type part struct {
	name    string
	share   float64 // of the calls of a run
	byName  bool
	targets []*target
}

// everything are all parts.
var everything = sync.OnceValue(func() []*part {
	samples := readSamples()
	typed := &part{name: "operators", share: 0.72, targets: typedTargets(samples)}
	named := &part{name: "call", share: 0.08, byName: true, targets: namedTargets(samples)}
	return append([]*part{typed, named}, handParts()...)
})

// typedTargets are the Go forms of the operators.
func typedTargets(samples map[string][]Case) (list []*target) {
	seen := map[string]int{}
	for _, f := range optable.Forms() {
		name := f.Op
		if n := seen[f.Op]; n > 0 {
			name += "#" + string(rune('0'+n))
		}
		seen[f.Op]++
		fn := ofForm(f)
		t := &target{name: name, call: fn.call, fn: &fn, operator: true, params: fn.hints(), writes: writes(f.Op), random: unspecified(f.Op)}
		for _, c := range samples[f.Op] {
			if c, ok := t.fit(c); ok {
				t.samples = append(t.samples, c)
			}
		}
		list = append(list, t)
	}
	return list
}

func (f function) hints() (list []hint) {
	for _, p := range f.params {
		list = append(list, hint{name: p.name, typ: p.typ, needed: p.needed})
	}
	return list
}

// writes tells whether an operator changes its arguments.
func writes(op string) bool {
	name, overload, _ := strings.Cut(op, ".")
	return strings.HasSuffix(name, "_") || strings.Contains(overload, "out")
}

// fit is a sample of another overload, or of the operator's schema, for this target.
func (t *target) fit(c Case) (Case, bool) {
	c = c.clone()
	c.Target = t.name
	c.Args = slices.DeleteFunc(c.Args, func(a Arg) bool {
		return !slices.ContainsFunc(t.params, func(h hint) bool { return h.name == a.Name })
	})
	for _, h := range t.params {
		if h.needed && !slices.ContainsFunc(c.Args, func(a Arg) bool { return a.Name == h.name }) {
			if h.schema == "" || !strings.HasPrefix(h.schema, "Tensor") {
				continue // the mutations fill it in
			}
			c.Args = append(c.Args, Arg{h.name, &Tensor{DType: "float32", Shape: []int{0}}})
		}
	}
	return c, true
}

const byName = "call:"

// namedTargets are all operators of the dispatcher, for torch.Call.
func namedTargets(samples map[string][]Case) (list []*target) {
	bases := map[string][]Case{}
	for op, cases := range samples {
		base, _, _ := strings.Cut(op, ".")
		bases[base] = append(bases[base], cases...)
	}
	names := torch.Operators()
	slices.Sort(names)
	for _, full := range names {
		op, ours := strings.CutPrefix(strings.TrimSuffix(full, "."), "aten::")
		if withheld(full) {
			continue
		}
		schema, err := torch.Try1(func() library.Schema { return library.Lookup(strings.TrimSuffix(full, ".")) })
		if err != nil {
			continue
		}
		if !ours {
			op = full
		}
		t := &target{name: byName + op, call: callByName(op), operator: true, random: unspecified(op)}
		for _, a := range schema.Arguments {
			t.params = append(t.params, hint{name: a.Name, schema: a.Type, needed: a.Default == "" && !strings.HasSuffix(a.Type, "?")})
			t.writes = t.writes || a.Changed
		}
		base, _, _ := strings.Cut(op, ".")
		found := samples[op]
		if len(found) == 0 {
			found = append(bases[base], bases[strings.TrimSuffix(base, "_")]...)
		}
		for _, c := range found {
			if c, ok := t.fit(c); ok {
				t.samples = append(t.samples, c)
			}
		}
		list = append(list, t)
	}
	return list
}

func callByName(op string) func(*maker, []Arg) []any {
	return func(m *maker, args []Arg) []any {
		list := make([]any, len(args))
		for i, a := range args {
			list[i] = torch.Arg(a.Name, goValue(m.value(a.Value)))
		}
		m.calling()
		return torch.Call(op, list...)
	}
}

// goValue is what a program would hand over: a list of one type where the values are.
func goValue(v any) any {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return v
	}
	if tensors, ok := typed[torch.Tensor](list); ok {
		return tensors
	}
	return list
}

func typed[T any](list []any) ([]T, bool) {
	out := make([]T, len(list))
	for i, v := range list {
		x, ok := v.(T)
		if !ok {
			return nil, false
		}
		out[i] = x
	}
	return out, true
}
