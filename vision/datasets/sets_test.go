package datasets

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

// offline are the options of tests, which never reach a publisher.
var offline = Options{Offline: true}

// put writes a file of a data set.
func put(t *testing.T, content []byte, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, content, 0o644))
}

// noise is n bytes, always the same for a seed.
func noise(seed byte, n int) []byte {
	raw := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(raw)
	return raw
}

// must is a data set that was loaded.
func must[S any](set S, err error) func(t *testing.T) S {
	return func(t *testing.T) S {
		t.Helper()
		require.NoError(t, err)
		return set
	}
}

func TestRelativesOfMNISTEqualTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	root, ctx := t.TempDir(), t.Context()
	for _, dir := range []string{"FashionMNIST", "KMNIST"} {
		put(t, idx(5, 28, 28), root, dir, "raw", "train-images-idx3-ubyte")
		put(t, idx(5), root, dir, "raw", "train-labels-idx1-ubyte")
		put(t, idx(2, 28, 28), root, dir, "raw", "t10k-images-idx3-ubyte")
		put(t, idx(2), root, dir, "raw", "t10k-labels-idx1-ubyte")
	}
	for half, n := range map[string]int{"train": 4, "test": 3} {
		put(t, idx(n, 28, 28), root, "EMNIST", "raw", "emnist-letters-"+half+"-images-idx3-ubyte")
		put(t, idx(n), root, "EMNIST", "raw", "emnist-letters-"+half+"-labels-idx1-ubyte")
		labels := []byte{0, 0, 12, 2, 0, 0, 0, byte(n), 0, 0, 0, 8}
		for i := range 8 * n {
			labels = binary.BigEndian.AppendUint32(labels, uint32(i%10))
		}
		put(t, idx(n, 28, 28), root, "QMNIST", "raw", "qmnist-"+half+"-images-idx3-ubyte")
		put(t, labels, root, "QMNIST", "raw", "qmnist-"+half+"-labels-idx2-int")
	}
	var pairs []pair
	add := func(set *Images, err error, expression string) {
		require.NoError(t, err, expression)
		pairs = append(pairs, pair{set, set.Classes, expression, root})
	}
	for train, python := range map[bool]string{true: "True", false: "False"} {
		fashion, err := LoadFashionMNIST(ctx, root, train, offline)
		add(fashion, err, "D.FashionMNIST(root, train="+python+")")
		letters, err := LoadKMNIST(ctx, root, train, offline)
		add(letters, err, "D.KMNIST(root, train="+python+")")
		extended, err := LoadEMNIST(ctx, root, "letters", train, offline)
		add(extended, err, "D.EMNIST(root, 'letters', train="+python+")")
	}
	for _, what := range []string{"train", "test", "test10k"} {
		digits, err := LoadQMNIST(ctx, root, what, offline)
		add(digits, err, "D.QMNIST(root, what='"+what+"')")
	}
	requireEqualsTorchvision(t, pairs...)
	images, labels := pairs[0].set.(*Images).Tensors()
	defer torch.Close(images, labels)
	require.Equal(t, []int{pairs[0].set.Len(), 1, 28, 28}, images.Shape())
	require.Equal(t, pairs[0].set.(*Images).Labels, torch.Values[int](labels))
	require.Equal(t, 1, pairs[0].set.(*Images).Head(1).Len())
}

// The last ten thousand images of QMNIST's test are those that follow MNIST's.
func TestQMNISTsParts(t *testing.T) {
	root := t.TempDir()
	const n = 10_002
	labels := []byte{0, 0, 12, 2, 0, 0, n >> 8, n & 255, 0, 0, 0, 1}
	for i := range n {
		labels = binary.BigEndian.AppendUint32(labels, uint32(i%10))
	}
	put(t, idx(n, 1, 1), root, "QMNIST", "raw", "qmnist-test-images-idx3-ubyte")
	put(t, labels, root, "QMNIST", "raw", "qmnist-test-labels-idx2-int")
	first := must(LoadQMNIST(t.Context(), root, "test10k", offline))(t)
	last := must(LoadQMNIST(t.Context(), root, "test50k", offline))(t)
	require.Equal(t, 10_000, first.Len())
	require.Equal(t, []int{0, 1}, last.Labels)
	require.Equal(t, []byte{10_000 % 251, 10_001 % 251}, last.Pixels)
}

