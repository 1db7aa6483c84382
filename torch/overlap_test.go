package torch_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// childOverlap uses one weight from two goroutines at a time, as the environment says.
func childOverlap() {
	w, x := torch.Ones(4, 4), torch.Ones(4, 4)
	read := func() { x.MM(w) }
	write := func() { w.SubInPlace(x) }
	var mu sync.Mutex
	guard := func(fn func()) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			fn()
		}
	}
	row := func(i int) torch.Tensor { return w.Select(0, i) }
	fill := func(part torch.Tensor) func() { return func() { part.FillInPlace(1) } }
	used := func(part torch.Tensor) func() { return func() { part.Exp() } }
	large, own := torch.Ones(1000, 300), func() { torch.Scope(func() { torch.Ones(64).AddScalarInPlace(1) }) }
	for _, t := range []torch.Tensor{w, large} {
		t.Exp() // the storage is known before the goroutines start
	}
	pair := map[string][2]func(){
		"rows are written":           {fill(row(0)), fill(row(1))},
		"rows of a view":             {fill(row(0).Narrow(0, 0, 2)), fill(row(0).Narrow(0, 2, 2))},
		"columns are written":        {fill(w.Select(1, 0)), fill(w.Select(1, 1))},
		"large rows are written":     {fill(large.Narrow(0, 0, 500)), fill(large.Narrow(0, 500, 500))},
		"rows by index":              {func() { w.At(0).Set(1) }, func() { w.At(1, torch.Slice(1, 3)).Set(2) }},
		"views of others' rows":      {func() { w.Select(0, 1).Close() }, fill(row(0))},
		"memory is used again":       {own, own},
		"the shape while it changes": {func() { w.Shape() }, fill(row(0))},
		"views overlap":              {fill(w.Narrow(0, 0, 3)), fill(w.Narrow(0, 1, 3))},
		"a row and a column":         {fill(row(0)), fill(w.Select(1, 0))},
		"a row and all":              {fill(row(3)), read},
		"a row and its tail":         {fill(row(3).Narrow(0, 3, 1)), used(row(3))},
		"one row by index":           {func() { w.At(1).Set(1) }, func() { w.At(1, 2).Set(2) }},
		"a detached alias":           {fill(w.Detach()), read},
		"a transpose":                {fill(w.T()), used(w)},
		"large views overlap":        {fill(large.Narrow(0, 0, 501)), used(large.Narrow(0, 499, 500))},
		"values while it changes":    {func() { torch.Values[float32](w.Detach()) }, fill(row(0))},
		"two write":                  {write, write},
		"one writes":                 {write, read},
		"two read":                   {read, read},
		"one at a time":              {guard(write), guard(write)},
		"gradients vanish":           {func() { torch.ClearGrads([]torch.Tensor{w}) }, read},
		"data are replaced":          {func() { w.SetData(x) }, read},
	}[os.Getenv("TORCH_TEST_OVERLAP")]
	useBoth(pair)
}

// useBoth has two goroutines do things many times, and, where they race, until the detector has seen it and ends the process: on busy
// processors they meet late.
func useBoth(pair [2]func()) {
	end := time.Now()
	if os.Getenv("TORCH_TEST_RACY") != "" {
		end = end.Add(time.Minute)
	}
	var both, done sync.WaitGroup
	done.Add(len(pair))
	for _, fn := range pair {
		both.Go(func() {
			for i := 0; i < 2000 || time.Now().Before(end); i++ {
				fn()
			}
			done.Done()
			done.Wait() // the detector may forget what goroutines did that ended
		})
	}
	both.Wait()
}

// Two goroutines that train one model, or one that trains what another serves, are a race
// in memory that Go's race detector does not see: cgo tells the detector about it.
func TestTheRaceDetectorSeesTensors(t *testing.T) {
	if !underRace {
		t.Skip("without the race detector")
	}
	torchtest.NoLeaks(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	for name, racy := range map[string]bool{
		"two write": true, "one writes": true, "gradients vanish": true, "data are replaced": true, "two read": false, "one at a time": false,
		"rows are written": false, "rows of a view": false, "columns are written": false, "large rows are written": false,
		"rows by index": false, "views of others' rows": false, "memory is used again": false, "the shape while it changes": false,
		"views overlap": true, "a row and a column": true, "a row and all": true, "a row and its tail": true, "one row by index": true,
		"a detached alias": true, "a transpose": true, "large views overlap": true, "values while it changes": true,
	} {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childVariable+"=overlap", "TORCH_TEST_OVERLAP="+name)
		if racy {
			cmd.Env = append(cmd.Env, "TORCH_TEST_RACY=yes", "GORACE=halt_on_error=1")
		}
		out, err := cmd.CombinedOutput()
		require.Equal(t, racy, strings.Contains(string(out), "WARNING: DATA RACE"), "%s: %s", name, out)
		require.Equal(t, racy, err != nil, name)
		if racy {
			require.Contains(t, string(out), "overlap_test.go", name)
		}
	}
}
