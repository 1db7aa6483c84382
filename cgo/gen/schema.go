package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Type is one type of the schema grammar: a base name with at most one list
// and the two places where a question mark may stand.
type Type struct {
	Base    string // Tensor, int, SymInt, float, bool, Scalar, str, ScalarType, …
	List    bool   // Base[]
	Size    int    // N of Base[N], 0 when the length is free
	ElemOpt bool   // Base?[]
	Opt     bool   // Base? or Base[]?
	Mutable bool   // Tensor(a!): the operator writes to it
	Alias   bool   // any alias annotation: a view or a mutation
}

// Key is the type as the wire format sees it: without the length of a list
// and with SymInt read as int, because both cross as the same words.
func (t Type) Key() string {
	k := t.Base
	if k == "SymInt" || k == "DeviceIndex" {
		k = "int"
	}
	if t.ElemOpt {
		k += "?"
	}
	if t.List {
		k += "[]"
	}
	if t.Opt {
		k += "?"
	}
	return k
}

// cxxKey distinguishes the types that differ in C++ but not on the wire.
func (t Type) cxxKey() string {
	k := t.Key()
	switch {
	case t.Base == "SymInt" && (t.List || t.Opt):
		k = strings.Replace(k, "int", "SymInt", 1)
	case t.Base == "DeviceIndex":
		k = "DeviceIndex"
	case t.Base == "bool" && t.List:
		k = fmt.Sprintf("bool[%d]", t.Size)
	}
	if t.Mutable {
		k += "!"
	}
	return k
}

// Arg is one argument of a schema.
type Arg struct {
	Type       Type
	Name       string
	Default    string // as written; meaningful when HasDefault
	HasDefault bool
	KwOnly     bool // stands after the star
}

// Return is one result of a schema; most have no name.
type Return struct {
	Type Type
	Name string
}

// Schema is one parsed line `name.overload(args) -> results`.
type Schema struct {
	Line     string
	Base     string // without the overload; a trailing underscore is kept
	Overload string
	Args     []Arg
	Returns  []Return
}

// Name is the operator's name as the dispatcher knows it.
func (s *Schema) Name() string {
	if s.Overload == "" {
		return s.Base
	}
	return s.Base + "." + s.Overload
}

// parseSchema reads one schema line of native_functions.yaml.
func parseSchema(line string) (*Schema, error) {
	name, rest, ok := strings.Cut(line, "(")
	if !ok {
		return nil, fmt.Errorf("schema %q: no argument list", line)
	}
	i := strings.LastIndex(rest, ") -> ")
	if i < 0 {
		return nil, fmt.Errorf("schema %q: no result", line)
	}
	s := &Schema{Line: line}
	s.Base, s.Overload, _ = strings.Cut(name, ".")
	kw := false
	for _, part := range splitTop(rest[:i]) {
		if part == "*" {
			kw = true
			continue
		}
		a, err := parseArg(part)
		if err != nil {
			return nil, fmt.Errorf("schema %q: %w", line, err)
		}
		a.KwOnly = kw
		s.Args = append(s.Args, a)
	}
	for _, part := range splitTop(unparen(rest[i+len(") -> "):])) {
		typ, name := cutName(part)
		t, err := parseType(typ)
		if err != nil {
			return nil, fmt.Errorf("schema %q: %w", line, err)
		}
		s.Returns = append(s.Returns, Return{Type: t, Name: name})
	}
	return s, nil
}

// unparen removes the brackets around a list of several results, but not those of
// Tensor(a).
func unparen(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		return s[1 : len(s)-1]
	}
	return s
}

// splitTop splits at the commas outside brackets and quotes.
func splitTop(s string) []string {
	var parts []string
	depth, start := 0, 0
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	if last := strings.TrimSpace(s[start:]); last != "" {
		parts = append(parts, last)
	}
	return parts
}

func parseArg(s string) (Arg, error) {
	head, def, has := strings.Cut(s, "=")
	typ, name := cutName(head)
	if name == "" {
		return Arg{}, fmt.Errorf("argument %q has no name", s)
	}
	t, err := parseType(typ)
	return Arg{Type: t, Name: name, Default: def, HasDefault: has}, err
}

// cutName splits "Tensor(a -> *) self" at its last blank outside brackets.
func cutName(s string) (typ, name string) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 || i < strings.LastIndexByte(s, ')') {
		return s, ""
	}
	return s[:i], s[i+1:]
}

var identifier = regexp.MustCompile(`^[A-Za-z]\w*$`)

func parseType(s string) (Type, error) {
	end := strings.IndexAny(s, "([?")
	if end < 0 {
		end = len(s)
	}
	t, rest := Type{Base: s[:end]}, s[end:]
	if strings.HasPrefix(rest, "(") {
		i := strings.IndexByte(rest, ')')
		t.Alias, t.Mutable = true, strings.Contains(rest[:i], "!")
		rest = rest[i+1:]
	}
	if strings.HasPrefix(rest, "?[") {
		t.ElemOpt, rest = true, rest[1:]
	}
	if strings.HasPrefix(rest, "[") {
		i := strings.IndexByte(rest, ']')
		if n := rest[1:i]; n != "" {
			size, err := strconv.Atoi(n)
			if err != nil {
				return t, fmt.Errorf("type %q: bad length", s)
			}
			t.Size = size
		}
		t.List, rest = true, rest[i+1:]
	}
	if rest == "?" {
		t.Opt, rest = true, ""
	}
	if rest != "" || !identifier.MatchString(t.Base) {
		return t, fmt.Errorf("type %q is not understood", s)
	}
	return t, nil
}
