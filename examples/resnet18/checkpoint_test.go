package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A run that is interrupted and resumed writes the same file as one that is not: weights,
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
		out := &clitest.Trigger{Text: where, Fire: cancel}
		err := command(ctx, flags("resumed"), out)
		require.Equal(t, 130, exitCode(err), "%v\n%s", err, &out.Seen)
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
		path := filepath.Join(t.TempDir(), "run.pt")
		text := clitest.Signal(t, signal, "Epoch: [0][  2/", tiny("-limit", "800", "-epochs", "1", "-save", path)...)
		require.Regexp(t, `^resnet18: interrupted in epoch 0 after batch \d+ of 100; -resume .* goes on from there\n$`, text)
		file, err := checkpoint.ReadFile(path)
		require.NoError(t, err)
		file.Close()
	}
}

func TestValidatesACheckpoint(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "run.pt")
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

func TestCheckpointFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		return path
	}
	foreign := filepath.Join(dir, "foreign")
	torch.Scope(func() {
		require.NoError(t, pt.Save(foreign, map[string]torch.Tensor{"fc.bias": torch.Zeros(10)}))
	})
	whole, err := os.ReadFile(foreign)
	require.NoError(t, err)
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"):      "no such file",
		dir:                               "expected a file",
		file("empty", nil):                "not a sound file of torch.save",
		file("cut", whole[:len(whole)-1]): "not a sound file of torch.save",
		file("text", bytes.Repeat([]byte("some text "), 100)): "not a sound file of torch.save",
		foreign: "another program wrote it",
	} {
		requireFails(t, 1, want, tiny("-limit", "8", "-epochs", "1", "-resume", path)...)
	}
}

// untrained is the trainer of a run that has not begun.
func untrained(t *testing.T, flags []string) *trainer {
	t.Helper()
	c, err := parseFlags(flags, io.Discard)
	require.NoError(t, err)
	require.NoError(t, setUp(c))
	sets, err := openImages(t.Context(), c, io.Discard)
	require.NoError(t, err)
	tr, err := newTrainer(c, sets, io.Discard)
	require.NoError(t, err)
	return tr
}

func TestCheckpointsThatDoNotFit(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	flags := tiny("-limit", "8", "-epochs", "1")
	path := filepath.Join(dir, "run.pt")
	run(t, append(flags, "-save", path)...)

	for _, test := range []struct {
		change func(*pt.Dict)
		want   string
		flags  []string
	}{
		{want: "of another run: epochs is 1 there and 2 here", flags: []string{"-epochs", "2"}},
		{want: "of another run: b is 8 there and 4 here", flags: []string{"-b", "4"}},
		{want: "of another run: images is 8 there and 9 here", flags: []string{"-limit", "9"}},
		{want: "the recipe of ", change: func(d *pt.Dict) { d.Set("recipe", "{") }},
		{want: "expected no negative number", change: func(d *pt.Dict) { d.Dict("progress").Set("epoch", -7) }},
		{want: "last_epoch", change: func(d *pt.Dict) { d.Dict("schedule").Set("last_epoch", -1) }},
		{want: "fc.weight", change: func(d *pt.Dict) { d.Dict("model").Set("fc.weight", torch.Zeros(100, 512)) }},
		{want: "layer9.weight", change: func(d *pt.Dict) { d.Dict("model").Set("layer9.weight", torch.Zeros(1)) }},
		{want: `part "scaler": the file has no state of it`, change: func(d *pt.Dict) { d.Set("scaler", nil) }},
		{want: "momentum_buffer has shape", change: func(d *pt.Dict) {
			d.Dict("optimizer").Dict("state").Dict(0).Set("momentum_buffer", torch.Zeros(1, 2))
		}},
		{want: "RNG", change: func(d *pt.Dict) { d.Dict("generators").Set("cpu", torch.Zeros(3)) }},
	} {
		torch.Scope(func() {
			changed := filepath.Join(dir, "changed.pt")
			v, err := pt.Load(path)
			require.NoError(t, err)
			if test.change != nil {
				test.change(v.(*pt.Dict))
			}
			require.NoError(t, pt.Save(changed, v))
			tr := untrained(t, append(flags, test.flags...))
			defer func() { require.NoError(t, tr.Close()) }()
			require.ErrorContains(t, tr.load(changed), test.want)
		})
	}
}
