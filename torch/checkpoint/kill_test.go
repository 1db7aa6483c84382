package checkpoint

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The test runs itself as the training that is killed, with the folder in this variable; another says how often:
//
//	CHECKPOINT_KILLS=300 go test ./torch/checkpoint -run Kill -timeout 30m
const (
	childVariable = "CHECKPOINT_CHILD"
	killsVariable = "CHECKPOINT_KILLS"
)

const killedSteps = 200

// children are what the test does when it runs itself, by the variables that say so.
var children = map[string]func(value string) error{
	childVariable: child, safetensorsVariable: safetensorsChild, faultsVariable: savesUnderFaults,
}

func TestMain(m *testing.M) {
	for variable, run := range children {
		if value := os.Getenv(variable); value != "" {
			if err := run(value); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// child trains until it is killed, or done. It says which steps are on the disk.
func child(dir string) error {
	part := newTraining(1)
	run, err := Open(dir, part.parts(), Options{Every: 1, Async: strings.HasSuffix(dir, "async")})
	if err != nil {
		return err
	}
	at, err := run.Resume(nil)
	if err != nil {
		return err
	}
	fmt.Println("resumed", at.Step)
	for part.step = at.Step; part.step < killedSteps; {
		part.train()
		if _, err := run.Step(context.Background(), Point{Step: part.step}); err != nil {
			return err
		}
		on := part.step
		if run.opts.Async {
			on-- // the one before, which Save waited for
		}
		fmt.Println("saved", on)
	}
	return run.Close()
}

// sum tells runs apart: it depends on every weight.
func (t *training) sum() (sum uint32) {
	for _, e := range entries(stateDict(t.model), "") {
		sum += e.CRC32C
	}
	return sum
}

// A training that is killed at any time, again and again, never loses what was acknowledged, never leaves what cannot
// be read, and ends with the bits of one that was not killed.
func TestKilledRunsAreResumed(t *testing.T) {
	torchtest.NoLeaks(t)
	kills := 6
	if n, err := strconv.Atoi(os.Getenv(killsVariable)); err == nil {
		kills = n
	}
	threads := torch.NumThreads()
	torch.SetNumThreads(1) // as the children have
	defer torch.SetNumThreads(threads)
	whole := newTraining(1)
	for whole.step < killedSteps {
		whole.train()
	}
	want := whole.sum()
	whole.close()
	r := rand.New(rand.NewPCG(uint64(kills), 1))
	for i, done := 0, 0; done < kills; i++ {
		dir := filepath.Join(t.TempDir(), []string{"sync", "async"}[i%2])
		for last := 0; last < killedSteps && done < kills; done++ {
			last = killOnce(t, childVariable, dir, last, time.Duration(r.IntN(400))*time.Millisecond, latestStep)
		}
	}
	for variable, step := range map[string]func(*testing.T, string) int{childVariable: latestStep, safetensorsVariable: safetensorsStep} {
		dir := filepath.Join(t.TempDir(), "sync")
		for last, n := 0, 0; last < killedSteps; n++ {
			wait := time.Hour
			if n < min(kills, 20) {
				wait = time.Duration(r.IntN(300)) * time.Millisecond
			}
			last = killOnce(t, variable, dir, last, wait, step)
		}
		part := newTraining(77)
		if variable == safetensorsVariable {
			require.NoError(t, part.loadSafetensors(dir))
		} else {
			run, err := Open(dir, part.parts())
			require.NoError(t, err)
			_, err = run.Resume(nil)
			require.NoError(t, err)
		}
		require.Equal(t, want, part.sum(), variable)
		part.close()
	}
}

// killOnce lets a training go on until it is killed, so long after its first checkpoint, and returns the step of the
// latest checkpoint. It checks that the folder holds what was acknowledged.
func killOnce(t *testing.T, variable, dir string, least int, wait time.Duration, latest func(*testing.T, string) int) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+dir, "OMP_NUM_THREADS=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	acknowledged := least
	var timer *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, number, _ := strings.Cut(lines.Text(), " ")
		require.NotEqual(t, "error", word, lines.Text())
		n, err := strconv.Atoi(number)
		if err != nil {
			continue // a warning of libtorch's
		}
		switch word {
		case "resumed":
			require.GreaterOrEqual(t, n, least)
		case "saved":
			acknowledged = n
			if timer == nil {
				timer = time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if timer != nil {
		timer.Stop()
	}
	step := latest(t, dir)
	require.GreaterOrEqual(t, step, acknowledged, "none is older than what was acknowledged")
	return step
}

// latestStep is the step of the latest checkpoint of a run, 0 if there is none. None is damaged, and after the next start
// there is nothing else.
func latestStep(t *testing.T, dir string) (step int) {
	path, skipped, err := Latest(dir)
	require.NoError(t, err)
	require.Empty(t, skipped, "none is unreadable")
	if path != "" {
		m, err := readManifest(path)
		require.NoError(t, err)
		step = m.Step
	}
	_, err = Open(dir, nil)
	require.NoError(t, err)
	for _, name := range names(t, dir) {
		require.True(t, strings.HasPrefix(name, prefix), name)
	}
	return step
}
