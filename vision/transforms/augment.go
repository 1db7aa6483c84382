package transforms

import (
	"math"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/internal/jpeg"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// gaussian draws n numbers of the normal distribution.
func gaussian(r *rand.Rand, shape []int) torch.Tensor {
	n := 1
	for _, side := range shape {
		n *= side
	}
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(source(r).NormFloat64())
	}
	return torch.FromSlice(list, shape...)
}

// RandomErasing covers a random part of the image.
type RandomErasing struct {
	P      float64     // the probability; default 0.5
	Scale  *[2]float64 // the part's area of the whole; default 0.02 to 0.33
	Ratio  *[2]float64 // its height to its width; default 0.3 to 3.3
	Value  []float64   // one number, or one for each channel; default 0
	Random bool        // normal noise instead
}

// Apply draws whether, and the part.
func (t RandomErasing) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomErasing) plan(s Sample, r *rand.Rand) []step {
	if !chance(r, t.P, 0.5) {
		return nil
	}
	h, w := s.size()
	c := s.Image.Size(-3)
	scale, ratio := orRange(t.Scale, 0.02, 0.33), orRange(t.Ratio, 0.3, 3.3)
	for range 10 {
		area := float64(h*w) * uniform(r, scale[0], scale[1])
		form := math.Exp(uniform(r, math.Log(ratio[0]), math.Log(ratio[1])))
		e := erase{H: int(math.RoundToEven(math.Sqrt(area * form))), W: int(math.RoundToEven(math.Sqrt(area / form)))}
		if e.H >= h || e.W >= w {
			continue
		}
		if e.v = fillTensor(orFill(t.Value), s.Image); t.Random {
			e.v = gaussian(r, []int{c, e.H, e.W})
		}
		e.I, e.J = between(r, 0, h-e.H+1), between(r, 0, w-e.W+1)
		return []step{e}
	}
	return nil
}

type erase struct {
	I, J, H, W int
	v          torch.Tensor
}

func (e erase) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		out := t.Clone()
		out.Narrow(-2, e.I, e.H).Narrow(-1, e.J, e.W).CopyInPlace(e.v)
		return out
	})
}

// GaussianNoise adds noise: to bytes as if they went from 0 to 1.
type GaussianNoise struct {
	Mean   float64
	Sigma  float64 // default 0.1
	NoClip bool    // let numbers go below 0 and above 1
}

// Apply draws the noise.
func (t GaussianNoise) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t GaussianNoise) plan(s Sample, r *rand.Rand) []step {
	if t.Sigma == 0 {
		t.Sigma = 0.1
	}
	nonNegative("sigma", t.Sigma)
	return []step{gaussianNoise{t.Mean, t.Sigma, !t.NoClip, gaussian(r, s.Image.Shape())}}
}

type gaussianNoise struct {
	Mean, Sigma float64
	Clip        bool
	noise       torch.Tensor
}

func (n gaussianNoise) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		noise := n.noise.To(t.Device())
		if t.IsFloatingPoint() {
			out := t.Add(noise.To(t.DType()).MulScalar(n.Sigma).AddScalar(n.Mean))
			if n.Clip {
				return out.Clamp(0, 1)
			}
			return out
		}
		if t.DType() != torch.Uint8 {
			torch.Throw("gaussian_noise", torch.KindType, "Input tensor is expected to be in uint8 or float dtype, got dtype=%v",
				t.DType())
		}
		out := t.Add(noise.MulScalar(n.Sigma * 255).AddScalar(n.Mean * 255).To(torch.Int16))
		if n.Clip {
			out = out.Clamp(0, 255)
		}
		return out.To(torch.Uint8)
	})
}

// JPEG makes a JPEG file of the image and reads it: uint8 [..., 1 or 3, H, W] on the CPU. It needs libjpeg-turbo.
type JPEG struct{ Quality [2]int } // from and to, from 1 to 100

// Apply draws the quality.
func (t JPEG) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t JPEG) plan(_ Sample, r *rand.Rand) []step {
	if low, high := t.Quality[0], t.Quality[1]; low < 1 || high < low || high > 100 {
		torch.Throw("jpeg", torch.KindValue, "quality must be an integer from 1 to 100, got %v", t.Quality)
	}
	return []step{jpegFile{between(r, t.Quality[0], t.Quality[1]+1)}}
}

type jpegFile struct{ Quality int }

func (q jpegFile) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		if _, err := jpeg.Open(); err != nil {
			torch.Throw("jpeg", torch.KindValue, "%v", err)
		}
		shape := t.Shape()
		n := len(shape)
		images := t.Reshape(append([]int{-1}, shape[n-3:]...)...).Unbind(0)
		for i, img := range images {
			file, err := jpeg.Encode(img, q.Quality)
			if err == nil {
				images[i], err = jpeg.Decode(file.Bytes(), jpeg.Options{Channels: shape[n-3], MaxPixels: math.MaxInt32})
			}
			if err != nil {
				torch.Throw("jpeg", torch.KindValue, "%v", err)
			}
		}
		return torch.Stack(images).Reshape(shape...)
	})
}

