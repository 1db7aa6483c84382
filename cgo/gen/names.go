package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// camel writes a PyTorch name in MixedCaps, word by word, with the words of names.txt.
func (t *Tables) camel(name string) string {
	var b strings.Builder
	for _, w := range strings.Split(name, "_") {
		b.WriteString(t.word(w))
	}
	return b.String()
}

func (t *Tables) word(w string) string {
	if w == "" {
		return ""
	}
	if s, ok := t.Words[w]; ok {
		return s
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

// lower is camel for a local name: the first word stays small.
func (t *Tables) lower(name string) string {
	if s, ok := t.Params[name]; ok {
		return s
	}
	first, rest, _ := strings.Cut(strings.Trim(name, "_"), "_")
	return unexport(first) + t.camel(rest)
}

// unexport lowers the capitals a word begins with: LU → lu, inputSize stays.
func unexport(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsUpper(r) })
	if i < 0 {
		return strings.ToLower(s)
	}
	return strings.ToLower(s[:max(i, 1)]) + s[max(i, 1):]
}

// constName is the operator's constant in package cgo. It keeps every overload's
// full name; operators private to PyTorch carry Aten, so that _softmax and softmax
// differ, and so do the few whose name a hand-written entry has taken.
func constName(o *Op, t *Tables, taken bool) string {
	name := t.camel(o.Stem())
	if strings.HasPrefix(o.Base, "_") || taken {
		name = "Aten" + name
	}
	if o.Inplace() {
		name += "InPlace"
	}
	return "Op" + name + t.camel(o.Overload)
}

// symbol is the operator's name in its Go package.
func symbol(o *Op, t *Tables, overloads map[string][]string) string {
	if s, ok := t.Symbols[o.Name()]; ok {
		return s
	}
	s, ok := t.Symbols[o.plainName()]
	if !ok {
		s = t.stem(o.Stem()) + suffix(o, t, overloads[o.Base])
	}
	if o.Inplace() {
		s += "InPlace"
	}
	return s
}

func (t *Tables) stem(stem string) string {
	if s, ok := t.Stems[stem]; ok {
		return s
	}
	for _, room := range []string{"fft_", "linalg_", "special_"} {
		if rest, ok := strings.CutPrefix(stem, room); ok && !strings.HasPrefix(rest, "_") {
			return t.camel(rest)
		}
	}
	return t.camel(stem)
}

// suffix tells overloads apart. A table entry "-" marks the overload that users
// mean by the plain name; it keeps its own name where a nameless one exists as well.
func suffix(o *Op, t *Tables, overloads []string) string {
	if o.Overload == "" {
		return ""
	}
	s, ok := t.Suffixes[o.Overload]
	switch {
	case !ok:
		return t.camel(o.Overload)
	case s == "-" && slices.Contains(overloads, ""):
		return t.camel(o.Overload)
	case s == "-":
		return ""
	}
	return s
}

// nameAll gives every operator of one place its symbol.
func nameAll(door []*Op, place Place, t *Tables) (map[*Op]string, error) {
	overloads := map[string][]string{}
	for _, o := range door {
		if o.Place == place {
			overloads[o.Base] = append(overloads[o.Base], o.Overload)
		}
	}
	names := map[*Op]string{}
	for _, o := range door {
		if o.Place == place && o.Fold == nil {
			names[o] = symbol(o, t, overloads)
			if !unicode.IsUpper(rune(names[o][0])) {
				return nil, fmt.Errorf("%s: %q is not an exported name", o.Name(), names[o])
			}
		}
	}
	tellApart(names)
	return names, nil
}

// tellApart renames the private twin of an operator that users know: _embedding_bag is
// PrivateEmbeddingBag, where embedding_bag is in the same package.
func tellApart(names map[*Op]string) {
	known := map[string]bool{}
	for o, name := range names {
		if o.Known {
			known[name] = true
		}
	}
	for o, name := range names {
		if !o.Known && known[name] {
			names[o] = "Private" + name
		}
	}
}
