package main

import (
	"bytes"
	"fmt"
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

// The program prints the figures of its twin in Python.
func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	want := peer.Run(t, "testdata/linear.py", nil, "1000", "0.1", "5", "32", "0.05")
	var lines string
	for epoch, loss := range torch.Values[float64](want["losses"]) {
		lines += fmt.Sprintf("epoch %d: loss %.6f\n", epoch, loss)
	}
	plane := torch.Values[float64](want["plane"])
	require.Equal(t, lines+fmt.Sprintf("y = %.3f a %+.3f b %+.3f\n", plane[0], plane[1], plane[2]), out.String())
	require.InDeltaSlice(t, []float64{2, -3, 1}, plane, 0.02)
}

func TestMistakesAreErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	*rate = -1
	defer func() { *rate = 0.05 }()
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}), "learning rate: -1")
}
