package datasets

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// ImageFiles are photographs on disk, each of one class. It is a [data.Dataset] of decoded images, for [data.Collate], and by Batches a
// [data.Source] of whole batches, which is faster. The fields may be changed before either is used.
type ImageFiles struct {
	Paths   []string // of the files
	Targets []int    // the class of each, an index into Classes
	Classes []string // their names
}

// Len is the number of files.
func (f *ImageFiles) Len() int { return len(f.Paths) }

// At decodes file i: an image uint8 [3, H, W], red, green and blue, and its class, int64 []. It returns an error that names the file
// where it cannot be read or is no image ([imageio.ErrFormat]).
func (f *ImageFiles) At(_ context.Context, i int) (data.Sample, error) {
	img, err := imageio.Read(f.Paths[i])
	if err != nil {
		return data.Sample{}, err
	}
	return data.Sample{Input: img, Target: torch.FromValue(f.Targets[i])}, nil
}

// Subset is the files with these indices, in their order. It panics with a *torch.Error if there is no file of an index.
func (f *ImageFiles) Subset(indices []int) *ImageFiles {
	s := &ImageFiles{Classes: f.Classes}
	for _, i := range indices {
		if i < 0 || i >= f.Len() {
			torch.Throw("subset", torch.KindIndex, "there is no file %d among %d", i, f.Len())
		}
		s.Paths, s.Targets = append(s.Paths, f.Paths[i]), append(s.Targets, f.Targets[i])
	}
	return s
}

// Batches is a source for a [data.Loader] whose batches are what prepare makes of the files' bytes, and their classes, int64 [N]:
//
//	train := set.Batches(transforms.ClassificationTrain{}.Files)
//	loader, err := data.NewLoader(train, data.LoaderOptions{BatchSize: 64, Shuffle: true, Workers: 4})
//
// An error names the file that could not be read or prepared.
func (f *ImageFiles) Batches(prepare func(files [][]byte, r *rand.Rand) (torch.Tensor, error)) data.Source[data.Batch] {
	return fileBatches{f, prepare}
}

type fileBatches struct {
	*ImageFiles
	prepare func(files [][]byte, r *rand.Rand) (torch.Tensor, error)
}

// Batch reads and prepares the files with these indices.
func (b fileBatches) Batch(ctx context.Context, indices []int, r *rand.Rand) (data.Batch, error) {
	files, classes := make([][]byte, len(indices)), make([]int, len(indices))
	for k, i := range indices {
		if ctx.Err() != nil {
			return data.Batch{}, context.Cause(ctx)
		}
		var err error
		if files[k], err = os.ReadFile(b.Paths[i]); err != nil {
			return data.Batch{}, fmt.Errorf("datasets: %w", err)
		}
		classes[k] = b.Targets[i]
	}
	images, err := b.prepare(files, r)
	if failed, ok := errors.AsType[*transforms.FileError](err); ok && failed.File < len(indices) {
		err = fmt.Errorf("datasets: %s: %w", b.Paths[indices[failed.File]], failed.Err)
	}
	if err != nil {
		return data.Batch{}, err
	}
	return data.Batch{Input: images, Target: torch.FromSlice(classes), Index: indices}, nil
}
