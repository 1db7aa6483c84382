package main

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/talk"
)

// pretending is a crew of one process, which answers by the function reply.
func pretending(t *testing.T, reply func(q question) answer) *crew {
	t.Helper()
	questions, in := io.Pipe()
	out, answers := io.Pipe()
	ended := make(chan error)
	go func() { ended <- talk.Answer(questions, answers, reply) }()
	c := &crew{}
	_, err := c.sides.Get("", func() (*talk.Partner, error) { return talk.Over("the pretender", in, out), nil })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(c.close(), <-ended)) })
	return c
}

// measured is a task of three settings, measured by a crew that answers by the function
// reply.
func measured(t *testing.T, p plan, reply func(q question) answer) *task {
	t.Helper()
	settings, _ := combine(choose(t, "amp=off,fp16,bf16"))
	task := &task{Work: workload{Model: "resnet18", Batch: 3}, Cells: newCells(settings)}
	require.NoError(t, pretending(t, reply).measure(t.Context(), task, p, newBar(io.Discard, 0, 1, task, p)))
	return task
}

func TestIterationsFillARound(t *testing.T) {
	for took, want := range map[float64]int{0.001: 50, 0.0004: 125, 0.02: 3, 0.03: 2, 0.05: 1, 7: 1, 1e-6: 50_000, 0: 1 << 20} {
		task := measured(t, plan{rounds: 6, warmup: 2, round: 0.05}, func(q question) answer {
			return answer{Seconds: took * float64(q.N), Peak: int64(q.N)}
		})
		for _, c := range task.Cells {
			require.Equal(t, want, c.N, "%v s", took)
			require.InDeltaSlice(t, []float64{took, took, took, took, took, took}, c.Seconds, 1e-12)
		}
	}
}

func TestSettingsRunByTurns(t *testing.T) {
	var order string
	task := measured(t, plan{rounds: 6, warmup: 2, round: 1}, func(q question) answer {
		order += q.Setting["amp"] + " "
		return answer{Seconds: float64(q.N)}
	})
	rounds := "off fp16 bf16 bf16 fp16 off fp16 bf16 off off bf16 fp16 bf16 off fp16 fp16 off bf16 "
	require.Equal(t, " "+"off off fp16 fp16 bf16 bf16 "+rounds, order, "opened, warmed up, each first as often as the others")
	require.Equal(t, 6, task.Rounds)
}

// A setting that fails in the middle takes no further part, and its times do not count.
func TestFailuresAreRows(t *testing.T) {
	runs := map[string]int{}
	task := measured(t, plan{rounds: 6, warmup: 1, round: 1}, func(q question) answer {
		amp := q.Setting["amp"]
		runs[amp]++
		if amp == "fp16" && runs[amp] == 4 {
			return answer{Error: "no engine\nat line 5"}
		}
		return answer{Seconds: float64(q.N), Memory: amp == "bf16"}
	})
	choices := choose(t, "amp=off,fp16,bf16")
	task.sum(choices)
	require.Equal(t, map[string]int{"": 1, "off": 8, "fp16": 4, "bf16": 1}, runs)
	require.Equal(t, [][]string{
		{"amp", "ms", "95 %", "img/s", "MB", "speed", "95 %"},
		{"off", "1000", "1000..1000", "3.000", "0.0", "1.00x", ""},
		{"fp16", "no engine"},
		{"bf16", outOfMemory},
	}, task.table(choices))
}
