package support

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // decodePicture reads it
	_ "image/jpeg" // decodePicture reads it
	_ "image/png"  // decodePicture reads it
	"math"
	"math/rand"
	"os"

	"github.com/libtorch-go/libtorch/torch"
)

// picture is an image of bytes: rows of pixels, each of one or three channels.
type picture struct {
	rows, columns, channels int
	pixels                  []byte
}

func newPicture(rows, columns, channels int) picture {
	return picture{rows, columns, channels, make([]byte, rows*columns*channels)}
}

// at is a pixel.
func (p picture) at(y, x int) []byte {
	i := (y*p.columns + x) * p.channels
	return p.pixels[i : i+p.channels]
}

// readPicture reads a file; colors is rgb or gray.
func readPicture(path, colors string) picture {
	content, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	p, err := decodePicture(content, colors)
	if err != nil {
		panic(fmt.Errorf("%s: %w", path, err))
	}
	return p
}

// decodePicture reads a JPEG, PNG or GIF.
func decodePicture(content []byte, colors string) (picture, error) {
	img, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return picture{}, err
	}
	bounds, channels := img.Bounds(), 3
	if colors == "gray" {
		channels = 1
	}
	gray, isGray := img.(*image.Gray)
	p := newPicture(bounds.Dy(), bounds.Dx(), channels)
	for y := range p.rows {
		for x := range p.columns {
			if isGray && channels == 1 {
				p.at(y, x)[0] = gray.GrayAt(bounds.Min.X+x, bounds.Min.Y+y).Y
				continue
			}
			r, g, b, _ := img.At(bounds.Min.X+x, bounds.Min.Y+y).RGBA()
			if channels == 3 {
				copy(p.at(y, x), []byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)})
			} else {
				p.at(y, x)[0] = byte((int(b>>8)*1868 + int(g>>8)*9617 + int(r>>8)*4899 + 1<<13) >> 14)
			}
		}
	}
	return p, nil
}

// part is what a rectangle shows.
func (p picture) part(r image.Rectangle) picture {
	to := newPicture(r.Dy(), r.Dx(), p.channels)
	for y := range to.rows {
		for x := range to.columns {
			copy(to.at(y, x), p.at(r.Min.Y+y, r.Min.X+x))
		}
	}
	return to
}

// sized is the picture in another size, between the four pixels around by their distance.
func (p picture) sized(rows, columns int) picture {
	place := func(i, from, to int) (a, b int, part float64) {
		at := max((float64(i)+0.5)*float64(from)/float64(to)-0.5, 0)
		a = min(int(at), from-1)
		return a, min(a+1, from-1), at - float64(a)
	}
	to := newPicture(rows, columns, p.channels)
	for y := range rows {
		top, bottom, down := place(y, p.rows, rows)
		for x := range columns {
			left, right, across := place(x, p.columns, columns)
			for c := range p.channels {
				upper := float64(p.at(top, left)[c])*(1-across) + float64(p.at(top, right)[c])*across
				lower := float64(p.at(bottom, left)[c])*(1-across) + float64(p.at(bottom, right)[c])*across
				to.at(y, x)[c] = byte(math.RoundToEven(upper*(1-down) + lower*down))
			}
		}
	}
	return to
}

// pictureTransform changes a picture.
type pictureTransform func(p picture) picture

// heightAndWidth is a height and a width, which is the height if it is not given.
func heightAndWidth(height int, width []int) (int, int) {
	if len(width) > 0 {
		return height, width[0]
	}
	return height, height
}

func resizePictures(height int, width ...int) pictureTransform {
	rows, columns := heightAndWidth(height, width)
	return func(p picture) picture { return p.sized(rows, columns) }
}

func cropCenter(height int, width ...int) pictureTransform {
	rows, columns := heightAndWidth(height, width)
	return func(p picture) picture {
		y, x := (p.rows-rows)/2, (p.columns-columns)/2
		return p.part(image.Rect(x, y, x+columns, y+rows))
	}
}

func cropAtRandom(height int, width ...int) pictureTransform {
	rows, columns := heightAndWidth(height, width)
	return func(p picture) picture {
		x := rand.Intn(p.columns - columns + 1)
		y := rand.Intn(p.rows - rows + 1)
		return p.part(image.Rect(x, y, x+columns, y+rows))
	}
}

// flipAtRandom turns pictures upside down, or swaps left and right, with probability prob.
func flipAtRandom(prob float32, upsideDown bool) pictureTransform {
	return func(p picture) picture {
		if rand.Float32() >= prob {
			return p
		}
		to := newPicture(p.rows, p.columns, p.channels)
		for y := range p.rows {
			for x := range p.columns {
				if upsideDown {
					copy(to.at(y, x), p.at(p.rows-1-y, x))
				} else {
					copy(to.at(y, x), p.at(y, p.columns-1-x))
				}
			}
		}
		return to
	}
}

// randomResizedCrop cuts out a part of random size, shape and place, and changes its size.
func randomResizedCrop(height int, width ...int) pictureTransform {
	rows, columns := heightAndWidth(height, width)
	between := func(from, to float64) float64 { return (rand.Float64() + from) * (to - from) }
	return func(p picture) picture {
		for range 10 {
			area := float64(p.rows*p.columns) * between(0.08, 1)
			aspect := math.Exp(between(math.Log(3.0/4), math.Log(4.0/3)))
			w, h := int(math.Round(math.Sqrt(area*aspect))), int(math.Round(math.Sqrt(area/aspect)))
			if 0 < w && w <= p.columns && 0 < h && h <= p.rows {
				y := rand.Intn(p.rows - h + 1)
				x := rand.Intn(p.columns - w + 1)
				return p.part(image.Rect(x, y, x+w, y+h)).sized(rows, columns)
			}
		}
		w, h := p.columns, p.rows
		switch ratio := float64(w) / float64(h); {
		case ratio < 3.0/4:
			h = int(math.Round(float64(w) / (3.0 / 4)))
		case ratio > 4.0/3:
			w = int(math.Round(float64(h) * (4.0 / 3)))
		}
		x, y := (p.columns-w)/2, (p.rows-h)/2
		return p.part(image.Rect(x, y, x+w, y+h)).sized(rows, columns)
	}
}

// pictureToTensor makes tensors of pictures.
type pictureToTensor struct{}

// Run makes a tensor of a picture, with numbers from 0 to 1.
func (pictureToTensor) Run(p picture) torch.Tensor {
	list := make([]float32, len(p.pixels))
	for i, v := range p.pixels {
		list[i] = float32(v) * float32(1.0/255.0)
	}
	if p.channels == 1 {
		return torch.FromSlice(list, p.rows, p.columns)
	}
	return torch.FromSlice(list, p.rows, p.columns, p.channels).Permute(2, 0, 1)
}

// normalization subtracts a mean and divides by a deviation.
type normalization struct{ mean, deviation torch.Tensor }

func normalizeImages(mean, deviation []float32) normalization {
	return normalization{torch.FromSlice(mean, -1, 1, 1), torch.FromSlice(deviation, -1, 1, 1)}
}

// Run normalises a tensor of images.
func (n normalization) Run(x torch.Tensor) torch.Tensor { return x.Sub(n.mean).Div(n.deviation) }
