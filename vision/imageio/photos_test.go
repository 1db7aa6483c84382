package imageio

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// photosVariable names a folder with JPEGs, such as Imagenette's; there may be thousands of them.
const photosVariable = "LIBTORCH_GO_PHOTOS"

// Every photo of a folder is decoded as torchvision's decoder does.
func TestPhotosEqualTorchvision(t *testing.T) {
	folder := os.Getenv(photosVariable)
	if folder == "" {
		t.Skip("$" + photosVariable + " names no folder with photos")
	}
	torchtest.NoLeaks(t)
	library, err := JPEGLibrary()
	t.Log("decoder:", library, err)
	photos, different, sum, pixels, worst := 0, 0, 0.0, 0, 0
	const step = 250
	for first := 0; ; first += step {
		want := peer.Run(t, "testdata/decode.py", nil, folder, strconv.Itoa(first), strconv.Itoa(first+step))
		if len(want) == 0 {
			break
		}
		for path, w := range want {
			torch.Scope(func() {
				got, err := Read(path)
				require.NoError(t, err)
				require.Equal(t, w.Shape(), got.Shape(), path)
				photos++
				pixels += w.NumEl()
				if got.Equal(w) {
					return
				}
				different++
				d := got.To(torch.Int32).Sub(w.To(torch.Int32)).Abs()
				sum += d.Sum().Float64()
				worst = max(worst, d.Max().Int())
			})
			w.Close()
		}
	}
	t.Logf("%d photos, %d with differences, mean difference %.4f levels, largest %d", photos, different, sum/float64(pixels), worst)
	require.NotZero(t, photos)
	require.LessOrEqual(t, sum/float64(pixels), 1.0)
}
