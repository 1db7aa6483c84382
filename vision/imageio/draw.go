package imageio

import (
	"image/color"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// DrawOptions are the rarer arguments of [DrawBoundingBoxes] and [DrawSegmentationMasks].
type DrawOptions struct {
	Colors []color.RGBA // one for all, or one for each box or mask; default: colours that differ
	Width  int          // of the lines of boxes, in pixels; default 1
	Alpha  *float64     // how much masks hide; default 0.8
}

// colour is that of number i.
func (o DrawOptions) colour(i int) [3]uint8 {
	hues := [][3]uint8{{230, 25, 75}, {60, 180, 75}, {0, 130, 200}, {255, 225, 25}, {245, 130, 48}, {145, 30, 180}, {70, 240, 240}, {240,
		50, 230}}
	switch len(o.Colors) {
	case 0:
		return hues[i%len(hues)]
	case 1:
		i = 0
	}
	return [3]uint8{o.Colors[i].R, o.Colors[i].G, o.Colors[i].B}
}

// check panics for images and colours that cannot be drawn with.
func (o DrawOptions) check(op string, img torch.Tensor, n int) {
	if img.DType() != torch.Uint8 || img.Dim() != 3 || img.Size(0) != 3 {
		torch.Throw(op, torch.KindValue, "expected an image uint8 [3, H, W], got %v of shape %v", img.DType(), img.Shape())
	}
	if c := len(o.Colors); c > 1 && c != n {
		torch.Throw(op, torch.KindValue, "%d colours for %d", c, n)
	}
}

// DrawBoundingBoxes draws boxes [N, 4], left, top, right, bottom in pixels, into a copy of an image uint8 [3, H, W]: torchvision's
// draw_bounding_boxes, without labels. What of a box lies outside is left out. It panics with a *torch.Error for other shapes, and for
// boxes whose left or top is behind their right or bottom.
func DrawBoundingBoxes(img, boxes torch.Tensor, opts ...DrawOptions) torch.Tensor {
	o := option.One(opts)
	if boxes.Dim() != 2 || boxes.Size(1) != 4 {
		torch.Throw("draw_bounding_boxes", torch.KindValue, "expected boxes [N, 4], got shape %v", boxes.Shape())
	}
	o.check("draw_bounding_boxes", img, boxes.Size(0))
	var out torch.Tensor
	torch.NoGrad(func() {
		torch.Scope(func() {
			out = img.Clone().Keep()
			places := torch.Values[int](boxes.To(torch.Int64))
			for i := 0; i < len(places); i += 4 {
				left, top, right, bottom := places[i], places[i+1], places[i+2], places[i+3]
				if left > right || top > bottom {
					torch.Throw("draw_bounding_boxes", torch.KindValue, "box %d is not left, top, right, bottom: %v", i/4, places[i:i+4])
				}
				line := func(left, top, right, bottom int) { fillBox(out, o.colour(i/4), left, top, right, bottom) }
				inner := max(1, o.Width) - 1
				line(left, top, right, top+inner)
				line(left, bottom-inner, right, bottom)
				from, to := top+inner+1, bottom-inner-1 // as Pillow draws thick lines of small boxes
				line(left, min(from, to), left+inner, max(from, to))
				line(right-inner, min(from, to), right, max(from, to))
			}
		})
	})
	return out
}

// fillBox fills a rectangle with its last row and column, as far as it lies in the image.
func fillBox(img torch.Tensor, c [3]uint8, left, top, right, bottom int) {
	h, w := img.Size(1), img.Size(2)
	left, top, right, bottom = max(left, 0), max(top, 0), min(right, w-1), min(bottom, h-1)
	if left > right || top > bottom {
		return
	}
	for i, v := range c {
		img.Select(0, i).Narrow(0, top, bottom-top+1).Narrow(1, left, right-left+1).FillInPlace(int(v))
	}
}

// DrawSegmentationMasks lays masks [N, H, W] or [H, W], of bools, in colours over an image uint8 [3, H, W], where several overlap in
// black: torchvision's draw_segmentation_masks. It panics with a *torch.Error for other shapes and dtypes.
func DrawSegmentationMasks(img, masks torch.Tensor, opts ...DrawOptions) torch.Tensor {
	o := option.One(opts)
	return torch.Scope1(func() torch.Tensor {
		if masks.Dim() == 2 {
			masks = masks.Unsqueeze(0)
		}
		if masks.Dim() != 3 || masks.DType() != torch.Bool {
			torch.Throw("draw_segmentation_masks", torch.KindValue, "expected masks of bools [N, H, W], got %v of shape %v",
				masks.DType(), masks.Shape())
		}
		n := masks.Size(0)
		o.check("draw_segmentation_masks", img, n)
		if masks.Size(1) != img.Size(1) || masks.Size(2) != img.Size(2) {
			torch.Throw("draw_segmentation_masks", torch.KindValue, "The image and the masks must have the same height and width")
		}
		alpha := 0.8
		if o.Alpha != nil {
			alpha = *o.Alpha
		}
		painted := img
		for i := range n {
			c := o.colour(i)
			painted = torch.Where(masks.Select(0, i), torch.FromSlice(c[:], 3, 1, 1).To(img.Device()), painted)
		}
		painted = painted.MaskedFill(masks.Sum(0).GtScalar(1), 0)
		return img.MulScalar(1 - alpha).Add(painted.MulScalar(alpha)).To(torch.Uint8)
	})
}
