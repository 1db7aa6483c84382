package main

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// figures are those that a run with these flags prints.
func figures(t *testing.T, size, accumulate string) (text string, loss float64, steps int) {
	t.Helper()
	for name, value := range map[string]string{"n": "500", "epochs": "5", "b": size, "accumulate": accumulate} {
		require.NoError(t, flag.Set(name, value))
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	_, err := fmt.Sscanf(out.String(), "loss %f after %d steps", &loss, &steps)
	require.NoError(t, err, out.String())
	return out.String(), loss, steps
}

func TestSmallBatchesAreAsGoodAsLargeOnes(t *testing.T) {
	torchtest.NoLeaks(t)
	_, want, steps := figures(t, "64", "1")
	require.Equal(t, 5*8, steps)
	require.Less(t, want, 0.5)
	for _, row := range [][2]string{{"16", "4"}, {"1", "64"}} {
		_, loss, steps := figures(t, row[0], row[1])
		require.Equal(t, 5*8, steps, row)
		require.InDelta(t, want, loss, 1e-4, row)
	}
	_, alone, _ := figures(t, "16", "1")
	require.Greater(t, math.Abs(want-alone), 1e-4)
}

func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	text, _, _ := figures(t, "16", "4")
	want := peer.Run(t, "testdata/accumulate.py", nil, "4", "500", "5", "16", "0.1")
	require.Equal(t, fmt.Sprintf("loss %.6f after %d steps of 4 x 16 samples\n", want["loss"].Float64(), want["steps"].Int()), text)
}
