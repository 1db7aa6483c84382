package cgo

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// InGo writes a text of libtorch on one line and gives its advice in Go's names: what
// libtorch calls retain_graph=True is a field of BackwardOptions here.
func InGo(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return pythonSize.ReplaceAllString(hintReplacer().Replace(text), "$1")
}

var (
	hintReplacer = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(hints()...) })
	pythonSize   = regexp.MustCompile(`torch\.Size\((\[[\d, ]*\])\)`)
)

// hints are pairs: what libtorch says, up to the words that change, and what it means in Go.
// Where several fit at one place the first wins.
func hints() (pairs []string) {
	for line := range strings.Lines(hintsText) {
		if mark, text := line[0], strings.TrimRight(line[1:], "\n"); mark == '-' || mark == '+' {
			pairs = append(pairs, strings.TrimPrefix(text, " "))
		}
	}
	return pairs
}

//go:embed hints.txt
var hintsText string
