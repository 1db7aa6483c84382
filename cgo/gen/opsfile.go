package main

import (
	"fmt"
	"go/format"
	"strings"
)

// opsFile is cgo/ops_gen.go: the numbers, names and flags of all entries. Names and
// flags are strings, the cheapest form there is for the compiler and the binary.
func opsFile(hand []string, door []*Op, hash uint64, t *Tables) ([]byte, error) {
	var b, names, flags strings.Builder
	b.WriteString(banner("//"))
	b.WriteString("package cgo\n\n// Op numbers an entry of the door: the hand-written ones first, then the operators by " +
		"name.\ntype Op uint32\n\n")
	fmt.Fprintf(&b, "const opsHash uint64 = %#x\n\n", hash)
	fmt.Fprintf(&b, "// opsByHand is how many entries are written by hand.\nconst opsByHand Op = %d\n\nconst (\n", len(hand))
	var ends []int
	add := func(constant, name string, flag byte) {
		fmt.Fprintf(&b, "%s Op = %d // %s\n", constant, len(ends), name)
		names.WriteString(name)
		flags.WriteByte('0' + flag)
		ends = append(ends, names.Len())
	}
	for _, name := range hand {
		add("Op"+t.camel(name), name, 0)
	}
	for _, o := range door {
		add(o.Const, o.Name(), opFlags(o, t))
	}
	b.WriteString(")\n\n// Setting numbers a process-wide setting of libtorch's: [OpGetSetting] reads it, [OpSetSetting] changes it.\n" +
		"type Setting uint32\n\nconst (\n")
	for i, name := range t.Settings {
		fmt.Fprintf(&b, "Setting%s Setting = %d // %s\n", t.camel(name), i, name)
	}
	b.WriteString(")\n\n// opNames holds all names one after the other; opEnds says where each ends.\n")
	longString(&b, "opNames", names.String())
	b.WriteString("\nvar opEnds = [...]uint32{")
	for i, end := range ends {
		if i%16 == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d, ", end)
	}
	b.WriteString("\n}\n\n// opFlags has a digit for each entry, the sum of its flags.\n")
	longString(&b, "opFlags", flags.String())
	b.WriteString(opsMethods)
	return format.Source([]byte(b.String()))
}

// opFlags are the bits that cgo/ops_gen.go knows by the names functionalFlag, heavyFlag and viewFlag.
func opFlags(o *Op, t *Tables) (flags byte) {
	if o.Functional() {
		flags |= 1
	}
	if lookup(t.Heavy, o) {
		flags |= 2
	}
	if o.View() {
		flags |= 4
	}
	return flags
}

// longString writes a constant in pieces that fit on a line.
func longString(b *strings.Builder, name, s string) {
	const width = 100
	fmt.Fprintf(b, "const %s = \"\"", name)
	for len(s) > 0 {
		n := min(len(s), width)
		fmt.Fprintf(b, " +\n%q", s[:n])
		s = s[n:]
	}
	b.WriteByte('\n')
}

const opsMethods = `
// String is the operator's name as PyTorch writes it: add.Tensor.
func (op Op) String() string {
	if int(op) >= len(opEnds) {
		return "unknown operator"
	}
	start := uint32(0)
	if op > 0 {
		start = opEnds[op-1]
	}
	return opNames[start:opEnds[op]]
}

const (
	functionalFlag = 1 << iota // changes none of its arguments
	heavyFlag                  // computes for long, where its arguments are large
	viewFlag                   // needs no elements of its arguments: makes views of them, or tensors like them
)

// functional reports an operator that changes none of its arguments, so that a call
// that ran out of memory may be repeated.
func (op Op) functional() bool { return op.flags()&functionalFlag != 0 }

// heavy reports an operator whose calls a [Gate] bounds.
func (op Op) heavy() bool { return op.flags()&heavyFlag != 0 }

// view reports an operator that needs no elements of its arguments. Some have to copy them where no
// view can be made.
func (op Op) view() bool { return op.flags()&viewFlag != 0 }

func (op Op) flags() byte {
	if int(op) >= len(opFlags) {
		return 0
	}
	return opFlags[op] - '0'
}
`
