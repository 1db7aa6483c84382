package main

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// set sets flags until the test ends.
func set(t *testing.T, values map[string]string) {
	t.Helper()
	for name, value := range values {
		old := flag.Lookup(name).Value.String()
		t.Cleanup(func() { require.NoError(t, flag.Set(name, old)) })
		require.NoError(t, flag.Set(name, value))
	}
}

// The program prints the figures of the tutorial in Python. Three hundred images are too few to
// do well on others, but the network learns them.
func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	set(t, map[string]string{"slice": "true", "limit": "300", "b": "10", "lr": "0.01", "epochs": "8", "p": "30"})
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	images, labels := cifarslice.Load(true).Head(300).Tensors()
	test, answers := cifarslice.Load(false).Head(60).Tensors()
	defer torch.Close(images, labels, test, answers)
	want := peer.Run(t, "testdata/tutorial.py", peer.Tensors{"images": images, "labels": labels, "test": test, "answers": answers},
		"8", "10", "0.01", "0.9")
	rows := torch.Matrix[float64](want["rows"])
	lines := "300 images, for training: true\n60 images, for training: false\n"
	for epoch, row := range rows {
		lines += fmt.Sprintf("Epoch: [%d][30/30]\tLoss %.4e (%.4e)\n", epoch, row[0], row[1])
	}
	got, classes, found := strings.Cut(out.String(), "airplane")
	require.True(t, found, out.String())
	require.Equal(t, lines, got)
	require.Contains(t, classes, fmt.Sprintf(" * Acc@1 %.3f of %d test images\n", 100*want["right"].Float64()/want["of"].Float64(),
		want["of"].Int()))
	require.Less(t, rows[7][1], 0.9*rows[0][1])
}

func TestMistakes(t *testing.T) {
	for want, flags := range map[string]map[string]string{
		"no such file or directory": {"data": t.TempDir() + "/absent"},
		"momentum":                  {"slice": "true", "momentum": "-1"},
	} {
		t.Run(want, func(t *testing.T) {
			set(t, flags)
			require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}), want)
		})
	}
}
