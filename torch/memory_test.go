package torch_test

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
)

const megabyte = 1 << 20

// usage is what a child reports of its memory, in bytes.
type usage struct {
	Low, High   int // resident memory after the warm-up, over time
	Peak        int // resident memory at its highest
	Left        int // open tensors at the end that were not there after the warm-up
	LeftBytes   int64
	Refusals    int
	StillTrains bool
}

// leave reports to the parent.
func (u usage) leave(base torch.MemoryStats) {
	torch.GC()
	after := torch.Stats()
	u.Left, u.LeftBytes = after.Live()-base.Live(), after.HostBytes-base.HostBytes
	if err := json.NewEncoder(os.Stdout).Encode(u); err != nil {
		panic(err)
	}
}

// process is what the kernel tells of this one.
func process() proc.Usage {
	u, err := proc.Self()
	if err != nil {
		panic(err)
	}
	return u
}

// trainer is a small network with its data.
type trainer struct{ x, y, w1, w2 torch.Tensor }

func newTrainer() trainer {
	torch.ManualSeed(1)
	return trainer{
		x: torch.RandN(16, 32), y: torch.RandN(16, 1),
		w1: torch.RandN(32, 64).MulScalar(0.1).SetRequiresGrad(true), w2: torch.RandN(64, 1).MulScalar(0.1).SetRequiresGrad(true),
	}
}

func (m trainer) step() float64 {
	loss := m.x.MM(m.w1).ReLU().MM(m.w2).Sub(m.y).PowScalar(2).Mean()
	loss.Backward()
	weights := []torch.Tensor{m.w1, m.w2}
	torch.NoGrad(func() {
		for _, w := range weights {
			w.SubInPlace(w.Grad(), torch.SubOptions{Alpha: 0.01})
		}
	})
	torch.ClearGrads(weights)
	return loss.Float64()
}

// train runs small steps the given way and watches the memory.
func train(step func(func())) {
	const warmUp, steps, every = 5000, 10000, 250 // Go collects its own garbage for the first time within the warm-up
	m := newTrainer()
	first := m.step()
	torch.GC()
	base := torch.Stats()
	for range warmUp {
		step(func() { m.step() })
	}
	u := usage{Low: process().Resident}
	u.High = u.Low
	for i := range steps {
		step(func() { m.step() })
		if i%every == 0 {
			u.Low, u.High = min(u.Low, process().Resident), max(u.High, process().Resident)
		}
	}
	u.Peak = process().Peak
	u.StillTrains = m.step() < first
	u.leave(base)
	runtime.KeepAlive(m)
}

func childScopes()  { train(torch.Scope) }
func childGarbage() { train(func(fn func()) { fn() }) }

// childDropped makes tensors of 4 MB, touches every page, and forgets them.
func childDropped() {
	const tensors, page = 20000, 1024
	torch.GC()
	base := torch.Stats()
	for range tensors {
		torch.Empty(megabyte).Index(torch.Slice(0, torch.End, page)).FillInPlace(1)
	}
	u := usage{Peak: process().Peak}
	u.leave(base)
}

// childExhausts asks for more memory than there may be, again and again, and goes on.
func childExhausts() {
	m := newTrainer()
	first := m.step()
	const room, refusals = 1 << 30, 1000
	limit := uint64(process().Address + room)
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
	torch.GC()
	base := torch.Stats()
	u := usage{Low: process().Resident}
	for i := range refusals {
		if err := torch.Try(func() { torch.Zeros(room) }); err != nil && strings.Contains(err.Error(), "allocate") {
			u.Refusals++
		}
		if i%10 == 0 {
			torch.Empty(room / 16) // a quarter of what is left; without a Close, four would be all
		}
		torch.Scope(func() { m.step() })
	}
	u.High = process().Resident
	u.StillTrains = m.step() < first
	u.leave(base)
	runtime.KeepAlive(m)
}

func measure(t *testing.T, name string) (u usage) {
	t.Helper()
	out := runChild(t, name)
	require.NoError(t, json.Unmarshal([]byte(out), &u), out)
	reliability.Exactly(t, name+": tensors left open", u.Left, 0)
	reliability.Exactly(t, name+": bytes of host memory left", u.LeftBytes, 0)
	return u
}

// atMost writes down bytes, as megabytes.
func atMost(t *testing.T, name string, got, bar int) {
	t.Helper()
	reliability.AtMost(t, name, float64(got)/megabyte, float64(bar)/megabyte, "MB")
}

func TestTrainingTakesConstantMemory(t *testing.T) {
	t.Parallel()
	slack, room := 4*megabyte, 64*megabyte
	if build, _ := debug.ReadBuildInfo(); slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		slack, room = 4*slack, 4*room // the race detector keeps records of its own
	}
	scopes := measure(t, "scopes")
	atMost(t, "training in scopes: resident memory after the warm-up, highest less lowest", scopes.High-scopes.Low, slack)
	assert.True(t, scopes.StillTrains)

	garbage := measure(t, "garbage")
	atMost(t, "training without scopes or Close: peak memory", garbage.Peak, scopes.Peak*5/4+room)
	assert.True(t, garbage.StillTrains)
}

func TestDroppedTensorsAreCollected(t *testing.T) {
	t.Parallel()
	u := measure(t, "dropped")
	atMost(t, "20,000 tensors of 4 MB without Close: peak memory", u.Peak, 1024*megabyte)
}

func TestOutOfMemoryIsAnError(t *testing.T) {
	t.Parallel()
	u := measure(t, "exhausts")
	reliability.Exactly(t, "allocations refused with an error", u.Refusals, 1000)
	atMost(t, "growth of resident memory over them, training in between", u.High-u.Low, 64*megabyte)
	assert.True(t, u.StillTrains)

	x, err := torch.Try1(func() torch.Tensor { return torch.Ones(1 << 48) })
	assert.ErrorIs(t, err, torch.ErrOutOfMemory)
	assert.False(t, x.Defined())
}
