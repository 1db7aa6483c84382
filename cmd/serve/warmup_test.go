package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/endless"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A model that has no end is not served, in the place of another neither.
func TestModelsThatDoNotEnd(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "net.pt2")
	require.NoError(t, endless.Program(1).Save(file))
	lanes := torch.NewLanes(1)
	defer lanes.Close()
	r := &repository{dir: dir, lanes: lanes, log: slog.New(slog.DiscardHandler), models: map[string]*model{}}
	require.NoError(t, r.load(t.Context(), "net"))
	require.NoError(t, endless.Program(0).Save(file)) // warming up is with zeros
	r.patience = 50 * time.Millisecond
	require.ErrorContains(t, r.load(t.Context(), "net"), "it took longer than 50ms, which -warm-up permits")
	torch.Scope(func() {
		_, err := r.find("net").server.Run(t.Context(), torch.Zeros(1, 1))
		require.NoError(t, err)
	})
	require.NoError(t, r.unload(t.Context(), "net"))
}

// A signal ends a server that still loads its models.
func TestEndsWhileLoading(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	require.NoError(t, endless.Program(0).Save(filepath.Join(dir, "forever.pt2")))
	require.NoError(t, torch.Load())
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var log clitest.Console
	f := flags{models: dir, limits: limits{concurrent: 1}}
	require.ErrorIs(t, f.serve(ctx, listener, slog.New(slog.NewTextHandler(&log, nil))), context.DeadlineExceeded)
	require.Contains(t, log.String(), "the run was stopped")
}
