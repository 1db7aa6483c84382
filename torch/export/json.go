package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/libtorch-go/libtorch/internal/refused"
)

// ErrFormat is matched by every error that means: this is not a sound program.
var ErrFormat = errors.New("not a sound file of torch.export.save")

// malformed is an error that matches [ErrFormat].
func malformed(format string, args ...any) error {
	return refused.Because(ErrFormat, format, args...)
}

// deepest is how far the values of a file may nest. PyTorch's own are at a depth of about ten for each graph within a graph.
const deepest = 200

// parser reads JSON from front to back. After an error it reads nothing more and all methods do nothing, so that only the end
// of the reading asks for the error. What is made of the text is charged to a budget first.
type parser struct {
	b      []byte
	at     int
	depth  int
	budget int64
	path   []string // where it is: the keys of objects and the numbers of elements
	words  [256]string
	err    error
}

// What the values of a program take in memory, about.
const (
	costField   = 48  // a value of an object or a list
	costStruct  = 256 // a node, a tensor's meta
	costPerByte = 2   // of a text, which may stand in a map as well
)

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		where := strings.Join(p.path, ".")
		p.err = malformed("%s: %w", where, fmt.Errorf(format, args...))
		p.at = len(p.b)
	}
}

// charge takes what something needs from the budget.
func (p *parser) charge(n int64) {
	if p.budget -= n; p.budget < 0 {
		p.fail("the program needs more memory than its file permits; LoadOptions.MaxMemory permits more")
	}
}

// next skips white space and returns the character that follows, 0 at the end.
func (p *parser) next() byte {
	for p.at < len(p.b) {
		switch c := p.b[p.at]; c {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// take skips a character if it is next.
func (p *parser) take(c byte) bool {
	if p.err != nil || p.next() != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(c byte) {
	if !p.take(c) && p.err == nil {
		p.fail("expected %q, found %s", c, p.found())
	}
}

// found names what is next, for errors.
func (p *parser) found() string {
	if p.next() == 0 {
		return "the end"
	}
	const few = 20
	return strconv.Quote(string(p.b[p.at:min(p.at+few, len(p.b))]))
}

func (p *parser) enter(key string) {
	p.path = append(p.path, key)
	if p.depth++; p.depth > deepest {
		p.fail("the values nest more than %d deep", deepest)
	}
}

func (p *parser) leave() {
	p.path = p.path[:len(p.path)-1]
	p.depth--
}

// object calls see for each key, which has to read the value.
func (p *parser) object(see func(key string)) {
	p.expect('{')
	const few = 16
	seen := make([]string, 0, few)
	var all map[string]bool // once there are many
	for first := true; p.err == nil && !p.take('}'); first = false {
		if !first {
			p.expect(',')
		}
		key := p.str()
		p.expect(':')
		p.charge(costField)
		if slices.Contains(seen, key) || all[key] {
			p.fail("%q stands there twice", key)
		}
		if len(seen) < few {
			seen = append(seen, key)
		} else {
			if all == nil {
				all = map[string]bool{}
			}
			all[key] = true
		}
		p.enter(key)
		if p.err == nil {
			see(key)
		}
		p.leave()
	}
}

// list calls see for each element, which has to read it.
func (p *parser) list(see func(i int)) {
	p.expect('[')
	for i := 0; p.err == nil && !p.take(']'); i++ {
		if i > 0 {
			p.expect(',')
		}
		p.charge(costField)
		p.enter(strconv.Itoa(i))
		if p.err == nil {
			see(i)
		}
		p.leave()
	}
}

// word skips a word such as null if it is next.
func (p *parser) word(w string) bool {
	if p.err != nil || p.next() == 0 || !strings.HasPrefix(string(p.b[p.at:min(p.at+len(w), len(p.b))]), w) {
		return false
	}
	p.at += len(w)
	return true
}

func (p *parser) null() bool { return p.word("null") }

func (p *parser) boolean() bool {
	if p.word("true") {
		return true
	}
	if !p.word("false") {
		p.fail("expected true or false, found %s", p.found())
	}
	return false
}

// str reads a string.
func (p *parser) str() string {
	if p.err != nil {
		return ""
	}
	if p.next() != '"' {
		p.fail("expected a text, found %s", p.found())
		return ""
	}
	from, plain := p.at, true
	for p.at++; ; p.at++ {
		switch {
		case p.at >= len(p.b) || p.b[p.at] < ' ':
			p.fail("a text has no end")
			return ""
		case p.b[p.at] == '\\':
			plain = false
			p.at++
			continue
		case p.b[p.at] != '"':
			continue
		}
		break
	}
	p.at++
	raw := p.b[from:p.at]
	p.charge(costPerByte * int64(len(raw)))
	if p.err != nil {
		return ""
	}
	if own := raw[1 : len(raw)-1]; plain && utf8.Valid(own) {
		return p.shared(own)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		p.fail("%w", err)
	}
	return s
}

// shared is a text, the one made before where there was one like it lately: keys and kinds stand in a program thousands of times.
func (p *parser) shared(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	at := len(text) + 31*int(text[0]) + 7*int(text[len(text)/2]) + 131*int(text[len(text)-1])
	word := &p.words[at%len(p.words)]
	if *word != string(text) {
		*word = string(text)
	}
	return *word
}

// number takes the text of a number.
func (p *parser) number() string {
	if p.err != nil {
		return ""
	}
	p.next()
	from := p.at
	for p.at < len(p.b) && (p.b[p.at] >= '0' && p.b[p.at] <= '9' || strings.IndexByte("+-.eE", p.b[p.at]) >= 0) {
		p.at++
	}
	if from == p.at {
		p.fail("expected a number, found %s", p.found())
	}
	return string(p.b[from:p.at])
}

func (p *parser) integer() int64 {
	text := p.number()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail("expected a whole number of 64 bits, found %q", text)
	}
	return n
}

// float reads a number; those that JSON has not are texts.
func (p *parser) float() float64 {
	if p.err == nil && p.next() == '"' {
		switch text := p.str(); text {
		case "Infinity":
			return math.Inf(1)
		case "-Infinity":
			return math.Inf(-1)
		case "NaN":
			return math.NaN()
		default:
			p.fail("expected a number, found %q", text)
			return 0
		}
	}
	text := p.number()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail("expected a number, found %q", text)
	}
	return x
}

// skip passes over a value that means nothing here.
func (p *parser) skip() {
	switch c := p.next(); {
	case c == '{':
		p.object(func(string) { p.skip() })
	case c == '[':
		p.list(func(int) { p.skip() })
	case c == '"':
		p.str()
	case c == 't' || c == 'f':
		p.boolean()
	case c == 'n':
		if !p.null() {
			p.fail("expected a value, found %s", p.found())
		}
	default:
		p.number()
	}
}

// end makes sure that nothing follows.
func (p *parser) end() error {
	if p.err == nil && p.next() != 0 || p.err == nil && p.at < len(p.b) {
		p.fail("something follows the value: %s", p.found())
	}
	return p.err
}
