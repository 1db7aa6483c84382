package main

import (
	"fmt"
	"slices"
	"strings"
)

const shards = 4

// cxxHeader is ops_gen.h: what the generated C++ files share.
func cxxHeader() string {
	return banner("//") + `// The table of all entries: hand-written ones first, then the operators by name.
#pragma once

#include "wire.h"

namespace tg {

extern const Entry ops_table[];
extern const uint32_t ops_count;
extern const uint64_t ops_hash;  // of all names and schemas: package cgo has the same

}  // namespace tg
`
}

// cxxName is the name of an operator's entry, as libtorch spells it in at::_ops.
func cxxName(o *Op) string {
	name := o.Base
	if o.Overload != "" {
		name += "_" + o.Overload
	}
	return name
}

// cxxTable is ops_gen_table.cc: the prototypes and the table itself.
func cxxTable(hand []string, door []*Op, hash uint64) string {
	var b strings.Builder
	b.WriteString(banner("//"))
	b.WriteString("#include \"entries.h\"\n#include \"ops_gen.h\"\n\nnamespace tg::op {\n\n")
	for _, o := range door {
		fmt.Fprintf(&b, "void %s(Args&, Results&);\n", cxxName(o))
	}
	b.WriteString("\n}  // namespace tg::op\n\nnamespace tg {\n\nconst Entry ops_table[] = {\n")
	for _, name := range hand {
		fmt.Fprintf(&b, "\tentry::%s,\n", name)
	}
	for _, o := range door {
		fmt.Fprintf(&b, "\top::%s,\n", cxxName(o))
	}
	fmt.Fprintf(&b, "};\nconst uint32_t ops_count = %d;\nconst uint64_t ops_hash = %#xu;\n\n}  // namespace tg\n", len(hand)+len(door), hash)
	return b.String()
}

// cxxHeaderName is the file in ATen/ops that an operator shares with its in-place
// form: add_ lies in add_ops.h, __iand__ in and_ops.h, normal_functional in normal_ops.h.
func cxxHeaderName(o *Op) string {
	if name, ok := strings.CutPrefix(o.Base, "__"); ok {
		name = strings.TrimSuffix(name, "__")
		if o.Inplace() {
			name = name[1:]
		}
		return name
	}
	return strings.TrimSuffix(strings.TrimSuffix(o.Base, "_"), "_functional")
}

// cxxShard is one of the files with the operators' unpackers; those with rules have their own,
// so that a change of the rules compiles little. An operator that a
// supported libtorch lacks is guarded: there it answers "not implemented".
func cxxShard(ops []*Op) (string, error) {
	var b strings.Builder
	b.WriteString(banner("//"))
	b.WriteString("#include \"below.h\"\n#include \"ops_gen.h\"\n")
	if slices.ContainsFunc(ops, func(o *Op) bool { return o.Guard.stands() }) {
		b.WriteString("#include \"rules/rules.h\"\n")
	}
	b.WriteByte('\n')
	seen := map[string]bool{}
	for _, o := range ops {
		header := fmt.Sprintf("<ATen/ops/%s_ops.h>", cxxHeaderName(o))
		if seen[header] {
			continue
		}
		seen[header] = true
		include := "#include " + header + "\n"
		if o.Gone != "" {
			include = "#if __has_include(" + header + ")\n" + include + "#endif\n"
		}
		b.WriteString(include)
	}
	b.WriteString("\nnamespace tg::op {\n")
	for _, o := range ops {
		body, err := cxxBody(o)
		if err != nil {
			return "", err
		}
		if o.Gone == "" {
			fmt.Fprintf(&b, "\nvoid %s(Args& a, Results& r) {\n%s}\n", cxxName(o), body)
			continue
		}
		number, err := versionNumber(o.Gone)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\nvoid %s(Args& a, Results& r) {\n#if TG_TORCH_VERSION < %d\n%s#else\n\tmissing(a, r);\n#endif\n}\n", cxxName(o),
			number, body)
	}
	b.WriteString("\n}  // namespace tg::op\n")
	return b.String(), nil
}

// cxxRead is the expression that reads an argument of each type.
var cxxRead = map[string]string{
	"Tensor": "const auto& %s = a.tensor();", "Tensor!": "auto& %s = const_cast<at::Tensor&>(a.tensor());",
	"Tensor?": "auto %s = a.opt_tensor();", "Tensor?!": "auto %s = a.opt_tensor();",
	"Tensor[]": "auto %s = a.tensors();", "Tensor[]!": "auto %s = a.tensors();",
	"Tensor?[]": "auto %s = a.opt_tensors();", "Generator?": "auto %s = a.opt_generator();",
	"int": "auto %s = a.integer();", "int?": "auto %s = a.opt_integer();", "SymInt?": "auto %s = a.opt_symint();",
	"DeviceIndex": "auto %s = static_cast<at::DeviceIndex>(a.integer());",
	"int[]":       "auto %s = a.ints();", "int[]?": "auto %s = a.opt_ints();",
	"SymInt[]": "auto %s = a.symints();", "SymInt[]?": "auto %s = a.opt_symints();",
	"float": "auto %s = a.number();", "float?": "auto %s = a.opt_number();",
	"float[]": "auto %s = a.numbers();", "float[]?": "auto %s = a.opt_numbers();",
	"bool": "auto %s = a.boolean();", "bool?": "auto %s = a.opt_boolean();",
	"bool[2]": "auto %s = a.booleans<2>();", "bool[3]": "auto %s = a.booleans<3>();", "bool[4]": "auto %s = a.booleans<4>();",
	"Scalar": "auto %s = a.scalar();", "Scalar?": "auto %s = a.opt_scalar();", "Scalar[]": "auto %s = a.scalars();",
	"str": "auto %s = a.string();", "str?": "auto %s = a.opt_string();",
	"ScalarType": "auto %s = a.dtype();", "ScalarType?": "auto %s = a.opt_dtype();",
	"Layout": "auto %s = a.layout();", "Layout?": "auto %s = a.opt_layout();",
	"MemoryFormat": "auto %s = a.format();", "MemoryFormat?": "auto %s = a.opt_format();",
	"Device": "auto %s = a.device();", "Device?": "auto %s = a.opt_device();",
}