// python2 is a pickle as Python 2 wrote those of CIFAR-100: protocol 2, texts as bytes.
func python2(dict map[string]any, order ...string) []byte {
	var b bytes.Buffer
	short := func(s string) { b.WriteString("U" + string([]byte{byte(len(s))}) + s) }
	b.WriteString("\x80\x02}(")
	for _, key := range order {
		short(key)
		switch v := dict[key].(type) {
		case string:
			short(v)
		case []int:
			b.WriteString("](")
			for _, n := range v {
				b.Write([]byte{'K', byte(n)})
			}
			b.WriteString("e")
		case []string:
			b.WriteString("](")
			for _, s := range v {
				short(s)
			}
			b.WriteString("e")
		case []byte: // an array [n, 3072]
			b.WriteString("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01")
			b.Write([]byte{'K', byte(len(v) / cifarImage), 'M', cifarImage & 255, cifarImage >> 8, 0x86})
			b.WriteString("cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T")
			_ = binary.Write(&b, binary.LittleEndian, uint32(len(v)))
			b.Write(v)
			b.WriteString("tb")
		}
	}
	b.WriteString("u.")
	return b.Bytes()
}

// names are n different ones.
func names(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("class_%02d", i))
	}
	return list
}

func TestCIFAR100EqualsTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	root := t.TempDir()
	dir := filepath.Join(root, "cifar-100-python")
	meta := map[string]any{"fine_label_names": names(100), "coarse_label_names": names(20)}
	put(t, python2(meta, "coarse_label_names", "fine_label_names"), dir, "meta")
	var pairs []pair
	for half, labels := range map[string][]int{"train": {3, 99, 0, 41}, "test": {7, 1}} {
		content := map[string]any{"filenames": names(len(labels)), "batch_label": "training batch 1 of 1", "fine_labels": labels,
			"coarse_labels": labels, "data": noise(1, len(labels)*cifarImage)}
		put(t, python2(content, "filenames", "batch_label", "fine_labels", "coarse_labels", "data"), dir, half)
		set, err := loadCIFAR100(t.Context(), &cifar100, nil, root, half == "train", offline)
		require.NoError(t, err)
		pairs = append(pairs, pair{set, set.Classes, fmt.Sprintf("D.CIFAR100(root, train='%s' == 'train')", half), root})
	}
	requireEqualsTorchvision(t, pairs...)
	_, err := LoadCIFAR100(t.Context(), root, true, offline)
	require.ErrorContains(t, err, "is damaged: its md5 is")

	for want, change := range map[string]map[string]any{
		"image 1 has class 100 of 100":      {"fine_labels": []int{0, 100}, "data": noise(1, 2*cifarImage)},
		"3072 bytes for 2 images":           {"fine_labels": []int{0, 1}, "data": noise(1, cifarImage)},
		"there is no list of labels":        {"fine_labels": "none", "data": noise(1, cifarImage)},
		"expected an array of numpy's, it ": {"fine_labels": []int{0, 1}, "data": "text"},
	} {
		put(t, python2(change, "fine_labels", "data"), dir, "test")
		_, err := loadCIFAR100(t.Context(), &cifar100, nil, root, false, offline)
		require.ErrorContains(t, err, want)
	}
	put(t, []byte("\x80\x02]."), dir, "test")
	_, err = loadCIFAR100(t.Context(), &cifar100, nil, root, false, offline)
	require.ErrorContains(t, err, "expected a dict")
	put(t, []byte("no pickle"), dir, "test")
	_, err = loadCIFAR100(t.Context(), &cifar100, nil, root, false, offline)
	require.ErrorContains(t, err, "not a sound pickle")
}

