package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// trains is a rank that learns a line with the others, saves after each step, and goes on from there when it is started anew. It ends when
// rank 0 sees a file.
func trains() (err error) {
	defer torch.Recover(&err)
	ctx, dir := context.Background(), os.Getenv("TORCHRUN_TEST_RANK")
	g, err := dist.InitProcessGroup(ctx, "gloo", dist.InitOptions{Timeout: patience})
	if err != nil {
		return err
	}
	defer g.Close()
	line, path, step := nn.NewLinear(1, 1, nn.LinearOptions{NoBias: true}), filepath.Join(dir, "line.pt"), 0
	torch.NoGrad(func() { line.Weight.FillInPlace(0) })
	if v, err := pt.Load(path); err == nil {
		saved := v.(*pt.Dict)
		step = saved.Map()["step"].(int)
		torch.NoGrad(func() { line.Weight.FillInPlace(saved.Map()["weight"].(float64)) })
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	model, err := dist.NewDDP(g, line)
	if err != nil {
		return err
	}
	defer model.Close()
	opt := optim.NewSGD(nn.Parameters(model), 1e-4) // slow: the weight still grows after minutes
	fmt.Printf("world %d goes on from step %d with %.7f\n", g.Size(), step, line.Weight.Float64())
	for done := false; !done; step++ {
		x := torch.Full([]int{1, 1}, float64(g.Rank()+1))
		model.Forward(x).Sub(x.MulScalar(3)).Square().Mean().Backward()
		opt.Step()
		opt.ZeroGrad()
		if g.Rank() == 0 {
			if err := pt.Save(path, map[string]any{"step": step + 1, "weight": line.Weight.Float64()}); err != nil {
				return err
			}
			_, err := os.Stat(filepath.Join(dir, "done"))
			done = err == nil
		}
		if done, err = dist.BroadcastObject(ctx, g, done, 0); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	fmt.Printf("ended with %.4f\n", line.Weight.Float64())
	return nil
}

// Two machines train, a third joins them, and one leaves: each time all go on where they were.
func TestTrainingSurvivesMachinesThatComeAndGo(t *testing.T) {
	torchtest.NoLeaks(t)
	port, dir := strconv.Itoa(clitest.FreePort(t)), t.TempDir()
	t.Setenv("TORCHRUN_TEST_RANK", dir)
	path := filepath.Join(dir, "line.pt")
	saved := func() { // some steps are made
		t.Helper()
		before, _ := os.Stat(path)
		require.Eventually(t, func() bool {
			now, err := os.Stat(path)
			return err == nil && (before == nil || now.ModTime().After(before.ModTime()))
		}, patience, 20*time.Millisecond)
	}
	first := starts(t, port, "2:3", os.Args[0])
	require.Eventually(t, func() bool { // it leads
		c, err := net.Dial("tcp", "localhost:"+port)
		return err == nil && c.Close() == nil
	}, patience, 20*time.Millisecond)
	second := starts(t, port, "2:3", os.Args[0])
	first.prints(t, "world 2", 1)
	saved()
	third := starts(t, port, "2:3", os.Args[0])
	first.prints(t, "world 3", 1)
	saved()
	third.stop()
	require.ErrorIs(t, <-third.ended, context.Canceled)
	first.prints(t, "world 2", 2)
	saved()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "done"), nil, 0o666))
	require.NoError(t, <-first.ended)
	require.NoError(t, <-second.ended)

	lines := strings.Split(first.String(), "\n")
	last, weight := 0, 0.0
	for i, want := range []int{2, 3, 2} {
		var world, step int
		var at float64
		_, err := fmt.Sscanf(lines[i], "world %d goes on from step %d with %f", &world, &step, &at)
		require.NoError(t, err, lines)
		require.Equal(t, want, world, lines)
		if i > 0 {
			require.Greater(t, step, last, lines)
			require.Greater(t, at, weight, "the weight comes nearer to 3\n%s", lines)
		}
		last, weight = step, at
	}
	require.Contains(t, first.String(), "ended with")
}
