package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// place is a value in a text of JSON.
type place struct {
	path     string // "graph_module.graph.nodes[].target"
	key      int    // where its key begins, or -1
	from, to int
}

// ownKeys are keys that a program chooses by itself: what holds for one of them holds for all.
var ownKeys = regexp.MustCompile(`^(\w+_values|config|range_constraints|opset_version|metadata|treespec_namedtuple_fields)$`)

// places are the values of a text, the first of each path.
func places(t testing.TB, text string) (all []place) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	seen := map[string]bool{}
	next := func() int { // where the next token begins
		at := int(d.InputOffset())
		return len(text) - len(strings.TrimLeft(text[at:], ":, \n"))
	}
	token := func() json.Token {
		v, err := d.Token()
		require.NoError(t, err)
		return v
	}
	var value func(path string, key int)
	value = func(path string, key int) {
		own := place{path: path, key: key, from: next()}
		open, nests := token().(json.Delim)
		for nests && d.More() {
			if open == '[' {
				value(path+"[]", -1)
				continue
			}
			at := next()
			name := token().(string)
			if ownKeys.MatchString(path[strings.LastIndexByte(path, '.')+1:]) {
				name = "*"
			}
			value(path+"."+name, at)
		}
		if nests {
			token()
		}
		if own.to = int(d.InputOffset()); !seen[path] {
			seen[path], all = true, append(all, own)
		}
	}
	value("", -1)
	return all
}

// changes are what is done to each value.
var changes = []struct {
	name string
	do   func(text string, p place) string
}{
	{"absent", func(text string, p place) string {
		if p.key < 0 {
			return text[:p.from] + text[p.to:]
		}
		return strings.NewReplacer("{,", "{", ",}", "}", ",,", ",").Replace(text[:p.key] + text[p.to:])
	}},
	{"twice", func(text string, p place) string {
		if p.key < 0 {
			return text[:p.to] + "," + text[p.from:]
		}
		return text[:p.to] + "," + text[p.key:]
	}},
	{"null", becomes(`null`)},
	{"true", becomes(`true`)},
	{"-1", becomes(`-1`)},
	{"2^62", becomes(`4611686018427387904`)},
	{"2^63", becomes(`9223372036854775808`)},
	{"1e999", becomes(`1e999`)},
	{"text", becomes(`"\u001b[2J\n"`)},
	{"long text", becomes(`"` + strings.Repeat("é", 1<<12) + `"`)},
	{"{}", becomes(`{}`)},
	{"[]", becomes(`[]`)},
	{"deep", becomes(strings.Repeat(`[`, 1<<12))},
}

func becomes(value string) func(string, place) string {
	return func(text string, p place) string { return text[:p.from] + value + text[p.to:] }
}

// corpus calls see for each file in which one value of a sound one was changed.
func corpus(t testing.TB, see func(name string, file []byte)) {
	for _, base := range []struct {
		name string
		file []byte
	}{{"sample", written(t)}, {"every", writtenEvery(t)}} {
		own := recordsOf(t, base.file)
		for _, record := range own.names {
			if !strings.HasSuffix(record, ".json") {
				continue
			}
			text := own.texts[record]
			for _, p := range places(t, text) {
				for _, c := range changes {
					see(fmt.Sprint(base.name, " ", record, p.path, ": ", c.name), own.with(record, c.do(text, p)))
				}
			}
		}
	}
}

const lenient = "testdata/lenient.txt"

// Each value of a program's file is left out, said twice, and made each kind of what it is not. A file is refused with an error that is one
// line, whatever the file says, and belongs to those that the package promises; or it is one of those in testdata/lenient.txt, and sound.
// What a sound one says of sizes, numbers and kinds may be wrong in ways that only a run finds out: it runs or fails, as long as it may;
// nothing ends the process, and nothing is left over.
func TestCorpus(t *testing.T) {
	torchtest.NoLeaks(t)
	files, sound, compiled, ran := 0, []string{}, 0, 0
	corpus(t, func(name string, file []byte) {
		files++
		p := soundOrRefused(t, name, file)
		if p == nil {
			return
		}
		defer p.Close()
		sound = append(sound, name)
		c, err := export.Compile(p)
		if err != nil {
			return
		}
		defer c.Close()
		compiled++
		if runsInTime(t, c, strings.HasPrefix(name, "every")) {
			ran++
		}
	})
	reliability.AtLeast(t, "hostile .pt2 files, each with one value changed", files, 300)
	reliability.AtLeast(t, "hostile .pt2 files that are sound and were compiled", compiled, 300)
	reliability.AtLeast(t, "hostile .pt2 files that ran", ran, 100)
	slices.Sort(sound)
	got := strings.Join(sound, "\n") + "\n"
	if flag.Lookup("update").Value.String() == "true" { // which TestPasses has, in the package itself
		require.NoError(t, os.WriteFile(lenient, []byte(got), 0o644))
	}
	want, err := os.ReadFile(lenient)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test ./torch/export -run TestCorpus -args -update writes it")
}

// soundOrRefused is the program of a file, or none if it is refused, as it has to be.
func soundOrRefused(t *testing.T, name string, file []byte) *export.Program {
	p, err := export.Read(bytes.NewReader(file), int64(len(file)))
	if err == nil {
		_ = p.String()
		return p
	}
	var operator *export.OperatorError
	require.True(t, errors.Is(err, export.ErrFormat) || errors.As(err, &operator), "%s: %v", name, err)
	require.Less(t, len(err.Error()), 1500, name)
	require.Negative(t, strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %v", name, err)
	return nil
}

// runsInTime tells whether a program runs on what the program with each kind of values takes, or the sample.
func runsInTime(t *testing.T, c *export.Compiled, isEvery bool) (ran bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	torch.Scope(func() {
		args := []any{torch.Ones(5, 3), torch.Arg("k", 3)}
		if isEvery {
			args = everyInput()
		}
		torch.NoGrad(func() {
			_, err := c.RunContext(ctx, args...)
			ran = err == nil
		})
	})
	return ran
}

// Each byte of a file is changed, and the file ends behind each.
func TestEachByte(t *testing.T) {
	torchtest.NoLeaks(t)
	file := written(t)
	for i := range file {
		require.Nil(t, soundOrRefused(t, fmt.Sprint("cut at ", i), file[:i]), "cut at %d", i)
		bent := slices.Clone(file)
		bent[i] ^= 0xff
		if p := soundOrRefused(t, fmt.Sprint("changed at ", i), bent); p != nil {
			p.Close()
		}
	}
}
