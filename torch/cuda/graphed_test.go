package cuda_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/replay"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// What a step does around its graph, with one that takes notes.
func TestGraphedWarmsUpCapturesAndReplays(t *testing.T) {
	torchtest.NoLeaks(t)
	var log []string
	var seen []torch.Tensor
	step := cuda.NewStep(func(in []torch.Tensor) []torch.Tensor {
		seen = in
		w := torch.Ones(2).SetRequiresGrad(true)
		return []torch.Tensor{in[0].Mul(w), in[0].Sum()}
	}, cuda.GraphedOptions{Warmup: 2}, cuda.Fake{Log: &log})
	torch.Scope(func() {
		var last []torch.Tensor
		for i := range 5 {
			x := torch.Full([]int{2}, float64(i))
			out, err := step.Run(x)
			require.NoError(t, err)
			require.Len(t, out, 2)
			require.False(t, out[0].RequiresGrad(), "outputs have no history")
			require.Equal(t, float64(2*min(i, 2)), out[1].Float64(), "the fake replays nothing")
			require.Equal(t, float64(i), seen[0].Max().Float64(), "inputs are copied to where the capture saw them")
			require.False(t, seen[0].Is(x))
			require.Equal(t, i >= 2, step.Captured())
			if i > 2 {
				require.True(t, out[0].Is(last[0]), "the outputs of a graph stay")
			}
			last = out
		}
		require.Equal(t, []string{"warm", "warm", "capture", "replay", "replay", "replay"}, log)
		for want, in := range map[string][]torch.Tensor{
			"input 0 is float32[3], the step was begun with float32[2]": {torch.Ones(3)},
			"input 0 is int64[2], the step was begun with float32[2]":   {torch.FromSlice([]int{1, 2})},
			"the step was begun with 1 inputs, got 2":                   {torch.Ones(2), torch.Ones(2)},
		} {
			_, err := step.Run(in...)
			require.ErrorIs(t, err, torch.ErrValue)
			require.ErrorContains(t, err, want)
		}
	})
	step.Close()
	step.Close()
	_, err := step.Run()
	require.EqualError(t, err, "torch/cuda: the step was closed")
}

func TestGraphedTellsErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct {
		fails func()
		fake  error
	}{
		{fails: func() { torch.Ones(2).Add(torch.Ones(3)) }},
		{fake: errors.New("no capture")},
	} {
		var log []string
		step := cuda.NewStep(func(in []torch.Tensor) []torch.Tensor {
			if c.fails != nil {
				c.fails()
			}
			return in
		}, cuda.GraphedOptions{}, cuda.Fake{Log: &log, Failed: c.fake})
		var failed error
		for range 4 {
			_, err := step.Run()
			failed = errors.Join(failed, err)
		}
		require.Error(t, failed)
		require.False(t, step.Captured())
		if c.fake != nil {
			require.ErrorIs(t, failed, c.fake)
			require.Equal(t, []string{"warm", "warm", "warm", "capture"}, log)
		}
		step.Close()
	}
}

// What a step asks for is done before each run but the first, in which it asked.
func TestGraphedDoesAgainWhatGoDid(t *testing.T) {
	torchtest.NoLeaks(t)
	var log []string
	step := cuda.NewStep(func(in []torch.Tensor) []torch.Tensor {
		require.True(t, replay.Before(t, func(replay bool) { log = append(log, fmt.Sprint("written ", replay)) }))
		return nil
	}, cuda.GraphedOptions{}, cuda.Fake{Log: &log})
	defer step.Close()
	for range 5 {
		_, err := step.Run()
		require.NoError(t, err)
	}
	require.Equal(t, []string{"warm", "written false", "warm", "written false", "warm",
		"written false", "capture", "replay", "written true", "replay"}, log)
}

// Without a graph a step is its function, with or without a card.
func TestGraphedDisabled(t *testing.T) {
	torchtest.NoLeaks(t)
	step := cuda.Graphed(func(in []torch.Tensor) []torch.Tensor {
		return []torch.Tensor{in[0].Mul(torch.Ones(in[0].NumEl()).SetRequiresGrad(true)).Sum()}
	}, cuda.GraphedOptions{Disabled: true})
	torch.Scope(func() {
		for n := range 3 { // shapes may change
			out, err := step.Run(torch.Ones(n + 1))
			require.NoError(t, err)
			require.Equal(t, float64(n+1), out[0].Float64())
			require.False(t, out[0].RequiresGrad())
		}
		x := torch.Ones(2, 3)
		_, err := step.Run(x)
		require.ErrorContains(t, err, "mul")
		require.False(t, step.Captured())
		step.Close()
		require.Equal(t, 6, x.NumEl(), "inputs are the caller's")
		_, err = step.Run(x)
		require.ErrorContains(t, err, "the step was closed")
	})
}

func TestCaptureErrors(t *testing.T) {
	plain := errors.New("plain")
	require.Equal(t, plain, cuda.CaptureError(plain))
	for _, c := range []struct {
		err  *torch.Error
		want string // "" where the error is no matter of the capture
	}{
		{&torch.Error{Op: "item", Kind: torch.KindAccelerator, Code: 900, Msg: "operation not permitted when stream is capturing"},
			"reads a value there (Item"},
		{&torch.Error{Op: "add", Kind: torch.KindAccelerator, Code: 904, Msg: "dependency"}, "another stream"},
		{&torch.Error{Op: "randn", Kind: torch.KindGeneric, Msg: "Cannot call this during CUDA graph capture"}, "libtorch refuses it"},
		{&torch.Error{Op: "add", Kind: torch.KindAccelerator, Code: 700, Msg: "illegal address"}, ""},
		{&torch.Error{Op: "add", Kind: torch.KindGeneric, Msg: "sizes differ"}, ""},
	} {
		err := cuda.CaptureError(c.err)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.want != "", errors.Is(err, cuda.ErrNotCapturable), c.err.Op)
		require.ErrorContains(t, err, c.want)
	}
}
