package imageio

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	gojpeg "image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/jpeg"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// EncodeOptions are the rarer arguments of [EncodeJPEG].
type EncodeOptions struct {
	Quality int // from 1 to 100; default 75
}

// EncodeJPEG makes a JPEG file of an image uint8 [1 or 3, H, W]: torchvision's encode_jpeg. It returns an error for other
// shapes and dtypes.
func EncodeJPEG(img torch.Tensor, opts ...EncodeOptions) ([]byte, error) {
	quality := option.One(opts).Quality
	if quality == 0 {
		quality = 75
	}
	if quality < 1 || quality > 100 {
		return nil, fmt.Errorf("imageio: Quality is %d, expected 1 to 100", quality)
	}
	if _, err := jpeg.Open(); err != nil {
		return encodeGo(img, quality)
	}
	var file []byte
	var bad error
	err := torch.Try(func() {
		torch.Scope(func() {
			var t torch.Tensor
			if t, bad = jpeg.Encode(img.To(torch.CPU), quality); bad == nil {
				file = t.Bytes()
			}
		})
	})
	if err = errors.Join(bad, err); err != nil {
		return nil, fmt.Errorf("imageio: cannot encode: %w", err)
	}
	return file, nil
}

// encodeGo is EncodeJPEG by Go's encoder.
func encodeGo(img torch.Tensor, quality int) ([]byte, error) {
	if img.DType() != torch.Uint8 {
		return nil, fmt.Errorf("imageio: the image is %v, expected uint8", img.DType())
	}
	picture, err := toImage(img)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	err = gojpeg.Encode(&file, picture, &gojpeg.Options{Quality: quality})
	return file.Bytes(), err
}

// EncodePNG makes a PNG file of an image [1 or 3, H, W], as [Save] does.
func EncodePNG(img torch.Tensor) ([]byte, error) {
	picture, err := toImage(img)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		return nil, fmt.Errorf("imageio: %w", err)
	}
	return file.Bytes(), nil
}

// Save writes an image [1, H, W] or [3, H, W] as a PNG file, or as a JPEG file of quality 75 where path ends in .jpg or .jpeg: whole
// or not at all. Bytes are taken as they are, floating-point numbers from 0 to 1. It returns an error where the file
// cannot be written, and for other shapes and dtypes.
func Save(path string, img torch.Tensor) error {
	encode := EncodePNG
	if end := strings.ToLower(filepath.Ext(path)); end == ".jpg" || end == ".jpeg" {
		encode = saveJPEG
	}
	file, err := encode(img)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
}

func saveJPEG(img torch.Tensor) (file []byte, err error) {
	if err := checkPicture(img); err != nil {
		return nil, err
	}
	bad := torch.Try(func() {
		torch.Scope(func() { file, err = EncodeJPEG(asBytes(img)) })
	})
	return file, errors.Join(err, bad)
}

func checkPicture(img torch.Tensor) error {
	if img.Dim() != 3 || img.Size(0) != 1 && img.Size(0) != 3 {
		return fmt.Errorf("imageio: the image has shape %v, expected [1, H, W] or [3, H, W]", img.Shape())
	}
	return nil
}

// asBytes rounds as torchvision's save_image does.
func asBytes(img torch.Tensor) (bytes torch.Tensor) {
	torch.NoGrad(func() {
		if bytes = img; img.DType() != torch.Uint8 {
			bytes = img.MulScalar(255).AddScalar(0.5).Clamp(0, 255).To(torch.Uint8)
		}
	})
	return bytes
}

// toImage copies a tensor into an image.
func toImage(img torch.Tensor) (image.Image, error) {
	if err := checkPicture(img); err != nil {
		return nil, err
	}
	n, height, width := img.Size(0), img.Size(1), img.Size(2)
	var pixels []uint8
	err := torch.Try(func() {
		torch.Scope(func() { pixels = torch.Values[uint8](asBytes(img).Permute(1, 2, 0)) })
	})
	if err != nil {
		return nil, err
	}
	if n == 1 {
		return &image.Gray{Pix: pixels, Stride: width, Rect: image.Rect(0, 0, width, height)}, nil
	}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range height * width {
		at := picture.Pix[4*i : 4*i+4]
		at[0], at[1], at[2], at[3] = pixels[3*i], pixels[3*i+1], pixels[3*i+2], 255
	}
	return picture, nil
}
