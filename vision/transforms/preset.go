package transforms

import (
	"cmp"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// ImageClassification is what torchvision's weights of classifiers want done to an image: resized
// until its short side has Resize pixels, the middle Crop by Crop of it, numbers from 0 to 1,
// then Mean taken off and divided by Std. The zero value is the preset of ResNets.
type ImageClassification struct {
	Resize int         // default 256
	Crop   int         // default 224
	Mean   *[3]float64 // default {0.485, 0.456, 0.406}, ImageNet's
	Std    *[3]float64 // default {0.229, 0.224, 0.225}, ImageNet's

	Interpolation string // "bilinear" (default) or "bicubic"
}

// tooNarrow is how many times longer than wide an image may be: resizing would make gigabytes of a
// few bytes.
const tooNarrow = 64

// Apply prepares an image [3, H, W] or images [N, 3, H, W], uint8 or floating-point from 0 to 1, on
// their device: float32 [N, 3, Crop, Crop], where N is 1 for a single image. It panics with a
// *torch.Error for other shapes, and for images more than 64 times as long as they are wide.
func (p ImageClassification) Apply(images torch.Tensor) torch.Tensor {
	resize, crop := positive(p.Resize, 256), positive(p.Crop, 224)
	if d := images.Dim(); d < 3 || d > 4 || images.Size(d-3) != 3 {
		torch.Throw("image_classification", torch.KindValue, "expected an image [3, H, W] or images [N, 3, H, W], got %v", images.Shape())
	}
	h, w := images.Size(images.Dim()-2), images.Size(images.Dim()-1)
	short := min(h, w)
	if short == 0 || max(h, w) > tooNarrow*short || crop > resize {
		torch.Throw("image_classification", torch.KindValue,
			"expected images at most %d times as long as wide and Crop within Resize, got %d x %d pixels, %d and %d", tooNarrow, w, h,
			crop, resize)
	}
	mode := cmp.Or(p.Interpolation, "bilinear")
	if mode != "bilinear" && mode != "bicubic" {
		torch.Throw("image_classification", torch.KindValue, "expected bilinear or bicubic interpolation, got %q", mode)
	}
	h, w = h*resize/short, w*resize/short
	return torch.Scope1(func() torch.Tensor {
		x := images
		if x.Dim() == 3 {
			x = x.Unsqueeze(0)
		}
		bytes := x.DType() == torch.Uint8
		x = F.Interpolate(x.To(torch.Float32), F.InterpolateOptions{Size: []int{h, w}, Mode: mode, Antialias: true})
		if bytes { // PIL and torchvision round to bytes here
			x = x.Round().Clamp(0, 255).DivScalar(255)
		}
		x = x.Narrow(2, middle(h, crop), crop).Narrow(3, middle(w, crop), crop)
		colours := func(given *[3]float64, def [3]float64) torch.Tensor {
			if given == nil {
				given = &def
			}
			return torch.FromSlice(given[:]).To(torch.Float32).To(x.Device())
		}
		return EachNormalize(x, colours(p.Mean, [3]float64{0.485, 0.456, 0.406}), colours(p.Std, [3]float64{0.229, 0.224, 0.225}))
	})
}

func positive(n, def int) int {
	if n > 0 {
		return n
	}
	return def
}

// middle is where a part of that size begins in the middle of a whole: Python's round((whole - part) / 2).
func middle(whole, part int) int {
	half := (whole - part) / 2
	if (whole-part)%2 == 1 && half%2 == 1 {
		half++ // Python rounds halves to the even number
	}
	return half
}
