package parity

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/torch"
)

// Coverage counts what the replay has shown.
type Coverage struct {
	Entries, Samples int
	Names            map[string]bool      // of the database; false where something in it was not checked
	Ops              map[string]*Operator // operators that were called
	Left             map[string]string    // entries and operators that could not be called, and why
	in               map[string][]string  // dtypes in which that is so
	Differences      []string             // at least one is a failure
	dtypes           map[string]int       // calls that were equal, by dtype
	seen             map[string]struct{}  // entries, in whatever dtype
}

// Operator is what was checked of one.
type Operator struct{ Calls, Grads int }

// NewCoverage is that of no replay yet.
func NewCoverage() *Coverage {
	return &Coverage{
		Names: map[string]bool{}, Ops: map[string]*Operator{}, Left: map[string]string{}, in: map[string][]string{},
		dtypes: map[string]int{}, seen: map[string]struct{}{},
	}
}

// Add replays what was recorded of an entry.
func (v *Coverage) Add(e Entry, c *chunk) {
	if _, again := v.seen[e.Name]; !again {
		v.seen[e.Name] = struct{}{}
		v.Entries++
	}
	v.Samples += e.Samples
	if e.Failed != "" {
		v.Left["entry "+e.Name] = e.Failed
		v.in["entry "+e.Name] = append(v.in["entry "+e.Name], e.DType)
	}
	for op, why := range e.Skipped {
		v.Left[op] = why
	}
	good := e.Failed == "" && e.Samples > 0
	for i := range c.cases {
		torch.Scope(func() { good = v.replay(e, c, &c.cases[i]) && good })
	}
	if known, ok := v.Names[e.Op]; !ok || !known {
		v.Names[e.Op] = good // one variant will do
	}
}

func (v *Coverage) replay(e Entry, c *chunk, k *Case) bool {
	difference, err := c.run(k)
	switch {
	case errors.Is(err, errNoForm):
		v.Left[k.Op] = err.Error()
		return false
	case err != nil:
		difference = err.Error()
	}
	if difference != "" {
		v.Differences = append(v.Differences, fmt.Sprintf("%s (%s): %s: %s", e.Name, e.DType, k.Op, difference))
		return false
	}
	if v.Ops[k.Op] == nil {
		v.Ops[k.Op] = &Operator{}
	}
	v.Ops[k.Op].Calls++
	if k.Grads != nil {
		v.Ops[k.Op].Grads++
	}
	v.dtypes[e.DType]++
	return true
}

// Totals are sums over all operators.
func (v *Coverage) Totals() (names, calls, gradOps, grads int) {
	for _, good := range v.Names {
		if good {
			names++
		}
	}
	for _, o := range v.Ops {
		calls += o.Calls
		grads += o.Grads
		if o.Grads > 0 {
			gradOps++
		}
	}
	return names, calls, gradOps, grads
}

// Page is docs/parity.md: the totals, what is left out and why, and every operator.
func (v *Coverage) Page() string {
	var b strings.Builder
	names, calls, gradOps, grads := v.Totals()
	b.WriteString(`# Operators held against Python

Written by ` + "`./build.sh parity -update`" + `. Python and Go make the same calls on the same libtorch ` + torch.Version() + `, one
thread; elements, shapes, strides, gradients and what is written in place have to have the same bits.

| | |
|---|---|
`)
	row := func(what string, n any) { fmt.Fprintf(&b, "| %s | %v |\n", what, n) }
	row("entries of op_db", v.Entries)
	row("names of op_db", len(v.Names))
	row("names of which every call was checked", names)
	row("samples", v.Samples)
	row("calls replayed through the typed functions, all equal", calls)
	row("of these with gradients", grads)
	row("operators checked", len(v.Ops))
	row("of these with gradients", gradOps)
	row("operators with a Go form", forms())
	row("calls by dtype", byCount(v.dtypes))
	b.WriteString("\n## Compared, but not bit for bit\n\nDtype, shape, strides and layout are.\n\n| operator | result | why " +
		"|\n|---|---|---|\n")
	for _, e := range exceptions {
		which := "all"
		if e.result >= 0 {
			which = fmt.Sprint("number ", e.result)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.op, which, e.why)
	}
	b.WriteString("\n## Left out\n\n| entry or operator | in | why |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(v.Left)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, strings.Join(v.in[name], ", "), oneLine(v.Left[name]))
	}
	v.operators(&b)
	return b.String()
}

func (v *Coverage) operators(b *strings.Builder) {
	b.WriteString("\n## Checked\n\n| operator | Go | calls | with gradients |\n|---|---|---|---|\n")
	for _, op := range slices.Sorted(maps.Keys(v.Ops)) {
		o := v.Ops[op]
		fmt.Fprintf(b, "| `%s` | %s | %d | %d |\n", op, symbol(op), o.Calls, o.Grads)
	}
	b.WriteString("\n## Not called by op_db\n\nPublic operators that have a Go form and that no sample comes to. Their " +
		"arguments are held against the schema\nby the test of package optable.\n\n")
	var list []string
	for _, f := range optable.Forms() {
		if s := symbol(f.Op); v.Ops[f.Op] == nil && !strings.Contains(s, "aten.") {
			list = append(list, "`"+f.Op+"`")
		}
	}
	b.WriteString(strings.Join(slices.Compact(list), ", ") + "\n")
}

// forms counts the operators with a Go form.
func forms() int {
	ops := map[string]bool{}
	for _, f := range optable.Forms() {
		ops[f.Op] = true
	}
	for op := range byHand {
		ops[op] = true
	}
	return len(ops)
}

var location = regexp.MustCompile(`^.*/`)

// symbol is the Go form of an operator as one writes it.
func symbol(op string) string {
	var f any
	if all := optable.FindAll(op); len(all) > 0 {
		f = all[0].Func
	} else if hand, ok := byHand[op]; ok {
		f = hand.Func
	} else {
		return "`torch.Call`"
	}
	name := location.ReplaceAllString(runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), "")
	if strings.HasPrefix(name, "parity.") {
		return "by hand"
	}
	return "`" + name + "`"
}

func byCount(m map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	for i, k := range keys {
		keys[i] = fmt.Sprint(k, " ", m[k])
	}
	return strings.Join(keys, ", ")
}

func oneLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}
