package cifarslice

import (
	"context"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/datasets/internal/sheet"
)

const (
	plane = sheet.Plane
	size  = 3 * plane
)

var update = flag.Bool("update", false, "make the sheets again from the whole data set")

// balanced returns the first n images of each class, the classes taking turns.
func balanced(d *datasets.CIFAR10, n int) *datasets.CIFAR10 {
	var byClass [10][]int
	for i, label := range d.Labels {
		byClass[label] = append(byClass[label], i)
	}
	out := &datasets.CIFAR10{}
	for k := range n {
		for class, of := range byClass {
			out.Labels = append(out.Labels, uint8(class))
			out.Images = append(out.Images, d.Images[of[k]*size:(of[k]+1)*size]...)
		}
	}
	return out
}

// writeSheet writes the images, ten a row, as a PNG.
func writeSheet(t *testing.T, path string, d *datasets.CIFAR10) {
	all := image.NewRGBA(image.Rect(0, 0, perRow*side, d.Len()/perRow*side))
	for i := range d.Len() {
		img := d.Images[i*size:]
		for p := range plane {
			all.SetRGBA(i%perRow*side+p%side, i/perRow*side+p/side, color.RGBA{img[p], img[plane+p], img[2*plane+p], 255})
		}
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(f, all))
	require.NoError(t, f.Close())
}

func TestSliceIsPartOfTheOfficialFiles(t *testing.T) {
	for _, half := range []struct {
		train bool
		each  int
		sheet string
	}{{true, 110, "train.png"}, {false, 25, "test.png"}} {
		whole, err := datasets.LoadCIFAR10(context.Background(), "", half.train, datasets.CIFAR10Options{Offline: true})
		if errors.Is(err, datasets.ErrUnavailable) {
			t.Skip("needs the whole CIFAR-10: ", err)
		}
		require.NoError(t, err)
		want := balanced(whole.Head(10000), half.each)
		if *update {
			writeSheet(t, half.sheet, want)
			continue
		}
		require.Equal(t, want, Load(half.train))
	}
}

func TestSlice(t *testing.T) {
	for _, half := range []struct {
		train bool
		len   int
	}{{true, 1100}, {false, 250}} {
		d := Load(half.train)
		require.Equal(t, half.len, d.Len())
		require.Len(t, d.Images, half.len*size)
		var count [10]int
		for _, label := range d.Labels {
			count[label]++
		}
		for class, n := range count {
			require.Equal(t, half.len/10, n, d.Classes()[class])
		}
		for i := range d.Len() {
			require.NotEqual(t, make([]byte, size), d.Images[i*size:(i+1)*size], "image %d is black", i)
		}
	}
	require.LessOrEqual(t, len(trainSheet)+len(testSheet), 3_000_000)
}
