package torch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// childShutdown tells what still works afterwards.
func childShutdown() {
	x, y := torch.Ones(2), torch.Ones(2)
	x.Add(y) // garbage
	fmt.Println("ends:", torch.Shutdown(), torch.Shutdown())
	err := torch.Try(func() { x.Add(y) })
	fmt.Println("add:", err, torch.Load() == torch.ErrShutdown)
	fmt.Println("scope:", torch.Try(func() { torch.Scope(func() {}) }))
	torch.Close(x, y)
	fmt.Println("stats:", torch.Stats() == torch.MemoryStats{}, torch.Scopes(), torch.Unhealthy())
	torch.GC()
	torch.ResetPeakMemory()
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	require.Equal(t, `ends: <nil> <nil>
add: torch: libtorch has been shut down true
scope: torch: libtorch has been shut down
stats: true [] <nil>
`, runChild(t, "shutdown"))
}

func TestHealthy(t *testing.T) {
	torchtest.NoLeaks(t)
	require.Error(t, torch.Try(func() { torch.Ones(2).Add(torch.Ones(3)) }))
	require.NoError(t, torch.Unhealthy())
}