func TestSTL10EqualsTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	root := t.TempDir()
	dir := filepath.Join(root, "stl10_binary")
	const image = 3 * 96 * 96
	put(t, noise(1, 4*image), dir, "train_X.bin")
	put(t, []byte{1, 10, 3, 4}, dir, "train_y.bin")
	put(t, noise(2, 2*image), dir, "test_X.bin")
	put(t, []byte{2, 9}, dir, "test_y.bin")
	put(t, noise(3, 3*image), dir, "unlabeled_X.bin")
	put(t, []byte(strings.Join(names(10), "\n")+"\n"), dir, "class_names.txt")
	put(t, []byte(strings.Repeat("3 1 \n0 2 \n", 5)), dir, "fold_indices.txt")
	var pairs []pair
	for split, expression := range map[string]string{"train": "'train'", "test": "'test'", "unlabeled": "'unlabeled'",
		"train+unlabeled": "'train+unlabeled', folds=7", "train ": "'train', folds=2"} {
		o := STL10Options{Options: offline}
		switch split {
		case "train+unlabeled":
			o.Fold = new(7)
		case "train ":
			o.Fold = new(2)
		}
		set, err := loadSTL10(t.Context(), &stl10, nil, root, strings.TrimSpace(split), o)
		require.NoError(t, err)
		pairs = append(pairs, pair{set, set.Classes, "D.STL10(root, " + expression + ")", root})
	}
	requireEqualsTorchvision(t, pairs...)

	_, err := LoadSTL10(t.Context(), root, "train", STL10Options{Options: offline})
	require.ErrorContains(t, err, "is damaged: its md5 is")
	_, err = LoadSTL10(t.Context(), root, "test", STL10Options{Options: offline, Fold: new(1)})
	require.ErrorContains(t, err, "the fold is 1 of test, expected 0 to 9 of the training images")
	put(t, []byte("9 1"), dir, "fold_indices.txt")
	_, err = loadSTL10(t.Context(), &stl10, nil, root, "train", STL10Options{Options: offline, Fold: new(0)})
	require.ErrorContains(t, err, `there is no image "9" among 4`)
	put(t, []byte{1}, dir, "train_y.bin")
	_, err = loadSTL10(t.Context(), &stl10, nil, root, "train", STL10Options{Options: offline})
	require.ErrorContains(t, err, "train_y.bin has 1 labels for 4 images")
}

func TestFakeDataEqualsTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	requireEqualsTorchvision(t,
		pair{FakeData(2), nil, "D.FakeData(2)", ""},
		pair{FakeData(5, FakeDataOptions{ImageSize: [3]int{1, 7, 9}, NumClasses: 100, RandomOffset: 3}), nil,
			"D.FakeData(5, (1, 7, 9), 100, None, None, 3)", ""})
}

func TestPhotographsEqualTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	root, ctx := t.TempDir(), t.Context()
	for i, wnid := range []string{"n01440764", "n02102040", "n03888257"} {
		for k := range 2 + i {
			picture(t, 3, 12, 14, root, "imagenette2-160", "train", wnid, fmt.Sprint(k, ".jpeg"))
			picture(t, 3, 12, 14, root, "imagenette2-160", "val", wnid, fmt.Sprint(k, "v.jpeg"))
			picture(t, 3, 11, 10, root, "val", wnid, fmt.Sprint(k, ".jpeg"))
		}
	}
	torch.Scope(func() {
		words := (&pt.Dict{}).Set("n01440764", pt.Tuple{"tench", "Tinca tinca"})
		words.Set("n02102040", pt.Tuple{"springer"}).Set("n03888257", pt.Tuple{"chute"})
		require.NoError(t, pt.Save(filepath.Join(root, "meta.bin"), pt.Tuple{words, []any{"n01440764"}}))
	})
	var list strings.Builder
	for i, pet := range []string{"great_pyrenees_2", "Abyssinian_100", "great_pyrenees_10"} {
		picture(t, 3, 9+i, 8, root, "oxford-iiit-pet", "images", pet+".jpg")
		picture(t, 1, 9+i, 8, root, "oxford-iiit-pet", "annotations", "trimaps", pet+".png")
		fmt.Fprintf(&list, "%s %d %d 1\n", pet, 2-i%2, 2-i%2)
	}
	put(t, []byte(list.String()), root, "oxford-iiit-pet", "annotations", "trainval.txt")

	ten := must(LoadImagenette(ctx, root, "train", ImagenetteOptions{Options: offline, Size: "160px"}))(t)
	others := must(LoadImagenette(ctx, root, "val", ImagenetteOptions{Options: offline, Size: "160px"}))(t)
	thousand := must(LoadImageNet(root, "val"))(t)
	pets := must(LoadOxfordIIITPet(ctx, root, "trainval", offline))(t)
	species := &ImageFiles{Paths: pets.Paths, Targets: pets.Species}
	requireEqualsTorchvision(t,
		pair{ten, ten.Classes, "D.Imagenette(root, 'train', '160px')", root},
		pair{others, others.Classes, "D.Imagenette(root, 'val', '160px')", root},
		pair{thousand, thousand.Classes, "D.ImageNet(root, 'val')", root},
		pair{pets, pets.Classes, "D.OxfordIIITPet(root)", root},
		pair{species, pets.Classes, "D.OxfordIIITPet(root, target_types='binary-category')", root})
	for i, path := range pets.Trimaps {
		img, err := imageio.Read(path, imageio.DecodeOptions{Mode: "GRAY"})
		require.NoError(t, err)
		require.Equal(t, []int{1, 9 + i, 8}, img.Shape())
		img.Close()
	}

	require.NoError(t, os.Remove(filepath.Join(root, "meta.bin")))
	require.Equal(t, "n01440764", must(LoadImageNet(root, "val"))(t).Classes[0])
	put(t, []byte("no file of torch.save"), root, "meta.bin")
	_, err := LoadImageNet(root, "val")
	require.ErrorContains(t, err, "not a sound file of torch.save")
	for _, line := range []string{"cat 1 1", "cat one 1 1", "../cat_1 1 1 1", "cat_1 3 1 1"} {
		put(t, []byte(line+"\n"), root, "oxford-iiit-pet", "annotations", "test.txt")
		_, err := LoadOxfordIIITPet(ctx, root, "test", offline)
		require.ErrorContains(t, err, "test.txt", line)
	}
}

func TestWordsThatNoDataSetKnows(t *testing.T) {
	ctx := context.Background()
	for want, load := range map[string]func() error{
		`the split is "all", expected byclass, `:             func() error { _, err := LoadEMNIST(ctx, "", "all", true); return err },
		`the subset is "nist", expected train, test, te`:     func() error { _, err := LoadQMNIST(ctx, "", "nist"); return err },
		`the split is "val", expected train, test, unlab`:    func() error { _, err := LoadSTL10(ctx, "", "val"); return err },
		`the split is "val", expected train, test, extra`:    func() error { _, err := LoadSVHN(ctx, "", "val"); return err },
		`the split is "test", expected train, val`:           func() error { _, err := LoadImagenette(ctx, "", "test"); return err },
		`the split is "dev", expected train, val`:            func() error { _, err := LoadImageNet("", "dev"); return err },
		`the split is "train", expected trainval, test`:      func() error { _, err := LoadOxfordIIITPet(ctx, "", "train"); return err },
		`the split is "trainval", expected train, val, test`: func() error { _, err := LoadFlowers102(ctx, "", "trainval"); return err },
		`the year is "1999", expected 2007, 2008`:            func() error { _, err := LoadVOCDetection("", "1999", "train"); return err },
		`the set of 2012 is "test", expected train, trainv`:  func() error { _, err := LoadVOCSegmentation("", "2012", "test"); return err },
		`the size is "huge", expected full, 320px, 160px`: func() error {
			_, err := LoadImagenette(ctx, "", "train", ImagenetteOptions{Size: "huge"})
			return err
		},
	} {
		require.ErrorContains(t, load(), want)
	}
}
