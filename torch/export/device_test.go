package export_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A program that was saved from a card is an error where there is none, unless it is to be loaded elsewhere: weights, and what the graph
// makes out of nothing, are there then. internal/gpusuite has what takes a card.
func TestLoadOnAnotherDevice(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(2, 3)
		want, err := sample().Run(x, torch.Arg("k", 3))
		require.NoError(t, err)
		file := rewritten(t, written(t), func(_, text string) (string, bool) {
			return strings.ReplaceAll(text, `"type":"cpu"`, `"type":"cuda"`), true
		})
		require.False(t, bytes.Equal(file, written(t)))
		if torch.CheckDevice(torch.CUDA(0)) != nil {
			_, err = export.Read(bytes.NewReader(file), int64(len(file)))
			require.ErrorContains(t, err, "cuda")
		}
		p, err := export.Read(bytes.NewReader(file), int64(len(file)), export.LoadOptions{Device: torch.CPU})
		require.NoError(t, err)
		defer p.Close()
		require.NotContains(t, p.String(), "cuda")
		got, err := p.Run(x, torch.Arg("k", 3))
		require.NoError(t, err)
		for i := range want {
			torchtest.Equal(t, got[i], want[i])
		}
	})
}

// Tensors that a file holds as torch.save writes them, as it does those of Python classes, are loaded on the device, too.
func TestLoadPickledOnADevice(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		own := sample()
		defer own.Close()
		file := pickled(t)
		for _, d := range []torch.Device{{}, torch.CPU} {
			p, err := export.Read(bytes.NewReader(file), int64(len(file)), export.LoadOptions{Device: d})
			require.NoError(t, err)
			for name, x := range own.StateDict {
				torchtest.Equal(t, p.StateDict[name], x)
			}
			p.Close()
		}
	})
}

// A program that cannot be moved stays where it was; one that is moved to where it is, too.
func TestTo(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p := sample()
		defer p.Close()
		before := p.String()
		require.NoError(t, p.To(torch.CPU))
		require.Equal(t, before, p.String())
		require.ErrorContains(t, p.To(torch.Device{}), "no device")
		if torch.CheckDevice(torch.CUDA(0)) != nil {
			err := p.To(torch.CUDA(0))
			require.ErrorContains(t, err, "the program cannot be moved to cuda:0")
			require.ErrorIs(t, err, torch.ErrNoCUDA)
		}
		require.Equal(t, before, p.String())
		_, err := p.Run(torch.Ones(2, 3), torch.Arg("k", 3))
		require.NoError(t, err)
	})
}

// What goes with a card alone is refused on the CPU, and tells so.
func TestCardOptionsOnTheCPU(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p, err := export.Export(func(x torch.Tensor) torch.Tensor { return x.Exp() }, []any{torch.Ones(3)})
		require.NoError(t, err)
		defer p.Close()
		_, err = export.Compile(p, export.CompileOptions{DType: torch.Float16})
		require.ErrorContains(t, err, "expected float32 or bfloat16, or float16 on a card")
		n, why := compiled(t, p).Graphs()
		require.Zero(t, n)
		require.ErrorContains(t, why, "not on a card")
	})
}

// What a model's run changes in its buffers while it is exported is undone.
func TestExportLeavesBuffers(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		g := newGate()
		p, err := export.Export(g, []any{torch.Ones(3, 4), torch.Ones(3, 4)})
		require.NoError(t, err)
		defer p.Close()
		require.Equal(t, 0.0, g.Calls.Float64())
		_, err = p.Run(torch.Ones(3, 4), torch.Ones(3, 4))
		require.NoError(t, err)
		require.Equal(t, 1.0, g.Calls.Float64())
	})
}
