package tensorboard

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"

	"github.com/libtorch-go/libtorch/torch"
)

// AddScalar adds a point to the curve of a tag. A tag may have parts, as in "loss/train": TensorBoard shows those with the same first part
// together.
func (w *Writer) AddScalar(tag string, value float64, step int) error {
	return w.summary(tag, step, func(v *message) { v.float(2, float32(value)) })
}

// AddText adds a text, which TensorBoard shows as Markdown.
func (w *Writer) AddText(tag, text string, step int) error {
	return w.summary(tag+"/text_summary", step, func(v *message) {
		plugin(v, "text", nil)
		v.in(8, func(tensor *message) {
			tensor.integer(1, 7) // DT_STRING
			tensor.in(2, func(shape *message) { shape.in(2, func(dim *message) { dim.integer(1, 1) }) })
			tensor.text(8, text)
		})
	})
}

// AddImage adds an image of shape [1 or 3 or 4, height, width] or [height, width]: uint8, or floating point from 0 to 1, of which
// what lies outside is cut off.
func (w *Writer) AddImage(tag string, img torch.Tensor, step int) error {
	var pixels torch.Tensor
	var shape []int
	var levels []byte
	err := torch.Try(func() {
		torch.Scope(func() {
			pixels = toLevels(img)
			shape, levels = pixels.Shape(), torch.Values[byte](pixels)
		})
	})
	if err != nil {
		return fmt.Errorf("tensorboard: image %q: %w", tag, err)
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture(levels, shape)); err != nil {
		return fmt.Errorf("tensorboard: image %q: %w", tag, err)
	}
	return w.summary(tag, step, func(v *message) {
		v.in(4, func(image *message) {
			image.integer(1, int64(shape[0]))
			image.integer(2, int64(shape[1]))
			image.integer(3, int64(shape[2]))
			image.bytes(4, encoded.Bytes())
		})
	})
}

// toLevels brings an image to uint8 of shape [height, width, channels].
func toLevels(img torch.Tensor) torch.Tensor {
	if img.Dim() == 2 {
		img = img.Unsqueeze(0)
	}
	if img.Dim() != 3 || img.Size(0) != 1 && img.Size(0) != 3 && img.Size(0) != 4 || img.NumEl() == 0 {
		torch.Throw("add_image", torch.KindValue, "an image has shape [1 or 3 or 4, height, width] or [height, width], got %v", img.Shape())
	}
	switch {
	case img.DType() == torch.Uint8:
	case img.IsFloatingPoint():
		img = img.Detach().To(torch.Float32).MulScalar(255).Clamp(0, 255).To(torch.Uint8)
	default:
		torch.Throw("add_image", torch.KindType, "an image is uint8, or floating point from 0 to 1, got %v", img.DType())
	}
	if img.Size(0) == 1 {
		img = img.Expand(3, -1, -1) // as PyTorch does
	}
	return img.To(torch.CPU).Permute(1, 2, 0).Contiguous()
}

// picture is an image of interleaved levels.
func picture(levels []byte, shape []int) image.Image {
	area := image.Rect(0, 0, shape[1], shape[0])
	if shape[2] == 4 {
		return &image.NRGBA{Pix: levels, Stride: 4 * shape[1], Rect: area}
	}
	opaque := image.NewNRGBA(area)
	for i := range len(levels) / 3 {
		copy(opaque.Pix[4*i:], levels[3*i:3*i+3])
		opaque.Pix[4*i+3] = 255
	}
	return opaque
}

// AddHistogram adds the distribution of a tensor's elements, such as those of a layer's weight or gradient, to the tag's. The
// buckets are PyTorch's, which grow by a tenth from 1e-12 on, on both sides of zero.
func (w *Writer) AddHistogram(tag string, values torch.Tensor, step int) error {
	var list []float64
	err := torch.Try(func() {
		torch.Scope(func() {
			if values.NumEl() == 0 {
				torch.Throw("add_histogram", torch.KindValue, "a tensor without elements has no distribution")
			}
			list = torch.Values[float64](values.Detach().To(torch.CPU, torch.Float64).Flatten().Contiguous())
		})
	})
	if err != nil {
		return fmt.Errorf("tensorboard: histogram %q: %w", tag, err)
	}
	h, err := newHistogram(list)
	if err != nil {
		return fmt.Errorf("tensorboard: histogram %q: %w", tag, err)
	}
	return w.summary(tag, step, func(v *message) { v.in(5, h.put) })
}

// summary writes an event with one value, of which fill sets all but the tag.
func (w *Writer) summary(tag string, step int, fill func(value *message)) error {
	if tag == "" {
		return errors.New("tensorboard: the tag is empty: it names the curve, image, histogram or text")
	}
	return w.put(func(event *message) {
		event.integer(2, int64(step))
		event.in(5, func(summary *message) {
			summary.in(1, func(value *message) {
				value.text(1, tag)
				fill(value)
			})
		})
	})
}
