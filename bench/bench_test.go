package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// TestMain lets the test binary be our side, as the benchmark's own binary is.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:], "-serve") {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	torchtest.Main(m)
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	m, err := newMaker(t.TempDir(), rival{})
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	c := &crew{maker: m, file: filepath.Join(t.TempDir(), "inputs")} // beside which photographs are made
	t.Cleanup(func() { require.NoError(t, c.sides.Close()) })
	return c
}

// The cases of a card, run on the CPU: both sides compute the same. Full training steps would
// take too long here.
func TestCardCasesAgree(t *testing.T) {
	t.Setenv(deviceVariable, "cpu")
	c := newCrew(t)
	compared := 0
	for _, b := range catalogue {
		if b.group != cardGroup || strings.Contains(b.name, "training") {
			continue
		}
		task, err := c.newTask(b, 1)
		require.NoError(t, err)
		require.NoError(t, task.check())
		compared++
	}
	require.Equal(t, 2, compared)
}

func TestSidesAgree(t *testing.T) {
	c := newCrew(t)
	var tasks []*task
	for _, b := range catalogue {
		if b.group == trainingGroup {
			continue // TestResNet18FiftySteps compares these
		}
		if b.group == cardGroup {
			continue // TestCardCasesAgree, on the CPU
		}
		if b.group == programGroup {
			continue // has sides of its own
		}
		if b.group == fileGroup {
			continue // half a gigabyte each; torch/pt and torch/safetensors compare with Python
		}
		b.n = 2
		task, err := c.newTask(b, 1)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	require.NoError(t, measure(tasks, 2, func(string) {}))

	r := newReport("2.11.0", "Python", 2)
	for _, task := range tasks {
		r.addTask(task)
	}
	require.Len(t, r.Times, len(tasks))
	for _, row := range r.Times {
		require.Positive(t, row.Ours.WallMin, row.Case)
		require.Positive(t, row.Python.CPUMin, row.Case)
	}
	_, whole := r.headline()
	require.True(t, whole)
}

func TestSidesAnswerErrors(t *testing.T) {
	c := newCrew(t)
	for _, begin := range []func(...string) (*side, error){c.ours, c.theirs} {
		s, err := begin()
		require.NoError(t, err)
		_, err = s.ask(request{Cmd: "check", Case: "no such case"})
		require.ErrorContains(t, err, "no such case")
		_, err = s.ask(request{Cmd: "check", Case: "add"})
		require.NoError(t, err, "a side survives a failed command")
		require.NoError(t, s.Close())
		_, err = s.ask(request{Cmd: "hello"})
		require.ErrorContains(t, err, "has ended")
	}
}

// answering is a side with given answers.
func answering(replies ...reply) *side {
	var text strings.Builder
	for _, r := range replies {
		if err := json.NewEncoder(&text).Encode(r); err != nil {
			panic(err)
		}
	}
	return &side{"known", talk.Over("known", struct {
		io.Writer
		io.Closer
	}{io.Discard, nil}, strings.NewReader(text.String()))}
}

func TestCheckRefusesDifferentResults(t *testing.T) {
	known := &task{benchmark: benchmark{name: "add"},
		pairs: []pair{{"as shipped", answering(reply{Result: "a"}), answering(reply{Result: "b"})}}}
	require.EqualError(t, known.check(), "bench: add: the results differ: ours a, theirs b")
}

func TestReport(t *testing.T) {
	ours, theirs := answering(), answering()
	known := &task{benchmark: benchmark{name: "add", group: tinyGroup}, threads: 1, pairs: []pair{{"as shipped", ours, theirs}},
		taken: map[*side]*timing{
			ours:   {wall: []float64{300, 100, 200, 400, 500}, cpu: []float64{80}},
			theirs: {wall: []float64{900, 500, 300, 700, 800}, cpu: []float64{240}},
		}}
	r := &report{Machine: "Intel(R) Xeon(R) CPU @ 2.50GHz, 2 cores", Date: "2025-01-31"}
	r.addTask(known)
	r.addStart([]float64{1e9}, []float64{5e9})
	r.addMemory("ResNet-18 fp32", "as shipped", footprint{idle: 100 << 20, peak: 300 << 20}, footprint{idle: 200 << 20, peak: 600 << 20})

	var text strings.Builder
	r.print(&text)
	require.Contains(t, text.String(), "| add | 1 | as shipped | 100 ns | 300 ns | 3.00x | 2.50x | 3.00x | 3.00x |\n")
	require.Contains(t, text.String(), "| start to first result |  |  | 1000.0 ms | 5000.0 ms | 5.00x | 5.00x |  |  |\n")
	require.Contains(t, text.String(), "| ResNet-18 fp32 | as shipped | 300 MiB | 600 MiB | 0.50 | 200 MiB | 400 MiB | 0.50 |\n")
	require.NotContains(t, text.String(), "geometric mean", "of one case out of five")

	path, err := r.save(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, "intel-xeon-2.50ghz-2-cores-2025-01-31.json", filepath.Base(path))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	var back report
	require.NoError(t, json.Unmarshal(written, &back))
	require.Equal(t, *r, back)
}

func TestHeadlineIsTheGeometricMean(t *testing.T) {
	r := &report{}
	for i, name := range []string{"add", "add_", "view", "mm 4x4", "empty", "relu"} {
		v := float64(int(1) << i)
		r.Times = append(r.Times, times{Case: name, Ratio: figures{v, v, v, v}})
	}
	mean, ok := r.headline()
	require.True(t, ok)
	require.InDelta(t, 4, mean.CPUP25, 1e-12)
}
