package data_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestTensorDataset(t *testing.T) {
	torchtest.NoLeaks(t)
	torchtest.EachDevice(t, func(t *testing.T, d torch.Device) {
		torch.Scope(func() {
			images := torch.Arange(5*3*2*2).To(torch.Uint8, d).View(5, 3, 2, 2)
			labels := torch.FromSlice([]int{10, 11, 12, 13, 14}).To(d)
			for name, input := range map[string]torch.Tensor{
				"4-d": images, "strided": images.Transpose(1, 3), "channels last": images.To(torch.ChannelsLast),
				"2-d": images.View(5, 12), "1-d": labels, "empty": torch.Zeros(5, 0, 2).To(d),
			} {
				set := data.NewTensorDataset(input, labels)
				require.Equal(t, 5, set.Len(), name)
				batch, err := set.Batch(context.Background(), []int{4, 0, 4}, nil)
				require.NoError(t, err)
				torchtest.Equal(t, batch.Input, input.Index([]int{4, 0, 4}))
				torchtest.Equal(t, batch.Target, torch.FromSlice([]int{14, 10, 14}).To(d))
				require.Equal(t, []int{4, 0, 4}, batch.Index)
				require.Equal(t, 3, batch.Len())
			}
			batch, err := data.NewTensorDataset(images, torch.Tensor{}).Batch(context.Background(), []int{1}, nil)
			require.NoError(t, err)
			require.False(t, batch.Target.Defined())
		})
	})
}

func TestTensorDatasetRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for want, fn := range map[string]func(){
			"5 inputs have 4 targets":      func() { data.NewTensorDataset(torch.Zeros(5, 2), torch.Zeros(4)) },
			"a tensor without dimensions":  func() { data.NewTensorDataset(torch.FromValue(1), torch.Tensor{}) },
			"without dimensions has no sa": func() { data.NewTensorDataset(torch.Zeros(5), torch.FromValue(1)) },
		} {
			require.ErrorContains(t, torch.Try(fn), want)
		}
	})
}

func TestStack(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		a, b := torch.FromSlice([]float32{1, 2}), torch.FromSlice([]float32{3, 4})
		one, two := torch.FromValue(1), torch.FromValue(2)
		batch, err := data.Stack([]data.Sample{{Input: a, Target: one}, {Input: b, Target: two}}, []int{8, 9}, nil)
		require.NoError(t, err)
		torchtest.Equal(t, batch.Input, torch.FromSlice([]float32{1, 2, 3, 4}, 2, 2))
		torchtest.Equal(t, batch.Target, torch.FromSlice([]int{1, 2}))
		require.Equal(t, []int{8, 9}, batch.Index)

		batch, err = data.Stack([]data.Sample{{Input: a}, {Input: b}}, []int{8, 9}, nil)
		require.NoError(t, err)
		require.False(t, batch.Target.Defined())

		for _, unequal := range [][]data.Sample{
			{{Input: a}, {Input: torch.FromSlice([]float32{1, 2, 3})}},
			{{Input: a, Target: one}, {Input: b}},
		} {
			require.Error(t, torch.Try(func() { _, _ = data.Stack(unequal, []int{0, 1}, nil) }))
		}
	})
}

func TestMap(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		set := data.NewTensorDataset(torch.FromSlice([]int{1, 2, 3}), torch.Tensor{})
		sums := data.Map(set, func(b data.Batch, r *rand.Rand) int { return b.Input.Sum().Int() + r.IntN(1) })
		require.Equal(t, 3, sums.Len())
		sum, err := sums.Batch(context.Background(), []int{0, 2}, rand.New(rand.NewPCG(1, 2)))
		require.NoError(t, err)
		require.Equal(t, 4, sum)
	})
}
