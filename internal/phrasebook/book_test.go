package phrasebook

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// chapter is a table of the page. Each of its phrases starts from the same setup.
type chapter struct {
	title   string
	before  string // definitions in Python, which the page shows elsewhere
	python  string // the setup, in Python
	setup   func() // and in Go; nil where there is none
	phrases []phrase

	inBlocks bool // shown as blocks of code, not as a table
}

// phrase is something said in both languages. The page shows neither the lines of Python after
// hidden nor the statements of Go after compared, nor a return of what was named before.
type phrase struct {
	python string
	run    func() any
}

// hidden begins the lines of Python that say what is compared and are not shown.
const hidden = "\n# ->\n"

// chapters are in the order of the page.
var chapters = []*chapter{
	&creating, &looking, &indexing, &shapes,
	&arithmetic, &inPlace, &reductions, &comparing,
	&products, &spectra, &chance, &kinds, &autograd, &modes,
	&layers, &functions, &losses,
	&modules, &optimizers, &schedules,
	&loading, &sampling, &images, &pictures, &boxes, &precision, &processes, &printing, &machine, &scripts,
	&wholeLoop, &memory, &mistakes, &operators, &views, &places, &iteration, &derivatives, &states,
}

// isTable tells whether the page shows the chapter as a table, rather than as blocks.
func (c *chapter) isTable() bool { return !c.inBlocks }

func TestPhrases(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "") // Python has no card either
	torchtest.NoLeaks(t)
	before := torch.NumThreads()
	torch.SetNumThreads(1)
	defer torch.SetNumThreads(before)
	cmd := peer.Command(t, filepath.Join("testdata", "answer.py"))
	python, err := talk.Start("Python", cmd)
	require.NoError(t, err)
	defer python.Close()
	path = filepath.Join(t.TempDir(), "file")
	t.Cleanup(forget)
	for _, c := range chapters {
		for _, p := range c.phrases {
			var want struct{ Value, Error string }
			question := map[string]string{"setup": c.before + c.python, "phrase": p.python, "path": path}
			require.NoError(t, python.Ask(question, &want))
			got, err := runPhrase(c, p)
			if want.Error != "" || err != nil {
				assert.Fail(t, "a phrase fails", "%s: %s\nPython: %s\nGo: %v", c.title, p.python, want.Error, err)
				continue
			}
			assert.Equal(t, want.Value, got, "%s: %s", c.title, p.python)
		}
	}
}

// path is a file for phrases that write one.
var path string

// forget drops what setups made outside of scopes: parameters, state, loaded files.
func forget() {
	leave()
	closeScript()
	script, closeScript = nil, func() {}
	net, linear, opt, model, other, block, dataset = nil, nil, nil, nil, nil, nil, nil
	x, y, img, found, scores = torch.Tensor{}, torch.Tensor{}, torch.Tensor{}, torch.Tensor{}, torch.Tensor{}
}

func runPhrase(c *chapter, p phrase) (text string, err error) {
	torch.Scope(func() {
		err = torch.Try(func() {
			torch.ManualSeed(0)
			if c.setup != nil {
				c.setup()
			}
			text = say(p.run())
		})
	})
	return text, err
}

// all are several results of a phrase.
func all(results ...any) []any { return results }

// say writes a value as answer.py does.
func say(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case torch.Tensor:
		return sayTensor(v)
	case float64:
		return fmt.Sprintf("float %016x", math.Float64bits(v))
	case float32:
		return say(float64(v))
	case complex128:
		return fmt.Sprintf("complex(%s, %s)", say(real(v)), say(imag(v)))
	case string:
		return v
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice:
		var list []string
		for i := range r.Len() {
			list = append(list, say(r.Index(i).Interface()))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case reflect.Map:
		list := map[string]string{}
		for k, e := range r.Seq2() {
			list[fmt.Sprint(k.Interface())] = say(e.Interface())
		}
		var text []string
		for _, k := range slices.Sorted(maps.Keys(list)) {
			text = append(text, k+": "+list[k])
		}
		return "{" + strings.Join(text, ", ") + "}"
	}
	return fmt.Sprint(v)
}

func sayTensor(x torch.Tensor) string {
	if !x.Defined() {
		return "none"
	}
	numbers := func(list []int) string {
		text, _ := json.Marshal(append([]int{}, list...))
		return strings.ReplaceAll(string(text), ",", ", ")
	}
	return fmt.Sprintf("tensor(%v, %s, strides %s, grad %v) %s", x.DType(), numbers(x.Shape()), numbers(x.Stride()), x.RequiresGrad(),
		hex.EncodeToString(x.Detach().Bytes()))
}
