package datasets

import (
	"context"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "make the built-in slice again from the whole data set")

// balanced returns the first n images of each class, the classes taking turns.
func balanced(d *CIFAR10, n int) *CIFAR10 {
	var byClass [10][]int
	for i, label := range d.Labels {
		byClass[label] = append(byClass[label], i)
	}
	out := newCIFAR10(10 * n)
	for k := range n {
		for class, of := range byClass {
			out.Labels = append(out.Labels, uint8(class))
			out.Images = append(out.Images, d.Images[of[k]*cifarImage:(of[k]+1)*cifarImage]...)
		}
	}
	return out
}

// writeSheet writes the images, ten a row, as a PNG.
func writeSheet(t *testing.T, path string, d *CIFAR10) {
	sheet := image.NewRGBA(image.Rect(0, 0, 10*cifarSide, d.Len()/10*cifarSide))
	for i := range d.Len() {
		img := d.Images[i*cifarImage:]
		for p := range cifarPlane {
			sheet.SetRGBA(i%10*cifarSide+p%cifarSide, i/10*cifarSide+p/cifarSide,
				color.RGBA{img[p], img[cifarPlane+p], img[2*cifarPlane+p], 255})
		}
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(f, sheet))
	require.NoError(t, f.Close())
}

// wholeData returns the root of a complete CIFAR-10, or skips the test.
func wholeData(t *testing.T) string {
	root, err := DefaultRoot()
	if err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(filepath.Join(root, cifar10Release.folder)); err != nil {
		t.Skip("needs the whole CIFAR-10: ", err)
	}
	return root
}

func TestSliceIsPartOfTheOfficialFiles(t *testing.T) {
	root := wholeData(t)
	for _, half := range []struct {
		train bool
		each  int
		sheet string
	}{{true, 110, "slice/train.png"}, {false, 25, "slice/test.png"}} {
		whole, err := LoadCIFAR10(context.Background(), root, half.train)
		require.NoError(t, err)
		want := balanced(whole.Head(10000), half.each)
		if *update {
			writeSheet(t, half.sheet, want)
			continue
		}
		got := CIFAR10Slice(half.train)
		require.Equal(t, want.Labels, got.Labels)
		require.Equal(t, want.Images, got.Images)
	}
}

func TestSlice(t *testing.T) {
	for _, half := range []struct {
		train bool
		len   int
	}{{true, 1100}, {false, 250}} {
		d := CIFAR10Slice(half.train)
		require.True(t, d.Fallback)
		require.Equal(t, half.len, d.Len())
		require.Len(t, d.Images, half.len*cifarImage)
		var count [10]int
		for _, label := range d.Labels {
			count[label]++
		}
		for class, n := range count {
			require.Equal(t, half.len/10, n, d.Classes()[class])
		}
		for i := range d.Len() {
			img := d.Images[i*cifarImage : (i+1)*cifarImage]
			require.NotEqual(t, make([]byte, cifarImage), img, "image %d is black", i)
		}
	}
	require.LessOrEqual(t, len(trainSheet)+len(testSheet), 3_000_000)
}
