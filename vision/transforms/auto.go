package transforms

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// An op is one of the operations that policies choose among: its magnitudes go from low to high, and their sign is drawn for those
// that have one.
type op struct {
	name      string
	low, high float64
	signed    bool
	wide      int // 1: in widths, 2: in heights of the image
}

// magnitude is number bin of bins, as torch.linspace has it.
func (o op) magnitude(bin, bins, h, w int) float64 {
	low, high := o.low, o.high
	switch o.wide {
	case 1:
		high *= float64(w)
	case 2:
		high *= float64(h)
	}
	if o.name == "Posterize" { // low is the bits of the first bin, high how many fewer those of the last are
		return math.RoundToEven(float64(float32(low) - float32(bin)/float32(float64(bins-1)/high)))
	}
	steps := torch.Linspace(low, high, bins)
	defer steps.Close()
	return float64(torch.Values[float32](steps)[bin])
}

// drawn is the magnitude with its sign.
func (o op) drawn(r *rand.Rand, bin, bins, h, w int) float64 {
	if o.low == o.high {
		return 0
	}
	m := o.magnitude(bin, bins, h, w)
	if o.signed && r.Float64() <= 0.5 {
		m = -m
	}
	return m
}

// steps does the operation.
func (o op) steps(m float64, dtype torch.DType, mode string, fill []float64) []step {
	a := affine{Scale: 1, Interpolation: mode, Fill: fill}
	switch o.name {
	case "ShearX":
		a.Shear[0], a.Center = math.Atan(m)*(180/math.Pi), []float64{0, 0}
		return []step{a}
	case "ShearY":
		a.Shear[1], a.Center = math.Atan(m)*(180/math.Pi), []float64{0, 0}
		return []step{a}
	case "TranslateX":
		a.Translate[0] = math.Trunc(m)
		return []step{a}
	case "TranslateY":
		a.Translate[1] = math.Trunc(m)
		return []step{a}
	case "Rotate":
		return []step{rotate{Angle: m, Interpolation: mode, Fill: fill}}
	case "Brightness":
		return []step{adjustBrightness{1 + m}}
	case "Color":
		return []step{adjustSaturation{1 + m}}
	case "Contrast":
		return []step{adjustContrast{1 + m}}
	case "Sharpness":
		return []step{adjustSharpness{1 + m}}
	case "Posterize":
		return []step{posterize{int(m)}}
	case "Solarize":
		return []step{solarize{maxValue(dtype) * m}}
	case "AutoContrast":
		return []step{autocontrast{}}
	case "Equalize":
		return []step{equalize{}}
	case "Invert":
		return []step{invert{}}
	}
	return nil // Identity
}

// space is the operations of RandAugment with the given reaches.
func space(shear, x, y float64, wide bool, degrees, factor, bits float64) []op {
	wx, wy := 0, 0
	if wide {
		wx, wy = 1, 2
	}
	return []op{
		{name: "Identity"}, {"ShearX", 0, shear, true, 0}, {"ShearY", 0, shear, true, 0}, {"TranslateX", 0, x, true, wx}, {"TranslateY",
			0, y, true, wy},
		{"Rotate", 0, degrees, true, 0}, {"Brightness", 0, factor, true, 0}, {"Color", 0, factor, true, 0}, {"Contrast", 0, factor, true,
			0},
		{"Sharpness", 0, factor, true, 0}, {"Posterize", 8, bits, false, 0}, {"Solarize", 1, 0, false, 0}, {name: "AutoContrast"},
		{name: "Equalize"},
	}
}

func randAugmentSpace() []op { return space(0.3, 150.0/331, 150.0/331, true, 30, 0.9, 4) }

func alone(s Sample) {
	if !s.Image.Defined() || s.Boxes.Defined() || s.Masks.Defined() {
		torch.Throw("auto_augment", torch.KindValue, "expected an image alone: its places move without boxes and masks")
	}
}

// RandAugment applies operations drawn from 14, all of one magnitude, to images without boxes and masks.
type RandAugment struct {
	NumOps           int       // default 2
	Magnitude        *int      // which bin; default 9
	NumMagnitudeBins int       // default 31
	Interpolation    string    // "nearest" (the default) or "bilinear"
	Fill             []float64 // default: none, and what lies outside is 0
}

// Apply draws the operations.
func (t RandAugment) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandAugment) plan(s Sample, r *rand.Rand) (steps []step) {
	alone(s)
	h, w := s.size()
	ops, bins, bin, n := randAugmentSpace(), orInt(t.NumMagnitudeBins, 31), 9, orInt(t.NumOps, 2)
	if t.Magnitude != nil {
		bin = *t.Magnitude
	}
	if bin < 0 || bin >= bins {
		torch.Throw("rand_augment", torch.KindValue, "Magnitude is %d, expected 0 to %d", bin, bins-1)
	}
	for range n {
		o := ops[between(r, 0, len(ops))]
		steps = append(steps, o.steps(o.drawn(r, bin, bins, h, w), s.Image.DType(), orText(t.Interpolation, "nearest"), t.Fill)...)
	}
	return steps
}

