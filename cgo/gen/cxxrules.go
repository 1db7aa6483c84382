package main

import (
	"fmt"
	"slices"
	"strings"
)

// cxxBoxed is the expression that takes an argument of each type from a stack of boxed values.
var cxxBoxed = map[string]string{
	"Tensor": "tensor", "Tensor?": "tensor", "Tensor[]": "tensors", "int": "integer", "int?": "opt_integer",
	"int[]": "ints", "int[]?": "opt_ints", "float": "number", "float?": "opt_number", "bool": "boolean", "bool?": "opt_boolean",
	"Scalar": "scalar", "Scalar[]": "scalars", "Scalar?": "opt_scalar", "str": "string", "str?": "opt_string",
	"Layout?": "opt_layout", "MemoryFormat?": "opt_format", "ScalarType?": "opt_dtype", "ScalarType": "dtype",
	"float[]?": "opt_numbers", "float[]": "numbers",
}

// typedGuard writes what a typed call passes before libtorch sees the arguments, whose
// names in C++ these are.
func typedGuard(o *Op, names []string) string {
	var b strings.Builder
	for _, r := range o.Guard.Rules {
		fmt.Fprintf(&b, "\trule::%s;\n", r.expression(func(i int) string { return "rule::of(" + names[i] + ")" }))
	}
	return b.String()
}

// unsafeGuard writes the refusal of an operator that no rule makes safe.
func unsafeGuard(o *Op) string {
	if !o.Guard.Unsafe {
		return ""
	}
	return fmt.Sprintf("\trule::refuse_unsafe(%q);\n", o.Name())
}

// expression is the call of the rule, whose arguments arg writes.
func (r RuleCall) expression(arg func(int) string) string {
	list := slices.Clone(r.Told)
	for _, i := range r.Args {
		if i < 0 {
			list = append(list, "{}")
			continue
		}
		list = append(list, arg(i))
	}
	return r.Function + "(" + strings.Join(list, ", ") + ")"
}

// boxedArg writes an argument as the stack has it.
func boxedArg(o *Op) func(int) (string, error) {
	return func(i int) (string, error) {
		read, ok := cxxBoxed[o.Args[i].Type.Key()]
		if !ok {
			return "", fmt.Errorf("%s: no rule takes an argument of type %s", o.Name(), o.Args[i].Type.Key())
		}
		return fmt.Sprintf("boxed::%s(s[%d])", read, i), nil
	}
}

// boxedRules is ops_gen_rules.cc: what calls by name pass, by the names of the operators.
type boxedRules struct {
	functions strings.Builder
	rows      strings.Builder
	known     map[string]string // body → name of the function
}

// function returns the name of a function with that body, which it writes unless it is there.
func (b *boxedRules) function(body string) string {
	name, ok := b.known[body]
	if !ok {
		name = fmt.Sprintf("f%d", len(b.known))
		b.known[body] = name
		fmt.Fprintf(&b.functions, "void %s(const c10::IValue* s) {\n%s}\n", name, body)
	}
	return name
}

// add writes the row of an operator.
func (b *boxedRules) add(o *Op) error {
	body := unsafeGuard(o)
	arg := boxedArg(o)
	var failed error
	take := func(i int) string {
		text, err := arg(i)
		if err != nil {
			failed = err
		}
		return text
	}
	for _, r := range o.Guard.Rules {
		body += "\trule::" + r.expression(take) + ";\n"
	}
	if body != "" {
		fmt.Fprintf(&b.rows, "\t{\"aten::%s\", %q, %s},\n", o.Base, o.Overload, b.function(body))
	}
	return failed
}

// cxxRules writes the table for calls by name. Variants that no rule understands, because
// their arguments are of other types, stand for themselves.
func cxxRules(ops []*Op, unlisted []string) (string, error) {
	b := boxedRules{known: map[string]string{}}
	for _, o := range ops {
		if err := b.add(o); err != nil {
			return "", err
		}
	}
	return banner("//") + "#include \"rules/boxed.h\"\n#include \"rules/rules.h\"\n\nnamespace tg {\nnamespace {\n\n" + b.functions.String() +
		"\n}  // namespace\n\nconst GuardRow guard_rows[] = {\n" + b.rows.String() +
		"};\nconst size_t guard_count = std::size(guard_rows);\n\nconst char* const unlisted[] = {\n\t\"aten::" +
		strings.Join(unlisted, "\",\n\t\"aten::") + "\",\n};\nconst size_t unlisted_count = std::size(unlisted);\n\n}  // namespace tg\n", nil
}
