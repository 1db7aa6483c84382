package transforms

import (
	"math"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
)

// Size is the height and the width of an image; [Square] has equal ones.
type Size [2]int

// Square is a size with equal sides.
func Square(n int) Size { return Size{n, n} }

// orText is the text, or what stands for none.
func orText(text, def string) string {
	if text == "" {
		return def
	}
	return text
}

// orFill is the fill, or black.
func orFill(fill []float64) []float64 {
	if fill == nil {
		return []float64{0}
	}
	return fill
}

// orRange is a range of numbers, or what stands for none.
func orRange(v *[2]float64, low, high float64) [2]float64 {
	if v == nil {
		return [2]float64{low, high}
	}
	return *v
}

// RandomHorizontalFlip mirrors left and right.
type RandomHorizontalFlip struct {
	P float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomHorizontalFlip) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomHorizontalFlip) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), horizontalFlip{})
}

// RandomVerticalFlip mirrors top and bottom.
type RandomVerticalFlip struct {
	P float64 // the probability; default 0.5
}

// Apply draws whether.
func (t RandomVerticalFlip) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomVerticalFlip) plan(_ Sample, r *rand.Rand) []step {
	return maybe(chance(r, t.P, 0.5), verticalFlip{})
}

func maybe(yes bool, s step) []step {
	if yes {
		return []step{s}
	}
	return nil
}

// Resize makes another size. Where it is to be the same for all images, that is Size, height and width; with ShortSide the shorter
// side gets so many pixels and the other as many as keep the form, at most MaxSize; with MaxSize alone the longer side gets these.
type Resize struct {
	Size          Size
	ShortSide     int
	MaxSize       int
	Interpolation string // "bilinear" (the default), "bicubic", "nearest" or "nearest-exact"; masks are always "nearest"
	NoAntialias   bool   // do not smooth while making smaller
}

// Apply resizes.
func (t Resize) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t Resize) plan(Sample, *rand.Rand) []step {
	z := resize{MaxSize: t.MaxSize, Interpolation: orText(t.Interpolation, "bilinear"), Antialias: !t.NoAntialias}
	switch {
	case t.Size != Size{}:
		z.Size = t.Size[:]
	case t.ShortSide != 0:
		z.Size = []int{t.ShortSide}
	}
	return []step{z}
}

// CenterCrop cuts out the middle; where the image is smaller, zeros are put around it.
type CenterCrop struct{ Size Size }

// Apply cuts.
func (t CenterCrop) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t CenterCrop) plan(Sample, *rand.Rand) []step { return []step{centerCrop{t.Size}} }

// Pad puts a frame around.
type Pad struct {
	Padding [4]int    // left, top, right, bottom
	Fill    []float64 // one number, or one for each channel; default 0
	Mode    string    // "constant" (the default), "edge", "reflect" or "symmetric", which boxes do not allow
}

// Apply pads.
func (t Pad) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t Pad) plan(Sample, *rand.Rand) []step {
	return []step{pad{t.Padding, orFill(t.Fill), orText(t.Mode, "constant")}}
}

// RandomCrop cuts out a part at random.
type RandomCrop struct {
	Size        Size
	Padding     [4]int    // a frame that is put around before: left, top, right, bottom
	PadIfNeeded bool      // and as much as is needed on both sides
	Fill        []float64 // as in [Pad]
	Mode        string    // as in [Pad]
}

// Apply draws the place.
func (t RandomCrop) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomCrop) plan(s Sample, r *rand.Rand) (steps []step) {
	h, w := s.size()
	frame, height, width := t.Padding, t.Size[0], t.Size[1]
	h, w = h+frame[1]+frame[3], w+frame[0]+frame[2]
	if more := height - h; t.PadIfNeeded && more > 0 {
		frame[1], frame[3], h = frame[1]+more, frame[3]+more, h+2*more
	}
	if more := width - w; t.PadIfNeeded && more > 0 {
		frame[0], frame[2], w = frame[0]+more, frame[2]+more, w+2*more
	}
	if height < 1 || width < 1 || h < height || w < width {
		torch.Throw("random_crop", torch.KindValue, "Required crop size %v is larger than input image size (%d, %d), or not positive",
			t.Size, h, w)
	}
	if frame != [4]int{} {
		steps = append(steps, pad{frame, orFill(t.Fill), orText(t.Mode, "constant")})
	}
	if h > height || w > width {
		steps = append(steps, crop{between(r, 0, h-height+1), between(r, 0, w-width+1), height, width})
	}
	return steps
}

