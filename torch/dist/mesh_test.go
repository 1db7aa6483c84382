package dist_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// placed are the places, groups and sums of a rank in a mesh, by the names of testdata/mesh.py.
func placed(ctx context.Context, mesh *dist.DeviceMesh, name string, rank int) (peer.Tensors, error) {
	got := peer.Tensors{name + ".mesh": mesh.Mesh()}
	at := mesh.Coordinate()
	if at == nil {
		return got, nil
	}
	got[name+".coordinate"] = numbers(at...)
	for _, dim := range mesh.DimNames() {
		g := mesh.Group(dim)
		got[name+"."+dim+".ranks"] = numbers(g.Ranks()...)
		got[name+"."+dim+".rank"] = numbers(mesh.LocalRank(dim))
		sum := torch.Full([]int{1}, float64(rank+1))
		if err := g.AllReduce(sum).Wait(ctx); err != nil {
			return nil, err
		}
		got[name+"."+dim+".sum"] = sum
	}
	return got, nil
}

func numbers(list ...int) torch.Tensor {
	wide := make([]int64, len(list))
	for i, n := range list {
		wide[i] = int64(n)
	}
	return torch.FromSlice(wide, len(list))
}

func TestDeviceMeshAgainstPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		want := peer.Run(t, "testdata/mesh.py", nil)
		var mu sync.Mutex
		count := 0
		ranks(t, 4, patience, func(ctx context.Context, g *dist.Group) error {
			all := map[string]*dist.DeviceMesh{}
			for _, m := range []struct {
				name  string
				shape []int
				dims  []string
			}{
				{"square", []int{2, 2}, []string{"dp", "tp"}}, {"line", []int{4}, []string{"all"}},
				{"cube", []int{2, 1, 2}, []string{"a", "b", "c"}}, {"small", []int{3}, []string{"some"}},
			} {
				mesh, err := dist.InitDeviceMesh(ctx, g, m.shape, m.dims...)
				if err != nil {
					return err
				}
				defer mesh.Close()
				all[m.name] = mesh
			}
			all["tp"], all["part"] = all["square"].Sub("tp"), all["cube"].Sub("a", "b")
			flat, err := all["part"].Flatten(ctx, "a_b")
			if err != nil {
				return err
			}
			all["flat"] = flat
			for _, name := range []string{"square", "tp", "line", "cube", "part", "flat", "small"} {
				got, err := placed(ctx, all[name], name, g.Rank())
				if err != nil {
					return err
				}
				mu.Lock()
				for key, x := range got {
					count++
					y := want[fmt.Sprintf("%d.%s", g.Rank(), key)]
					require.True(t, y.Defined() && x.Equal(y), "rank %d, %s: %v, not %v", g.Rank(), key, x, y)
				}
				mu.Unlock()
			}
			return g.Barrier().Wait(ctx)
		})
		require.Len(t, want, count)
	})
}

func TestDeviceMeshMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
		for _, c := range []struct {
			shape []int
			names []string
			says  string
		}{
			{nil, nil, "a name for each dimension"},
			{[]int{2}, []string{"a", "b"}, "a name for each dimension"},
			{[]int{2, 2}, []string{"a", "b"}, "as many places"},
			{[]int{1 << 62, 4}, []string{"a", "b"}, "as many places"},
			{[]int{0}, []string{"a"}, "as many places"},
			{[]int{1, 2}, []string{"a", "a"}, "different names"},
		} {
			_, err := dist.InitDeviceMesh(ctx, g, c.shape, c.names...)
			require.ErrorContains(t, err, c.says, "%v", c.shape)
		}
		mesh, err := dist.InitDeviceMesh(ctx, g, []int{1, 2}, "a", "b")
		if err != nil {
			return err
		}
		defer mesh.Close()
		require.Equal(t, "DeviceMesh((a=1, b=2))", mesh.String())
		require.Equal(t, []int{2, 1, 2, 1}, []int{mesh.Size(), mesh.Size("a"), mesh.Size("b"), mesh.Sub("a").Size()})
		require.Equal(t, g.Rank(), mesh.Sub("b").LocalRank())
		for says, call := range map[string]func(){
			`\["c"\] does not name`:                func() { mesh.Group("c") },
			`\[\] does not name`:                   func() { mesh.LocalRank() },
			`\["b" "a"\] are not dimensions`:       func() { mesh.Sub("b", "a") },
			`in their order, which is \["a" "b"\]`: func() { mesh.Sub() },
		} {
			err := torch.Try(call)
			require.Error(t, err)
			require.Regexp(t, says, err.Error())
		}
		part, err := g.NewGroup(ctx, 0, 1)
		if err != nil {
			return err
		}
		defer part.Close()
		_, err = dist.InitDeviceMesh(ctx, part, []int{2}, "a")
		require.ErrorContains(t, err, "group of all")
		return g.Barrier().Wait(ctx)
	})
}
