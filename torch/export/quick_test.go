package export

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// LeaveQuick says whether layers that are quick in float32 stay in it.
func LeaveQuick(yes bool) { leavesQuick = yes }

// Where two products are added in sixteen bits, a small convolution stays in float32, and a large one of 1 x 1 does not.
func TestQuickLayersStay(t *testing.T) {
	torchtest.NoLeaks(t)
	narrow, err := saturates()
	require.NoError(t, err)
	if !narrow || WholeKernels() {
		t.Skip("products of eight bits are added in 32 bits")
	}
	torch.SetNumThreads(1)
	torch.Scope(func() {
		w := torch.RandN(64, 64, 1, 1)
		for size, quick := range map[int]bool{4: true, 128: false} {
			x := torch.RandN(1, 64, size, size)
			p, err := Export(func(x torch.Tensor) torch.Tensor { return F.Conv2d(x, w, torch.Tensor{}).ReLU() }, []any{x})
			require.NoError(t, err)
			defer p.Close()
			ranges, err := Calibrate(p, slices.Values([][]any{{x}}), CalibrateOptions{Error: 1})
			require.NoError(t, err)
			for _, leaves := range []bool{true, false} {
				leavesQuick = leaves
				c, err := Compile(p, CompileOptions{Int8: ranges})
				leavesQuick = false
				require.NoError(t, err)
				require.Equal(t, !(leaves && quick), strings.Contains(c.String(), "qconv"), "%d, %v", size, leaves)
				c.Close()
			}
		}
	})
}
