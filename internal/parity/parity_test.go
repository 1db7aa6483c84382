package parity

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var (
	full   = flag.Bool("full", false, "all samples of each entry, in the first dtype")
	names  = flag.String("names", "", "only entries whose names match this regular expression")
	dtypes = flag.String("dtypes", ",float64,bfloat16,float16,complex64,complex128,int64,int32,uint8,bool",
		"dtypes with commas; the empty one is float32, or what an entry has")
	update = flag.Bool("update", false, "write docs/parity.md")
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// quiet keeps libtorch's warnings, many of them meant for Python, out of the log.
func quiet(t *testing.T) {
	torch.OnWarning(func(string) {})
	t.Cleanup(func() { torch.OnWarning(nil) })
}

// again makes recorded calls again, and fails the test for each difference.
func again(t *testing.T, o Options) *Coverage {
	t.Helper()
	v := NewCoverage()
	for e, c := range Record(t, o) {
		v.Add(e, c)
	}
	for _, d := range v.Differences {
		t.Error(d)
	}
	checked, calls, gradOps, grads := v.Totals()
	t.Logf("%d entries, %d names, %d of them checked, %d samples; %d calls of %d operators are equal, %d with gradients of %d operators",
		v.Entries, len(v.Names), checked, v.Samples, calls, len(v.Ops), grads, gradOps)
	for what, why := range v.Left {
		t.Logf("left out: %s: %s", what, why)
	}
	return v
}

// TestCallsOnCUDA makes calls on a card that Python recorded on the same one, both with kernels
// that give the same bits each time.
func TestCallsOnCUDA(t *testing.T) {
	if err := cuda.Unavailable(); err != nil {
		t.Skip(err)
	}
	torchtest.NoLeaks(t)
	quiet(t)
	t.Setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
	cuda.With(cuda.Settings{Deterministic: cuda.On, DeterministicAlgorithms: cuda.On}, func() {
		v := again(t, Options{Mode: "calls", Names: *names, Samples: 2, Inner: 2, Device: "cuda", DTypes: []string{"", "bfloat16", "float16"}})
		if *names == "" {
			require.GreaterOrEqual(t, len(v.Ops), 500, "operators")
		}
	})
}

// TestCalls makes every recorded call again.
func TestCalls(t *testing.T) {
	torchtest.NoLeaks(t)
	quiet(t)
	o := Options{Mode: "calls", Names: *names, Samples: 2, Inner: 2, DTypes: strings.Split(*dtypes, ",")}
	if *full {
		o.Samples, o.Inner = 0, 8
	}
	v := again(t, o)
	checked, _, _, _ := v.Totals()
	if *names == "" {
		require.GreaterOrEqual(t, checked, 600, "names of op_db")
		require.GreaterOrEqual(t, len(v.Ops), 760, "operators")
	}
	page := filepath.Join("..", "..", "docs", "parity.md")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(v.Page()), 0o644))
		return
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for op := range v.Ops {
		assert.Contains(t, string(text), "\n| `"+op+"` |", "docs/parity.md is out of date: run ./build.sh parity -update")
	}
}
