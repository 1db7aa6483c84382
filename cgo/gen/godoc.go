package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// docWidth is where lines of comments are broken.
const docWidth = 96

// doc is the comment above a Go form: what it does, how its options are given, further
// sentences, and the schema line. The lines begin after the slashes.
func (t *Tables) doc(f *Func, more ...string) []string {
	text := t.fill(f, t.sentence(f))
	for _, n := range append(slices.Clone(f.Notes), more...) {
		text += " " + n
	}
	lines := wrap(text, docWidth)
	return append(lines, "", "\t"+f.Op.Line)
}

// sentence is the first sentence of the comment. docs.txt knows the public operators;
// an in-place form refers to its twin; what PyTorch keeps private names the operator.
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

// placeholder is what docs.txt writes for names that this program decides: {op:fft_fft}
// is the Go name of that operator's form, {keepdim} the Go name of an argument.
var placeholder = regexp.MustCompile(`\{(op:)?([A-Za-z_][A-Za-z0-9_.]*)\}`)

// fill puts the Go names into a sentence of docs.txt.
func (t *Tables) fill(f *Func, text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		name := ""
		if m[1] != "" {
			name = t.formName(f, m[2])
		} else {
			name = f.argName(m[2])
		}
		if name == "" {
			t.lost = append(t.lost, fmt.Errorf("docs.txt: %s: %s names nothing that %s knows", f.Op.Name(), found, f.Symbol))
		}
		return name
	})
}

// index remembers every operator, for the sentences that name other ones.
func (t *Tables) index(door []*Op) {
	t.ops = map[string]*Op{}
	for _, o := range door {
		t.ops[o.Name()] = o
	}
}

// formName is the name that a comment on f uses for the Go form of another operator.
func (t *Tables) formName(f *Func, op string) string {
	o := t.ops[op]
	switch {
	case o == nil: // a list of operators that is not whole; docKeys looks at whole ones
		return t.camel(op)
	case o.Fold != nil:
		o = o.Fold
	case o.Place == Hand:
		return o.Why[strings.LastIndex(o.Why, ".")+1:]
	}
	if o.Go == nil {
		return ""
	}
	if from, to := f.Op.Place, o.Place; from != to {
		return o.elsewhere()
	}
	return o.symbol()
}

// argName is the Go name of an argument: that of a parameter, or of a field of the options.
func (f *Func) argName(arg string) string {
	for _, s := range f.Slots {
		if s.Name == arg && s.Source != FromTensor && s.Source != FromDefault {
			return strings.TrimPrefix(s.Expr, "o.")
		}
	}
	return ""
}

// fieldDoc is the comment on a field of an options struct: what it means, and its default
// where that is not the natural nothing of its type.
func (t *Tables) fieldDoc(o *Op, a Arg, negated bool) string {
	text := ""
	for _, key := range []string{o.Name(), o.Base, o.Stem(), ""} {
		if text = t.Docs[key+"@"+a.Name]; text != "" {
			break
		}
	}
	standard := ""
	switch d := defaultText(a); {
	case negated:
		standard = "Python's " + a.Name + "=False"
	case d != "" && a.Default != "[]":
		standard = "default " + d
	}
	if text == "" || standard != "" && strings.HasPrefix(text, "default") {
		return standard
	}
	if standard == "" {
		return text
	}
	return text + "; " + standard
}

// docKeys fails on lines of docs.txt for arguments that no operator of that name has, and
// on sentences that speak of operators that do not exist.
func (t *Tables) docKeys(ops []*Op) error {
	known, names := map[string]bool{}, map[string]bool{}
	for _, o := range ops {
		names[o.Name()] = true
		for _, a := range o.Args {
			for _, key := range []string{o.Name(), o.Base, o.Stem(), ""} {
				known[key+"@"+a.Name] = true
			}
		}
	}
	var problems []error
	for key, text := range t.Docs {
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if m[1] != "" && !names[m[2]] {
				problems = append(problems, fmt.Errorf("docs.txt: %s speaks of %s, which is no operator", key, m[2]))
			}
		}
		if strings.Contains(key, "@") && !known[key] {
			problems = append(problems, fmt.Errorf("docs.txt: %s names no argument", key))
		}
	}
	return errors.Join(problems...)
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
