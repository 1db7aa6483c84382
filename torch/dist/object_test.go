package dist_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/peer"
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
	ranks(t, 3, patience, func(ctx context.Context, g *dist.Group) error {
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
		assert.NoError(t, err)
		assert.Equal(t, list[2], last)
		var values []point
		if g.Rank() == 1 {
			values = list
		}
		mine, err := dist.ScatterObject(ctx, g, values, 1)
		assert.Equal(t, own, mine)
		return err
	})
}

func TestObjectMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
		_, err := dist.ScatterObject(ctx, g, []int{1, 2}, 2)
		assert.ErrorContains(t, err, "the source must be a rank from 0 to 1, got 2")
		_, err = dist.ScatterObject(ctx, g, []int{1}, g.Rank())
		assert.ErrorContains(t, err, "the list must have one for each of the 2 ranks, got 1")
		_, err = dist.ScatterObject(ctx, g, []int{1}, 1-g.Rank())
		assert.ErrorContains(t, err, "alone: pass nil on the other ranks")
		_, err = dist.ScatterObject(ctx, g, []any{1, func() {}}, g.Rank())
		assert.ErrorContains(t, err, "the value of rank 1: json: unsupported type")
		_, err = dist.AllGatherObject(ctx, g, func() {})
		assert.ErrorContains(t, err, "unsupported type")
		n, err := dist.BroadcastObject(ctx, g, any("text"), 0)
		assert.Equal(t, "text", n)
		return err
	})
}

// A rank of Python's and one of Go's exchange objects, as two of Python's do.
func TestObjectsWithPython(t *testing.T) {
	torchtest.NoLeaks(t)
	type thing struct {
		Rank int
		Name string
		List []any
		Big  int
	}
	things := []thing{
		{0, "", []any{1., 2.5, true, nil, "\u00fc\U0001f600"}, 1 << 60},
		{1, strings.Repeat("x", 300), []any{[]any{}, map[string]any{}, -1., 1e-9, "two"}, -1},
	}
	port := clitest.FreePort(t)
	want := []any{things[0], things[0], things[1], things[0], things}
	var work errgroup.Group
	work.Go(func() error {
		ctx := t.Context()
		g, err := dist.InitProcessGroup(ctx, "gloo",
			dist.InitOptions{InitMethod: fmt.Sprintf("tcp://127.0.0.1:%d", port), WorldSize: 2, Timeout: patience})
		if err != nil {
			return err
		}
		defer g.Close()
		for src := range 2 {
			v, err := dist.BroadcastObject(ctx, g, things[0], src)
			assert.NoError(t, err)
			assert.Equal(t, want[2*src], v)
			var list []thing
			if src == 0 {
				list = things
			}
			v, err = dist.ScatterObject(ctx, g, list, src)
			assert.NoError(t, err)
			assert.Equal(t, want[2*src+1], v)
		}
		all, err := dist.AllGatherObject(ctx, g, things[0])
		assert.NoError(t, err)
		assert.Equal(t, things, all)
		nested, err := dist.BroadcastObject(ctx, g, []any(nil), 1)
		assert.NoError(t, err)
		assert.Equal(t, []any{1., 2., []any{3.}}, nested)
		numbered, err := dist.BroadcastObject(ctx, g, map[int]string(nil), 1)
		assert.NoError(t, err)
		assert.Equal(t, map[int]string{1: "one"}, numbered)
		_, err = dist.BroadcastObject(ctx, g, any(nil), 1)
		assert.ErrorContains(t, err, "the object has a torch._utils._rebuild_tensor_v2, and only dicts")
		return g.Barrier().Wait(ctx)
	})
	got := peer.Run(t, "testdata/object.py", nil, strconv.Itoa(port))
	require.NoError(t, work.Wait())
	var results []json.RawMessage
	require.NoError(t, json.Unmarshal(torch.Values[uint8](got["results"]), &results))
	for i, expected := range []any{things[0], things[1], things[1], things[1], things} {
		text, err := json.Marshal(expected)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(results[i]))
	}
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
			ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
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
