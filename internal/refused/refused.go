package refused

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// failure is an error of one kind.
type failure struct{ kind, why error }

// Because is an error that matches a kind, which it begins with, and whatever format wraps.
func Because(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Errorf(format, args...)}
}

// Error is one line.
func (f *failure) Error() string { return Line(f.kind.Error() + ": " + f.why.Error()) }

// Unwrap are the kind and the cause.
func (f *failure) Unwrap() []error { return []error{f.kind, f.why} }

// A line has as many bytes of a longer text, from its beginning and its end.
const beginning, end = 600, 300

// Line is a text as one line of some thousand bytes at most: what cannot be printed is escaped as in Go's quoted texts, and the middle of
// what is longer is left out.
func Line(text string) string {
	if n := len(text) - beginning - end; n > 100 {
		first, last := beginning, len(text)-end // of the middle, with the characters that either would cut
		for first > 0 && !utf8.RuneStart(text[first]) {
			first--
		}
		for last < len(text) && !utf8.RuneStart(text[last]) {
			last++
		}
		text = fmt.Sprintf("%s … %d bytes … %s", text[:first], n, text[last:])
	}
	return escaped(text, unicode.IsPrint)
}

// Lines is a text of any number of lines in which only what ends a line is no character that can be printed.
func Lines(text string) string {
	return escaped(text, func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) })
}

// escaped has all characters that may not stay as they are escaped.
func escaped(text string, stays func(rune) bool) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !stays(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		if own := text[at : at+n]; r == utf8.RuneError && n == 1 || !stays(r) {
			quoted := strconv.Quote(own)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(own)
		}
		at += n
	}
	return b.String()
}
