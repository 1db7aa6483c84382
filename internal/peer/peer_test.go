package peer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestRun(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := peer.Tensors{"empty": torch.Zeros(2, 0, 3), "number": torch.FromValue(2.5)}
		for _, d := range []torch.DType{torch.Bool, torch.Uint8, torch.Int8, torch.Int16, torch.Int32, torch.Int64, torch.Float16,
			torch.BFloat16, torch.Float32, torch.Float64} {
			inputs[d.String()] = torch.FromSlice([]float32{0, 1, 2, 3, 4, 5}, 2, 3).To(d)
		}
		got := peer.Run(t, "testdata/echo.py", inputs, "a", "bcd")
		require.Len(t, got, len(inputs)+2)
		for name, want := range inputs {
			torchtest.Equal(t, got[name], want)
		}
		require.Equal(t, []int{1, 3}, torch.Values[int](got["args"]))
		require.Equal(t, 0.5, got["half"].Float64())
	})
}