// RandomResizedCrop cuts out a part of random area and form and resizes it: how networks are trained on ImageNet.
type RandomResizedCrop struct {
	Size          Size
	Scale         *[2]float64 // the part's area of the whole; default 0.08 to 1
	Ratio         *[2]float64 // its width to its height; default 3/4 to 4/3
	Interpolation string      // as in [Resize]
	NoAntialias   bool
}

// Apply draws the part.
func (t RandomResizedCrop) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomResizedCrop) plan(s Sample, r *rand.Rand) []step {
	h, w := s.size()
	return []step{t.draw(h, w, r), resize{Size: t.Size[:], Interpolation: orText(t.Interpolation, "bilinear"), Antialias: !t.NoAntialias}}
}

// draw draws a part as torchvision does.
func (t RandomResizedCrop) draw(h, w int, r *rand.Rand) crop {
	scale, ratio := orRange(t.Scale, 0.08, 1), orRange(t.Ratio, 3.0/4, 4.0/3)
	for range 10 {
		area := float64(h*w) * uniform(r, scale[0], scale[1])
		form := math.Exp(uniform(r, math.Log(ratio[0]), math.Log(ratio[1])))
		width, height := int(math.RoundToEven(math.Sqrt(area*form))), int(math.RoundToEven(math.Sqrt(area/form)))
		if width > 0 && width <= w && height > 0 && height <= h {
			return crop{between(r, 0, h-height+1), between(r, 0, w-width+1), height, width}
		}
	}
	width, height := w, h
	switch form := float64(w) / float64(h); {
	case form < min(ratio[0], ratio[1]):
		height = int(math.RoundToEven(float64(w) / min(ratio[0], ratio[1])))
	case form > max(ratio[0], ratio[1]):
		width = int(math.RoundToEven(float64(h) * max(ratio[0], ratio[1])))
	}
	return crop{(h - height) / 2, (w - width) / 2, height, width}
}

// RandomZoomOut puts the image at a random place of a larger one.
type RandomZoomOut struct {
	P         float64     // the probability; default 0.5
	SideRange *[2]float64 // how much larger; default 1 to 4
	Fill      []float64   // as in [Pad]
}

// Apply draws whether, how much and where.
func (t RandomZoomOut) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomZoomOut) plan(s Sample, r *rand.Rand) []step {
	if !chance(r, t.P, 0.5) {
		return nil
	}
	h, w := s.size()
	sides := orRange(t.SideRange, 1, 4)
	if !(sides[0] >= 1 && sides[1] >= sides[0]) {
		torch.Throw("random_zoom_out", torch.KindValue, "Invalid side range provided %v", sides)
	}
	larger := uniform(r, sides[0], sides[1])
	width, height := int(float64(w)*larger), int(float64(h)*larger)
	left, top := int(float64(width-w)*r.Float64()), int(float64(height-h)*r.Float64())
	return []step{pad{[4]int{left, top, width - left - w, height - top - h}, orFill(t.Fill), "constant"}}
}

// RandomRotation turns by a random angle.
type RandomRotation struct {
	Degrees       [2]float64 // from and to, against the clock
	Interpolation string     // "nearest" (the default) or "bilinear"; masks are always "nearest"
	Expand        bool       // make room for the corners
	Center        []float64  // across and down, in pixels; default: the middle
	Fill          []float64  // what lies outside of the image; default 0
}

// Apply draws the angle.
func (t RandomRotation) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomRotation) plan(_ Sample, r *rand.Rand) []step {
	checkCenter(t.Center)
	return []step{rotate{uniform(r, t.Degrees[0], t.Degrees[1]), orText(t.Interpolation, "nearest"), t.Expand, t.Center, orFill(t.Fill)}}
}