// beta draws from the Beta distribution with equal parameters.
func beta(r *rand.Rand, alpha float64) float64 {
	x, y := gamma(r, alpha), gamma(r, alpha)
	return x / (x + y)
}

// gamma draws from the Gamma distribution, by Marsaglia and Tsang's method.
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Pow(source(r).Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := source(r).NormFloat64()
		v := math.Pow(1+c*x, 3)
		if u := r.Float64(); v > 0 && math.Log(u) < 0.5*x*x+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}

// MixUp mixes each image of a batch [N, C, H, W], floating-point, with the one before it, and their labels: classes [N], or
// weights of classes [N, classes], which they become.
type MixUp struct {
	Alpha      float64 // of the Beta distribution that the weights come from; default 1
	NumClasses int     // needed where the labels are classes
}

// Apply draws the weight.
func (t MixUp) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t MixUp) plan(_ Sample, r *rand.Rand) []step {
	return []step{mixUp{drawLambda(r, t.Alpha), t.NumClasses}}
}

func drawLambda(r *rand.Rand, alpha float64) float64 {
	if alpha == 0 {
		alpha = 1
	}
	if !(alpha > 0) {
		torch.Throw("mixup", torch.KindValue, "Alpha is %v, expected more than 0", alpha)
	}
	return float64(float32(beta(r, alpha)))
}

// checkBatch panics unless there is a label for each image.
func checkBatch(s Sample) {
	if !s.Image.Defined() || !s.Labels.Defined() || s.Image.Dim() != 4 || s.Labels.Dim() < 1 || s.Labels.Size(0) != s.Image.Size(0) {
		torch.Throw("mixup", torch.KindValue, "expected images [N, C, H, W] and a label for each")
	}
	if s.Boxes.Defined() || s.Masks.Defined() {
		torch.Throw("mixup", torch.KindValue, "boxes and masks are not supported")
	}
}

type mixUp struct {
	Lam        float64
	NumClasses int
}

func mixed(t torch.Tensor, lam float64) torch.Tensor {
	return t.Roll([]int{1}, 0).MulScalar(1 - lam).Add(t.MulScalar(lam))
}

func mixLabels(labels torch.Tensor, classes int, lam float64) torch.Tensor {
	if labels.Dim() == 1 {
		if classes < 1 {
			torch.Throw("mixup", torch.KindValue, "NumClasses is needed where the labels are classes")
		}
		labels = F.OneHot(labels, classes)
	}
	return mixed(floating(labels), lam)
}

func (m mixUp) apply(s Sample) Sample {
	checkBatch(s)
	if !s.Image.IsFloatingPoint() {
		torch.Throw("mixup", torch.KindType, "the images are %v, expected a floating-point dtype", s.Image.DType())
	}
	s.Image, s.Labels = mixed(s.Image, m.Lam), mixLabels(s.Labels, m.NumClasses, m.Lam)
	return s
}

// CutMix puts a part of the image before into each image of a batch [N, C, H, W], and mixes the labels as [MixUp] does, by the part's
// area.
type CutMix struct {
	Alpha      float64 // as in [MixUp]
	NumClasses int     // as in [MixUp]
}

// Apply draws the part.
func (t CutMix) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t CutMix) plan(s Sample, r *rand.Rand) []step {
	lam := drawLambda(r, t.Alpha)
	h, w := s.size()
	x, y := between(r, 0, w), between(r, 0, h)
	half := 0.5 * math.Sqrt(1-lam)
	dx, dy := int(half*float64(w)), int(half*float64(h))
	box := [4]int{max(0, x-dx), max(0, y-dy), min(w, x+dx), min(h, y+dy)}
	return []step{cutMix{box, 1 - float64((box[2]-box[0])*(box[3]-box[1]))/float64(w*h), t.NumClasses}}
}

type cutMix struct {
	Box         [4]int // left, top, right, bottom
	LamAdjusted float64
	NumClasses  int
}

func (m cutMix) apply(s Sample) Sample {
	checkBatch(s)
	out := s.Image.Clone()
	part := func(t torch.Tensor) torch.Tensor {
		return t.Narrow(-2, m.Box[1], m.Box[3]-m.Box[1]).Narrow(-1, m.Box[0], m.Box[2]-m.Box[0])
	}
	part(out).CopyInPlace(part(s.Image.Roll([]int{1}, 0)))
	s.Image, s.Labels = out, mixLabels(s.Labels, m.NumClasses, m.LamAdjusted)
	return s
}
