package imageio_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

func ExampleDecode() {
	var upload bytes.Buffer
	if err := png.Encode(&upload, image.NewRGBA(image.Rect(0, 0, 640, 480))); err != nil {
		fmt.Println(err)
	}
	img, err := imageio.Decode(&upload)
	fmt.Println(img.DType(), img.Shape(), err)
	_, err = imageio.Decode(bytes.NewReader([]byte("no image")))
	fmt.Println(err)
	// Output:
	// uint8 [3 480 640] <nil>
	// imageio: not an image that can be read: expected a JPEG, PNG, GIF or WebP image: image: unknown format
}

func ExampleGrid() {
	samples := torch.Rand(10, 1, 28, 28)
	grid := imageio.Grid(samples, imageio.GridOptions{NRow: 5})
	fmt.Println(grid.Shape())
	// Output: [1 62 152]
}
