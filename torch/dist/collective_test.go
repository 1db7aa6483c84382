package dist_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var reductions = map[string]dist.ReduceOp{
	"SUM": dist.Sum, "AVG": dist.Avg, "PRODUCT": dist.Product, "MIN": dist.Min, "MAX": dist.Max,
	"BAND": dist.BAnd, "BOR": dist.BOr, "BXOR": dist.BXor,
}

// run does on one rank what testdata/collectives.py does.
func run(ctx context.Context, g *dist.Group, what, op string, x torch.Tensor) ([]torch.Tensor, error) {
	size, rank, last := g.Size(), g.Rank(), g.Size()-1
	red := dist.ReduceOptions{Op: reductions[op]}
	like := func(t torch.Tensor) torch.Tensor { return torch.Zeros(t.Shape()...).To(t.DType()) }
	var likes []torch.Tensor
	for range size {
		likes = append(likes, like(x))
	}
	out, parts := like(x), x.Chunk(size, 0)
	switch what {
	case "all_reduce":
		return []torch.Tensor{x}, g.AllReduce(x, red).Wait(ctx)
	case "all_reduce_coalesced":
		both := []torch.Tensor{x, x.Clone()}
		return both, g.AllReduceCoalesced(both, red).Wait(ctx)
	case "reduce":
		return atRank(rank == last, x), g.Reduce(x, last, red).Wait(ctx)
	case "broadcast":
		return []torch.Tensor{x}, g.Broadcast(x, last).Wait(ctx)
	case "all_gather":
		return likes, g.AllGather(likes, x).Wait(ctx)
	case "all_gather_into_tensor":
		out := torch.Cat(likes, 0)
		return []torch.Tensor{out}, g.AllGatherIntoTensor(out, x).Wait(ctx)
	case "gather":
		likes = atRank(rank == last, likes...)
		return likes, g.Gather(likes, x, last).Wait(ctx)
	case "scatter":
		part := like(parts[0])
		return []torch.Tensor{part}, g.Scatter(part, atRank(rank == last, parts...), last).Wait(ctx)
	case "reduce_scatter":
		part := like(parts[0])
		return []torch.Tensor{part}, g.ReduceScatter(part, parts, red).Wait(ctx)
	case "reduce_scatter_tensor":
		part := like(parts[0])
		return []torch.Tensor{part}, g.ReduceScatterTensor(part, x, red).Wait(ctx)
	case "all_to_all_single":
		return []torch.Tensor{out}, g.AllToAllSingle(out, x).Wait(ctx)
	case "send":
		tag := dist.P2POptions{Tag: 3}
		return []torch.Tensor{out}, dist.WaitAll(ctx, g.Send(x, (rank+1)%size, tag), g.Recv(out, (rank+size-1)%size, tag))
	}
	return nil, fmt.Errorf("no such case: %s", what)
}

func atRank(here bool, list ...torch.Tensor) []torch.Tensor {
	if here {
		return list
	}
	return nil
}

// cases are the inputs of all cases on all ranks, by "what|operation|dtype|layout#rank".
func cases(size int) peer.Tensors {
	inputs := peer.Tensors{}
	add := func(what, op string, d torch.DType, layout string) {
		for rank := range size {
			shape := []int{2 * size, 3}
			switch layout {
			case "empty":
				shape[0] = 0
			case "transposed":
				shape = []int{3, 2 * size}
			}
			x := torch.RandN(shape...).MulScalar(3).AddScalar(rank)
			inputs[fmt.Sprintf("%s|%s|%v|%s#%d", what, op, d, layout, rank)] = x.To(d)
		}
	}
	torch.ManualSeed(1)
	all := []torch.DType{torch.Float32, torch.Float64, torch.Float16, torch.BFloat16, torch.Int8, torch.Uint8, torch.Int32, torch.Int64,
		torch.Bool, torch.Complex64, torch.Int16}
	for _, d := range all {
		for op := range reductions {
			add("all_reduce", op, d, "plain")
		}
		for _, what := range []string{"broadcast", "all_gather", "scatter", "send", "reduce", "all_to_all_single"} {
			if d != torch.Complex64 || what != "all_to_all_single" && what != "send" {
				add(what, "SUM", d, "plain")
			}
		}
	}
	for _, what := range []string{"reduce", "reduce_scatter", "reduce_scatter_tensor", "all_reduce_coalesced"} {
		for _, op := range []string{"SUM", "PRODUCT", "MIN", "MAX"} {
			add(what, op, torch.Float32, "plain")
		}
	}
	for _, what := range []string{"all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "gather", "all_to_all_single"} {
		add(what, "SUM", torch.Float32, "plain")
		add(what, "SUM", torch.Float32, "empty")
		if what != "all_to_all_single" { // which Python refuses where it is not contiguous
			add(what, "SUM", torch.Float64, "transposed")
		}
	}
	return inputs
}

func TestCollectivesAgainstPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() { againstPython(t, 3) })
}

func againstPython(t *testing.T, size int) {
	inputs := cases(size)
	want := peer.Run(t, "testdata/collectives.py", inputs, strconv.Itoa(size))
	var mu sync.Mutex
	got, refused := peer.Tensors{}, map[string]error{}
	ranks(t, size, patience, func(ctx context.Context, g *dist.Group) error {
		for _, key := range slices.Sorted(maps.Keys(inputs)) {
			name, rank, _ := strings.Cut(key, "#")
			if rank != strconv.Itoa(g.Rank()) {
				continue
			}
			part := strings.Split(name, "|")
			x := inputs[key].Clone()
			if part[3] == "transposed" {
				x = x.T()
			}
			results, err := run(ctx, g, part[0], part[1], x)
			mu.Lock()
			if err != nil {
				refused[key] = err
			}
			for i, y := range results {
				if err == nil {
					got[fmt.Sprintf("%s#%d", key, i)] = y.Keep()
				}
			}
			mu.Unlock()
		}
		return nil
	})
	for key, y := range got {
		if assert.True(t, want[key].Defined(), "%s: Python refuses what we do", key) {
			torchtest.Equal(t, y, want[key])
		}
		y.Close()
	}
	for key := range want {
		assert.True(t, got[key].Defined(), "%s: %v", key, refused[key[:strings.LastIndex(key, "#")]])
	}
	for _, err := range refused {
		assert.ErrorIs(t, err, torch.ErrDist)
	}
}
