package transforms_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// Every crop must be one of the squares of the framed image, the same one in all channels.
func TestEachRandomCropCutsSquares(t *testing.T) {
	torchtest.NoLeaks(t)
	const n, side, padding = 40, 6, 2
	torch.Scope(func() {
		images := torch.Arange(n*3*side*side).AddScalar(1).View(n, 3, side, side).To(torch.Int32)
		crops := transforms.EachRandomCrop(images, side, padding, source())
		require.Equal(t, []int{n, 3, side, side}, crops.Shape())
		require.True(t, crops.IsContiguous(torch.ChannelsLast))
		framed := aten.ConstantPadND(images, []int{padding, padding, padding, padding})
		places := map[string]bool{}
		for i := range n {
			found := ""
			for top := range 2*padding + 1 {
				for left := range 2*padding + 1 {
					square := framed.Select(0, i).Narrow(1, top, side).Narrow(2, left, side)
					if square.Equal(crops.Select(0, i)) {
						found = fmt.Sprint(top, left)
					}
				}
			}
			require.NotEmpty(t, found, "image %d", i)
			places[found] = true
		}
		require.Greater(t, len(places), 10, "each image has a place of its own")
		require.True(t, crops.Equal(transforms.EachRandomCrop(images, side, padding, source())), "the same source gives the same crops")
	})
}

func TestEachRandomHorizontalFlipMirrorsHalf(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		images := torch.Rand(200, 3, 4, 5)
		out := transforms.EachRandomHorizontalFlip(images, source())
		mirrored := 0
		for i := range 200 {
			switch got := out.Select(0, i); {
			case got.Equal(images.Select(0, i).Flip(2)):
				mirrored++
			default:
				require.True(t, got.Equal(images.Select(0, i)))
			}
		}
		require.InDelta(t, 100, mirrored, 30)
	})
}

func TestEachNormalize(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		images := torch.FromSlice([]float32{1, 2, 3, 4}, 1, 2, 1, 2)
		out := transforms.EachNormalize(images, torch.FromSlice([]float32{1, 2}), torch.FromSlice([]float32{2, 4}))
		require.Equal(t, []float32{0, 0.5, 0.25, 0.5}, torch.Values[float32](out))
		require.Equal(t, []float32{1, 2, 3, 4}, torch.Values[float32](images), "nothing is changed in place")
	})
}

func TestMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		images, ones := torch.TensorOptions{DType: torch.Uint8}.Zeros(2, 3, 4, 4), torch.Ones(3)
		closed := torch.Ones(1, 1, 1, 1)
		closed.Close()
		for name, c := range map[string]struct {
			fn   func()
			want string
		}{
			"too large": {func() { transforms.EachRandomCrop(images, 9, 2, source()) }, "random_crop: a square of 9 does not fit"},
			"no size":   {func() { transforms.EachRandomCrop(images, 0, 2, source()) }, "a square of 0"},
			"least size": {func() { transforms.EachRandomCrop(images, math.MinInt, 2, source()) },
				"a square of -9223372036854775808"},
			"greatest size":  {func() { transforms.EachRandomCrop(images, math.MaxInt, 2, source()) }, "does not fit"},
			"greatest frame": {func() { transforms.EachRandomCrop(images, 2, math.MaxInt, source()) }, "torch: constant_pad_nd"},
			"large frame":    {func() { transforms.EachRandomCrop(images, 2, 1<<40, source()) }, "torch: constant_pad_nd"},
			"least frame":    {func() { transforms.EachRandomCrop(images, 2, math.MinInt, source()) }, "torch: constant_pad_nd"},
			"frame inwards":  {func() { transforms.EachRandomCrop(images, 1, -2, source()) }, "a square of 1 does not fit"},
			"crop of 3": {func() { transforms.EachRandomCrop(torch.Ones(3, 4, 4), 2, 0, source()) },
				"random_crop: expected images of 4 dimensions [N, C, H, W], got shape [3 4 4]"},
			"crop of 0":      {func() { transforms.EachRandomCrop(torch.Ones(), 2, 0, source()) }, "got shape []"},
			"crop of 5":      {func() { transforms.EachRandomCrop(torch.Ones(1, 1, 3, 4, 4), 2, 0, source()) }, "got shape [1 1 3 4 4]"},
			"crop of closed": {func() { transforms.EachRandomCrop(closed, 1, 0, source()) }, "closed"},
			"crop of none":   {func() { transforms.EachRandomCrop(torch.Tensor{}, 1, 0, source()) }, "undefined"},
			"crop by nobody": {func() { transforms.EachRandomCrop(images, 2, 0, nil) }, "random_crop: expected a random source, got nil"},
			"flip of 3": {func() { transforms.EachRandomHorizontalFlip(torch.Ones(3, 4, 4), source()) },
				"random_horizontal_flip: expected images of 4 dimensions"},
			"flip of 5": {func() { transforms.EachRandomHorizontalFlip(torch.Ones(1, 1, 3, 4, 4), source()) },
				"expected images of 4 dimensions"},
			"flip of none":    {func() { transforms.EachRandomHorizontalFlip(torch.Tensor{}, source()) }, "undefined"},
			"flip by nobody":  {func() { transforms.EachRandomHorizontalFlip(images, nil) }, "expected a random source, got nil"},
			"normal integers": {func() { transforms.EachNormalize(images, ones, ones) }, "normalize: the images are uint8"},
			"normal rank": {func() { transforms.EachNormalize(torch.Ones(2, 3), ones, ones) },
				"expected images of at least 3 dimensions [..., C, H, W], got shape [2 3]"},
			"normal none":      {func() { transforms.EachNormalize(torch.Tensor{}, ones, ones) }, "undefined"},
			"normal mean":      {func() { transforms.EachNormalize(torch.Ones(1, 3, 2, 2), torch.Tensor{}, ones) }, "undefined"},
			"normal channels":  {func() { transforms.EachNormalize(torch.Ones(1, 3, 2, 2), torch.Ones(2), ones) }, "must match the size"},
			"normal deviation": {func() { transforms.EachNormalize(torch.Ones(1, 3, 2, 2), ones, torch.Ones(2)) }, "must match the size"},
		} {
			t.Run(name, func(t *testing.T) {
				require.ErrorContains(t, torch.Try(c.fn), c.want)
			})
		}
	})
}

func Example() {
	r := rand.New(rand.NewPCG(1, 0))
	images := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 8, 3, 32, 32)
	images = transforms.EachRandomHorizontalFlip(transforms.EachRandomCrop(images, 32, 4, r), r)
	fmt.Println(images.Shape(), images.DType())
	// Output: [8 3 32 32] uint8
}
