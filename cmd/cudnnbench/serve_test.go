package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/mkldnn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// asked is what the process that measures answers, within this one.
func asked(t *testing.T, questions ...question) (answers []answer) {
	t.Helper()
	in, out := new(bytes.Buffer), new(bytes.Buffer)
	for _, q := range questions {
		require.NoError(t, json.NewEncoder(in).Encode(q))
	}
	require.NoError(t, serve(in, out))
	for d := json.NewDecoder(out); d.More(); {
		var a answer
		require.NoError(t, d.Decode(&a))
		answers = append(answers, a)
	}
	require.Len(t, answers, len(questions))
	return answers
}

var (
	small = workload{Conv: "4x9x9,8x3x3,s2,p1", Batch: 2, Mode: "train"}
	plain = setting{"amp": "off", "channels-last": "off", "threads": "1", "onednn": "on", "precision": "default", "deterministic": "off"}
)

// Every value of every axis that a device has, from its baseline.
func TestServes(t *testing.T) {
	torchtest.NoLeaks(t)
	defer torch.SetNumThreads(torch.NumThreads())
	torchtest.EachDevice(t, func(t *testing.T, d torch.Device) {
		onCPU, onCUDA := mkldnn.Current(), cuda.Settings{}
		if d.IsCUDA() {
			onCUDA = cuda.Current()
		}
		settings := []setting{{}}
		for _, a := range axes {
			values := a.words
			if values == nil {
				values = []string{"1", "2"}
			}
			if a.defaultFor(d) == "" {
				continue
			}
			usual, err := a.parse(a.defaultFor(d))
			require.NoError(t, err)
			settings[0][a.name] = usual[0]
			for _, v := range values {
				settings = append(settings, setting{a.name: v})
			}
		}
		for _, w := range []workload{small, {Model: "resnet18", Size: 32, Batch: 2, Mode: "train"},
			{Model: "resnet18", Size: 32, Batch: 2, Mode: "forward"}} {
			questions := []question{{Cmd: "open", Device: d.String(), Work: w}}
			for _, change := range settings {
				s := maps.Clone(settings[0])
				maps.Copy(s, change)
				questions = append(questions, question{Cmd: "run", Device: d.String(), Setting: s, N: 2})
			}
			questions = append(questions, question{Cmd: "trim", Device: d.String()})
			for i, a := range asked(t, questions...) {
				require.Empty(t, a.Error, "%s %v", w, questions[i].Setting)
				require.Equal(t, questions[i].Cmd == "run", a.Seconds > 0 && a.Peak > 0)
			}
		}
		require.Equal(t, onCPU, mkldnn.Current(), "the switches are put back")
		if d.IsCUDA() {
			require.Equal(t, onCUDA, cuda.Current())
		}
	})
}

func TestServesShapes(t *testing.T) {
	torchtest.NoLeaks(t)
	a := asked(t, question{Cmd: "shapes", Device: "cpu", Work: workload{Model: "resnet18", Size: 64, Batch: 7}})[0]
	require.Len(t, a.Shapes, 11)
	require.Equal(t, []counted{{"3x64x64,64x7x7,s2,p3", 1}, {"64x16x16,64x3x3,p1", 4}, {"64x16x16,128x3x3,s2,p1", 1}}, a.Shapes[:3])
}

func TestServesErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	huge := small
	huge.Conv = "1000000x20000x20000,8x1x1"
	for want, questions := range map[string][]question{
		"there is no workload":        {{Cmd: "run", Device: "cpu", Setting: plain}},
		`there is no command "dance"`: {{Cmd: "dance", Device: "cpu"}},
		`"tpu"`:                       {{Cmd: "open", Device: "tpu"}},
		"out of memory":               {{Cmd: "open", Device: "cpu", Work: huge}, {Cmd: "run", Device: "cpu", Setting: plain, N: 1}},
		`there is no model "lenet"`:   {{Cmd: "shapes", Device: "cpu", Work: workload{Model: "lenet"}}},
		"new_graph: CUDA is not av": {{Cmd: "open", Device: "cpu", Work: small},
			{Cmd: "run", Device: "cpu", Setting: plain.with("graph", "on"), N: 1}},
		"device cuda:0: CUDA is not av": {{Cmd: "open", Device: "cuda:0", Work: small}},
	} {
		if cuda.Unavailable() == nil && strings.Contains(want, "CUDA") {
			continue
		}
		answers := asked(t, questions...)
		last := answers[len(answers)-1]
		if want == "out of memory" {
			require.True(t, last.Memory, last.Error)
			continue
		}
		require.Contains(t, last.Error, want)
		require.False(t, last.Memory)
	}
}

// A process that dies gives one line: which process, during which question, and its
// last output.
func TestDeathOfAProcess(t *testing.T) {
	torchtest.NoLeaks(t)
	c := &crew{device: "cpu", self: []string{"sh", "-c", "read x; echo cuDNN is unwell >&2; exit 7"}}
	task := &task{Work: small, Cells: newCells([]setting{{"benchmark": "on"}})}
	err := c.measure(t.Context(), task, plan{rounds: 6, warmup: 1, round: 1}, meter.NewProgress(io.Discard, "", 1))
	require.EqualError(t, err, "4x9x9,8x3x3,s2,p1 b2 train: the process that measures with benchmark on has ended: exit status "+
		"7: cuDNN is unwell")
	require.NoError(t, c.close())

	c.self = []string{"/absent/program"}
	require.ErrorContains(t, c.measure(t.Context(), task, plan{rounds: 6}, nil), "the process that measures with benchmark on does not start")
}

// Each value of -benchmark has a process of its own, and all run in every round.
func TestProcessesTakeTurns(t *testing.T) {
	torchtest.NoLeaks(t)
	self, err := os.Executable()
	require.NoError(t, err)
	c := &crew{device: "cpu", self: []string{self, serveFlag}}
	choices := choose(t, "benchmark=off,on channels-last=off,on")
	settings, _ := combine(choices)
	task := &task{Work: small, Cells: newCells(settings)}
	p := plan{rounds: 6, warmup: 1, round: 1e-4}
	require.NoError(t, c.measure(t.Context(), task, p, newBar(io.Discard, 0, 1, task, p)))
	require.Equal(t, 2, c.sides.Len())
	members := maps.Collect(c.sides.All())
	require.NotSame(t, members["off"], members["on"])
	task.sum(choices)
	for _, cell := range task.Cells {
		require.Len(t, cell.Seconds, 6)
		require.True(t, cell.Time.known())
	}

	huge := &cell{Setting: settings[0]}
	task.Work.Conv, huge.N = "1000000x20000x20000,8x1x1", 1
	_, err = c.ask(huge.Setting, question{Cmd: "open", Work: task.Work})
	require.NoError(t, err)
	_, err = c.run(task, huge, 1)
	require.NoError(t, err)
	require.Equal(t, outOfMemory, huge.Failed, "also after all have made room")
	require.NoError(t, c.close())
	require.Zero(t, c.sides.Len())
}
