package gpusuite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// Clients share batches of one size, which are a graph: each gets the bits that its row alone has in such a batch, on the CPU.
func TestServeOnACard(t *testing.T) {
	needCard(t)
	const clients, requests, rows = 32, 20, 8
	exact(func() {
		torch.Scope(func() {
			torch.ManualSeed(3)
			n := networks()[0]
			model := n.make()
			defer nn.Close(model)
			nn.Eval(model)
			own, err := serve.Program(n.program(t, model), export.CompileOptions{DType: torch.Float16})
			require.NoError(t, err)
			server, err := serve.New(own, serve.Options{Device: dev, MaxBatch: rows, Buckets: []int{rows}, Lanes: 2, Queue: clients})
			require.NoError(t, err)
			defer server.Close()
			var inputs, wants []torch.Tensor
			for i := range clients {
				inputs = append(inputs, n.input(1))
				out, err := server.Run(t.Context(), inputs[i])
				require.NoError(t, err)
				require.Equal(t, torch.CPU, out[0].Device())
				wants = append(wants, out[0])
			}
			wrong := differing(clients, requests, wants, func(i int) ([]torch.Tensor, error) { return server.Run(t.Context(), inputs[i]) },
				func(fn func()) { fn() })
			reliability.Exactly(t, "answers of 640 to 32 clients that differ", wrong, 0)
		})
	})
}
