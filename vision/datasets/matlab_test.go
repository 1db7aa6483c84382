package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// scipyVariable names a folder with scipy, without which torchvision does not read files of MATLAB's.
const scipyVariable = "LIBTORCH_GO_SCIPY"

// sample copies a file of testdata into a data set.
func sample(t *testing.T, name string, path ...string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	put(t, content, path...)
}

func TestHouseNumbers(t *testing.T) {
	torchtest.NoLeaks(t)
	root := t.TempDir()
	sample(t, "svhn_32x32.mat", root, "test_32x32.mat")
	set, err := loadSVHN(t.Context(), map[string]string{"test": ""}, root, "test", offline)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 7}, set.Labels)
	require.Len(t, set.Pixels, 3*cifarImage)
	if os.Getenv(scipyVariable) != "" {
		requireEqualsTorchvision(t, pair{set, nil, "D.SVHN(root, 'test')", root})
	}
	_, err = LoadSVHN(t.Context(), root, "test", offline)
	require.ErrorContains(t, err, "is damaged: its md5 is")
	sample(t, "imagelabels.mat", root, "test_32x32.mat")
	_, err = loadSVHN(t.Context(), map[string]string{"test": ""}, root, "test", offline)
	require.ErrorContains(t, err, "expected images X [32, 32, 3, N] and labels y [N]")
	put(t, []byte("text"), root, "test_32x32.mat")
	_, err = loadSVHN(t.Context(), map[string]string{"test": ""}, root, "test", offline)
	require.ErrorContains(t, err, "not a file of MATLAB's")
}

func TestFlowers(t *testing.T) {
	torchtest.NoLeaks(t)
	root := t.TempDir()
	dir := filepath.Join(root, "flowers-102")
	sample(t, "setid.mat", dir, "setid.mat")
	sample(t, "imagelabels.mat", dir, "imagelabels.mat")
	for i := range 6 {
		picture(t, 3, 10, 9, dir, "jpg", fmt.Sprintf("image_%05d.jpg", i+1))
	}
	p := flowers102
	p.resources = make([]resource, 3)
	var pairs []pair
	for split, want := range map[string][]int{"train": {101, 76}, "val": {0, 4}, "test": {4, 59}} {
		set, err := loadFlowers102(t.Context(), &p, root, split, offline)
		require.NoError(t, err)
		require.Equal(t, want, set.Targets)
		require.Len(t, set.Classes, 102)
		pairs = append(pairs, pair{set, set.Classes, "D.Flowers102(root, '" + split + "')", root})
	}
	if os.Getenv(scipyVariable) != "" {
		requireEqualsTorchvision(t, pairs...)
	}
	_, err := LoadFlowers102(t.Context(), root, "train", offline)
	require.ErrorContains(t, err, "is damaged: its md5 is")
	sample(t, "imagelabels.mat", dir, "setid.mat")
	_, err = loadFlowers102(t.Context(), &p, root, "train", offline)
	require.ErrorContains(t, err, "setid.mat has no trnid")
}