func checkCenter(center []float64) {
	if center != nil && len(center) != 2 {
		torch.Throw("transforms", torch.KindValue, "Center has %d numbers, expected 2", len(center))
	}
}

// RandomAffine turns, moves, scales and shears.
type RandomAffine struct {
	Degrees       [2]float64  // from and to
	Translate     *[2]float64 // how far at most, in parts of the width and of the height; default: not
	Scale         *[2]float64 // default: not
	ShearX        *[2]float64 // degrees; default: not
	ShearY        *[2]float64
	Interpolation string    // as in [RandomRotation]
	Fill          []float64 // as in [RandomRotation]
	Center        []float64
}

// Apply draws how.
func (t RandomAffine) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomAffine) plan(s Sample, r *rand.Rand) []step {
	checkCenter(t.Center)
	h, w := s.size()
	a := affine{Angle: uniform(r, t.Degrees[0], t.Degrees[1]), Scale: 1, Interpolation: orText(t.Interpolation, "nearest"),
		Fill:   orFill(t.Fill),
		Center: t.Center}
	if t.Translate != nil {
		x, y := t.Translate[0]*float64(w), t.Translate[1]*float64(h)
		a.Translate = [2]float64{math.RoundToEven(uniform(r, -x, x)), math.RoundToEven(uniform(r, -y, y))}
	}
	if t.Scale != nil {
		a.Scale = uniform(r, t.Scale[0], t.Scale[1])
	}
	for i, shear := range []*[2]float64{t.ShearX, t.ShearY} {
		if shear != nil {
			a.Shear[i] = uniform(r, shear[0], shear[1])
		}
	}
	return []step{a}
}

// RandomPerspective looks at the image from the side.
type RandomPerspective struct {
	DistortionScale float64   // how far the corners move, in halves of the image; default 0.5
	P               float64   // the probability; default 0.5
	Interpolation   string    // "bilinear" (the default) or "nearest"
	Fill            []float64 // as in [RandomRotation]
}

// Apply draws whether, and the corners.
func (t RandomPerspective) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomPerspective) plan(s Sample, r *rand.Rand) []step {
	if !chance(r, t.P, 0.5) {
		return nil
	}
	d := t.DistortionScale
	if d == 0 {
		d = 0.5
	}
	if !(d >= 0 && d <= 1) {
		torch.Throw("random_perspective", torch.KindValue, "Argument distortion_scale value should be between 0 and 1, got %v", d)
	}
	h, w := s.size()
	y, x := int(d*float64(h/2))+1, int(d*float64(w/2))+1
	end := [4][2]int{
		{between(r, 0, x), between(r, 0, y)}, {between(r, w-x, w), between(r, 0, y)},
		{between(r, w-x, w), between(r, h-y, h)}, {between(r, 0, x), between(r, h-y, h)},
	}
	start := [4][2]int{{0, 0}, {w - 1, 0}, {w - 1, h - 1}, {0, h - 1}}
	return []step{perspective{start, end, orText(t.Interpolation, "bilinear"), orFill(t.Fill)}}
}

// ElasticTransform moves pixels as if the image lay on water.
type ElasticTransform struct {
	Alpha         float64   // how far; default 50
	Sigma         float64   // how smoothly; default 5
	Interpolation string    // "bilinear" (the default) or "nearest"
	Fill          []float64 // as in [RandomRotation]
}

// Apply draws where each pixel goes.
func (t ElasticTransform) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t ElasticTransform) plan(s Sample, r *rand.Rand) []step {
	h, w := s.size()
	alpha, sigma := t.Alpha, t.Sigma
	if alpha == 0 {
		alpha = 50
	}
	if sigma == 0 {
		sigma = 5
	}
	kernel := int(8*sigma+1) | 1
	side := func(n int) torch.Tensor {
		noise := make([]float32, h*w)
		for i := range noise {
			noise[i] = float32(uniform(r, -1, 1))
		}
		blurred := gaussianBlur{[]int{kernel, kernel}, []float64{sigma, sigma}}.apply(Sample{Image: torch.FromSlice(noise, 1, h, w)})
		return blurred.Image.View(1, h, w).MulScalar(alpha / float64(n))
	}
	return []step{elastic{torch.Stack([]torch.Tensor{side(w), side(h)}, 3), orText(t.Interpolation, "bilinear"), orFill(t.Fill)}}
}

