package clitest

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestWatch(t *testing.T) {
	torchtest.NoLeaks(t)
	began := time.Now()
	w := StartWatch(t)
	require.Eventually(t, func() bool { return w.Elapsed() >= 10*tick }, time.Minute, tick)
	shown := w.Elapsed()
	require.LessOrEqual(t, shown, time.Since(began))
}

func TestFreePort(t *testing.T) {
	torchtest.NoLeaks(t)
	seen := map[int]bool{}
	for range 20 {
		port := FreePort(t)
		require.True(t, firstPort <= port && port < lastPort, port)
		seen[port] = true
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		require.NoError(t, err)
		defer l.Close()
	}
	require.Len(t, seen, 20, "a port that somebody listens at is not free")
}
