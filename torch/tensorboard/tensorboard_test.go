package tensorboard_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/tensorboard"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// The events are those that torch.utils.tensorboard writes, as TensorBoard's own reader sees them.
func TestEventsArePythons(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		g := torch.NewGenerator(torch.CPU).ManualSeed(3)
		defer g.Close()
		o := torch.TensorOptions{Generator: g}
		levels := torch.TensorOptions{Generator: g, DType: torch.Uint8}
		inputs := peer.Tensors{
			"grey": o.Rand(1, 4, 5), "plane": o.Rand(3, 2), "colour": o.RandN(3, 4, 5), "alpha": o.Rand(4, 3, 3),
			"levels": levels.RandIntN(255, 3, 7, 2),
			"normal": o.RandN(1000), "small": o.Rand(50).MulScalar(1e-13), "zeros": torch.Zeros(7), "whole": torch.Arange(10).SubScalar(5),
			"wide": torch.FromSlice([]float64{-1e19, 1e-30, 0, 4e18, -1e-12, 1e-12}),
		}
		dir := t.TempDir()
		w, err := tensorboard.NewWriter(filepath.Join(dir, "go"))
		require.NoError(t, err)
		for step := range 3 {
			require.NoError(t, w.AddScalar("loss/train", 1.5/float64(step+1), step))
		}
		require.NoError(t, w.AddText("notes", "**bold** grüße", 4))
		for _, name := range []string{"grey", "plane", "colour", "alpha", "levels"} {
			require.NoError(t, w.AddImage(name, inputs[name], 5))
		}
		for _, name := range []string{"normal", "small", "zeros", "wide", "whole"} {
			require.NoError(t, w.AddHistogram(name, inputs[name], 6))
		}
		values := map[string]any{"lr": 0.1, "batch": 32, "optimizer": "sgd"}
		require.NoError(t, w.AddHParams(values, map[string]float64{"accuracy": 0.5, "loss": 2}))
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())

		got := peer.Run(t, "testdata/python.py", inputs, filepath.Dir(w.Path()), filepath.Join(dir, "python"))
		require.Equal(t, 19, got["theirs"].Int())
		require.Equal(t, 19, got["ours"].Int())
		require.Equal(t, 19, got["alike"].Int())
	})
}

func TestWriterRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w, err := tensorboard.NewWriter(t.TempDir())
		require.NoError(t, err)
		defer w.Close()
		before := size(t, w)
		for want, err := range map[string]error{
			"tensorboard: the tag is empty": w.AddScalar("", 1, 0),
			`image "x": `:                   w.AddImage("x", torch.Zeros(2, 3, 3), 0),
			"[1 or 3 or 4, height, width] or [height, width], got [2 3 3]": w.AddImage("x", torch.Zeros(2, 3, 3), 0),
			"got [3 0 3]":                              w.AddImage("x", torch.Zeros(3, 0, 3), 0),
			"floating point from 0 to 1, got int64":    w.AddImage("x", torch.Arange(9).View(1, 3, 3), 0),
			`histogram "x": a value is not finite`:     w.AddHistogram("x", torch.Zeros(2).DivScalar(0), 0),
			"without elements has no distribution":     w.AddHistogram("x", torch.Zeros(0), 0),
			"all values are beyond the buckets":        w.AddHistogram("x", torch.FromSlice([]float64{1e30}), 0),
			"there are no hyperparameters":             w.AddHParams(nil, nil),
			`"a": a []int is no number, string or boo`: w.AddHParams(map[string]any{"a": []int{1}}, nil),
			`"b": a <nil> is no number`:                w.AddHParams(map[string]any{"b": nil}, nil),
		} {
			require.ErrorContains(t, err, want)
		}
		require.Equal(t, before, size(t, w), "what is refused leaves nothing")
		require.NoError(t, w.AddHParams(map[string]any{"flag": true, "n": uint8(3), "none": false}, nil))
	})
	_, err := tensorboard.NewWriter(filepath.Join(os.Args[0], "under a file"))
	require.ErrorContains(t, err, "tensorboard: cannot make the folder of a run")
}

func size(t *testing.T, w *tensorboard.Writer) int64 {
	info, err := os.Stat(w.Path())
	require.NoError(t, err)
	return info.Size()
}

// The first error of a file stays that of the writer.
func TestErrorsStay(t *testing.T) {
	w, err := tensorboard.NewWriter(t.TempDir(), tensorboard.Options{Suffix: ".first", Clock: func() time.Time { return time.Unix(7, 0) }})
	require.NoError(t, err)
	require.Regexp(t, `events\.out\.tfevents\.0000000007\..*\.first$`, w.Path())
	require.NoError(t, w.Close())
	err = w.AddScalar("x", 1, 0)
	require.ErrorIs(t, err, os.ErrClosed)
	require.Equal(t, err, w.AddText("x", "y", 0))
	require.True(t, errors.Is(w.Close(), os.ErrClosed))
}

// Goroutines share a writer; every event arrives whole.
func TestWriterIsShared(t *testing.T) {
	dir := t.TempDir()
	w, err := tensorboard.NewWriter(dir)
	require.NoError(t, err)
	before := size(t, w)
	require.NoError(t, w.AddScalar("tag", 1, 1000))
	each := size(t, w) - before
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 100 {
				if err := w.AddScalar("tag", float64(i), 1000+i); err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, w.Close())
	require.Equal(t, before+401*each, size(t, w))
}

func ExampleWriter() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log, err := tensorboard.NewWriter(dir)
	if err != nil {
		panic(err)
	}
	torch.Scope(func() {
		for step := range 3 {
			_ = log.AddScalar("loss", 1/float64(step+1), step)
		}
		_ = log.AddHistogram("weights", torch.RandN(100), 2)
		_ = log.AddImage("noise", torch.Rand(3, 8, 8), 2)
	})
	if err := log.Close(); err != nil { // the first error of all calls
		panic(err)
	}
	// Output:
}
