package imageio

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// picture is an image whose colours tell where they are.
func picture(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(3, 4, 3+w, 4+h)) // not every image begins at 0, 0
	for y := range h {
		for x := range w {
			img.Set(3+x, 4+y, color.NRGBA{uint8(10 * x), uint8(20 * y), 7, 255})
		}
	}
	return img
}

func TestDecode(t *testing.T) {
	torchtest.NoLeaks(t)
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, picture(5, 3)))
	img, err := Decode(&file)
	require.NoError(t, err)
	defer img.Close()
	require.Equal(t, []int{3, 3, 5}, img.Shape())
	require.Equal(t, torch.Uint8, img.DType())
	at := func(c, y, x int) int { return img.Index(c, y, x).Int() }
	require.Equal(t, [3]int{40, 20, 7}, [3]int{at(0, 1, 4), at(1, 1, 4), at(2, 1, 4)})

	var grey bytes.Buffer
	require.NoError(t, jpeg.Encode(&grey, image.NewGray(image.Rect(0, 0, 9, 8)), nil))
	black, err := Decode(&grey)
	require.NoError(t, err)
	defer black.Close()
	require.Equal(t, []int{3, 8, 9}, black.Shape())
	require.Zero(t, black.Sum().Int())
}

func TestDecodeRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, picture(5, 3)))
	whole := file.Bytes()
	for want, data := range map[string][]byte{
		"expected a JPEG, PNG, GIF or WebP image": []byte("no image at all"),
		"unknown format": nil,
		"it is damaged":  whole[:len(whole)-20],
	} {
		_, err := Decode(bytes.NewReader(data))
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, ErrFormat)
	}
	_, err := Decode(bytes.NewReader(whole), DecodeOptions{MaxPixels: 14})
	require.ErrorContains(t, err, "it has 5 x 3 pixels, expected 1 to 14 in all")
	huge := bytes.Clone(whole)
	copy(huge[16:], []byte{0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff}) // the size in the header
	_, err = Decode(bytes.NewReader(huge))
	require.Error(t, err)
}

// Grid is torchvision's make_grid, which is a few lines of Python.
// That memory was short says nothing of the file: nobody may take it for damaged and go on without it.
func TestDecodeOutOfMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	var file bytes.Buffer
	require.NoError(t, jpeg.Encode(&file, picture(1000, 1000), nil))
	before := torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: torch.Stats().HostBytes + 1<<20})
	defer torch.SetMemoryLimits(torch.CPU, before)
	_, err := DecodeBytes(file.Bytes())
	require.ErrorIs(t, err, torch.ErrOutOfMemory)
	require.NotErrorIs(t, err, ErrFormat)
}

func TestGridEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(1)
		images := torch.Rand(7, 3, 4, 5)
		for _, c := range []struct {
			o    GridOptions
			args []string
		}{
			{GridOptions{}, []string{"8", "2"}},
			{GridOptions{NRow: 3}, []string{"3", "2"}},
			{GridOptions{NRow: 2, Padding: new(0)}, []string{"2", "0"}},
		} {
			want := peer.Run(t, "testdata/grid.py", peer.Tensors{"images": images}, c.args...)
			torchtest.Equal(t, Grid(images, c.o), want["grid"])
		}
		require.ErrorContains(t, torch.Try(func() { Grid(torch.Ones(3, 4, 5)) }), "expected images [N, C, H, W]")
		require.ErrorContains(t, torch.Try(func() { Grid(images, GridOptions{Padding: new(-1)}) }), "padding of 0 or more")
		require.ErrorContains(t, torch.Try(func() { Grid(torch.Ones(0, 1, 2, 2)) }), "expected images")
	})
}

func TestSaveAndDecode(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "x.png")
	torch.Scope(func() {
		bytes := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 3, 4, 6)
		for _, img := range []torch.Tensor{bytes, bytes.To(torch.Float32).DivScalar(255),
			bytes.To(torch.Float64).DivScalar(255).SetRequiresGrad(true)} {
			require.NoError(t, Save(path, img))
			file, err := os.Open(path)
			require.NoError(t, err)
			back, err := Decode(file)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			torchtest.Equal(t, back, bytes)
		}
		require.NoError(t, Save(path, torch.FromSlice([]float32{-1, 0.5, 2}, 1, 1, 3)))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		grey, err := Decode(strings.NewReader(string(text)))
		require.NoError(t, err)
		require.Equal(t, []int{0, 128, 255}, torch.Values[int](grey.Select(0, 2).Flatten()))
		require.ErrorContains(t, Save(path, torch.Ones(2, 2)), "the image has shape [2 2], expected [1, H, W] or [3, H, W]")
		require.Error(t, Save(path, torch.TensorOptions{DType: torch.Complex64}.Ones(1, 2, 2)))
		require.Error(t, Save(t.TempDir()+"/absent/x.png", bytes))
	})
}
