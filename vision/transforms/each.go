package transforms

import (
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// check panics with a *torch.Error where a transform at random cannot begin.
func check(op string, images torch.Tensor, r *rand.Rand) {
	if images.Dim() != 4 {
		torch.Throw(op, torch.KindValue, "expected images of 4 dimensions [N, C, H, W], got shape %v", images.Shape())
	}
	if r == nil {
		torch.Throw(op, torch.KindValue, "expected a random source, got nil")
	}
}

// EachRandomCrop puts a frame of zeros, padding wide, around every image [N, C, H, W] and cuts a
// square of size by size out of it, at a place of its own for each. The result
// [N, C, size, size] lies in memory as channels_last. It panics with a *torch.Error where
// the square does not fit.
func EachRandomCrop(images torch.Tensor, size, padding int, r *rand.Rand) torch.Tensor {
	check("random_crop", images, r)
	return torch.Scope1(func() torch.Tensor {
		framed := aten.ConstantPadND(images, []int{padding, padding, padding, padding})
		shape := framed.Shape()
		n, room := shape[0], [2]int{shape[2] - size, shape[3] - size}
		if size < 1 || room[0] < 0 || room[1] < 0 {
			torch.Throw("random_crop", torch.KindValue, "a square of %d does not fit into images of %v with a frame of %d", size,
				images.Shape(), padding)
		}
		top, left := make([]int, n), make([]int, n)
		for i := range n {
			top[i], left[i] = r.IntN(room[0]+1), r.IntN(room[1]+1)
		}
		dev := images.Device()
		steps := torch.TensorOptions{Device: dev}.Arange(size)
		which := torch.TensorOptions{Device: dev}.Arange(n).View(n, 1, 1)
		rows := torch.FromSlice(top, n, 1, 1).To(dev).Add(steps.View(1, size, 1))
		columns := torch.FromSlice(left, n, 1, 1).To(dev).Add(steps.View(1, 1, size))
		return framed.Index(which, torch.All, rows, columns).Permute(0, 3, 1, 2)
	})
}

// EachRandomHorizontalFlip mirrors every image [N, C, H, W] with probability 1/2.
func EachRandomHorizontalFlip(images torch.Tensor, r *rand.Rand) torch.Tensor {
	check("random_horizontal_flip", images, r)
	return torch.Scope1(func() torch.Tensor {
		mirror := make([]bool, images.Size(0))
		for i := range mirror {
			mirror[i] = r.IntN(2) == 1
		}
		chosen := torch.FromSlice(mirror, len(mirror), 1, 1, 1).To(images.Device())
		return torch.Where(chosen, images.Flip(3), images)
	})
}

// EachNormalize subtracts mean and divides by std, each with one number per channel [C] on the
// device of the images [N, C, H, W], which are floating-point.
func EachNormalize(images, mean, std torch.Tensor) torch.Tensor {
	if !images.IsFloatingPoint() {
		torch.Throw("normalize", torch.KindType, "the images are %v; convert them to a floating-point dtype first", images.DType())
	}
	if images.Dim() < 3 {
		torch.Throw("normalize", torch.KindValue, "expected images of at least 3 dimensions [..., C, H, W], got shape %v", images.Shape())
	}
	return torch.Scope1(func() torch.Tensor {
		return images.Sub(mean.View(-1, 1, 1)).DivInPlace(std.View(-1, 1, 1))
	})
}
