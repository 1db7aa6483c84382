package main

import (
	"fmt"
	"slices"
	"strings"
)

// docWidth is where lines of comments are broken.
const docWidth = 96

// doc is the comment above a Go form: what it does, how its options are given, further
// sentences, and the schema line. The lines begin after the slashes.
func (t *Tables) doc(f *Func, more ...string) []string {
	text := t.sentence(f)
	for _, n := range append(slices.Clone(f.Notes), more...) {
		text += " " + n
	}
	lines := wrap(text, docWidth)
	return append(lines, "", "\t"+f.Op.Line)
}

// sentence is the first sentence of the comment. docs.txt knows the operators that
// people use; an in-place form refers to its twin; the rest names the operator.
func (t *Tables) sentence(f *Func) string {
	o := f.Op
	if text, ok := t.Docs[o.Name()]; ok {
		return f.Symbol + " " + text
	}
	if f.Twin {
		return fmt.Sprintf("%s is %s in place: it overwrites x%s.", f.Symbol, strings.TrimSuffix(f.Symbol, "InPlace"), f.handsBack())
	}
	if text, ok := t.Docs[o.Base]; ok && !o.Inplace() {
		return f.Symbol + " " + text
	}
	s := fmt.Sprintf("%s calls aten::%s.", f.Symbol, o.Name())
	if o.Inplace() {
		s += " It overwrites x" + f.handsBack() + "."
	}
	return s
}

func (f *Func) handsBack() string {
	if f.returnsArgs() == nil {
		return ""
	}
	return " and returns it"
}

// wrap breaks text into comment lines of at most width columns.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if len(line)+1+len(w) > width && line != "" {
			lines = append(lines, line)
			line = ""
		}
		line += " " + w
	}
	return append(lines, line)
}
