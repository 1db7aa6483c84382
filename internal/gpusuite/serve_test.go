package gpusuite

import (
	"sync"
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
			p, err := export.Export(model, []any{n.input(2)}, export.ExportOptions{
				ArgNames: []string{"x"}, DynamicShapes: map[string]map[int]export.Dim{"x": n.dims}})
			require.NoError(t, err)
			require.NoError(t, p.To(dev))
			own, err := serve.Program(p, export.CompileOptions{DType: torch.Float16})
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
			wrong := make([]int, clients)
			var group sync.WaitGroup
			for i := range clients {
				group.Go(func() {
					torch.Scope(func() {
						for range requests {
							out, err := server.Run(t.Context(), inputs[i])
							if err != nil || !out[0].Equal(wants[i]) {
								wrong[i]++
							}
						}
					})
				})
			}
			group.Wait()
			sum := 0
			for _, w := range wrong {
				sum += w
			}
			reliability.Exactly(t, "answers of 640 to 32 clients that differ", sum, 0)
		})
	})
}
