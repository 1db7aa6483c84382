package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	clitest.Main(m, func() {
		main()
		os.Exit(0)
	})
}

// small is a training of seconds. The images cannot be divided equally among ranks and batches.
var small = []string{"-n", "31", "-size", "32", "-classes", "10", "-epochs", "2", "-steps", "3", "-b", "6"}

// ran is what a training comes to: the lines that its ranks print, sorted, and the weights.
type ran struct {
	lines   []string
	weights peer.Tensors
}

// python is the training in Python, with those flags, by the number of ranks.
func python(t *testing.T, flags []string, worlds ...int) map[int]ran {
	args := []string{strings.ReplaceAll(strings.Trim(fmt.Sprint(worlds), "[]"), " ", ",")}
	for i := 1; i < len(flags); i += 2 {
		args = append(args, flags[i])
	}
	results := peer.Run(t, "testdata/ddp.py", nil, args...)
	all := map[int]ran{}
	for _, world := range worlds {
		r, prefix := ran{weights: peer.Tensors{}}, fmt.Sprint(world, ".")
		for name, x := range results {
			if name, is := strings.CutPrefix(name, prefix); is && name != "losses" {
				r.weights[name] = x
			}
		}
		epochs, err := strconv.Atoi(args[4])
		require.NoError(t, err)
		for rank, losses := range results[prefix+"losses"].Unbind(0) {
			steps := losses.Size(0) / epochs
			for i, loss := range torch.Values[float32](losses) {
				r.lines = append(r.lines, fmt.Sprintf("rank %d, epoch %d, step %d: loss %.9g\n", rank, i/steps, i%steps, loss))
			}
		}
		slices.Sort(r.lines)
		all[world] = r
	}
	return all
}

// equals compares a run's lines and file with another's.
func (r ran) equals(t *testing.T, text, file string) {
	t.Helper()
	require.Equal(t, r.lines, slices.Sorted(strings.Lines(text)))
	v, err := pt.Load(file)
	require.NoError(t, err)
	saved := v.(*pt.Dict)
	require.Equal(t, len(r.weights), saved.Len())
	for name, want := range r.weights {
		torchtest.Equal(t, saved.Tensor(name), want)
	}
}

// launcher builds cmd/torchrun.
func launcher(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "torchrun")
	text, err := exec.Command("go", "build", "-o", path, "../../cmd/torchrun").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return path
}

var full = flag.Bool("full", false, "50 steps on four ranks, instead of 3")

// Four ranks come to what Python's four come to.
func TestFourRanksEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	steps := "3"
	if *full {
		steps = "50"
	}
	flags := []string{"-n", "810", "-size", "32", "-classes", "10", "-epochs", "1", "-steps", steps, "-b", "4"}
	path := filepath.Join(t.TempDir(), "weights.pt")
	torch.Scope(func() {
		want := python(t, flags, 4)[4]
		program, out, errs := clitest.Program(t, append(flags, "-save", path)...)
		run := exec.Command(launcher(t), append([]string{"--standalone", "--nproc-per-node", "4"}, program.Args...)...)
		run.Env, run.Stdout, run.Stderr = program.Env, out, errs
		require.NoError(t, run.Run(), errs)
		want.equals(t, out.String(), path)
	})
}

// A process alone comes to what Python comes to alone, and two ranks to what Python's two ranks come to, whoever launches them.
func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torchrun, path := launcher(t), filepath.Join(t.TempDir(), "weights.pt")
	flags := append(slices.Clone(small), "-save", path)
	torch.Scope(func() {
		want := python(t, small, 1, 2)
		require.NoError(t, flag.CommandLine.Parse(flags))
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out))
		want[1].equals(t, out.String(), path)

		for name, launcher := range map[string]*exec.Cmd{
			"ours":      exec.Command(torchrun),
			"PyTorch's": peer.Command(t, "-m", "torch.distributed.run", "--no-python"),
		} {
			t.Run(name, func(t *testing.T) {
				require.NoError(t, os.Remove(path))
				program, out, errs := clitest.Program(t, flags...)
				launcher.Args = append(launcher.Args, append([]string{"--standalone", "--nproc-per-node", "2"}, program.Args...)...)
				launcher.Env, launcher.Stdout, launcher.Stderr = program.Env, out, errs
				require.NoError(t, launcher.Run(), errs)
				require.Contains(t, errs.String(), "images/s, ranks: 2\n")
				want[2].equals(t, out.String(), path)
			})
		}
	})
}
