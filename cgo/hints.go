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
	text = pythonSize.ReplaceAllString(hintReplacer().Replace(text), "$1")
	text = enforcement.ReplaceAllString(text, "")
	text = typeWords.ReplaceAllStringFunc(text, func(word string) string {
		return dtypesInC[typeWords.FindStringSubmatch(word)[1]]
	})
	return dtypeWords.ReplaceAllStringFunc(text, func(words string) string {
		return dtypeWord.ReplaceAllStringFunc(words, func(w string) string {
			if name, ok := dtypesInC[w]; ok {
				return name
			}
			return w
		})
	})
}

// dtypesInC are the names that libtorch's own messages have for dtypes.
var dtypesInC = map[string]string{
	"Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64", "Half": "float16", "Float": "float32",
	"Double": "float64", "ComplexFloat": "complex64", "ComplexDouble": "complex128", "Bool": "bool", "BFloat16": "bfloat16",
}

var (
	hintReplacer = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(hints()...) })
	enforcement  = regexp.MustCompile(`^\[enforce fail at [^\]]*\] .*?\. DefaultCPUAllocator: `)
	dtypeWords   = regexp.MustCompile(`(scalar types?:?|but found|Got:|result type|output type) [A-Z]\w*(, [A-Z]\w*)*`)
	typeWords    = regexp.MustCompile(`\bCPU(Byte|Char|Short|Int|Long|Half|Float|Double|ComplexFloat|ComplexDouble|Bool|BFloat16)Type\b`)
	dtypeWord    = regexp.MustCompile(`\b[A-Z]\w*`)
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
