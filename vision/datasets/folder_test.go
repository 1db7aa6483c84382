package datasets

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// picture writes an image of noise, another one for each path, in the format that the path's ending says.
func picture(t *testing.T, channels, height, width int, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	seed := [32]byte{byte(len(file))}
	copy(seed[1:], filepath.Base(file))
	pixels := make([]byte, channels*height*width)
	_, _ = rand.NewChaCha8(seed).Read(pixels)
	img := torch.FromSlice(pixels, channels, height, width)
	defer img.Close()
	require.NoError(t, imageio.Save(file, img))
}

// album is a folder of pictures in classes, as users have them.
func album(t *testing.T) (root string) {
	root = t.TempDir()
	for _, path := range []string{
		"cat/2.jpg", "cat/10.JPEG", "cat/1.png", "cat/a-b/3.png", "cat/a/4.png", "cat/a/z/5.PNG", "Dog/x.jpg", "ant/ü.png",
	} {
		picture(t, 3, 20, 30, root, filepath.FromSlash(path))
	}
	picture(t, 1, 9, 8, root, "Dog", "grey.jpg")
	require.NoError(t, os.WriteFile(filepath.Join(root, "cat", "notes.txt"), []byte("not an image"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "README.png"), []byte("in no class"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(root, "cat", "folder.png"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(root, "Dog"), filepath.Join(root, "wolf")))
	return root
}

// A pair is a data set, the names of its classes, and how torchvision makes it of a root.
type pair struct {
	set        data.Dataset[data.Sample]
	classes    []string
	expression string
	root       string
}

// requireEqualsTorchvision compares data sets with torchvision's: each image and target, to the bit.
func requireEqualsTorchvision(t *testing.T, pairs ...pair) (want peer.Tensors) {
	t.Helper()
	var args []string
	for _, p := range pairs {
		args = append(args, p.expression, p.root)
	}
	want = peer.Run(t, "testdata/collect.py", nil, args...)
	for k, p := range pairs {
		get := func(name string) torch.Tensor { return want[fmt.Sprint(k, " ", name)] }
		require.Equal(t, get("len").Int(), p.set.Len(), p.expression)
		require.Equal(t, text(get("classes")), strings.Join(p.classes, "\n"), p.expression)
		require.Positive(t, p.set.Len(), p.expression)
		for i := range p.set.Len() {
			torch.Scope(func() {
				sample, err := p.set.At(t.Context(), i)
				require.NoError(t, err, p.expression)
				torchtest.Equal(t, sample.Input, get(fmt.Sprint("image ", i)))
				if target := get(fmt.Sprint("target ", i)); target.Defined() {
					torchtest.Equal(t, sample.Target, target)
				}
			})
		}
	}
	return want
}

func text(t torch.Tensor) string { return string(torch.Values[uint8](t)) }

func TestImageFolderEqualsTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	root := album(t)
	set, err := LoadImageFolder(root)
	require.NoError(t, err)
	require.Equal(t, []string{"Dog", "ant", "cat", "wolf"}, set.Classes)
	require.NoError(t, os.Mkdir(filepath.Join(root, "yeti"), 0o755))
	set, err = LoadImageFolder(root, ImageFolderOptions{AllowEmpty: true})
	require.NoError(t, err)
	some, err := LoadImageFolder(root, ImageFolderOptions{Extensions: []string{".png"}, AllowEmpty: true})
	require.NoError(t, err)
	want := requireEqualsTorchvision(t,
		pair{set, set.Classes, "D.ImageFolder(root, allow_empty=True)", root},
		pair{some, some.Classes, "D.ImageFolder(root, is_valid_file=lambda p: p.lower().endswith('.png'), allow_empty=True)", root})
	require.Equal(t, text(want["0 paths"]), strings.Join(set.Paths, "\n"))
	require.Equal(t, text(want["1 paths"]), strings.Join(some.Paths, "\n"))
}

func TestFoldersThatHoldNoImages(t *testing.T) {
	root := album(t)
	_, err := LoadImageFolder(filepath.Join(root, "absent"))
	require.ErrorContains(t, err, "no such file or directory")
	_, err = LoadImageFolder(filepath.Join(root, "README.png"))
	require.ErrorContains(t, err, "not a directory")
	_, err = LoadImageFolder(filepath.Join(root, "ant"))
	require.ErrorContains(t, err, "has no folder in it, expected one for each class")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "yeti", "deep"), 0o755))
	_, err = LoadImageFolder(root)
	require.ErrorContains(t, err, "no image for the classes yeti, expected names that end in .jpg, ")
	require.NoError(t, os.Symlink(root, filepath.Join(root, "yeti", "deep", "loop")))
	_, err = LoadImageFolder(root)
	require.ErrorContains(t, err, "is a link to a folder that it is in")
}

func TestBatchesOfFiles(t *testing.T) {
	torchtest.NoLeaks(t)
	set, err := LoadImageFolder(album(t))
	require.NoError(t, err)
	preset := transforms.ImageClassification{Resize: 10, Crop: 8}
	loader, err := data.NewLoader(set.Batches(preset.Files), data.LoaderOptions{BatchSize: 4, Workers: 2})
	require.NoError(t, err)
	seen := 0
	for batch, err := range loader.Epoch(t.Context(), 0) {
		require.NoError(t, err)
		for k, i := range batch.Index {
			sample, err := set.At(t.Context(), i)
			require.NoError(t, err)
			torchtest.Equal(t, batch.Input.Select(0, k), preset.Apply(sample.Input).Select(0, 0))
			require.Equal(t, set.Targets[i], batch.Target.Select(0, k).Int())
			seen++
		}
	}
	require.Equal(t, set.Len(), seen)

	part := set.Subset([]int{3, 1})
	require.Equal(t, []string{set.Paths[3], set.Paths[1]}, part.Paths)
	require.Equal(t, []int{set.Targets[3], set.Targets[1]}, part.Targets)
	require.ErrorContains(t, torch.Try(func() { set.Subset([]int{0, 99}) }), "there is no file 99 among")
}

// A file that is no image, or gone, ends the epoch with an error that names it.
func TestFilesThatAreNoImages(t *testing.T) {
	torchtest.NoLeaks(t)
	root := album(t)
	set, err := LoadImageFolder(root)
	require.NoError(t, err)
	bad := filepath.Join(root, "cat", "1.png")
	for _, prepare := range []func([][]byte, *rand.Rand) (torch.Tensor, error){
		transforms.ClassificationTrain{Crop: 8}.Files, transforms.ImageClassification{Resize: 8, Crop: 8}.Files,
		transforms.EachFile(transforms.CenterCrop{Size: transforms.Square(8)}),
	} {
		source := set.Batches(prepare)
		indices, r := []int{5, 0, 4, 3}, rand.New(rand.NewPCG(1, 2))
		require.Equal(t, bad, set.Paths[4-1])
		require.NoError(t, os.WriteFile(bad, []byte("no image at all"), 0o644))
		torch.Scope(func() {
			_, err = source.Batch(t.Context(), indices, r)
			require.ErrorIs(t, err, imageio.ErrFormat)
			require.ErrorContains(t, err, bad)
			_, err = set.At(t.Context(), 3)
			require.ErrorIs(t, err, imageio.ErrFormat)
			require.ErrorContains(t, err, bad)
		})
		require.NoError(t, os.Remove(bad))
		_, err = source.Batch(t.Context(), indices, r)
		require.ErrorIs(t, err, os.ErrNotExist)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(context.DeadlineExceeded)
		_, err = source.Batch(ctx, indices, r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}
