package transforms

import (
	"fmt"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

// FileError says which of several image files could not be used.
type FileError struct {
	File int // its place among them
	Of   int // how many there are
	Err  error
}

// Error is one line.
func (e *FileError) Error() string {
	return fmt.Sprintf("transforms: file %d of %d: %v", e.File, e.Of, e.Err)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// EachFile makes batches of image files in memory: each is decoded, [3, H, W], changed by t, and all are stacked. It is the
// general form of [ClassificationTrain.Files], for transforms that are not in that. The function returns a [FileError] for the
// first file that is no image. It panics with a *torch.Error where t leaves images of several sizes.
//
//	steps := transforms.Compose{transforms.RandomResizedCrop{Size: transforms.Square(224)}, transforms.RandAugment{}}
//	train := set.Batches(transforms.EachFile(steps))
func EachFile(t Transform) func(files [][]byte, r *rand.Rand) (torch.Tensor, error) {
	return func(files [][]byte, r *rand.Rand) (torch.Tensor, error) {
		return stackFiles(files, func(img torch.Tensor) torch.Tensor { return Image(t, img, r) })
	}
}

// Files makes a batch, float32 [N, 3, Crop, Crop] on the CPU, of image files in memory: Apply of each. It returns a [FileError] for the
// first file that is no image. Nothing in it is random: r may be nil.
func (p ImageClassification) Files(files [][]byte, _ *rand.Rand) (torch.Tensor, error) {
	return stackFiles(files, func(img torch.Tensor) torch.Tensor { return p.Apply(img).Squeeze(0) })
}

// stackFiles decodes files one by one, so that only what fn leaves of them is there at the same time.
func stackFiles(files [][]byte, fn func(img torch.Tensor) torch.Tensor) (batch torch.Tensor, err error) {
	torch.Scope(func() {
		images := make([]torch.Tensor, len(files))
		for i, file := range files {
			img, failed := imageio.DecodeBytes(file)
			if failed != nil {
				err = &FileError{i, len(files), failed}
				return
			}
			images[i] = torch.Scope1(func() torch.Tensor { return fn(img) })
			img.Close()
		}
		if len(images) > 0 {
			batch = torch.Stack(images).MoveOut()
		}
	})
	return batch, err
}
