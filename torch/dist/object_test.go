package dist_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestObjects(t *testing.T) {
	torchtest.NoLeaks(t)
	type point struct {
		Rank int
		Name string
	}
	ranks(t, 3, time.Minute, func(ctx context.Context, g *dist.Group) error {
		own := point{g.Rank(), strings.Repeat("x", 10*g.Rank())}
		list, err := dist.AllGatherObject(ctx, g, own)
		if err != nil {
			return err
		}
		assert.Len(t, list, 3)
		for i, p := range list {
			assert.Equal(t, point{i, strings.Repeat("x", 10*i)}, p)
		}
		last, err := dist.BroadcastObject(ctx, g, own, 2)
		assert.Equal(t, list[2], last)
		return err
	})
}

// A hook of Go's that does what DDP does without one comes to the same bits.
func TestCommHook(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	c := trainings[0]
	torch.Scope(func() {
		in := inputs(2)
		for _, hooked := range []bool{false, true} {
			c.hook = hooked
			ranks(t, 2, time.Minute, func(ctx context.Context, g *dist.Group) error {
				got, err := c.train(g, in)
				for name, x := range got {
					key := "want." + name
					if g.Rank() == 0 && !hooked {
						in[key] = x
						continue
					}
					if hooked && g.Rank() == 0 {
						assert.True(t, x.Equal(in[key]), name)
						in[key].Close()
					}
					x.Close()
				}
				return err
			})
		}
	})
}
