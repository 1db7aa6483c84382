package nn_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Every tensor of every kind of field can be replaced by its name, and the module stays as
// it is.
func TestWithTensors(t *testing.T) {
	torchtest.NoLeaks(t)
	z, lstm := newZoo(), nn.NewLSTM(1, 2, nn.LSTMOptions{NumLayers: 2, ProjSize: 1})
	for _, m := range []any{z, lstm} {
		before := maps.Collect(nn.StateDict(m))
		for name := range before {
			torch.Scope(func() {
				own := torch.Zeros(1)
				changed := nn.WithTensors(m, map[string]torch.Tensor{name: own})
				for other, value := range nn.StateDict(changed) {
					require.Equal(t, other == name, value == own, "%s for %s", other, name)
					if other != name {
						require.Equal(t, before[other], value, other)
					}
				}
				require.Equal(t, before, maps.Collect(nn.StateDict(m)))
			})
		}
		torch.Scope(func() {
			all := map[string]torch.Tensor{}
			for name, value := range before {
				all[name] = value.Alias()
			}
			require.Equal(t, all, maps.Collect(nn.StateDict(nn.WithTensors(m, all))))
		})
	}
	one := torch.Ones(1)
	defer one.Close()
	absent := nn.WithTensors(z, map[string]torch.Tensor{"absent": one})
	require.Equal(t, one, absent.Absent)
	require.Same(t, z.Head, absent.Head, "what is not on the way is shared")
	require.EqualError(t, torch.Try(func() { nn.WithTensors(z, map[string]torch.Tensor{"head.wait": one, "no": one, "private.weight": one}) }),
		"torch: with_tensors: *nn_test.zoo has no tensors head.wait, no, private.weight")
}

// Many goroutines use one model with weights of their own.
func TestWithTensorsAtOnce(t *testing.T) {
	torchtest.NoLeaks(t)
	net := nn.Sequential{nn.NewLinear(1, 1, nn.LinearOptions{NoBias: true}), nn.ReLU{}}
	var group errgroup.Group
	results := make([]float64, 16)
	for i := range results {
		group.Go(func() error {
			return torch.Try(func() {
				torch.Scope(func() {
					w := torch.Full([]int{1, 1}, float64(i))
					results[i] = nn.WithTensors(net, map[string]torch.Tensor{"0.weight": w}).Forward(torch.Full([]int{1, 1}, 2.0)).Float64()
				})
			})
		})
	}
	require.NoError(t, group.Wait())
	require.True(t, slices.IsSorted(results))
	require.Equal(t, 30.0, results[15])
}

func ExampleWithTensors() {
	net := nn.Sequential{nn.NewLinear(2, 1), nn.ReLU{}}
	torch.Scope(func() {
		ones := map[string]torch.Tensor{"0.weight": torch.Ones(1, 2), "0.bias": torch.Ones(1)}
		fmt.Println(nn.WithTensors(net, ones).Forward(torch.FromSlice([]float32{3, 4})))
	})
	// Output: tensor([8.])
}
