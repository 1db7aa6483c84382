package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// TestMain lets the test binary be the process that measures, and the program.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{serveFlag}) {
		main()
	}
	clitest.Main(m, main)
}

// run is the program within this process. It returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	return clitest.Run(t, command, args...)
}

// tiny are flags for a run of a second.
func tiny(more ...string) []string {
	return append([]string{"-device", "cpu", "-b", "1", "-threads", "1", "-time", "0.001", "-rounds", "8", "-warmup", "1"}, more...)
}

// read is what a run has written as JSON.
func read(t *testing.T, path string) (r result) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for _, test := range []struct {
		args, want string
	}{
		{"-modle resnet18", "not defined: -modle"},
		{"-model lenet", `-model: there is no "lenet", expected a list of `},
		{"-model conv", `-model: there is no "conv"`},
		{"-conv 64x56,128x3x3", `for flag -conv: "64x56" is no input of CHANNELSxHEIGHTxWIDTH; expected`},
		{"-b 0", `-b: "0" is not a number above 0`},
		{"-b 1,many", `-b: "many" is not a number above 0`},
		{"-mode backward", `-mode: there is no "backward", expected a list of forward, train`},
		{"-amp int8", `-amp: there is no "int8", expected a list of off, fp16, bf16`},
		{"-benchmark yes", `-benchmark: there is no "yes", expected a list of off, on`},
		{"-threads 0", `-threads: "0" is not a number above 0`},
		{"-precision half", `-precision: there is no "half"`},
		{"-rounds 5", "-rounds is 5, expected at least 6: fewer give no interval of 95 %"},
		{"-rounds 0", "-rounds is 0, expected more than 0"},
		{"-time 0", "-time is 0"},
		{"-time NaN", "-time is NaN"},
		{"-warmup 0", "-warmup is 0"},
		{"-size -1", "-size is -1"},
		{"-device tpu", `-device is "tpu", expected cpu, cuda or cuda:N`},
		{"-json absent/x.json", "-json absent/x.json: there is no folder absent to write it to"},
		{"-svg main.go/x.svg", "-svg main.go/x.svg: there is no folder"},
		{"-shapes -conv 3x8x8,8x3x3", "-shapes is about networks"},
		{"-device cpu -tf32 on", "-tf32: there is no such switch on the cpu; it has -deterministic, -amp, -channels-last, " +
			"-threads, -onednn, -precision"},
		{"-device cpu -benchmark on", "-benchmark: there is no such switch on the cpu"},
		{"-device cpu -graph off", "-graph: there is no such switch on the cpu"},
		{"now", `unexpected argument "now"`},
	} {
		clitest.Fails(t, "cudnnbench", 2, test.want, strings.Fields(test.args)...)
	}
	if cuda.Unavailable() != nil {
		clitest.Fails(t, "cudnnbench", 1, "CUDA is not available", "-device", "cuda")
		clitest.Fails(t, "cudnnbench", 1, "CUDA is not available", "-device", "cuda:1", "-benchmark", "on")
	}
}

func TestHelp(t *testing.T) {
	clitest.Helps(t, command, "model conv shapes b mode size device time rounds warmup seed json csv svg benchmark "+
		"deterministic tf32 amp channels-last graph threads onednn precision")
}

func TestMeasuresAndWrites(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	out := run(t, tiny("-model", "resnet18", "-size", "64", "-conv", "4x8x8,8x3x3,p1", "-amp", "off,bf16", "-precision", "default,bf16",
		"-deterministic", "off", "-onednn", "on", "-json", file("x.json"), "-csv", file("x.csv"), "-svg", file("x.svg"))...)
	require.Contains(t, out, "plan: 4 workloads of 6 settings by turns, 8 rounds: 0s, and more where an iteration takes longer than 125µs\n")
	require.Contains(t, out, "the same in all: deterministic off, threads 1, onednn on\n")
	require.Contains(t, out, "2 of 8 combinations are left out: precision has no effect with amp\n")
	require.Len(t, regexp.MustCompile(`(?m)^advice: \S+ b1 (forward|train): `).FindAllString(out, -1), 4, out)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "  ") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 101, line)
		}
	}

	r := read(t, file("x.json"))
	require.True(t, r.Complete)
	require.Equal(t, "cpu", r.Machine.Device)
	require.NotEmpty(t, r.Machine.Processor)
	require.Contains(t, r.Flags, "-precision")
	require.Len(t, r.Tasks, 4)
	for _, task := range r.Tasks {
		require.Equal(t, 8, task.Rounds)
		require.Len(t, task.Cells, 6)
		for i, c := range task.Cells {
			require.Empty(t, c.Failed)
			require.Len(t, c.Seconds, 8)
			require.Positive(t, slices.Min(c.Seconds))
			require.Positive(t, c.Peak)
			require.Positive(t, c.N)
			require.Equal(t, i == 0, c.Speed == estimate{Median: 1}, "the first is the baseline")
			require.InEpsilon(t, float64(task.Work.Batch)/c.Time.Median, c.Rate, 1e-9)
		}
	}
	require.Greater(t, r.Tasks[1].Cells[0].Peak, r.Tasks[0].Cells[0].Peak+40<<20,
		"training holds gradients and momentum of 11 million weights")

	text, err := os.ReadFile(file("x.csv"))
	require.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+4*6)
	require.Equal(t, "resnet18 b1 forward", rows[1][0])
	require.Equal(t, "true", rows[1][len(rows[1])-1])
	require.FileExists(t, file("x.svg"))
}