func orInt(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// TrivialAugmentWide applies one operation of a random magnitude to images without boxes and masks.
type TrivialAugmentWide struct {
	NumMagnitudeBins int       // default 31
	Interpolation    string    // "nearest" (the default) or "bilinear"
	Fill             []float64 // as in [RandAugment]
}

// Apply draws the operation.
func (t TrivialAugmentWide) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t TrivialAugmentWide) plan(s Sample, r *rand.Rand) []step {
	alone(s)
	h, w := s.size()
	ops, bins := space(0.99, 32, 32, false, 135, 0.99, 6), orInt(t.NumMagnitudeBins, 31)
	o := ops[between(r, 0, len(ops))]
	return o.steps(o.drawn(r, between(r, 0, bins), bins, h, w), s.Image.DType(), orText(t.Interpolation, "nearest"), t.Fill)
}

// AutoAugment applies one of 25 pairs of operations that were found for a data set, to images without boxes and masks.
type AutoAugment struct {
	Policy        string    // "imagenet" (the default), "cifar10" or "svhn"
	Interpolation string    // "nearest" (the default) or "bilinear"
	Fill          []float64 // as in [RandAugment]
}

// Apply draws the pair.
func (t AutoAugment) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t AutoAugment) plan(s Sample, r *rand.Rand) (steps []step) {
	alone(s)
	list, ok := policies[orText(t.Policy, "imagenet")]
	if !ok {
		torch.Throw("auto_augment", torch.KindValue, "Policy is %q, expected imagenet, cifar10 or svhn", t.Policy)
	}
	h, w := s.size()
	pairs := strings.Split(strings.TrimSpace(list), "\n")
	for field := range strings.FieldsSeq(pairs[between(r, 0, len(pairs))]) {
		part := strings.Split(field, ":") // name, probability, bin
		p, _ := strconv.ParseFloat(part[1], 64)
		if r.Float64() > p {
			continue
		}
		bin := 0
		if len(part) == 3 {
			bin, _ = strconv.Atoi(part[2])
		}
		for _, o := range append(randAugmentSpace(), op{name: "Invert"}) {
			if o.name == part[0] {
				steps = append(steps, o.steps(o.drawn(r, bin, 10, h, w), s.Image.DType(), orText(t.Interpolation, "nearest"), t.Fill)...)
			}
		}
	}
	return steps
}

// AugMix mixes the image with several chains of operations on it; for images without boxes and masks.
type AugMix struct {
	Severity      int       // from 1 to 10; default 3
	MixtureWidth  int       // chains; default 3
	ChainDepth    int       // operations in a chain; default: 1 to 3, drawn
	Alpha         float64   // of the distributions of the weights; default 1
	NotAllOps     bool      // leave out brightness, contrast, colour and sharpness
	Interpolation string    // "bilinear" (the default) or "nearest"
	Fill          []float64 // as in [RandAugment]
}

// Apply draws the chains and their weights.
func (t AugMix) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t AugMix) plan(s Sample, r *rand.Rand) []step {
	alone(s)
	h, w := s.size()
	severity, alpha := orInt(t.Severity, 3), t.Alpha
	if alpha == 0 {
		alpha = 1
	}
	if severity < 1 || severity > 10 || !(alpha > 0) {
		torch.Throw("augmix", torch.KindValue, "The severity must be between [1, 10] and Alpha above 0, got %d and %v", severity, alpha)
	}
	ops := space(0.3, 1.0/3, 1.0/3, true, 30, 0.9, 4)[1:]
	for i := range ops {
		if ops[i].name == "Posterize" {
			ops[i].low = 4
		}
	}
	if t.NotAllOps {
		ops = append(ops[:5:5], ops[9:]...)
	}
	m := augMix{Original: float64(float32(beta(r, alpha)))}
	weights, sum := make([]float64, orInt(t.MixtureWidth, 3)), 0.0
	for i := range weights {
		weights[i] = gamma(r, alpha)
		sum += weights[i]
	}
	for _, v := range weights {
		var chain []step
		depth := t.ChainDepth
		if depth <= 0 {
			depth = between(r, 1, 4)
		}
		for range depth {
			o := ops[between(r, 0, len(ops))]
			chain = append(chain, o.steps(o.drawn(r, between(r, 0, severity), 10, h, w), s.Image.DType(), orText(t.Interpolation,
				"bilinear"), t.Fill)...)
		}
		m.Weights = append(m.Weights, float64(float32(v/sum*(1-m.Original))))
		m.chains = append(m.chains, chain)
	}
	return []step{m}
}

// augMix is a weighted sum of the original and of chains.
type augMix struct {
	Original float64
	Weights  []float64
	chains   [][]step
}

func (m augMix) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		mix := floating(t).MulScalar(m.Original)
		for i, chain := range m.chains {
			one := Sample{Image: t}
			for _, step := range chain {
				one = step.apply(one)
			}
			mix = mix.Add(floating(one.Image).MulScalar(m.Weights[i]))
		}
		return mix.To(t.DType())
	})
}
