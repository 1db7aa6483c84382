package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

func TestRuns(t *testing.T) {
	torchtest.NoLeaks(t)
	require.NoError(t, run(64))
	require.ErrorContains(t, run(0), "-n must be at least 1, got 0")
}