func TestShapesOfANetwork(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "x.json")
	out := run(t, tiny("-model", "resnet18", "-shapes", "-size", "32", "-mode", "forward", "-amp", "off", "-json", path)...)
	require.Contains(t, out, "plan: 11 workloads of 2 settings")
	require.Regexp(t, `(?m)^  64x8x8,64x3x3,p1 +4 +\d+\.\d% `, out)
	require.Regexp(t, `(?m)^  3x32x32,64x7x7,s2,p3 +1 +\d+\.\d% `, out)
	require.Contains(t, out, "advice: convolutions of resnet18 b1 forward: ")
	count, share := 0, 0.0
	r := read(t, path)
	r.choices = choose(t, "channels-last=off,on")
	for _, task := range r.Tasks {
		require.Equal(t, "resnet18 b1 forward", task.Of)
		count += task.Count
	}
	require.Equal(t, 20, count)
	f := newFamily(&r, "resnet18 b1 forward")
	for i, s := range f.shares {
		require.True(t, i == 0 || s <= f.shares[i-1], "sorted by share")
		share += s
	}
	require.InDelta(t, 1, share, 1e-9)
	require.Len(t, f.whole.Cells[0].Seconds, 8)
	for _, task := range f.tasks {
		for _, c := range task.Cells {
			require.LessOrEqual(t, task.fastest().Time.Median, c.Time.Median)
		}
	}
}

// A setting that runs out of memory is a row; if every setting does, the run ends with
// an error.
func TestOutOfMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	cmd, stdout, stderr := clitest.Program(t,
		tiny("-conv", "1000000x20000x20000,8x1x1", "-conv", "3x8x8,4x3x3", "-mode", "forward", "-amp", "off", "-json", path)...)
	require.Error(t, cmd.Run())
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Equal(t, "cudnnbench: 1000000x20000x20000,8x1x1 b1 forward: no setting could be measured: out of memory\n", stderr.String())
	require.Len(t, regexp.MustCompile(`(?m)^  (on|off) +out of memory$`).FindAllString(stdout.String(), -1), 2, stdout)
	require.Contains(t, stdout.String(), "b1 forward: none: the baseline has no times\n")
	r := read(t, path)
	require.True(t, r.Complete)
	require.True(t, r.Tasks[1].Cells[1].ok(), "the rest is measured")
}

func TestInterruptKeepsWhatIsDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	line := clitest.Signal(t, syscall.SIGINT, "advice: ",
		tiny("-conv", "3x8x8,4x3x3", "-conv", "64x64x64,64x3x3,p1", "-mode", "forward", "-time", "2", "-rounds", "200", "-amp", "off",
			"-json", path)...)
	require.Regexp(t, `^cudnnbench: interrupted in workload 2 of 2, after \d+ of 200 rounds; what was measured is above and, `+
		`marked as incomplete, in `, line)
	r := read(t, path)
	require.False(t, r.Complete)
	require.True(t, r.whole(r.Tasks[0]))
	require.Less(t, len(r.Tasks), 3)

	untouched := filepath.Join(t.TempDir(), "x.json")
	line = clitest.Signal(t, syscall.SIGTERM, "plan: ", tiny("-model", "resnet50", "-json", untouched)...)
	require.Equal(t, "cudnnbench: interrupted before anything was measured\n", line)
	require.NoFileExists(t, untouched)
}
