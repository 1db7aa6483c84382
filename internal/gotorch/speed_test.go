package gotorch

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var rival = flag.String("rival", "", "testdata/speed, compiled against the real gotorch on the same libtorch")

// speeds are what is measured: how many times in a round, and what part of gotorch's time it may take.
var speeds = []struct {
	name  string
	times int
	bar   float64
}{{"add", 20000, 0.5}, {"small", 200, 0.7}, {"mlp", 20, 0.7}, {"resnet18", 1, 1}}

// racer is a running testdata/speed.
type racer struct {
	in  io.Writer
	out *bufio.Reader
}

func newRacer(t *testing.T, binary string) *racer {
	cmd := command(".", binary)
	cmd.Env = append(cmd.Env, "OMP_NUM_THREADS=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, cmd.Wait())
	})
	return &racer{in, bufio.NewReader(out)}
}

// lap is the time of one, on the clock and of the processor.
func (r *racer) lap(t *testing.T, name string, n int) (times [2]float64) {
	fmt.Fprintln(r.in, name, n)
	_, err := fmt.Fscan(r.out, &times[0], &times[1])
	require.NoError(t, err)
	return times
}

// Ours against the real one, in turns: a round of each, and the other first in the next. bench/README.md says how the real one is
// built.
func TestSpeed(t *testing.T) {
	if *rival == "" {
		t.Skip("-rival names the program to race against")
	}
	_, err := exec.LookPath(*rival)
	require.NoError(t, err)
	racers := []*racer{newRacer(t, compiled(t, program(t, "testdata/speed/main.go"))), newRacer(t, *rival)}
	for _, s := range speeds {
		const rounds = 9
		var times [2][2][]float64 // ours and theirs; clock and processor
		for round := range rounds + 1 {
			for turn := range 2 {
				who := (round + turn) % 2
				lap := racers[who].lap(t, s.name, s.times)
				for kind, v := range lap {
					if round > 0 { // the first warms up
						times[who][kind] = append(times[who][kind], v)
					}
				}
			}
		}
		for kind, label := range []string{"clock", "processor"} {
			ours, theirs := times[0][kind], times[1][kind]
			slices.Sort(ours)
			slices.Sort(theirs)
			t.Logf("%-9s %-9s ours %12.0f ns, gotorch %12.0f ns: medians %.2f, minima %.2f (bar %.1f)", s.name, label,
				ours[rounds/2], theirs[rounds/2], ours[rounds/2]/theirs[rounds/2], ours[0]/theirs[0], s.bar)
		}
	}
}
