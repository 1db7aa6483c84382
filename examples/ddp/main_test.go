package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// python is the training in Python on one rank, and on two.
func python(t *testing.T) (alone, both ran) {
	results := peer.Run(t, "testdata/ddp.py", nil, "31", "32", "10", "2", "3", "6")
	for world, r := range map[string]*ran{"1": &alone, "2": &both} {
		r.weights = peer.Tensors{}
		for name, x := range results {
			if name, is := strings.CutPrefix(name, world+"."); is && name != "losses" {
				r.weights[name] = x
			}
		}
		for rank, losses := range results[world+".losses"].Unbind(0) {
			steps := losses.Size(0) / 2
			for i, loss := range torch.Values[float32](losses) {
				r.lines = append(r.lines, fmt.Sprintf("rank %d, epoch %d, step %d: loss %.9g\n", rank, i/steps, i%steps, loss))
			}
		}
		slices.Sort(r.lines)
	}
	return alone, both
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

// A process alone comes to what Python comes to alone, and two ranks to what Python's two ranks come to, whoever launches them.
func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	torchrun, path := filepath.Join(dir, "torchrun"), filepath.Join(dir, "weights.pt")
	text, err := exec.Command("go", "build", "-o", torchrun, "../../cmd/torchrun").CombinedOutput()
	require.NoError(t, err, "%s", text)
	flags := append(slices.Clone(small), "-save", path)
	torch.Scope(func() {
		alone, both := python(t)
		require.NoError(t, flag.CommandLine.Parse(flags))
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out))
		alone.equals(t, out.String(), path)

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
				both.equals(t, out.String(), path)
			})
		}
	})
}
