package transforms_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

func ExampleEachNormalize() {
	torch.Scope(func() {
		images := torch.FromSlice([]float32{0.5, 1, 0.25, 0}, 1, 2, 1, 2)
		mean, std := torch.FromSlice([]float32{0.5, 0.25}), torch.FromSlice([]float32{0.5, 0.25})
		fmt.Println(transforms.EachNormalize(images, mean, std).View(2, 2))
	})
	// Output:
	// tensor([[ 0.,  1.],
	//         [ 0., -1.]])
}

// The same source of random numbers makes the same batch.
func ExampleEachRandomCrop() {
	torch.Scope(func() {
		images := torch.Arange(2*3*8*8).View(2, 3, 8, 8)
		first := transforms.EachRandomCrop(images, 8, 2, rand.New(rand.NewPCG(1, 2)))
		again := transforms.EachRandomCrop(images, 8, 2, rand.New(rand.NewPCG(1, 2)))
		fmt.Println(first.Shape(), first.Equal(again))
	})
	// Output: [2 3 8 8] true
}

func ExampleEachRandomHorizontalFlip() {
	torch.Scope(func() {
		images := torch.Arange(3).View(1, 1, 1, 3)
		r := rand.New(rand.NewPCG(1, 2))
		flipped := 0
		for range 100 {
			flipped += 1 - transforms.EachRandomHorizontalFlip(images, r).Eq(images).All().Int()
		}
		fmt.Println(flipped > 30 && flipped < 70)
	})
	// Output: true
}

func ExampleImageClassification() {
	photo := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 3, 480, 640) // imageio.Decode makes such
	fmt.Println(transforms.ImageClassification{}.Apply(photo).Shape())
	// Output: [1 3 224 224]
}
