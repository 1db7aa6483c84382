package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/torchtest"
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

// The program prints the figures of its twin in Python, and reads the digits.
func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	set(t, map[string]string{"device": "cpu", "drawn": "true", "limit": "800", "b": "20", "lr": "0.003", "epochs": "2", "p": "40"})
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	images, labels := draw(800, 0, true)
	test, answers := draw(160, 0, false)
	defer torch.Close(images, labels, test, answers)
	want := peer.Run(t, "testdata/mnist.py", peer.Tensors{"images": images, "labels": labels, "test": test, "answers": answers},
		"2", "20", "0.003")
	rows := torch.Matrix[float64](want["rows"])
	var lines string
	for epoch, row := range rows {
		lines += fmt.Sprintf("Epoch: [%d][40/40]\tLoss %.4e (%.4e)\n * Acc@1 %.3f\n", epoch, row[0], row[1], 100*row[2])
	}
	require.Equal(t, lines, out.String())
	require.Greater(t, rows[1][2], 0.6)
}

// A training that is asked to end keeps what it has, and goes on to the same accuracy.
func TestResumes(t *testing.T) {
	torchtest.NoLeaks(t)
	set(t, map[string]string{"device": "cpu", "drawn": "true", "limit": "400", "b": "20", "lr": "0.003", "epochs": "2", "p": "1"})
	var whole, rest bytes.Buffer
	first := &clitest.Trigger{Text: "[10/20]", Fire: func() {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		time.Sleep(100 * time.Millisecond) // it comes
	}}
	require.NoError(t, run(t.Context(), &whole))
	set(t, map[string]string{"checkpoint": t.TempDir()})
	require.NoError(t, run(t.Context(), first))
	require.NotContains(t, first.Seen.String(), "Acc@1")
	require.NoError(t, run(t.Context(), &rest))
	accuracies := regexp.MustCompile(`Acc@1 .*`)
	require.Equal(t, accuracies.FindAllString(whole.String(), -1), accuracies.FindAllString(rest.String(), -1))

	set(t, map[string]string{"lr": "0.1"})
	var other *checkpoint.RecipeError
	require.ErrorAs(t, run(t.Context(), &rest), &other)
}

// A graph trains as well as the plain step does.
func TestGraph(t *testing.T) {
	set(t, map[string]string{"drawn": "true", "limit": "1000", "b": "20", "lr": "0.003", "epochs": "3", "graph": "true"})
	var out bytes.Buffer
	err := run(t.Context(), &out)
	if torch.CheckDevice(torch.CUDA(0)) != nil {
		require.ErrorIs(t, err, torch.ErrNoCUDA)
		return
	}
	require.NoError(t, err)
	var percent float64
	_, err = fmt.Sscan(out.String()[strings.LastIndex(out.String(), "Acc@1")+5:], &percent)
	require.NoError(t, err)
	require.Greater(t, percent, 80.0, out.String())
}

func TestMistakes(t *testing.T) {
	for want, flags := range map[string]map[string]string{
		"tpu":                       {"device": "tpu"},
		"no such file or directory": {"data": t.TempDir() + "/absent"},
		"learning rate":             {"drawn": "true", "limit": "10", "lr": "-1"},
	} {
		t.Run(want, func(t *testing.T) {
			set(t, flags)
			require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}), want)
		})
	}
}
