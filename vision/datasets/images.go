package datasets

import (
	"context"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
)

// Images are images of one size with a class each, in memory. It is a [data.Dataset]; a [data.TensorDataset] of its Tensors makes
// batches faster.
type Images struct {
	// Pixels holds one image after the other: the memory of a contiguous uint8 tensor [Len(), C, H, W].
	Pixels  []byte
	Size    [3]int   // channels, height and width of each
	Labels  []int    // the class of each, an index into Classes; -1 where nobody knows
	Classes []string // their names
}

// Len is the number of images.
func (d *Images) Len() int { return len(d.Labels) }

// At is image i, uint8 [C, H, W], and its class, int64 [].
func (d *Images) At(_ context.Context, i int) (data.Sample, error) {
	n := d.Size[0] * d.Size[1] * d.Size[2]
	img := torch.FromSlice(d.Pixels[i*n:(i+1)*n], d.Size[:]...)
	return data.Sample{Input: img, Target: torch.FromValue(d.Labels[i])}, nil
}

// Head is the first n images, or all if there are fewer. It shares memory with d.
func (d *Images) Head(n int) *Images {
	n = max(0, min(n, d.Len()))
	return &Images{d.Pixels[:n*d.Size[0]*d.Size[1]*d.Size[2]], d.Size, d.Labels[:n], d.Classes}
}

// Tensors returns the images, uint8 [Len(), C, H, W], and their classes, int64 [Len()], on the CPU. They are copies and do not need d.
func (d *Images) Tensors() (images, labels torch.Tensor) {
	return torch.FromSlice(d.Pixels, append([]int{d.Len()}, d.Size[:]...)...), torch.FromSlice(d.Labels)
}

// pick is the images with these indices, which exist.
func (d *Images) pick(indices []int) *Images {
	n := d.Size[0] * d.Size[1] * d.Size[2]
	p := &Images{Size: d.Size, Classes: d.Classes}
	for _, i := range indices {
		p.Pixels, p.Labels = append(p.Pixels, d.Pixels[i*n:(i+1)*n]...), append(p.Labels, d.Labels[i])
	}
	return p
}

// turned are images whose rows and columns lie in memory the other way round: the planes are [W, H].
func turned(pixels []byte, planes, height, width int) []byte {
	out := make([]byte, len(pixels))
	for p := range planes {
		from, to := pixels[p*height*width:], out[p*height*width:]
		for y := range height {
			for x := range width {
				to[y*width+x] = from[x*height+y]
			}
		}
	}
	return out
}
