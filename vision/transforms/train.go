package transforms

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/internal/jpeg"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

// ClassificationTrain is what torchvision's references do to photographs that a classifier learns from: [RandomResizedCrop],
// [RandomHorizontalFlip], [ToDType] with Scale and [Normalize], in one pass. Of a JPEG only the part that is wanted is decoded. The
// numbers are those of the four one after the other, to the bit. The zero value is the preset for ImageNet.
type ClassificationTrain struct {
	Crop   int         // pixels of the result's sides; default 224
	Scale  *[2]float64 // as in [RandomResizedCrop]
	Ratio  *[2]float64
	HFlip  *float64    // the probability of mirroring; default 0.5
	Mean   *[3]float64 // default {0.485, 0.456, 0.406}, ImageNet's
	Std    *[3]float64 // default {0.229, 0.224, 0.225}, ImageNet's
	Decode imageio.DecodeOptions
}

// Files makes a batch, float32 [N, 3, Crop, Crop] on the CPU, of image files in memory. It returns a [FileError] for the first file
// that is no image, in which is [imageio.ErrFormat].
func (p ClassificationTrain) Files(files [][]byte, r *rand.Rand) (batch torch.Tensor, err error) {
	batch = p.room(len(files))
	for i, file := range files {
		if err := p.file(batch, i, file, r); err != nil {
			batch.Close()
			return torch.Tensor{}, &FileError{i, len(files), err}
		}
	}
	return batch, nil
}

// Images makes the same of images uint8 [3, H, W] on the CPU. It panics with a *torch.Error for others.
func (p ClassificationTrain) Images(images []torch.Tensor, r *rand.Rand) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		batch := p.room(len(images))
		for i, img := range images {
			h, w := Sample{Image: img}.size()
			p.pass(h, w, r).ImageInto(batch, i, img)
		}
		return batch
	})
}

func (p ClassificationTrain) room(n int) torch.Tensor {
	side := positive(p.Crop, 224)
	return torch.Empty(n, 3, side, side)
}

// file puts one file into its place.
func (p ClassificationTrain) file(batch torch.Tensor, i int, file []byte, r *rand.Rand) error {
	if w, h, ok := jpeg.Dimensions(file); ok {
		if _, err := jpeg.Open(); err == nil {
			if err := imageio.Plausible(file, p.Decode); err != nil {
				return err
			}
			err := p.pass(h, w, r).Into(batch, i, file)
			if errors.Is(err, torch.ErrOutOfMemory) {
				return err
			}
			if err != nil {
				return fmt.Errorf("imageio: %w: it is damaged: %w", imageio.ErrFormat, err)
			}
			return nil
		}
	}
	img, err := imageio.DecodeBytes(file, p.Decode)
	if err != nil {
		return err
	}
	defer img.Close()
	p.pass(img.Size(1), img.Size(2), r).ImageInto(batch, i, img)
	return nil
}

// pass draws what happens to an image.
func (p ClassificationTrain) pass(h, w int, r *rand.Rand) jpeg.Pass {
	part := RandomResizedCrop{Scale: p.Scale, Ratio: p.Ratio}.draw(h, w, source(r))
	mean, std := p.normal()
	mirrored := 0.5
	if p.HFlip != nil {
		mirrored = *p.HFlip
	}
	return jpeg.Pass{Part: jpeg.Part{Left: part.Left, Top: part.Top, Width: part.Width, Height: part.Height},
		Flip: r.Float64() < mirrored,
		Mean: mean, Std: std}
}

func (p ClassificationTrain) normal() (mean, std []float64) {
	mean, std = []float64{0.485, 0.456, 0.406}, []float64{0.229, 0.224, 0.225}
	if p.Mean != nil {
		mean = p.Mean[:]
	}
	if p.Std != nil {
		std = p.Std[:]
	}
	return mean, std
}

// CropFlipNormalize is what small images, such as CIFAR-10's, are trained with, in one pass: of each image a random square out of a
// frame of zeros, mirrored with probability 1/2, from 0 to 1, normalised.
type CropFlipNormalize struct {
	Size      int // pixels of the result's sides
	Padding   int // of the frame
	NoFlip    bool
	Mean, Std [3]float64
}

// Apply makes float32 [N, 3, Size, Size] of images uint8 [N, 3, H, W] on the CPU. It panics with a *torch.Error for others, and where the
// square does not fit.
func (p CropFlipNormalize) Apply(images torch.Tensor, r *rand.Rand) torch.Tensor {
	check("crop_flip_normalize", images, r)
	n, h, w := images.Size(0), images.Size(2)+2*p.Padding-p.Size, images.Size(3)+2*p.Padding-p.Size
	if p.Size < 1 || p.Padding < 0 || p.Padding > 1<<20 || p.Size > 1<<20 || h < 0 || w < 0 {
		torch.Throw("crop_flip_normalize", torch.KindValue, "a square of %d does not fit into images of %v with a frame of %d", p.Size,
			images.Shape(), p.Padding)
	}
	places := make([]int, 3*n)
	tops, lefts, flips := places[:n], places[n:2*n], places[2*n:]
	for i := range n {
		tops[i], lefts[i] = r.IntN(h+1)-p.Padding, r.IntN(w+1)-p.Padding
		if !p.NoFlip {
			flips[i] = r.IntN(2)
		}
	}
	return jpeg.CropFlip(images, tops, lefts, flips, p.Size, p.Mean[:], p.Std[:])
}
