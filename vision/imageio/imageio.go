package imageio

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/libtorch-go/libtorch/internal/jpeg"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// ErrFormat is in the error of [Decode] for what is no image, or a damaged one, or too large.
var ErrFormat = errors.New("not an image that can be read")

// DecodeOptions are the rarer arguments of [Decode].
type DecodeOptions struct {
	// Mode is what the channels are: "RGB" (the default), "GRAY", "GRAY_ALPHA", "RGB_ALPHA", or "UNCHANGED": those of the file, and
	// uint16 where it has 16 bits. Colours made grey are weighted as Pillow does. What is transparent keeps its colour.
	Mode string
	// ApplyEXIFOrientation turns an image whose file says how the camera was held; torchvision does not by default.
	ApplyEXIFOrientation bool
	MaxPixels            int // an image of more is an error before it is decoded; default 64 million
}

func (o DecodeOptions) check() (DecodeOptions, error) {
	if o.Mode == "" {
		o.Mode = "RGB"
	}
	if o.MaxPixels == 0 {
		o.MaxPixels = 64_000_000
	}
	if _, ok := channels[o.Mode]; !ok {
		return o, fmt.Errorf("imageio: Mode is %q, expected RGB, GRAY, GRAY_ALPHA, RGB_ALPHA or UNCHANGED", o.Mode)
	}
	return o, nil
}

// channels is how many each mode has; 0 is as many as the file.
var channels = map[string]int{"UNCHANGED": 0, "GRAY": 1, "GRAY_ALPHA": 2, "RGB": 3, "RGB_ALPHA": 4}

// mostFile is how many bytes of a file are read.
const mostFile = 512 << 20

// Decode reads a JPEG, PNG, GIF or WebP image: uint8 [3, H, W], red, green and blue, on the CPU, whose channels lie
// together in memory. It returns [ErrFormat] for anything else, and for an image that is damaged or too large; an error
// of r is in it, too. That memory was short is [torch.ErrOutOfMemory] alone.
func Decode(r io.Reader, opts ...DecodeOptions) (torch.Tensor, error) {
	if _, err := option.One(opts).check(); err != nil {
		return torch.Tensor{}, err
	}
	file, err := io.ReadAll(io.LimitReader(r, mostFile+1))
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("imageio: %w: %w", ErrFormat, err)
	}
	return DecodeBytes(file, opts...)
}

// Read is [Decode] of a file on disk: torchvision's decode_image of a path.
func Read(path string, opts ...DecodeOptions) (torch.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("imageio: %w", err)
	}
	defer f.Close()
	img, err := Decode(f, opts...)
	if err != nil {
		return img, fmt.Errorf("%w (%s)", err, path)
	}
	return img, nil
}

// DecodeBytes is [Decode] of a file in memory.
func DecodeBytes(file []byte, opts ...DecodeOptions) (img torch.Tensor, err error) {
	o, err := option.One(opts).check()
	if err != nil {
		return img, err
	}
	if len(file) > mostFile {
		return img, fmt.Errorf("imageio: %w: the file has more than %d bytes", ErrFormat, mostFile)
	}
	// A device of its own, or a mode of the caller's, has no say in what a decoder makes.
	tried := torch.Try(func() {
		img = torch.Scope1(func() torch.Tensor {
			var t torch.Tensor
			if t, err = decode(file, o); err != nil {
				return torch.Tensor{}
			}
			if o.ApplyEXIFOrientation {
				t = oriented(t, orientation(file))
			}
			return t
		})
	})
	if err = errors.Join(err, tried); errors.Is(err, torch.ErrOutOfMemory) {
		return torch.Tensor{}, fmt.Errorf("imageio: %w", err)
	}
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("imageio: %w: %w", ErrFormat, err)
	}
	return img, nil
}

// JPEGLibrary is the libjpeg-turbo that decodes and encodes JPEG, by its path or name; the error says why it is Go's decoder instead.
func JPEGLibrary() (string, error) { return jpeg.Open() }

func decode(file []byte, o DecodeOptions) (torch.Tensor, error) {
	if !jpeg.Is(file) {
		return decodeGo(file, o)
	}
	if _, err := jpeg.Open(); err != nil {
		return decodeGo(file, o)
	}
	w, h, n, err := jpeg.Size(file)
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("it is damaged: %w", err)
	}
	if err := plausible(w, h, o.MaxPixels, len(file)*jpegPixels); err != nil {
		return torch.Tensor{}, err
	}
	want := channels[o.Mode]
	if want == 0 && n == 1 || want == 1 || want == 2 {
		n = 1
	} else {
		n = 3
	}
	t, err := jpeg.Decode(file, jpeg.Options{Channels: n, MaxPixels: o.MaxPixels})
	if errors.Is(err, torch.ErrOutOfMemory) {
		return torch.Tensor{}, err
	}
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("it is damaged: %w", err)
	}
	if want == 2 || want == 4 {
		alpha := torch.TensorOptions{DType: torch.Uint8}.Full([]int{h, w, 1}, 255)
		t = torch.Cat([]torch.Tensor{t.Permute(1, 2, 0), alpha}, 2).Permute(2, 0, 1)
	}
	return t, nil
}

// How many pixels a byte of a file can stand for at most. A JPEG has at least a bit for each block of 64 in each of its channels, a
// PNG is deflated, which makes a byte of 1,032 at most.
const (
	jpegPixels = 1024
	pngBytes   = 1032
	anyPixels  = 64 << 10 // which are never too many
)

// Plausible returns [ErrFormat] for a JPEG that [DecodeBytes] would refuse by its header: one that is too large, or larger than its
// bytes can be. Other files pass.
func Plausible(file []byte, opts ...DecodeOptions) error {
	o, err := option.One(opts).check()
	if err != nil {
		return err
	}
	if w, h, ok := jpeg.Dimensions(file); ok {
		if err := plausible(w, h, o.MaxPixels, len(file)*jpegPixels); err != nil {
			return fmt.Errorf("imageio: %w: %w", ErrFormat, err)
		}
	}
	return nil
}

// plausible refuses images that are larger than is permitted or possible.
func plausible(w, h, most, possible int) error {
	if w < 1 || h < 1 || w > most/h {
		return fmt.Errorf("it has %d x %d pixels, expected 1 to %d in all", w, h, most)
	}
	if w*h > max(possible, anyPixels) {
		return fmt.Errorf("it is damaged: its header tells of %d x %d pixels, more than the file can hold", w, h)
	}
	return nil
}
