package gpusuite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/dist"
)

// onRanks starts a child on each of so many ranks, with the environment that torchrun sets, and returns what they print.
func onRanks(t *testing.T, size int, child string) []string {
	needCard(t)
	if n := cuda.DeviceCount(); n < size {
		t.Skipf("NCCL takes a card for each of %d ranks, and there are %d", size, n)
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	port := clitest.FreePort(t)
	var cmds []*exec.Cmd
	texts := make([]strings.Builder, size)
	for rank := range size {
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), childVariable+"="+child, "MASTER_ADDR=127.0.0.1", fmt.Sprint("MASTER_PORT=", port),
			fmt.Sprint("RANK=", rank), fmt.Sprint("LOCAL_RANK=", rank), fmt.Sprint("WORLD_SIZE=", size), "TORCH_NCCL_ASYNC_ERROR_HANDLING=1")
		cmd.Stdout, cmd.Stderr = &texts[rank], &texts[rank]
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	var list []string
	for rank, cmd := range cmds {
		err := cmd.Wait()
		list = append(list, texts[rank].String())
		t.Logf("rank %d: %s", rank, list[rank])
		require.NoError(t, err, "rank %d", rank)
	}
	return list
}

func TestNCCL(t *testing.T) {
	for size := 1; size <= 2; size++ {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			for _, text := range onRanks(t, size, "nccl") {
				for _, c := range ncclCases {
					require.Contains(t, text, c.name+": ok\n")
				}
			}
		})
	}
}

// A rank that does not come is an error on the other, whose process goes on.
func TestNCCLWithoutAPeer(t *testing.T) {
	for rank, text := range onRanks(t, 2, "nccl alone") {
		require.Contains(t, text, "the end\n", rank)
	}
}

// ncclRank is a process of a group over NCCL.
func ncclRank(backend string, timeout time.Duration, fn func(ctx context.Context, g *dist.Group) error) {
	work := func() (err error) {
		defer torch.Recover(&err)
		e, err := dist.Env()
		if err != nil {
			return err
		}
		ctx := context.Background()
		cuda.WithDevice(e.LocalRank, func() {
			var g *dist.Group
			if g, err = dist.InitProcessGroup(ctx, backend, dist.InitOptions{Device: torch.CUDA(e.LocalRank), Timeout: timeout}); err == nil {
				defer g.Close()
				err = fn(ctx, g)
			}
		})
		return err
	}
	if err := work(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func childNCCL() {
	ncclRank("cpu:gloo,cuda:nccl", time.Minute, func(ctx context.Context, g *dist.Group) error {
		var failed []error
		for _, c := range ncclCases {
			var err error
			torch.Scope(func() { err = errors.Join(torch.Try(func() { err = c.fn(ctx, g) }), err) })
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
				continue
			}
			fmt.Println(c.name + ": ok")
		}
		return errors.Join(append(failed, g.Barrier().Wait(ctx), g.Err())...)
	})
}

func childNCCLAlone() {
	const timeout = 5 * time.Second
	ncclRank("nccl", timeout, func(ctx context.Context, g *dist.Group) error {
		if err := g.Barrier().Wait(ctx); err != nil {
			return err
		}
		if g.Rank() == 1 {
			time.Sleep(3 * timeout)
			fmt.Println("the end")
			return nil
		}
		began := time.Now()
		if err := g.AllReduce(torch.TensorOptions{Device: torch.CUDA(0)}.Ones(3)).Wait(ctx); err != nil {
			return fmt.Errorf("Wait waited for the card: %w", err)
		}
		err := g.Barrier().Wait(ctx)
		if !errors.Is(err, dist.ErrTimeout) || time.Since(began) > 2*timeout {
			return fmt.Errorf("after %v, instead of a timeout: %w", time.Since(began), err)
		}
		if !errors.Is(g.Err(), torch.ErrDist) {
			return fmt.Errorf("the group's error: %w", g.Err())
		}
		fmt.Println(err)
		fmt.Println("the end")
		return nil
	})
}
