package export_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// A run of a compiled ResNet-50 takes at most 0.8 of the memory of the network's own forward beside weights and inputs, and compiling it a
// few times the weights:
//
//	go test -v -run TestCompiledMemory ./torch/export
func TestCompiledMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		net := models.ResNet50(10)
		nn.Eval(net)
		x := torch.RandN(2, 3, 96, 96)
		p, err := export.Export(net, []any{x})
		require.NoError(t, err)
		defer p.Close()
		before, weights := torch.Stats().HostBytes, int64(0)
		for _, w := range p.StateDict {
			weights += int64(w.NumEl() * w.ElementSize())
		}
		torch.ResetPeakMemory()
		c := compiled(t, p)
		require.LessOrEqual(t, torch.Stats().HostPeak-before, 4*weights, "what compiling takes for a moment, and the program")
		peak := func(run func()) (most int64) {
			torch.NoGrad(func() {
				for range 2 { // the first run makes what is kept
					torch.Scope(func() {
						before := torch.Stats().HostBytes
						torch.ResetPeakMemory()
						run()
						most = torch.Stats().HostPeak - before
					})
				}
			})
			return most
		}
		eager, own := peak(func() { net.Forward(x) }), peak(func() {
			_, err := c.Run(x)
			require.NoError(t, err)
		})
		t.Logf("%d bytes, and %d in its own forward: %.2f", own, eager, float64(own)/float64(eager))
		require.LessOrEqual(t, float64(own), 0.8*float64(eager))
	})
}

// A program that was compiled for inference alone keeps each weight once, and says so where autograd records.
func TestCompiledForInference(t *testing.T) {
	torchtest.NoLeaks(t)
	const size, weight = 1024, 4 * 1024 * 1024
	torch.Scope(func() {
		x := torch.RandN(64, size)
		for copies, alone := range map[int64]bool{1: true, 2: false} {
			before := torch.Stats().HostBytes
			var c *export.Compiled
			torch.Scope(func() {
				net := nn.NewLinear(size, size)
				defer torch.Close(nn.Parameters(net)...)
				p, err := export.Export(net, []any{x})
				require.NoError(t, err)
				defer p.Close()
				c = compiled(t, p, export.CompileOptions{Inference: alone})
			})
			require.InDelta(t, copies*weight, torch.Stats().HostBytes-before, weight/8)
			torch.NoGrad(func() {
				_, err := c.Run(x)
				require.NoError(t, err)
			})
			_, err := c.Run(x)
			require.Equal(t, alone, err != nil)
			if alone {
				require.ErrorContains(t, err, "compiled for inference (CompileOptions.Inference)")
			}
			c.Close()
		}
	})
}

// What constants are computed from others takes no more memory than 64 MB and some times what the program's tensors have: what goes beyond
// that is computed when the program runs.
func TestFoldedMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	const numbers, bytes, sums = 1 << 22, 1 << 24, 20
	torch.Scope(func() {
		p, err := export.Export(func(x torch.Tensor) torch.Tensor {
			y := torch.Zeros(numbers)
			for range sums {
				y = y.Add(torch.Ones(numbers))
			}
			return x.Add(y)
		}, []any{torch.Zeros(numbers)})
		require.NoError(t, err)
		defer p.Close()
		before := torch.Stats().HostBytes
		torch.ResetPeakMemory()
		c := compiled(t, p)
		require.LessOrEqual(t, torch.Stats().HostPeak-before, int64(64<<20+3*bytes))
		torch.NoGrad(func() {
			out, err := c.Run(torch.Zeros(numbers))
			require.NoError(t, err)
			torchtest.Equal(t, torch.Full([]int{numbers}, 1.0*sums), out[0])
		})
	})
}
