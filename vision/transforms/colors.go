package transforms

import (
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
)

// Grayscale weighs the colours into one channel, or three equal ones.
type Grayscale struct {
	NumOutputChannels int // 1 (the default) or 3
}

// Apply makes the image grey.
func (t Grayscale) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t Grayscale) plan(Sample, *rand.Rand) []step {
	return []step{rgbToGrayscale{max(1, t.NumOutputChannels)}}
}

// RandomGrayscale makes the image grey and leaves it as many channels.
type RandomGrayscale struct {
	P float64 // the probability; default 0.1
}

// Apply draws whether.
func (t RandomGrayscale) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomGrayscale) plan(s Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.1), rgbToGrayscale{s.Image.Size(-3)})
}

// RGB makes three channels of a grey image.
type RGB struct{}

// Apply adds channels.
func (t RGB) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (RGB) plan(Sample, *rand.Rand) []step { return []step{grayscaleToRgb{}} }

// ColorJitter changes brightness, contrast, saturation and hue, in an order that is drawn, by factors from 1-x to 1+x and a hue
// from -x to x, or from a range.
type ColorJitter struct {
	Brightness, Contrast, Saturation, Hue float64

	BrightnessRange, ContrastRange, SaturationRange, HueRange *[2]float64 // instead of these
}

// Apply draws the factors and the order.
func (t ColorJitter) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t ColorJitter) plan(_ Sample, r *rand.Rand) (steps []step) {
	factor := func(x float64, given *[2]float64) (float64, bool) {
		if given == nil && x == 0 {
			return 0, false
		}
		span := orRange(given, max(0, 1-x), 1+x)
		return uniform(r, span[0], span[1]), true
	}
	order := source(r).Perm(4)
	var all [4]step
	if f, ok := factor(t.Brightness, t.BrightnessRange); ok {
		all[0] = adjustBrightness{f}
	}
	if f, ok := factor(t.Contrast, t.ContrastRange); ok {
		all[1] = adjustContrast{f}
	}
	if f, ok := factor(t.Saturation, t.SaturationRange); ok {
		all[2] = adjustSaturation{f}
	}
	if t.Hue != 0 || t.HueRange != nil {
		span := orRange(t.HueRange, -t.Hue, t.Hue)
		all[3] = adjustHue{uniform(r, span[0], span[1])}
	}
	for _, i := range order {
		if all[i] != nil {
			steps = append(steps, all[i])
		}
	}
	return steps
}

// RandomChannelPermutation changes the order of the channels.
type RandomChannelPermutation struct{}

// Apply draws the order.
func (t RandomChannelPermutation) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (RandomChannelPermutation) plan(s Sample, r *rand.Rand) []step {
	return []step{permuteChannels{source(r).Perm(s.Image.Size(-3))}}
}

// RandomPhotometricDistort changes colours as detectors are trained with: each change with probability P.
type RandomPhotometricDistort struct {
	Brightness, Contrast, Saturation *[2]float64 // default 0.875 to 1.125, 0.5 to 1.5, 0.5 to 1.5
	Hue                              *[2]float64 // default -0.05 to 0.05
	P                                float64     // default 0.5
}

// Apply draws which, how much and in what order.
func (t RandomPhotometricDistort) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomPhotometricDistort) plan(s Sample, r *rand.Rand) (steps []step) {
	draw := func(given *[2]float64, low, high float64, make func(f float64) step) {
		if chance(r, t.P, 0.5) {
			span := orRange(given, low, high)
			steps = append(steps, make(uniform(r, span[0], span[1])))
		}
	}
	contrast := func() { draw(t.Contrast, 0.5, 1.5, func(f float64) step { return adjustContrast{f} }) }
	draw(t.Brightness, 0.875, 1.125, func(f float64) step { return adjustBrightness{f} })
	before := source(r).Float64() < 0.5
	if before {
		contrast()
	}
	draw(t.Saturation, 0.5, 1.5, func(f float64) step { return adjustSaturation{f} })
	draw(t.Hue, -0.05, 0.05, func(f float64) step { return adjustHue{f} })
	if !before {
		contrast()
	}
	if chance(r, t.P, 0.5) {
		steps = append(steps, permuteChannels{r.Perm(s.Image.Size(-3))})
	}
	return steps
}

// RandomEqualize spreads the values of each channel evenly.
type RandomEqualize struct {
	P float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomEqualize) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomEqualize) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), equalize{})
}

// RandomInvert makes a negative.
type RandomInvert struct {
	P float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomInvert) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomInvert) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), invert{})
}

// RandomPosterize keeps the first bits of each value.
type RandomPosterize struct {
	Bits int     // from 0 to 8
	P    float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomPosterize) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomPosterize) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), posterize{t.Bits})
}

// RandomSolarize inverts values from Threshold on.
type RandomSolarize struct {
	Threshold float64
	P         float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomSolarize) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomSolarize) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), solarize{t.Threshold})
}

// RandomAutocontrast stretches the values of each channel to all there are.
type RandomAutocontrast struct {
	P float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomAutocontrast) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomAutocontrast) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), autocontrast{})
}

// RandomAdjustSharpness sharpens, or with a factor below 1 blurs.
type RandomAdjustSharpness struct {
	SharpnessFactor float64
	P               float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomAdjustSharpness) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomAdjustSharpness) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), adjustSharpness{t.SharpnessFactor})
}

// GaussianBlur blurs.
type GaussianBlur struct {
	KernelSize [2]int      // across and down, odd
	Sigma      *[2]float64 // from and to; default 0.1 to 2
}

// Apply draws sigma.
func (t GaussianBlur) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t GaussianBlur) plan(_ Sample, r *rand.Rand) []step {
	span := orRange(t.Sigma, 0.1, 2)
	sigma := uniform(r, span[0], span[1])
	for _, k := range t.KernelSize {
		if k < 1 || k%2 == 0 || !(sigma > 0) {
			torch.Throw("gaussian_blur", torch.KindValue, "expected an odd KernelSize and a Sigma above 0, got %v and %v", t.KernelSize,
				sigma)
		}
	}
	return []step{gaussianBlur{t.KernelSize[:], []float64{sigma, sigma}}}
}

// Normalize takes a mean off each channel and divides by a standard deviation. The image is floating-point.
type Normalize struct{ Mean, Std []float64 }

// Apply normalises.
func (t Normalize) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t Normalize) plan(Sample, *rand.Rand) []step {
	for _, v := range t.Std {
		if v == 0 {
			torch.Throw("normalize", torch.KindValue, "std evaluated to zero, leading to division by zero")
		}
	}
	return []step{normalize(t)}
}

// ToDType converts the image.
type ToDType struct {
	DType torch.DType // default Float32
	Scale bool        // 255 of bytes becomes 1 of numbers, and so on
}

// Apply converts.
func (t ToDType) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t ToDType) plan(Sample, *rand.Rand) []step {
	if t.DType == (torch.DType{}) {
		t.DType = torch.Float32
	}
	return []step{toDtype{t.DType, t.DType.String(), t.Scale}}
}