// ScaleJitter resizes by a random factor of the size that fits into Size.
type ScaleJitter struct {
	Size          Size
	ScaleRange    *[2]float64 // default 0.1 to 2
	Interpolation string      // as in [Resize]
	NoAntialias   bool
}

// Apply draws the factor.
func (t ScaleJitter) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t ScaleJitter) plan(s Sample, r *rand.Rand) []step {
	h, w := s.size()
	scale := orRange(t.ScaleRange, 0.1, 2)
	by := min(float64(t.Size[1])/float64(h), float64(t.Size[0])/float64(w)) * uniform(r, scale[0], scale[1])
	return resizeTo(int(float64(h)*by), int(float64(w)*by), t.Interpolation, t.NoAntialias)
}

func resizeTo(h, w int, mode string, plain bool) []step {
	return []step{resize{Size: []int{h, w}, Interpolation: orText(mode, "bilinear"), Antialias: !plain}}
}

// RandomShortestSize resizes so that the shorter side has one of several sizes.
type RandomShortestSize struct {
	MinSize       []int
	MaxSize       int    // of the longer side; default: none
	Interpolation string // as in [Resize]
	NoAntialias   bool
}

// Apply draws the size.
func (t RandomShortestSize) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomShortestSize) plan(s Sample, r *rand.Rand) []step {
	if len(t.MinSize) == 0 {
		torch.Throw("random_shortest_size", torch.KindValue, "expected at least one MinSize")
	}
	h, w := s.size()
	by := float64(t.MinSize[between(r, 0, len(t.MinSize))]) / float64(min(h, w))
	if t.MaxSize > 0 {
		by = min(by, float64(t.MaxSize)/float64(max(h, w)))
	}
	return resizeTo(int(float64(h)*by), int(float64(w)*by), t.Interpolation, t.NoAntialias)
}

// RandomResize resizes so that the shorter side has from MinSize to MaxSize-1 pixels.
type RandomResize struct {
	MinSize, MaxSize int
	Interpolation    string // as in [Resize]
	NoAntialias      bool
}

// Apply draws the size.
func (t RandomResize) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t RandomResize) plan(_ Sample, r *rand.Rand) []step {
	return []step{resize{Size: []int{between(r, t.MinSize, t.MaxSize)}, Interpolation: orText(t.Interpolation, "bilinear"),
		Antialias: !t.NoAntialias}}
}

// FiveCrop is the four corners and the middle of images [..., C, H, W]. It panics with a *torch.Error where they are smaller.
func FiveCrop(img torch.Tensor, size Size) []torch.Tensor {
	h, w := Sample{Image: img}.size()
	height, width := size[0], size[1]
	if height > h || width > w {
		torch.Throw("five_crop", torch.KindValue, "Requested crop size %v is bigger than input size (%d, %d)", size, h, w)
	}
	parts := []crop{{0, 0, height, width}, {0, w - width, height, width}, {h - height, 0, height, width}, {h - height, w - width, height,
		width},
		{roundHalf(h - height), roundHalf(w - width), height, width}}
	list := make([]torch.Tensor, len(parts))
	for i, p := range parts {
		list[i] = p.image(img)
	}
	return list
}

// TenCrop is [FiveCrop] of the images and of them mirrored: left and right or, with vertical, top and bottom.
func TenCrop(img torch.Tensor, size Size, vertical bool) []torch.Tensor {
	axis := -1
	if vertical {
		axis = -2
	}
	mirror := img.Flip(axis)
	defer mirror.Close()
	return append(FiveCrop(img, size), FiveCrop(mirror, size)...)
}