// cxxBody reads the arguments into locals, because C++ evaluates the arguments of a
// call in no fixed order, then calls the operator and sends its results.
func cxxBody(o *Op) (string, error) {
	var b strings.Builder
	var names []string
	for _, arg := range o.Args {
		read, ok := cxxRead[arg.Type.cxxKey()]
		if !ok {
			return "", fmt.Errorf("%s: arguments of type %s do not cross the door", o.Name(), arg.Type.cxxKey())
		}
		name := arg.Name
		if name == "a" || name == "r" || name == "out" {
			name += "_"
		}
		names = append(names, name)
		line := fmt.Sprintf("\t"+read+"\n", name)
		if o.Guard.Needed {
			line = strings.Replace(line, "a.tensor()", fmt.Sprintf("a.needed(%q)", arg.Name), 1)
		}
		b.WriteString(line)
	}
	guard := typedGuard(o, names)
	if o.Inplace() {
		b.WriteString(cxxApart(o, names))
	}
	call := fmt.Sprintf("at::_ops::%s::call(%s)", cxxName(o), strings.Join(names, ", "))
	b.WriteString(guard)
	after := ""
	switch {
	case o.source():
		b.WriteString("\tat::AutoDispatchBelowADInplaceOrView guard;\n")
	case o.short():
		fmt.Fprintf(&b, "\tBelow below(%s);\n", strings.Join(tensorsOf(o, names), ", "))
		if o.Inplace() {
			after = fmt.Sprintf("\tbelow.changed(%s);\n", names[0])
		}
	case o.viewing():
		fmt.Fprintf(&b, "\tBelowGradients below(%s);\n", strings.Join(tensorsOf(o, names), ", "))
	}
	send, err := cxxSend(o, call)
	return unsafeGuard(o) + b.String() + send + after, err
}

// tensorsOf are the names of the arguments that are tensors or have some.
func tensorsOf(o *Op, names []string) (list []string) {
	for i, arg := range o.Args {
		if arg.Type.Base == "Tensor" {
			list = append(list, names[i])
		}
	}
	return list
}

// cxxApart looks whether a tensor among the arguments, or one of a list of them where the operator
// writes to a list, is what the operator writes to. The names become those of what is handed on.
func cxxApart(o *Op, names []string) string {
	written := names[0]
	var others []int
	for i, arg := range o.Args {
		if i > 0 && !arg.Type.Mutable && arg.Type.Base == "Tensor" && !arg.Type.ElemOpt && arg.Type.List == o.Args[0].Type.List {
			others = append(others, i)
		}
	}
	var b strings.Builder
	learns := ""
	if len(others) > 1 {
		var all []string
		for _, i := range others {
			all = append(all, "learns("+names[i]+")")
		}
		fmt.Fprintf(&b, "\tbool learned = %s;\n", strings.Join(all, " || "))
		learns = ", learned"
	}
	for _, i := range others {
		own := "own_" + names[i]
		kind := "at::Tensor"
		if o.Args[i].Type.List {
			kind = "std::vector<at::Tensor>"
		}
		fmt.Fprintf(&b, "\t%s %s;\n\tconst auto& apart_%s = apart(%s, %s, %s%s);\n", kind, own, names[i], written, names[i], own, learns)
		names[i] = "apart_" + names[i]
	}
	return b.String()
}

// cxxSend runs the call and sends the results that are not arguments handed back.
func cxxSend(o *Op, call string) (string, error) {
	fresh := slices.ContainsFunc(o.Returns, func(r Return) bool { return !r.Type.Mutable })
	if !fresh {
		return "\t" + call + ";\n", nil
	}
	if len(o.Returns) == 1 {
		method, err := cxxResult(o, o.Returns[0])
		if o.Returns[0].Type.Base == "ScalarType" {
			call = "static_cast<int64_t>(" + call + ")"
		}
		return fmt.Sprintf("\tr.%s(%s);\n", method, call), err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\tauto out = %s;\n", call)
	for i, ret := range o.Returns {
		if ret.Type.Mutable {
			continue
		}
		method, err := cxxResult(o, ret)
		if err != nil {
			return "", err
		}
		value := fmt.Sprintf("std::get<%d>(out)", i)
		switch {
		case ret.Type.Base == "SymInt":
			value += ".guard_int(__FILE__, __LINE__)"
		case method == "tensor" || method == "tensors":
			value = "std::move(" + value + ")"
		}
		fmt.Fprintf(&b, "\tr.%s(%s);\n", method, value)
	}
	return b.String(), nil
}

func cxxResult(o *Op, r Return) (string, error) {
	method, ok := map[string]string{
		"Tensor": "tensor", "Tensor[]": "tensors", "bool": "boolean", "int": "integer",
		"float": "number", "Scalar": "scalar", "ScalarType": "integer",
	}[r.Type.Key()]
	if !ok {
		return "", fmt.Errorf("%s: results of type %s do not cross the door", o.Name(), r.Type.Key())
	}
	return method, nil
}
