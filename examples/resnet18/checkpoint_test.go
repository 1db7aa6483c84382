package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A trigger is a writer that calls fire when a line with text goes through.
type trigger struct {
	bytes.Buffer
	text string
	fire func()
}

func (w *trigger) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.fire()
	}
	return w.Buffer.Write(p)
}

// A run that is interrupted and resumed writes the very file of one that is not: weights,
// momentum, schedule, random numbers.
func TestResumedRunsAreEqualToTheBit(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	flags := func(file string, more ...string) []string {
		return append(tiny("-limit", "16", "-epochs", "2", "-save", filepath.Join(dir, file)), more...)
	}
	run(t, flags("straight")...)
	want, err := os.ReadFile(filepath.Join(dir, "straight"))
	require.NoError(t, err)
	for _, where := range []string{"Epoch: [0][1/", "Test: [1/", "Epoch: [1][1/"} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &trigger{text: where, fire: cancel}
		err := command(ctx, flags("resumed"), out)
		require.Equal(t, 130, exitCode(err), "%v\n%s", err, out)
		require.Contains(t, err.Error(), "-resume "+filepath.Join(dir, "resumed")+" goes on from there")
		run(t, flags("resumed", "-resume", filepath.Join(dir, "resumed"))...)
		got, err := os.ReadFile(filepath.Join(dir, "resumed"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "interrupted at %s: the checkpoints differ", where)
	}
	out := run(t, flags("again", "-resume", filepath.Join(dir, "straight"))...)
	require.NotContains(t, out, "Epoch: ", "there is nothing left to train")
	require.NoFileExists(t, filepath.Join(dir, "again"))
}

func TestSignalStopsCleanly(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		path := filepath.Join(t.TempDir(), "run.safetensors")
		cmd, stdout, stderr := program(t, tiny("-limit", "800", "-epochs", "1", "-save", path)...)
		cmd.Stdout = &trigger{text: "Epoch: [0][2/", fire: func() { cmd.Process.Signal(signal) }}
		cmd.Run()
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%s%s", stdout, stderr)
		require.Regexp(t, `^resnet18: interrupted in epoch 0 after batch \d+ of 100; -resume .* goes on from there\n$`, stderr.String())
		file, err := safetensors.Load(path)
		require.NoError(t, err)
		file.Close()
	}
}

func TestValidatesACheckpoint(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "run.safetensors")
	trained := run(t, tiny("-limit", "40", "-epochs", "1", "-save", path)...)
	out := run(t, tiny("-limit", "40", "-e", "-resume", path, "-b", "3")...)
	require.NotContains(t, out, "Epoch: ")
	require.Equal(t, accuracyLine(trained), accuracyLine(out), "the batch size does not matter")
}

func accuracyLine(out string) string {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, " * Acc@1 ") {
			return line
		}
	}
	return "no line with the accuracy in: " + out
}

func TestCheckpointsThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.safetensors")
	run(t, tiny("-limit", "8", "-epochs", "1", "-save", good)...)
	raw, err := os.ReadFile(good)
	require.NoError(t, err)
	file, err := safetensors.Load(good)
	require.NoError(t, err)
	defer file.Close()

	written := func(data []byte) string {
		path := filepath.Join(dir, "raw.safetensors")
		require.NoError(t, os.WriteFile(path, data, 0o644))
		return path
	}
	changed := func(change func(tensors map[string]torch.Tensor, metadata map[string]string)) string {
		path := filepath.Join(dir, "changed.safetensors")
		torch.Scope(func() {
			tensors, metadata := map[string]torch.Tensor{}, map[string]string{}
			for name, tensor := range file.Tensors {
				tensors[name] = tensor
			}
			for name, text := range file.Metadata {
				metadata[name] = text
			}
			change(tensors, metadata)
			require.NoError(t, safetensors.Save(path, sorted(tensors), metadata))
		})
		return path
	}
	type (
		tensors  = map[string]torch.Tensor
		metadata = map[string]string
	)
	same := tiny("-limit", "8", "-epochs", "1")
	for _, test := range []struct {
		path, want string
		flags      []string
	}{
		{filepath.Join(dir, "absent"), "no such file", same},
		{dir, "expected a file", same},
		{written(nil), "not a sound safetensors file", same},
	} {
		requireFails(t, 1, test.want, append(test.flags, "-resume", test.path)...)
	}
	requireFails(t, 1, "not a sound safetensors file", append(same, "-resume", written(raw[:len(raw)/2]))...)
	requireFails(t, 1, "not a sound safetensors file", append(same, "-resume", written(bytes.Repeat([]byte("text"), 100)))...)
	requireFails(t, 1, "it was not written by this program", append(same, "-resume", changed(func(_ tensors, m metadata) { delete(m, metadataKey) }))...)
	requireFails(t, 1, "its metadata are damaged", append(same, "-resume", changed(func(_ tensors, m metadata) { m[metadataKey] = "{" }))...)
	requireFails(t, 1, "1 tensors are missing, fc.weight", append(same, "-resume", changed(func(s tensors, _ metadata) { delete(s, "model.fc.weight") }))...)
	requireFails(t, 1, "layer9.weight", append(same, "-resume", changed(func(s tensors, _ metadata) { s["model.layer9.weight"] = torch.Zeros(1) }))...)
	requireFails(t, 1, "fc.weight has shape [100 512] where [10 512] is expected", append(same, "-resume", changed(func(s tensors, _ metadata) { s["model.fc.weight"] = torch.Zeros(100, 512) }))...)
	requireFails(t, 1, "momentum_buffer", append(same, "-resume", changed(func(s tensors, _ metadata) { s["optimizer.0.momentum_buffer"] = torch.Zeros(1, 2) }))...)
	requireFails(t, 1, "-epochs 1", tiny("-limit", "8", "-epochs", "2", "-resume", good)...)
	requireFails(t, 1, "it is of a run on 8 images", tiny("-limit", "9", "-epochs", "1", "-resume", good)...)
}
