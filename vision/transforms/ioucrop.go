package transforms

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// RandomIoUCrop cuts out a part that has enough of some box in it, as SSD is trained (Liu et al. 2016). How much is enough, as the
// IoU of the box and the part, is drawn from Options. Boxes whose middle is outside of the part become 0, 0, 0, 0, which
// [SanitizeBoundingBoxes] takes out with their masks and labels. A sample without boxes is a *torch.Error.
type RandomIoUCrop struct {
	MinScale, MaxScale             float64   // of the part's sides to the image's; default 0.3 and 1
	MinAspectRatio, MaxAspectRatio float64   // of its width to its height; default 0.5 and 2
	SamplerOptions                 []float64 // 1 and more leave the image as it is; default 0, 0.1, 0.3, 0.5, 0.7, 0.9, 1
	Trials                         int       // to find a part for an option; default 40
}

// Apply draws the part.
func (t RandomIoUCrop) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

// mostOptions is how many options are drawn before the image is left as it is: where none can be met torchvision draws for ever.
const mostOptions = 100

func (t RandomIoUCrop) plan(s Sample, r *rand.Rand) []step {
	if !s.Boxes.Defined() {
		torch.Throw("random_iou_crop", torch.KindValue, "the sample has no boxes")
	}
	t = t.withDefaults()
	r = source(r)
	h, w := s.size()
	boxes := torch.Matrix[float64](toXYXY(floating(s.Boxes), s.Format).To(torch.CPU))
	for range mostOptions {
		enough := t.SamplerOptions[r.IntN(len(t.SamplerOptions))]
		if enough >= 1 {
			return nil
		}
		for range t.Trials {
			part, ok := t.draw(h, w, r)
			if !ok {
				continue
			}
			inside, best := part.has(boxes)
			if slices.Contains(inside, true) && best >= enough {
				keep := torch.FromSlice(inside, len(inside)).To(s.Boxes.Device())
				return []step{part, emptyBoxes{keep}}
			}
		}
	}
	return nil
}

func (t RandomIoUCrop) withDefaults() RandomIoUCrop {
	t.MinScale, t.MaxScale = cmp.Or(t.MinScale, 0.3), cmp.Or(t.MaxScale, 1)
	t.MinAspectRatio, t.MaxAspectRatio = cmp.Or(t.MinAspectRatio, 0.5), cmp.Or(t.MaxAspectRatio, 2)
	t.Trials = cmp.Or(t.Trials, 40)
	if len(t.SamplerOptions) == 0 {
		t.SamplerOptions = []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}
	}
	return t
}

// draw draws a part of an image, and tells whether its form will do.
func (t RandomIoUCrop) draw(h, w int, r *rand.Rand) (part crop, ok bool) {
	part.Width, part.Height = int(float64(w)*uniform(r, t.MinScale, t.MaxScale)), int(float64(h)*uniform(r, t.MinScale, t.MaxScale))
	if part.Width < 1 || part.Height < 1 {
		return part, false
	}
	form := float64(part.Width) / float64(part.Height)
	part.Left, part.Top = int(float64(w-part.Width)*r.Float64()), int(float64(h-part.Height)*r.Float64())
	return part, t.MinAspectRatio <= form && form <= t.MaxAspectRatio
}

// has tells which boxes in XYXY have their middle in a part, and the highest IoU of one of these with it.
func (c crop) has(boxes [][]float64) (inside []bool, best float64) {
	left, top, right, bottom := float64(c.Left), float64(c.Top), float64(c.Left+c.Width), float64(c.Top+c.Height)
	inside = make([]bool, len(boxes))
	for i, b := range boxes {
		x, y := (b[0]+b[2])/2, (b[1]+b[3])/2
		if inside[i] = left < x && x < right && top < y && y < bottom; !inside[i] {
			continue
		}
		common := max(0, min(right, b[2])-max(left, b[0])) * max(0, min(bottom, b[3])-max(top, b[1]))
		best = max(best, common/((b[2]-b[0])*(b[3]-b[1])+(right-left)*(bottom-top)-common))
	}
	return inside, best
}

// emptyBoxes makes boxes 0, 0, 0, 0 that are not kept.
type emptyBoxes struct{ keep torch.Tensor }

func (e emptyBoxes) apply(s Sample) Sample {
	s.Boxes = s.Boxes.MaskedFill(e.keep.LogicalNot().Unsqueeze(1), 0)
	return s
}
