package datasets

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestLoadWholeCIFAR10(t *testing.T) {
	root := wholeData(t)
	for _, half := range []struct {
		train bool
		each  int
	}{{true, 5000}, {false, 1000}} {
		d, err := LoadCIFAR10(context.Background(), root, half.train)
		require.NoError(t, err)
		require.Equal(t, 10*half.each, d.Len())
		require.Len(t, d.Images, d.Len()*cifarImage)
		var count [10]int
		for _, label := range d.Labels {
			count[label]++
		}
		for class, n := range count {
			require.Equal(t, half.each, n, d.Classes()[class])
		}
	}
	train, err := LoadCIFAR10(context.Background(), root, true)
	require.NoError(t, err)
	var sum [3]int
	for i, v := range train.Images {
		sum[i/cifarPlane%3] += int(v)
	}
	for c, mean := range []float64{.49140, .48216, .44653} {
		require.InDelta(t, mean, float64(sum[c])/255/cifarPlane/50000, 1e-5)
	}
}

func TestLoadExistingFiles(t *testing.T) {
	root := t.TempDir()
	dir := installSmall(t, root)
	requireSmall(t, root)
	requireSmall(t, dir) // the folder itself will do
	requireSmall(t, dir+"/")
}

func TestLoadDamagedFiles(t *testing.T) {
	for _, scene := range []struct {
		name   string
		damage func(t *testing.T, path string)
		want   string
	}{
		{"one bit", func(t *testing.T, path string) {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			raw[12345] ^= 4
			require.NoError(t, os.WriteFile(path, raw, 0o644))
		}, "data_batch_2.bin is damaged: its md5 is "},
		{"truncated", func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(path, 61459))
		}, "data_batch_2.bin has 61459 bytes where 61460 are expected"},
		{"empty", func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(path, 0))
		}, "data_batch_2.bin has 0 bytes where 61460 are expected"},
		{"missing", func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
		}, "data_batch_2.bin is missing"},
		{"a folder", func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o755))
		}, "data_batch_2.bin is not a regular file"},
	} {
		t.Run(scene.name, func(t *testing.T) {
			root := t.TempDir()
			dir := installSmall(t, root)
			scene.damage(t, filepath.Join(dir, "data_batch_2.bin"))

			mirror, seen := serve(t, nil, honest)
			_, err := load(context.Background(), smallRelease(mirror), root, true, CIFAR10Options{})
			require.ErrorContains(t, err, scene.want)
			require.ErrorContains(t, err, "remove "+dir+" to have it obtained again")
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, seen.all(), "a user's folder is not to be replaced")

			test, err := load(context.Background(), smallRelease(), root, false, CIFAR10Options{})
			require.NoError(t, err, "the other half is whole")
			require.Equal(t, 10, test.Len())
		})
	}
}

func TestLoadRootMustExist(t *testing.T) {
	root := t.TempDir()
	_, err := LoadCIFAR10(context.Background(), filepath.Join(root, "mistyped"), true)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "mistyped")
	requireOnly(t, root)

	plain := filepath.Join(root, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o644))
	_, err = LoadCIFAR10(context.Background(), plain, true)
	require.ErrorContains(t, err, "plain is not a folder")
}

func TestLoadDefaultRoot(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	root, err := DefaultRoot()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(root, cache), root)
	installSmall(t, root)
	requireSmall(t, "")

	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err = LoadCIFAR10(context.Background(), "", true)
	require.ErrorContains(t, err, "no folder to keep data in")
}

func TestLoadWithoutTheNetwork(t *testing.T) {
	root := t.TempDir()
	mirror, seen := serve(t, nil, honest)
	for _, train := range []bool{true, false} {
		d, err := load(context.Background(), smallRelease(mirror), root, train, CIFAR10Options{Offline: true})
		require.Nil(t, d)
		require.ErrorIs(t, err, ErrUnavailable)
		require.EqualError(t, err, "datasets: CIFAR-10 could not be obtained: the network is not to be used; put the official files into "+
			filepath.Join(root, "cifar-10-batches-bin"))
	}
	require.Empty(t, seen.all())
	requireOnly(t, root)
}

func TestHead(t *testing.T) {
	d := newCIFAR10(50)
	d.appendRecords(records(0, 50))
	for _, scene := range []struct{ n, want int }{{-1, 0}, {0, 0}, {32, 32}, {50, 50}, {5000, 50}} {
		head := d.Head(scene.n)
		require.Equal(t, scene.want, head.Len())
		require.Equal(t, d.Images[:scene.want*cifarImage], head.Images)
	}
}

func TestTensors(t *testing.T) {
	torchtest.NoLeaks(t)
	d := newCIFAR10(20)
	d.appendRecords(records(0, 20))
	torch.Scope(func() {
		images, labels := d.Tensors()
		require.Equal(t, []int{20, 3, 32, 32}, images.Shape())
		require.Equal(t, torch.Uint8, images.DType())
		require.Equal(t, []int{20}, labels.Shape())
		require.Equal(t, torch.Int64, labels.DType())
		require.Equal(t, d.Images, images.Bytes())
		require.Equal(t, d.Labels, torch.Values[uint8](labels))
		green := d.Images[7*cifarImage+cifarPlane+5*cifarSide+6]
		require.Equal(t, int(green), images.Index(7, 1, 5, 6).Int())

		none, _ := d.Head(0).Tensors()
		require.Equal(t, []int{0, 3, 32, 32}, none.Shape())
	})
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
