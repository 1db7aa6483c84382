package dist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
)

// patience is how long ranks wait for each other in tests that are not about it: a busy machine keeps some of them waiting.
const patience = 10 * time.Minute

// ranks runs fn on the ranks of a group, which are goroutines of this process.
func ranks(t *testing.T, size int, timeout time.Duration, fn func(ctx context.Context, g *dist.Group) error) {
	t.Helper()
	store, err := dist.NewHashStore()
	require.NoError(t, err)
	defer store.Close()
	all, ctx := errgroup.WithContext(t.Context())
	for rank := range size {
		all.Go(func() error {
			g, err := dist.InitProcessGroup(ctx, "gloo", dist.InitOptions{Store: store, Rank: rank, WorldSize: size, Timeout: timeout})
			if err != nil {
				return err
			}
			defer g.Close()
			torch.Scope(func() {
				var failed error
				failed = torch.Try(func() { err = fn(ctx, g) })
				err = errors.Join(failed, err)
			})
			if err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
}
