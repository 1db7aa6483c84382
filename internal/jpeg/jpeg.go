package jpeg

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Part is a rectangle of an image, in pixels.
type Part struct{ Left, Top, Width, Height int }

func (p Part) put(c *cgo.Call) {
	c.Int(p.Left)
	c.Int(p.Top)
	c.Int(p.Width)
	c.Int(p.Height)
}

// Options are the arguments of [Decode].
type Options struct {
	Channels    int  // 1 or 3; 0: as in the file, where four inks are red, green and blue
	MaxPixels   int  // more are an error
	Denominator int  // 1, 2, 4 or 8: the image is decoded at that part of its size; 0 is 1
	Part        Part // what of the image, at that size, is decoded; the zero value is all
}

// Is tells whether a file begins as a JPEG does.
func Is(file []byte) bool {
	return len(file) > 2 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff
}

func run(c *cgo.Call, file []byte) error {
	if len(file) == 0 {
		return errors.New("the file is empty")
	}
	if err := c.RunData(unsafe.Pointer(unsafe.SliceData(file))); err != nil {
		return failed(err)
	}
	return nil
}

// failed is the error of a call. That memory was short says nothing of the file, and callers can tell.
func failed(err *cgo.Error) error {
	if err.Kind == cgo.KindOutOfMemory {
		return fmt.Errorf("%w: %s", torch.ErrOutOfMemory, err.Msg)
	}
	return errors.New(err.Msg)
}

// Decode decodes a file: uint8 [channels, height, width], whose channels lie together in memory.
func Decode(file []byte, o Options) (torch.Tensor, error) {
	var c cgo.Call
	c.Begin(cgo.OpDecodeJpeg)
	c.Int(len(file))
	c.Int(o.Channels)
	c.Int(o.MaxPixels)
	c.Int(max(1, o.Denominator))
	o.Part.put(&c)
	if err := run(&c, file); err != nil {
		return torch.Tensor{}, err
	}
	return bridge.Tensor[torch.Tensor](c.Handle(0)), nil
}

// Size is the width, the height and the number of channels that a file's header tells.
func Size(file []byte) (width, height, channels int, err error) {
	var c cgo.Call
	c.Begin(cgo.OpJpegSize)
	c.Int(len(file))
	if err := run(&c, file); err != nil {
		return 0, 0, 0, err
	}
	return c.IntResult(0), c.IntResult(1), c.IntResult(2), nil
}

// Encode makes a file of an image uint8 [1 or 3, H, W] on the CPU, with a quality from 1 to 100: uint8 [bytes].
func Encode(image torch.Tensor, quality int) (torch.Tensor, error) {
	var c cgo.Call
	c.Begin(cgo.OpEncodeJpeg)
	c.Tensor(bridge.Handle(image))
	c.Int(quality)
	if err := c.Run(); err != nil {
		return torch.Tensor{}, failed(err)
	}
	return bridge.Tensor[torch.Tensor](c.Handle(0)), nil
}

// Pass is what happens to a part of an image on its way into a batch: it is resized to the size of the batch's images,
// mirrored if Flip, and normalised with a mean and a standard deviation for each of three channels.
type Pass struct {
	Part      Part
	Flip      bool
	Mean, Std []float64
}

func (p Pass) put(c *cgo.Call, batch torch.Tensor, i int) {
	c.Changed(bridge.Handle(batch))
	c.Int(i)
	p.Part.put(c)
	c.Bool(p.Flip)
	c.Floats(p.Mean)
	c.Floats(p.Std)
}

// Into decodes a part of a file into image i of a batch, float32 [N, 3, height, width] on the CPU.
func (p Pass) Into(batch torch.Tensor, i int, file []byte) error {
	var c cgo.Call
	c.Begin(cgo.OpCropJpeg)
	c.Int(len(file))
	p.put(&c, batch, i)
	return run(&c, file)
}

// ImageInto does the same with an image uint8 [3, H, W] on the CPU.
func (p Pass) ImageInto(batch torch.Tensor, i int, image torch.Tensor) {
	var c cgo.Call
	c.Begin(cgo.OpCropImage)
	c.Tensor(bridge.Handle(image))
	p.put(&c, batch, i)
	bridge.Done(&c)
}

// CropFlip cuts a square of size by size out of each image uint8 [N, 3, H, W], at the place that tops and lefts give, mirrors
// those whose flips is not 0, and normalises: float32 [N, 3, size, size]. Outside of an image lie zeros.
func CropFlip(images torch.Tensor, tops, lefts, flips []int, size int, mean, std []float64) torch.Tensor {
	var c cgo.Call
	c.Begin(cgo.OpCropFlip)
	c.Tensor(bridge.Handle(images))
	c.Ints(tops)
	c.Ints(lefts)
	c.Ints(flips)
	c.Int(size)
	c.Floats(mean)
	c.Floats(std)
	bridge.Done(&c)
	return bridge.Tensor[torch.Tensor](c.Handle(0))
}
