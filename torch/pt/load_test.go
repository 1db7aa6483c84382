package pt_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Tensors of more storages than are read at once, mapped or not, arrive on the device that is asked for.
func TestDevice(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "state.pt")
	torch.Scope(func() {
		a := torch.Arange(1 << 23)
		require.NoError(t, pt.Save(path, map[string]torch.Tensor{"a": a, "b": a.Neg(), "c": torch.Ones(3)}))
	})
	for _, device := range []torch.Device{torch.CPU, torch.Meta} {
		for _, mapped := range []bool{false, true} {
			state, err := pt.LoadStateDict(path, pt.LoadOptions{Device: device, MMap: mapped})
			require.NoError(t, err)
			for name, tensor := range state {
				require.Equal(t, device, tensor.Device(), "%s, mapped: %v", name, mapped)
			}
			if device == torch.CPU {
				require.Equal(t, 1<<23-1, state["a"].Index(-1).Int())
				require.Equal(t, 1-1<<23, state["b"].Index(-1).Int())
			}
			for _, tensor := range state {
				tensor.Close()
			}
		}
	}
}
