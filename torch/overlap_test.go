package torch_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

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
	pair := map[string][2]func(){
		"two write":         {write, write},
		"one writes":        {write, read},
		"two read":          {read, read},
		"one at a time":     {guard(write), guard(write)},
		"gradients vanish":  {func() { torch.ClearGrads([]torch.Tensor{w}) }, read},
		"data are replaced": {func() { w.SetData(x) }, read},
	}[os.Getenv("TORCH_TEST_OVERLAP")]
	var both sync.WaitGroup
	for _, fn := range pair {
		both.Go(func() {
			for range 100 {
				fn()
			}
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
	} {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childVariable+"=overlap", "TORCH_TEST_OVERLAP="+name)
		out, err := cmd.CombinedOutput()
		require.Equal(t, racy, strings.Contains(string(out), "WARNING: DATA RACE"), "%s: %s", name, out)
		require.Equal(t, racy, err != nil, name)
		if racy {
			require.Contains(t, string(out), "overlap_test.go", name)
		}
	}
}
