package datasets

import (
	"context"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
)

// FakeDataOptions are the rarer arguments of [FakeData].
type FakeDataOptions struct {
	ImageSize    [3]int // channels, height and width; default 3, 224, 224
	NumClasses   int    // default 10
	RandomOffset int    // added to the seed of each image, its index
}

// FakeData is a data set of n images of noise, uint8 [C, H, W], and random classes, int64 []: torchvision's FakeData, with its numbers. It
// measures a training without its data. It panics with a *torch.Error if n is negative.
func FakeData(n int, opts ...FakeDataOptions) data.Dataset[data.Sample] {
	o := option.One(opts)
	if o.ImageSize == [3]int{} {
		o.ImageSize = [3]int{3, 224, 224}
	}
	if o.NumClasses == 0 {
		o.NumClasses = 10
	}
	return data.NewDataset(n, func(_ context.Context, i int) (s data.Sample, err error) {
		g := torch.NewGenerator(torch.CPU)
		defer g.Close()
		g.ManualSeed(uint64(i + o.RandomOffset))
		err = torch.Try(func() {
			torch.Scope(func() {
				noise := torch.TensorOptions{Generator: g}.RandN(o.ImageSize[:]...)
				s.Input = noise.MulScalar(255).To(torch.Uint8).MoveOut()
				s.Target = torch.TensorOptions{DType: torch.Int64, Generator: g}.RandIntN(o.NumClasses, 1).Squeeze().MoveOut()
			})
		})
		return s, err
	})
}
