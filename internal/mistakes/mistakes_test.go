package mistakes_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// A mistake is a few lines of a program that cannot work, and the whole text of its error.
type mistake struct {
	name string
	make func()
	text string
}

// A refusal is a mistake at an edge of the library, whose error is returned. In its text DIR stands
// for a folder of the test.
type refusal struct {
	name string
	make func(dir string) error
	text string
}

func TestMistakesNameTheirLine(t *testing.T) {
	total := 0
	for _, list := range [][]mistake{ofShapes, ofTypes, ofDevices, ofLife, ofAutograd, ofLayers, ofTraining} {
		for _, m := range list {
			total++
			t.Run(m.name, func(t *testing.T) { check(t, m) })
		}
	}
	assert.GreaterOrEqual(t, total+len(refusals), 50)
}

// because puts the reason for which there is no CUDA in the place of WHY.
func because(t *testing.T, text string) string {
	before, after, found := strings.Cut(text, "WHY")
	if !found {
		return text
	}
	why := cgo.CUDAError()
	if why == nil {
		t.Skip("there is CUDA")
	}
	return before + why.Error() + after
}

func check(t *testing.T, m mistake) {
	torchtest.NoLeaks(t)
	err := torch.Try(func() { torch.Scope(m.make) })
	var e *torch.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, because(t, m.text), err.Error())
	start := runtime.FuncForPC(reflect.ValueOf(m.make).Pointer())
	file, line := start.FileLine(start.Entry())
	caller := e.Caller()
	assert.Equal(t, file, caller.File)
	if !strings.Contains(caller.Function, "classifier") {
		assert.Equal(t, start.Name(), caller.Function, "the mistake itself is the caller")
		assert.GreaterOrEqual(t, caller.Line, line)
	}
	assert.Contains(t, fmt.Sprintf("%+v", err), fmt.Sprintf("%s:%d", file, caller.Line))
}

func TestRefusalsSayWhat(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			torchtest.NoLeaks(t)
			dir := t.TempDir()
			torch.Scope(func() {
				err := r.make(dir)
				require.Error(t, err)
				assert.Equal(t, because(t, r.text), strings.ReplaceAll(err.Error(), dir, "DIR"))
			})
		})
	}
}
