package imageio

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// pictures are files of all formats, by name.
func pictures(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/pictures/*")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	list := map[string][]byte{}
	for _, path := range paths {
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		list[filepath.Base(path)] = file
	}
	return list
}

// apart is how many levels an image may differ from torchvision's, in the mean: 0, but for grey made of colours, where libpng rounds
// otherwise.
func apart(name, mode string) float64 {
	if mode == "GRAY" && !strings.HasSuffix(name, ".jpg") {
		return 1
	}
	return 0
}

// otherwise tells where torchvision gives something else on purpose: the numbers of a palette and four inks as they are, a GIF and a
// WebP in the channels they have whatever is asked for, and no opaque alpha beside a palette or bits.
func otherwise(name, mode string) bool {
	palette := strings.HasPrefix(name, "palette") || strings.HasSuffix(name, ".gif")
	return mode == "UNCHANGED" && (palette || strings.HasPrefix(name, "cmyk") || name == "bit.png" || name == "la.png") ||
		mode == "RGB_ALPHA" && (palette || name == "bit.png") || mode == "GRAY" && (strings.HasSuffix(name,
		".gif") || strings.HasSuffix(name, ".webp"))
}

// Every format is decoded as torchvision does, in every mode that it has for it.
func TestFormatsEqualTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	if _, err := JPEGLibrary(); err != nil {
		t.Skip(err)
	}
	torch.Scope(func() {
		files := pictures(t)
		inputs := peer.Tensors{}
		for name, file := range files {
			inputs[name] = torch.FromSlice(file)
		}
		want := peer.Run(t, "testdata/formats.py", inputs)
		for key, w := range want {
			name, mode, _ := strings.Cut(key, " ")
			if key == "encoded" {
				img, err := DecodeBytes(files["rgb.png"])
				require.NoError(t, err)
				file, err := EncodeJPEG(img, EncodeOptions{Quality: 80})
				require.NoError(t, err)
				require.Equal(t, torch.Values[uint8](w), file)
				continue
			}
			if otherwise(name, mode) {
				continue
			}
			t.Run(key, func(t *testing.T) {
				got, err := DecodeBytes(files[name], DecodeOptions{Mode: mode, ApplyEXIFOrientation: strings.HasPrefix(name, "exif")})
				require.NoError(t, err)
				if w.Dim() == 4 { // all the images of a GIF
					w = w.Select(0, 0)
				}
				require.Equal(t, w.Shape(), got.Shape())
				if w.DType() == torch.Int32 && mode != "UNCHANGED" {
					w = w.DivScalar(256).Floor() // torchvision makes 16 bits of 16 bits in all modes
				}
				d := got.To(torch.Float32).Sub(w.To(torch.Float32)).Abs().Mean().Float64()
				require.LessOrEqual(t, d, apart(name, mode))
			})
		}
	})
}

// bentVariable says how many bent files of each format are read.
const bentVariable = "LIBTORCH_GO_BENT"

// bend changes bytes of a file, takes some out, puts others in, or cuts it off.
func bend(r *rand.Rand, file []byte) []byte {
	out := append([]byte{}, file...)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(out))
		if r.IntN(3) == 0 {
			at = r.IntN(min(len(out), 64)) // headers are short
		}
		switch r.IntN(5) {
		case 0:
			out = append(out[:at:at], out[min(len(out), at+1+r.IntN(8)):]...)
		case 1:
			out = append(out[:at:at], append([]byte{byte(r.IntN(256)), byte(r.IntN(256))}, out[at:]...)...)
		case 2:
			out = out[:max(1, at)]
		default:
			out[at] = byte(r.IntN(256))
		}
		if len(out) == 0 {
			return []byte{0}
		}
	}
	return out
}

// A bent file is an image or an error, and takes no more than 64 MB beside the image.
func TestBentFiles(t *testing.T) {
	torchtest.NoLeaks(t)
	total := 60
	if n, err := strconv.Atoi(os.Getenv(bentVariable)); err == nil {
		total = n
	}
	files := pictures(t)
	for _, format := range []string{".jpg", ".png", ".gif", ".webp"} {
		var seeds [][]byte
		for name, file := range files {
			if filepath.Ext(name) == format {
				seeds = append(seeds, file)
				img, err := DecodeBytes(file)
				require.NoError(t, err, name)
				img.Close()
			}
		}
		r := rand.New(rand.NewPCG(7, uint64(len(seeds))))
		images, most := 0, 0
		for range total {
			file := bend(r, seeds[r.IntN(len(seeds))])
			require.NoError(t, proc.ResetPeak(os.Getpid()))
			before, err := proc.Self()
			require.NoError(t, err)
			img, err := DecodeBytes(file)
			after, bad := proc.Self()
			require.NoError(t, bad)
			size := 0
			if err == nil {
				images++
				size = img.NumEl()
				img.Close()
			} else {
				require.ErrorIs(t, err, ErrFormat)
			}
			if most = max(most, after.Peak-before.Resident-size); most > 64<<20 {
				t.Fatalf("%s: %d bytes of memory beside an image of %d, of a file of %d bytes: %v", format, most, size, len(file), err)
			}
		}
		t.Logf("%s: %d bent files, %d of them images, at most %.1f MB beside the image", format, total, images, float64(most)/(1<<20))
	}
}
