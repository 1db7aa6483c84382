package main

import (
	"fmt"
	"go/format"
	"strings"
)

// opsFile is cgo/ops_gen.go: the numbers, names and flags of all entries. Names and
// flags are strings, the cheapest form there is for the compiler and the binary.
func opsFile(hand []string, door []*Op, hash uint64, t *Tables) ([]byte, error) {
	var b, names, functional strings.Builder
	b.WriteString(banner("//"))
	b.WriteString("package cgo\n\n// Op numbers an entry of the door: the hand-written ones first, then the operators by name.\ntype Op uint32\n\n")
	fmt.Fprintf(&b, "const opsHash uint64 = %#x\n\n", hash)
	fmt.Fprintf(&b, "// opsByHand is how many entries are written by hand.\nconst opsByHand Op = %d\n\nconst (\n", len(hand))
	var ends []int
	add := func(constant, name, flag string) {
		fmt.Fprintf(&b, "%s Op = %d // %s\n", constant, len(ends), name)
		names.WriteString(name)
		functional.WriteString(flag)
		ends = append(ends, names.Len())
	}
	for _, name := range hand {
		add("Op"+t.camel(name), name, "0")
	}
	for _, o := range door {
		add(o.Const, o.Name(), map[bool]string{false: "0", true: "1"}[o.Functional()])
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
	b.WriteString("\n}\n\n// opFunctional marks the entries that change none of their arguments.\n")
	longString(&b, "opFunctional", functional.String())
	b.WriteString(opsMethods)
	return format.Source([]byte(b.String()))
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

// functional reports an operator that changes none of its arguments, so that a call
// which failed for want of memory may be tried again.
func (op Op) functional() bool {
	return int(op) < len(opFunctional) && opFunctional[op] == '1'
}
`
