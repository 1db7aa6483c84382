package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ruleLine is a line "rule": a function of cgo/shim/rules sees arguments of the operators
// that match a pattern, because libtorch does not survive some of them.
type ruleLine struct {
	function string
	args     []string // "self", "self|input" for the first that is there, "pad?" for one that may be missing
	patterns []string
	used     []bool // which patterns match an operator
}

// patternLine is a line "unsafe", of operators that no rule makes safe, or "safe", of
// exceptions from it.
type patternLine struct {
	patterns []string
	used     []bool // which of them match an operator
}

var ruleHead = regexp.MustCompile(`^(\w+)\(([\w|?,]*)\)$`)

// ruleLine reads "f(arg,arg) op…".
func (t *Tables) ruleLine(f []string) error {
	head := ruleHead.FindStringSubmatch(f[0])
	if head == nil {
		return fmt.Errorf("%s: want function(argument,argument)", f[0])
	}
	t.Rules = append(t.Rules, &ruleLine{head[1], strings.Split(head[2], ","), f[1:], make([]bool, len(f)-1)})
	return nil
}

// Guard is what stands before an operator, in the typed call and in the call by name.
type Guard struct {
	Needed bool       // tensors that are not optional have to be defined
	Unsafe bool       // refused outside of torch.Unsafe
	Rules  []RuleCall // that look at arguments
}

// stands reports whether there is anything but the tensors that are needed.
func (g *Guard) stands() bool { return g.Unsafe || len(g.Rules) > 0 }

// RuleCall is one rule and the arguments that it sees, as indices; -1 for one that the
// operator does not have.
type RuleCall struct {
	Function string
	Args     []int
	Told     []string // what the rule is told first, in C++, for the rules that the schema selects
}

