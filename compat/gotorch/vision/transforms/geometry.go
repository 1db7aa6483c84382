package transforms

import (
	"fmt"
	"image"
	"math"
	"math/rand"

	"gocv.io/x/gocv"
)

// extent is a height and a width; the width is the height if it is not given.
func extent(height int, width []int) image.Point {
	if len(width) > 0 {
		return image.Pt(width[0], height)
	}
	return image.Pt(height, height)
}

// cut leaves of the image only the part that starts at a place.
func cut(input gocv.Mat, at, size image.Point) gocv.Mat {
	part := input.Region(image.Rectangle{Min: at, Max: at.Add(size)})
	defer part.Close()
	part.CopyTo(&input)
	return input
}

// fits panics unless the image is at least of a size.
func fits(name string, input gocv.Mat, size image.Point) {
	if size.X > input.Cols() || size.Y > input.Rows() {
		panic(fmt.Sprintf("%s: the image is of %d by %d pixels, which is less than %d by %d", name, input.Cols(), input.Rows(), size.X, size.Y))
	}
}

// CenterCropTransformer cuts out the middle.
type CenterCropTransformer struct {
	size image.Point
}

// CenterCrop makes a CenterCropTransformer. Without a width it is a square.
func CenterCrop(height int, width ...int) *CenterCropTransformer {
	return &CenterCropTransformer{extent(height, width)}
}

// Run cuts out the middle of the image, which it overwrites.
func (t *CenterCropTransformer) Run(input gocv.Mat) gocv.Mat {
	fits("CenterCrop", input, t.size)
	return cut(input, image.Pt((input.Cols()-t.size.X)/2, (input.Rows()-t.size.Y)/2), t.size)
}

// RandomCropTransformer cuts out a part at random.
type RandomCropTransformer struct {
	size image.Point
}

// RandomCrop makes a RandomCropTransformer. Without a width it is a square.
func RandomCrop(height int, width ...int) *RandomCropTransformer {
	return &RandomCropTransformer{extent(height, width)}
}

// Run cuts a part out of the image, which it overwrites.
func (t *RandomCropTransformer) Run(input gocv.Mat) gocv.Mat {
	fits("RandomCrop", input, t.size)
	x := rand.Intn(input.Cols() - t.size.X + 1)
	y := rand.Intn(input.Rows() - t.size.Y + 1)
	return cut(input, image.Pt(x, y), t.size)
}

// RandomHorizontalFlipTransformer turns some images upside down: that is what it has always done, whatever its name says.
type RandomHorizontalFlipTransformer struct {
	p float32
}

// RandomHorizontalFlip makes a RandomHorizontalFlipTransformer, which turns an image with probability p.
func RandomHorizontalFlip(p float32) *RandomHorizontalFlipTransformer {
	return &RandomHorizontalFlipTransformer{p}
}

// Run turns the image or not.
func (hf *RandomHorizontalFlipTransformer) Run(input gocv.Mat) gocv.Mat {
	if rand.Float32() < hf.p {
		gocv.Flip(input, &input, 0)
	}
	return input
}

// RandomVerticalFlipTransformer swaps left and right of some images: that is what it has always done, whatever its name says.
type RandomVerticalFlipTransformer struct {
	p float32
}

// RandomVerticalFlip makes a RandomVerticalFlipTransformer, which turns an image with probability p.
func RandomVerticalFlip(p float32) *RandomVerticalFlipTransformer {
	return &RandomVerticalFlipTransformer{p}
}

// Run turns the image or not.
func (hf *RandomVerticalFlipTransformer) Run(input gocv.Mat) gocv.Mat {
	if rand.Float32() < hf.p {
		gocv.Flip(input, &input, 1)
	}
	return input
}

// ResizeTransformer changes the size.
type ResizeTransformer struct {
	size image.Point
}

// Resize makes a ResizeTransformer. Without a width it is a square.
func Resize(height int, width ...int) *ResizeTransformer {
	return &ResizeTransformer{extent(height, width)}
}

// Run changes the size of the image, which it overwrites.
func (t *ResizeTransformer) Run(input gocv.Mat) gocv.Mat {
	gocv.Resize(input, &input, t.size, 0, 0, gocv.InterpolationLinear)
	return input
}

// RandomResizedCropTransformer cuts out a part of random size, shape and place, and changes its size.
type RandomResizedCropTransformer struct {
	size         image.Point
	scale, ratio [2]float64
}

// RandomResizedCrop makes a RandomResizedCropTransformer with the parts that ImageNet's networks are trained on. Without a width
// it is a square.
func RandomResizedCrop(height int, width ...int) *RandomResizedCropTransformer {
	size := extent(height, width)
	return RandomResizedCropD(size.Y, size.X, 0.08, 1, 3.0/4, 4.0/3, gocv.InterpolationLinear)
}

// RandomResizedCropD makes a RandomResizedCropTransformer: the part has between scale0 and scale1 of the area, and a width of
// ratio0 to ratio1 of its height. Whatever interpolation says, it is linear.
func RandomResizedCropD(height, width int, scale0, scale1, ratio0, ratio1 float64,
	interpolation gocv.InterpolationFlags) *RandomResizedCropTransformer {
	return &RandomResizedCropTransformer{image.Pt(width, height), [2]float64{scale0, scale1}, [2]float64{ratio0, ratio1}}
}

// between is a number as gotorch draws it: its range is (to-from) wide and begins at from*(to-from), not at from. The areas are
// smaller than asked for, which trainings have been tuned to.
func between(r [2]float64) float64 { return (rand.Float64() + r[0]) * (r[1] - r[0]) }

// part chooses what to cut out of an image.
func (t *RandomResizedCropTransformer) part(bounds image.Point) image.Rectangle {
	area := float64(bounds.X * bounds.Y)
	for range 10 {
		target := area * between(t.scale)
		aspect := math.Exp(between([2]float64{math.Log(t.ratio[0]), math.Log(t.ratio[1])}))
		w, h := int(math.Round(math.Sqrt(target*aspect))), int(math.Round(math.Sqrt(target/aspect)))
		if 0 < w && w <= bounds.X && 0 < h && h <= bounds.Y {
			y := rand.Intn(bounds.Y - h + 1)
			x := rand.Intn(bounds.X - w + 1)
			return image.Rect(x, y, x+w, y+h)
		}
	}
	w, h := bounds.X, bounds.Y
	switch ratio := float64(w) / float64(h); {
	case ratio < min(t.ratio[0], t.ratio[1]):
		h = int(math.Round(float64(w) / min(t.ratio[0], t.ratio[1])))
	case ratio > max(t.ratio[0], t.ratio[1]):
		w = int(math.Round(float64(h) * max(t.ratio[0], t.ratio[1])))
	}
	x, y := (bounds.X-w)/2, (bounds.Y-h)/2
	return image.Rect(x, y, x+w, y+h)
}

// Run cuts out a part of the image, which it overwrites.
func (t *RandomResizedCropTransformer) Run(input gocv.Mat) gocv.Mat {
	part := input.Region(t.part(image.Pt(input.Cols(), input.Rows())))
	defer part.Close()
	gocv.Resize(part, &input, t.size, 0, 0, gocv.InterpolationLinear)
	return input
}
