package checkpoint

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// train makes the steps of testdata/train.py, from one checkpoint to the next.
func train(t *testing.T, kind string, steps int, dir, from string) string {
	model := nn.NewSequential(nn.NewLinear(4, 16), nn.Tanh{}, nn.NewLinear(16, 4))
	defer nn.Close(model)
	params := nn.Parameters(model)
	var opt optim.Optimizer = optim.NewAdamW(params, 0.01)
	switch kind {
	case "SGD":
		opt = optim.NewSGD(params, 0.05, optim.SGDOptions{Momentum: 0.9})
	case "Adam":
		opt = optim.NewAdam(params, 0.01)
	}
	defer opt.(interface{ Close() }).Close()
	half := kind == "AMP"
	schedule := lr.Step(opt, 10, 0.5)
	scaler := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16, GrowthInterval: 8, Disabled: !half})
	defer scaler.Close()
	run, err := Open(dir, Parts{"model": model, "optimizer": opt, "schedule": schedule, "scaler": scaler})
	require.NoError(t, err)
	at, err := run.Load(from, nil)
	require.NoError(t, err)
	for range steps {
		torch.Scope(func() {
			opt.ZeroGrad()
			var loss torch.Tensor
			x := torch.RandN(8, 4)
			forward := func() { loss = model.Forward(x).To(torch.Float32).Square().Mean() }
			if half {
				amp.Autocast(torch.CPU, torch.Float16, forward)
			} else {
				forward()
			}
			scaler.Scale(loss).Backward()
			scaler.Step(opt)
		})
		schedule.Step()
		at.Step++
	}
	require.NoError(t, run.Save(at))
	path, _, err := Latest(dir)
	require.NoError(t, err)
	return filepath.Join(path, dataFile)
}

// Twenty-five steps in Python, in Go, in Python and in Go again, from checkpoint to checkpoint, are a hundred in
// Python, to the bit.
func TestPythonAndGoByTurns(t *testing.T) {
	torchtest.NoLeaks(t)
	threads := torch.NumThreads()
	torch.SetNumThreads(1)
	defer torch.SetNumThreads(threads)
	dir, kinds := t.TempDir(), []string{"SGD", "Adam", "AdamW", "AMP"}
	file := func(kind, name string) string { return filepath.Join(dir, kind+name) }
	at := map[string]string{}
	python := func(job func(kind string) []string) {
		args := []string{"testdata/train.py"}
		for _, kind := range kinds {
			args = append(args, job(kind)...)
		}
		text, err := peer.Command(t, args...).CombinedOutput()
		require.NoError(t, err, string(text))
	}
	python(func(kind string) []string {
		at[kind] = file(kind, "first")
		return []string{kind + ",100," + file(kind, "want"), kind + ",25," + at[kind]}
	})
	for _, kind := range kinds {
		at[kind] = train(t, kind, 25, file(kind, " in Go"), at[kind])
	}
	python(func(kind string) []string {
		from := at[kind]
		at[kind] = file(kind, "third")
		return []string{kind + ",25," + at[kind] + "," + from}
	})
	for _, kind := range kinds {
		same(t, file(kind, "want"), train(t, kind, 25, file(kind, " again"), at[kind]))
	}
}

// same compares all tensors and numbers of two checkpoints but for what only one side writes.
func same(t *testing.T, want, got string) {
	a, err := pt.Load(want)
	require.NoError(t, err)
	defer pt.Close(a)
	b, err := pt.Load(got)
	require.NoError(t, err)
	defer pt.Close(b)
	x, y := a.(*pt.Dict), b.(*pt.Dict)
	require.Equal(t, 100, y.Dict("progress").Int("step"))
	require.Equal(t, entries(x.Get("model"), ""), entries(y.Get("model"), ""))
	require.Equal(t, entries(x.Get("generators"), ""), entries(y.Get("generators"), ""))
	require.Equal(t, x.Dict("schedule").Get("last_epoch"), y.Dict("schedule").Get("last_epoch"))
	require.Equal(t, x.Dict("schedule").Get("_last_lr"), y.Dict("schedule").Get("_last_lr"))
	for key, state := range x.Dict("optimizer").Dict("state").All() {
		for name, v := range state.(*pt.Dict).All() {
			other := y.Dict("optimizer").Dict("state").Dict(key).Get(name)
			if w, ok := v.(torch.Tensor); ok && name != "step" {
				require.Equal(t, w.Bytes(), other.(torch.Tensor).Bytes(), "%v %v", key, name)
			}
		}
	}
	for _, name := range []string{"scale", "_growth_tracker"} {
		require.Equal(t, x.Dict("scaler").Float(name), y.Dict("scaler").Float(name))
	}
}
