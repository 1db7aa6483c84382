package gocv

import (
	"image"
	"math"
)

// InterpolationFlags says how Resize computes pixels between pixels.
type InterpolationFlags int

// How Resize computes pixels between pixels.
const (
	InterpolationNearestNeighbor InterpolationFlags = 0 // the nearest
	InterpolationLinear          InterpolationFlags = 1 // the four around, by their distance
	InterpolationDefault                            = InterpolationLinear
)

// rounded is the byte nearest to v.
func rounded(v float64) byte { return byte(math.RoundToEven(min(max(v, 0), 255))) }

// Flip writes src to dst upside down (0), with left and right swapped (positive), or both (negative).
func Flip(src Mat, dst *Mat, flipCode int) {
	from := src.p.dense()
	to, n := zeros(from.kind, from.dims...), from.kind.channels()
	rows, columns := from.dims[0], from.dims[1]
	for y := range rows {
		for x := range columns {
			fy, fx := y, x
			if flipCode <= 0 {
				fy = rows - 1 - y
			}
			if flipCode != 0 {
				fx = columns - 1 - x
			}
			at, source := (y*columns+x)*n, (fy*columns+fx)*n
			if from.kind.float() {
				copy(to.floats[at:at+n], from.floats[source:])
			} else {
				copy(to.bytes[at:at+n], from.bytes[source:])
			}
		}
	}
	dst.put(to)
}

// tap is where a pixel of a resized row comes from: a and the one behind it, at b, in parts.
type tap struct {
	a, b int
	part float64 // of b
}

// taps are those of to pixels that are made of from.
func taps(from, to int, interp InterpolationFlags) []tap {
	list := make([]tap, to)
	scale := float64(from) / float64(to)
	for i := range list {
		if interp == InterpolationNearestNeighbor {
			at := min(int(float64(i)*scale), from-1)
			list[i] = tap{at, at, 0}
			continue
		}
		place := max((float64(i)+0.5)*scale-0.5, 0)
		at := min(int(place), from-1)
		list[i] = tap{at, min(at+1, from-1), place - float64(at)}
	}
	return list
}

// Resize writes src to dst in another size: sz, or fx and fy times its own where sz is zero.
func Resize(src Mat, dst *Mat, sz image.Point, fx, fy float64, interp InterpolationFlags) {
	from := src.p.dense()
	if sz == (image.Point{}) {
		sz = image.Pt(int(math.Round(float64(from.dims[1])*fx)), int(math.Round(float64(from.dims[0])*fy)))
	}
	to, n := zeros(from.kind, sz.Y, sz.X), from.kind.channels()
	across, down := taps(from.dims[1], sz.X, interp), taps(from.dims[0], sz.Y, interp)
	value := func(i int) float64 {
		if from.kind.float() {
			return float64(from.floats[i])
		}
		return float64(from.bytes[i])
	}
	for y, v := range down {
		for x, h := range across {
			for c := range n {
				upper := value(v.a*from.step+h.a*n+c)*(1-h.part) + value(v.a*from.step+h.b*n+c)*h.part
				lower := value(v.b*from.step+h.a*n+c)*(1-h.part) + value(v.b*from.step+h.b*n+c)*h.part
				mixed := upper*(1-v.part) + lower*v.part
				if to.kind.float() {
					to.floats[y*to.step+x*n+c] = float32(mixed)
				} else {
					to.bytes[y*to.step+x*n+c] = rounded(mixed)
				}
			}
		}
	}
	dst.put(to)
}

// Scalar is up to four numbers, such as a colour.
type Scalar struct {
	Val1, Val2, Val3, Val4 float64
}

// NewScalar makes a Scalar.
func NewScalar(v1 float64, v2 float64, v3 float64, v4 float64) Scalar { return Scalar{v1, v2, v3, v4} }

// BlobFromImages writes images of one type to blob, an array of images, channels, rows and columns of float32: each resized to
// size if it has another, the mean subtracted and then scaled. swapRB swaps the first and the third channel. crop and other
// types of elements are OpenCV's alone.
func BlobFromImages(imgs []Mat, blob *Mat, scaleFactor float64, size image.Point, mean Scalar, swapRB bool, crop bool, ddepth MatType) {
	if crop || ddepth != MatTypeCV32F || len(imgs) == 0 {
		panic("BlobFromImages: the stand-in for gocv makes blobs of float32 of one or more images, without cropping")
	}
	n := imgs[0].Channels()
	to := zeros(MatTypeCV32F, len(imgs), n, size.Y, size.X)
	means := [4]float64{mean.Val1, mean.Val2, mean.Val3, mean.Val4}
	area := size.X * size.Y
	for i, img := range imgs {
		one := img.Clone()
		if one.Cols() != size.X || one.Rows() != size.Y {
			Resize(one, &one, size, 0, 0, InterpolationLinear)
		}
		one.ConvertTo(&one, MatTypeCV32F)
		if one.Channels() != n {
			panic("BlobFromImages: the images differ in their number of channels")
		}
		for c := range n {
			source := c
			if swapRB && c != 1 && c < 3 {
				source = 2 - c
			}
			for at := range area {
				to.floats[(i*n+c)*area+at] = float32((float64(one.p.floats[at*n+source]) - means[c]) * scaleFactor)
			}
		}
	}
	blob.put(to)
}

// GetBlobSize is the size of the four dimensions of a blob.
func GetBlobSize(blob Mat) Scalar {
	d := blob.p.dims
	return NewScalar(float64(d[0]), float64(d[1]), float64(d[2]), float64(d[3]))
}
