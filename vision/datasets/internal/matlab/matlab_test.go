package matlab

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const most = 1 << 20

func TestEachTypeOfNumbers(t *testing.T) {
	file, err := os.ReadFile("testdata/kinds.mat")
	require.NoError(t, err)
	arrays, err := Read(file, most)
	require.NoError(t, err)
	for name, want := range map[string]Array{
		"d":     {Shape: []int{2, 2}, Values: []float64{1.5, 3, -2, 4}}, // the first index runs fastest
		"i8":    {Shape: []int{1, 2}, Values: []float64{-1, 2}},
		"i16":   {Shape: []int{1, 1}, Values: []float64{-300}},
		"u16":   {Shape: []int{1, 1}, Values: []float64{65535}},
		"i32":   {Shape: []int{1, 1}, Values: []float64{-70000}},
		"u32":   {Shape: []int{1, 1}, Values: []float64{1<<32 - 1}},
		"i64":   {Shape: []int{1, 1}, Values: []float64{-1 << 40}},
		"u64":   {Shape: []int{1, 1}, Values: []float64{1 << 40}},
		"f":     {Shape: []int{1, 1}, Values: []float64{0.5}},
		"u8":    {Shape: []int{2, 3}, Bytes: []byte{0, 3, 1, 4, 2, 5}},
		"empty": {Shape: []int{0, 3}, Values: []float64{}},
	} {
		require.Equal(t, &want, arrays[name], name)
	}
	require.Len(t, arrays, 11, "texts, cells and complex numbers are passed over")
	require.Equal(t, []int{0, 3, 1, 4, 2, 5}, arrays["u8"].Ints())
	require.Equal(t, []int{-1, 2}, arrays["i8"].Ints())
}

func TestPackedArrays(t *testing.T) {
	file, err := os.ReadFile("../../testdata/imagelabels.mat")
	require.NoError(t, err)
	arrays, err := Read(file, most)
	require.NoError(t, err)
	require.Equal(t, []int{77, 1, 102, 5, 5, 60}, arrays["labels"].Ints())
	large, err := os.ReadFile("../../testdata/svhn_32x32.mat")
	require.NoError(t, err)
	_, err = Read(large, 1<<12-1<<16)
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "an array of more than")
}

// Whatever is changed in a file, it is read or refused, without a panic.
func TestBentFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"testdata/kinds.mat", "../../testdata/setid.mat"} {
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		refused := 0
		for range 3000 {
			bent := slices.Clone(file)
			for range 1 + r.IntN(4) {
				bent[r.IntN(len(bent))] = byte(r.IntN(256))
			}
			if _, err := Read(bent[:r.IntN(len(bent)+1)], most); err != nil {
				require.ErrorIs(t, err, ErrFormat)
				refused++
			}
		}
		require.Greater(t, refused, 1000)
	}
	_, err := Read([]byte("text"), most)
	require.ErrorContains(t, err, "does not begin as one of version 5")
}
