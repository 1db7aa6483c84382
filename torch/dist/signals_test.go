package dist_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var (
	nameLine    = regexp.MustCompile(`(?m)^Name:\s+(.*)$`)
	blockedLine = regexp.MustCompile(`(?m)^SigBlk:\s+([0-9a-f]+)$`)
)

// A rank that writes to one that is gone gets an error and no signal: Go's runtime ends the process over one that meets a thread of gloo's.
func TestThreadsGetNoSignalOfPipes(t *testing.T) {
	torchtest.NoLeaks(t)
	const pipe = uint64(1) << (syscall.SIGPIPE - 1)
	ranks(t, 2, 10*time.Second, func(ctx context.Context, g *dist.Group) error {
		if err := g.AllReduce(torch.Ones(3)).Wait(ctx); err != nil || g.Rank() != 0 {
			return err
		}
		files, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil {
			return err
		}
		loops := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // it has ended
			}
			if nameLine.FindSubmatch(text)[1][0] != 'p' { // those of libtorch's are named pt_gloo_runloop
				continue
			}
			mask, err := strconv.ParseUint(string(blockedLine.FindSubmatch(text)[1]), 16, 64)
			assert.NoError(t, err)
			assert.NotZero(t, mask&pipe, "%s", text)
			loops++
		}
		assert.NotZero(t, loops)
		return nil
	})
}