// matches reports whether a pattern of names.txt means an operator: it is held against the
// name of the form that is not in place, and "op.*" means all overloads. "op=" means that form alone.
func matches(pattern string, o *Op) bool {
	if alone, ok := strings.CutSuffix(pattern, "="); ok {
		ok, _ = path.Match(alone, o.Name())
		return ok
	}
	for _, name := range []string{o.Name(), o.plainName()} {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	base, all := strings.CutSuffix(pattern, ".*")
	ok, _ := path.Match(base, o.Stem())
	return all && ok
}

func anyMatch(patterns []string, used []bool, o *Op) (found bool) {
	for i, p := range patterns {
		if matches(p, o) {
			found, used[i] = true, true
		}
	}
	return found
}

// guardAll works out what stands before each operator. Variants that write to an "out" have
// what their functional form has.
func guardAll(door, left []*Op, t *Tables) error {
	functional := map[string]*Op{}
	for _, o := range door {
		if o.Functional() {
			functional[o.inputs()] = o
		}
	}
	for _, o := range slices.Concat(door, left) {
		like := o
		if twin := functional[o.inputs()]; twin != nil && o.isOut() {
			like = twin
		}
		if err := o.guard(like, t); err != nil {
			return err
		}
	}
	return nil
}

// inputs is an operator's base name and the arguments that it does not write to.
func (o *Op) inputs() string {
	var b strings.Builder
	b.WriteString(o.Base)
	for _, a := range o.Args {
		if !a.Type.Mutable {
			fmt.Fprintf(&b, ",%s %s", a.Type.Key(), a.Name)
		}
	}
	return b.String()
}

// guard collects the lines that speak of like.
func (o *Op) guard(like *Op, t *Tables) error {
	g := &o.Guard
	for _, line := range t.Unsafe {
		if anyMatch(line.patterns, line.used, like) {
			g.Unsafe = true
		}
	}
	for _, line := range t.Safe {
		if anyMatch(line.patterns, line.used, like) {
			g.Unsafe = false
		}
	}
	g.Rules = o.bySchema()
	for _, line := range t.Rules {
		if !anyMatch(line.patterns, line.used, like) && !anyMatch(line.patterns, line.used, o) {
			continue
		}
		call, err := o.ruleCall(line)
		switch {
		case err == nil:
			g.Rules = append(g.Rules, call)
		case o.Place != Left:
			return err
		}
	}
	g.Needed = !o.Known && o.Place != Hand || len(g.Rules) > 0
	return nil
}

// ruleCall finds the arguments that a rule asks for.
func (o *Op) ruleCall(line *ruleLine) (RuleCall, error) {
	call := RuleCall{Function: line.function}
	for _, want := range line.args {
		names, optional := strings.CutSuffix(want, "?")
		i := -1
		for _, name := range strings.Split(names, "|") {
			if i < 0 {
				i = slices.IndexFunc(o.Args, func(a Arg) bool { return a.Name == name })
			}
		}
		if i < 0 && !optional {
			return call, fmt.Errorf("%s: rule %s asks for an argument %s, which is not there", o.Name(), line.function, want)
		}
		call.Args = append(call.Args, i)
	}
	return call, nil
}

// windowNames are the lists of ints that say how large windows, steps and borders are.
var windowNames = regexp.MustCompile(`^(kernel_size|stride|padding|dilation|output_padding|output_size|pad|left|right)$`)

// counted are the operators whose kernels read as many numbers as they need; others have words for
// lists that are too short, or one number stands for all.
var counted = regexp.MustCompile(`^(reflection_pad|replication_pad|_adaptive_)`)

// countedIfQuantized are those whose kernels for quantized tensors do so.
var countedIfQuantized = regexp.MustCompile(`^(max_pool2d|_?adaptive_avg_pool[23]d)$`)

// bySchema are the rules that the schema selects: where it speaks of windows or borders, these
// are bounded, because kernels compute with them in 32 bits, or step through them, and are as
// many as kernels read, and a window with holes reaches no further than these; sizes and
// strides reach no further than numbers do; a reduction is one of three.
func (o *Op) bySchema() (calls []RuleCall) {
	ints := func(name string) int {
		return slices.IndexFunc(o.Args, func(a Arg) bool { return a.Name == name && a.Type.Key() == "int[]" })
	}
	if size, stride := ints("size"), ints("stride"); size >= 0 && stride >= 0 {
		offset := slices.IndexFunc(o.Args, func(a Arg) bool { return a.Name == "storage_offset" && a.Type.Base == "SymInt" })
		calls = append(calls, RuleCall{Function: "strides", Args: []int{size, stride, offset}})
	}
	if i := slices.IndexFunc(o.Args, func(a Arg) bool { return a.Name == "reduction" && a.Type.Key() == "int" }); i >= 0 {
		calls = append(calls, RuleCall{Function: "reduction", Args: []int{i}})
	}
	windows := slices.ContainsFunc(o.Args, func(a Arg) bool {
		return a.Type.Key() == "int[]" && (a.Name == "kernel_size" || a.Name == "padding" || a.Name == "pad" || a.Name == "output_size")
	})
	if !windows {
		return calls
	}
	for i, a := range o.Args {
		if windowNames.MatchString(a.Name) && a.Type.Key() == "int[]" {
			calls = append(calls, RuleCall{Function: "lengths", Args: []int{i}, Told: []string{strconv.Quote(a.Name)}})
			told := []string{strconv.Quote(a.Name), strconv.Itoa(a.Type.Size)}
			if a.Type.Size > 1 && !a.HasDefault && counted.MatchString(o.Base) {
				calls = append(calls, RuleCall{Function: "numbers", Args: []int{i}, Told: told})
			}
			if countedIfQuantized.MatchString(o.Base) {
				calls = append(calls, RuleCall{Function: "numbers", Args: []int{i, 0}, Told: told})
			}
		}
	}
	if kernel, dilation := ints("kernel_size"), ints("dilation"); kernel >= 0 && dilation >= 0 {
		calls = append(calls, RuleCall{Function: "reach", Args: []int{kernel, dilation}})
	}
	return calls
}

// unusedRules fails on patterns that match no operator.
func (t *Tables) unusedRules() error {
	var lost []string
	collect := func(patterns []string, used []bool) {
		for i, p := range patterns {
			if !used[i] {
				lost = append(lost, p)
			}
		}
	}
	for _, line := range t.Rules {
		collect(line.patterns, line.used)
	}
	for _, line := range slices.Concat(t.Unsafe, t.Safe) {
		collect(line.patterns, line.used)
	}
	if lost == nil {
		return nil
	}
	return fmt.Errorf("rules in cgo/gen/names.txt match no operator: %s", strings.Join(lost, ", "))
}
