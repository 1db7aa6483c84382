package transforms

import (
	"bytes"
	"fmt"
	"image"
	gojpeg "image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/jpeg"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

// files are JPEGs of several sizes and qualities, grey ones among them, and a PNG; with a folder of photos in $LIBTORCH_GO_PHOTOS, a
// hundred of these as well.
func files(t *testing.T) (list [][]byte) {
	for i, size := range [][2]int{{300, 200}, {97, 151}, {64, 64}, {31, 500}, {223, 225}, {1000, 700}} {
		img := torch.TensorOptions{DType: torch.Float32}.Rand(3, size[1]/4+1, size[0]/4+1)
		smooth := Image(Compose{Resize{Size: Size{size[1], size[0]}}, ToDType{DType: torch.Uint8, Scale: true}}, img, nil)
		file, err := imageio.EncodeJPEG(smooth, imageio.EncodeOptions{Quality: 60 + 8*i})
		require.NoError(t, err)
		list = append(list, file)
		grey, err := imageio.EncodeJPEG(smooth.Narrow(0, 0, 1))
		require.NoError(t, err)
		file, err = imageio.EncodePNG(smooth)
		require.NoError(t, err)
		list = append(list, grey, file)
	}
	if folder := os.Getenv("LIBTORCH_GO_PHOTOS"); folder != "" {
		paths, err := filepath.Glob(filepath.Join(folder, "*", "*", "*.JPEG"))
		require.NoError(t, err)
		for i := 0; i < len(paths); i += max(1, len(paths)/100) {
			file, err := os.ReadFile(paths[i])
			require.NoError(t, err)
			list = append(list, file)
		}
	}
	return list
}

// The pass over files, over images and over small images gives the bits of torchvision's transforms one after the other.
func TestPassesEqualTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.ManualSeed(5)
	if _, err := jpeg.Open(); err != nil {
		t.Skip(err)
	}
	torch.Scope(func() {
		const side = 224
		list := files(t)
		p := ClassificationTrain{Crop: side}
		inputs := peer.Tensors{}
		r := func() *rand.Rand { return rand.New(rand.NewPCG(1, 9)) }
		draws := r()
		for i, file := range list {
			img, err := imageio.DecodeBytes(file)
			require.NoError(t, err)
			pass := p.pass(img.Size(1), img.Size(2), draws)
			flip := 0
			if pass.Flip {
				flip = 1
			}
			inputs[fmt.Sprint("file", i)] = torch.FromSlice(file)
			inputs[fmt.Sprint("part", i)] = torch.FromSlice([]int{pass.Part.Top, pass.Part.Left, pass.Part.Height, pass.Part.Width, flip})
		}
		small := CropFlipNormalize{Size: 32, Padding: 4, Mean: [3]float64{0.485, 0.456, 0.406}, Std: [3]float64{0.229, 0.224, 0.225}}
		images := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 50, 3, 32, 32)
		places, same := make([]int, 0, 150), r()
		for range 50 {
			places = append(places, same.IntN(9)-4, same.IntN(9)-4, same.IntN(2))
		}
		inputs["images"], inputs["places"] = images, torch.FromSlice(places, 50, 3)
		want := peer.Run(t, "testdata/train.py", inputs, fmt.Sprint(side))
		batch, err := p.Files(list, r())
		require.NoError(t, err)
		var decoded []torch.Tensor
		for _, file := range list {
			img, err := imageio.DecodeBytes(file)
			require.NoError(t, err)
			decoded = append(decoded, img)
		}
		again := p.Images(decoded, r())
		for i := range list {
			torchtest.Equal(t, batch.Select(0, i), want[fmt.Sprint("file", i)])
			torchtest.Equal(t, again.Select(0, i), want[fmt.Sprint("file", i)])
		}
		torchtest.Equal(t, small.Apply(images, r()), want["crops"])
	})
}

func TestPassesRefuse(t *testing.T) {
	torchtest.NoLeaks(t)
	r := rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	require.NoError(t, gojpeg.Encode(&file, image.NewRGBA(image.Rect(0, 0, 99, 88)), nil))
	for _, bad := range [][]byte{nil, []byte("no image"), file.Bytes()[:300]} {
		_, err := ClassificationTrain{}.Files([][]byte{file.Bytes(), bad}, r)
		require.ErrorIs(t, err, imageio.ErrFormat)
		require.ErrorContains(t, err, "file 1 of 2")
	}
	_, err := ClassificationTrain{Decode: imageio.DecodeOptions{MaxPixels: 100}}.Files([][]byte{file.Bytes()}, r)
	require.ErrorContains(t, err, "it has 99 x 88 pixels, expected 1 to 100 in all")
	torch.Scope(func() {
		for want, fn := range map[string]func(){
			"expected an image of bytes":            func() { ClassificationTrain{}.Images([]torch.Tensor{torch.Ones(3, 4, 4)}, r) },
			"expected a random source":              func() { ClassificationTrain{}.Images([]torch.Tensor{torch.Ones(3, 4, 4)}, nil) },
			"a square of 9 does not fit":            func() { CropFlipNormalize{Size: 9}.Apply(torch.Ones(1, 3, 8, 8), r) },
			"expected images of bytes [N, 3, H, W]": func() { CropFlipNormalize{Size: 8}.Apply(torch.Ones(1, 3, 8, 8), r) },
		} {
			require.ErrorContains(t, torch.Try(fn), want)
		}
	})
}
