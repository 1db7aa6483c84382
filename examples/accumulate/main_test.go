package main

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/examples/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// done holds the figures in the last line of a run.
func done(t *testing.T, args ...string) (loss float64, steps int) {
	t.Helper()
	args = append([]string{"-device", "cpu", "-n", "500", "-epochs", "5"}, args...)
	out := clitest.Run(t, command, args...)
	_, last, _ := strings.Cut(out, "done: ")
	_, err := fmt.Sscanf(last, "loss %f after %d steps", &loss, &steps)
	require.NoError(t, err, out)
	return loss, steps
}

func TestSmallBatchesAreAsGoodAsLargeOnes(t *testing.T) {
	torchtest.NoLeaks(t)
	want, steps := done(t, "-b", "64", "-accumulate", "1")
	require.Equal(t, 5*8, steps)
	require.Less(t, want, 0.5)
	for _, args := range [][]string{{"-b", "16", "-accumulate", "4"}, {"-b", "1", "-accumulate", "64"}} {
		loss, steps := done(t, args...)
		require.Equal(t, 5*8, steps, args)
		require.InDelta(t, want, loss, 1e-4, args)
	}
	alone, _ := done(t, "-b", "16", "-accumulate", "1")
	require.Greater(t, math.Abs(want-alone), 1e-4)
}

func TestMistakes(t *testing.T) {
	clitest.Fails(t, "accumulate", 2, "-accumulate is 0, expected more than 0", "-accumulate", "0")
	clitest.Fails(t, "accumulate", 2, "-n is -1, expected more than 0", "-n", "-1")
}

func TestInterrupt(t *testing.T) {
	text := clitest.Signal(t, syscall.SIGINT, "Epoch: [1][", "-device", "cpu", "-epochs", "100000", "-p", "1")
	require.Regexp(t, `^accumulate: interrupted in epoch \d+ after batch \d+ of 63\n$`, text)
}
