package transforms

import (
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
)

// Sample is an image, or several of one size, with what is known of places in them. Fields that are not there are
// left undefined.
type Sample struct {
	Image  torch.Tensor // [..., C, H, W]
	Boxes  torch.Tensor // [N, 4], in pixels, as Format says
	Format BoxFormat
	Masks  torch.Tensor // [..., H, W]
	Labels torch.Tensor // [N], one for each box, or for each image where [MixUp] and [CutMix] mix them
}

// BoxFormat says what the four numbers of a box are.
type BoxFormat struct{ name string }

// The formats of boxes; the zero value is XYXY.
var (
	XYXY   = BoxFormat{}         // left, top, right, bottom
	XYWH   = BoxFormat{"XYWH"}   // left, top, width, height
	CXCYWH = BoxFormat{"CXCYWH"} // the middle, width, height
)

// String is the format's name in torchvision.
func (f BoxFormat) String() string {
	if f.name == "" {
		return "XYXY"
	}
	return f.name
}

// A Transform changes samples. Its random choices come from r, which may be nil for one that makes none. The tensors of
// the result are the caller's, those of s stay as they are. It panics with a *torch.Error for what it cannot change.
type Transform interface {
	Apply(s Sample, r *rand.Rand) Sample
}

// Image applies a transform to an image [..., C, H, W] alone.
func Image(t Transform, img torch.Tensor, r *rand.Rand) torch.Tensor {
	return t.Apply(Sample{Image: img}, r).Image
}

// Func is a function as a transform.
type Func func(s Sample, r *rand.Rand) Sample

// Apply calls the function.
func (f Func) Apply(s Sample, r *rand.Rand) Sample { return f(s, r) }

// Compose applies transforms one after the other.
type Compose []Transform

// Apply applies them all.
func (c Compose) Apply(s Sample, r *rand.Rand) Sample {
	return scoped(s, func() Sample {
		out := s
		for _, t := range c {
			out = t.Apply(out, r)
		}
		return out
	})
}

// RandomApply applies all of its transforms, or none.
type RandomApply struct {
	Transforms []Transform
	P          float64 // the probability; default 0.5
}

// Apply draws whether they are applied.
func (t RandomApply) Apply(s Sample, r *rand.Rand) Sample {
	if !chance(r, t.P, 0.5) {
		return Compose{}.Apply(s, r)
	}
	return Compose(t.Transforms).Apply(s, r)
}

// RandomChoice applies one of its transforms.
type RandomChoice struct {
	Transforms []Transform
	P          []float64 // the weight of each; default: all the same
}

// Apply draws which.
func (t RandomChoice) Apply(s Sample, r *rand.Rand) Sample {
	if len(t.Transforms) == 0 || t.P != nil && len(t.P) != len(t.Transforms) {
		torch.Throw("random_choice", torch.KindValue, "%d transforms have %d weights", len(t.Transforms), len(t.P))
	}
	return t.Transforms[t.pick(source(r))].Apply(s, r)
}

func (t RandomChoice) pick(r *rand.Rand) int {
	if t.P == nil {
		return r.IntN(len(t.Transforms))
	}
	sum := 0.0
	for _, p := range t.P {
		sum += p
	}
	at := r.Float64() * sum
	for i, p := range t.P {
		if at -= p; at < 0 {
			return i
		}
	}
	return len(t.P) - 1
}

// RandomOrder applies its transforms in an order that is drawn.
type RandomOrder []Transform

// Apply draws the order.
func (t RandomOrder) Apply(s Sample, r *rand.Rand) Sample {
	shuffled := make(Compose, len(t))
	for i, from := range source(r).Perm(len(t)) {
		shuffled[i] = t[from]
	}
	return shuffled.Apply(s, r)
}

// A step is one operation, of which all is drawn. The names and fields of steps are those of torchvision's functions, by which a test
// makes the same in Python.
type step interface {
	apply(s Sample) Sample
}

// A planner draws what a transform does to a sample.
type planner interface {
	plan(s Sample, r *rand.Rand) []step
}

func run(t planner, s Sample, r *rand.Rand) Sample {
	return scoped(s, func() Sample {
		out := s
		for _, step := range t.plan(s, r) {
			out = step.apply(out)
		}
		return out
	})
}

// scoped frees what fn makes but its result, none of which is a tensor of s.
func scoped(s Sample, fn func() Sample) (out Sample) {
	torch.NoGrad(func() {
		torch.Scope(func() {
			out = fn()
			for _, t := range []*torch.Tensor{&out.Image, &out.Boxes, &out.Masks, &out.Labels} {
				if t.Defined() {
					*t = t.Alias().Keep()
				}
			}
		})
	})
	return out
}

// source panics where there is no source of random numbers.
func source(r *rand.Rand) *rand.Rand {
	if r == nil {
		torch.Throw("transforms", torch.KindValue, "expected a random source, got nil")
	}
	return r
}

func uniform(r *rand.Rand, low, high float64) float64 { return low + (high-low)*source(r).Float64() }

// between is an integer from low to high-1.
func between(r *rand.Rand, low, high int) int { return low + source(r).IntN(max(1, high-low)) }

func chance(r *rand.Rand, p, def float64) bool {
	if p == 0 {
		p = def
	}
	return source(r).Float64() < p
}

// size is the height and the width of what is there.
func (s Sample) size() (h, w int) {
	t := s.Image
	if !t.Defined() {
		t = s.Masks
	}
	if !t.Defined() || t.Dim() < 2 || s.Image.Defined() && t.Dim() < 3 {
		torch.Throw("transforms", torch.KindValue, "expected an image [..., C, H, W] or masks [..., H, W]")
	}
	return t.Size(-2), t.Size(-1)
}

// with applies a function to the image and to the masks, as an image of their own, and another one to the boxes, where these are there.
func (s Sample) with(image, masks, boxes func(torch.Tensor) torch.Tensor) Sample {
	if s.Image.Defined() {
		s.Image = image(s.Image)
	}
	if s.Masks.Defined() {
		if s.Masks.Dim() < 3 {
			s.Masks = masks(s.Masks.Unsqueeze(0)).Squeeze(0)
		} else {
			s.Masks = masks(s.Masks)
		}
	}
	if s.Boxes.Defined() {
		if s.Boxes.Dim() != 2 || s.Boxes.Size(1) != 4 {
			torch.Throw("transforms", torch.KindValue, "expected boxes [N, 4], got shape %v", s.Boxes.Shape())
		}
		s.Boxes = boxes(s.Boxes)
	}
	return s
}

// imageOnly applies a function to the image.
func (s Sample) imageOnly(fn func(torch.Tensor) torch.Tensor) Sample {
	if s.Image.Defined() {
		if s.Image.Dim() < 3 {
			torch.Throw("transforms", torch.KindValue, "expected an image [..., C, H, W], got shape %v", s.Image.Shape())
		}
		s.Image = fn(s.Image)
	}
	return s
}
