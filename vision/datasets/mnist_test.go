package datasets

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// idx is a file in the IDX format whose elements count up.
func idx(shape ...int) []byte {
	raw, n := []byte{0, 0, 8, byte(len(shape))}, 1
	for _, size := range shape {
		raw = binary.BigEndian.AppendUint32(raw, uint32(size))
		n *= size
	}
	for i := range n {
		raw = append(raw, byte(i%251))
	}
	return raw
}

// digitFiles are those of a release of seven images.
func digitFiles() map[string][]byte {
	return map[string][]byte{
		"train-images-idx3-ubyte": idx(5, 28, 28), "train-labels-idx1-ubyte": idx(5),
		"t10k-images-idx3-ubyte": idx(2, 28, 28), "t10k-labels-idx1-ubyte": idx(2),
	}
}

// digitRelease describes the files as [mnistRelease] does the real ones.
func digitRelease(content map[string][]byte, mirrors ...string) *release {
	r := release{name: mnistRelease.name, folder: mnistRelease.folder, mirrors: mirrors}
	describe := func(files []file) (own []file) {
		for _, f := range files {
			own = append(own, file{f.name, len(content[f.name]), fmt.Sprintf("%x", md5.Sum(content[f.name]))})
		}
		return own
	}
	r.train, r.test = describe(mnistRelease.train), describe(mnistRelease.test)
	return &r
}

// installDigits writes files where a user would have put them.
func installDigits(t *testing.T, root string, content map[string][]byte) {
	dir := filepath.Join(root, "mnist")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, raw := range content {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o644))
	}
}

func requireDigits(t *testing.T, r *release, root string, opts MNISTOptions) {
	t.Helper()
	for _, half := range []struct {
		train bool
		name  string
	}{{true, "train"}, {false, "t10k"}} {
		d, err := loadMNIST(context.Background(), r, root, half.train, opts)
		require.NoError(t, err)
		require.Equal(t, digitFiles()[half.name+"-images-idx3-ubyte"][16:], d.Images)
		require.Equal(t, digitFiles()[half.name+"-labels-idx1-ubyte"][8:], d.Labels)
	}
}

func TestMNISTFromFiles(t *testing.T) {
	torchtest.NoLeaks(t)
	root, r := t.TempDir(), digitRelease(digitFiles())
	installDigits(t, root, digitFiles())
	requireDigits(t, r, root, MNISTOptions{})
	requireDigits(t, r, filepath.Join(root, "mnist"), MNISTOptions{Offline: true})
	d, err := loadMNIST(context.Background(), r, root, true, MNISTOptions{})
	require.NoError(t, err)
	require.Equal(t, 3, d.Head(3).Len())
	require.Equal(t, 5, d.Head(9).Len())
	torch.Scope(func() {
		images, labels := d.Head(3).Tensors()
		require.Equal(t, []int{3, 1, 28, 28}, images.Shape())
		require.Equal(t, torch.Uint8, images.DType())
		require.Equal(t, d.Images[:3*784], images.Bytes())
		require.Equal(t, []int{0, 1, 2}, torch.Values[int](labels))
	})
	require.NoError(t, os.WriteFile(filepath.Join(root, "mnist", "train-labels-idx1-ubyte"), make([]byte, 13), 0o644))
	_, err = loadMNIST(context.Background(), r, root, true, MNISTOptions{})
	require.ErrorContains(t, err, "train-labels-idx1-ubyte is damaged: its md5 is ")
}

func gzipped(t *testing.T, raw []byte) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	_, err := zipped.Write(raw)
	require.NoError(t, err)
	require.NoError(t, zipped.Close())
	return packed.Bytes()
}

// server has files as .gz, and how often it was asked.
func server(t *testing.T, content map[string][]byte) (url string, asked *int) {
	asked = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		raw, ok := content[path.Base(r.URL.Path[:len(r.URL.Path)-len(".gz")])]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(gzipped(t, raw))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", asked
}

func TestMNISTFromTheNetwork(t *testing.T) {
	root, said := t.TempDir(), &journal{}
	altered := digitFiles()
	altered["t10k-labels-idx1-ubyte"][9]++
	bad, badAsked := server(t, altered)
	good, goodAsked := server(t, digitFiles())
	r := digitRelease(digitFiles(), bad, good)
	requireDigits(t, r, root, MNISTOptions{Logf: said.Logf})
	require.Equal(t, [2]int{4, 4}, [2]int{*badAsked, *goodAsked})
	requireOnly(t, root, "mnist")
	require.Contains(t, said.String(), "MNIST: mirror 1 of 2: "+bad+"\n")
	require.Contains(t, said.String(), "MNIST: mirror 2 of 2: "+good+"\n")
	require.Contains(t, said.String(), "t10k-labels-idx1-ubyte is damaged")
	require.Contains(t, said.String(), "MNIST: complete and verified in ")
}

func TestMNISTFromAPackage(t *testing.T) {
	packed := filepath.Join(t.TempDir(), "package.tgz")
	content := digitFiles()
	content["index.js"] = []byte("x")
	require.NoError(t, os.WriteFile(packed, tarball(t, "package/data", content), 0o644))
	root := t.TempDir()
	dir := filepath.Join(root, "mnist")
	require.NoError(t, os.Mkdir(dir, 0o755))
	r := digitRelease(digitFiles())
	require.NoError(t, r.unpack(context.Background(), packed, dir))
	requireDigits(t, r, root, MNISTOptions{})
	requireOnly(t, dir, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
}

func TestMNISTIsNotThere(t *testing.T) {
	root := t.TempDir()
	_, err := LoadMNIST(context.Background(), root, true, MNISTOptions{Offline: true})
	require.ErrorContains(t, err, "datasets: MNIST could not be obtained: ")
	require.ErrorContains(t, err, "put the official files into "+filepath.Join(root, "mnist"))
	requireOnly(t, root)
	empty, _ := server(t, nil)
	_, err = loadMNIST(context.Background(), digitRelease(digitFiles(), empty), root, true, MNISTOptions{})
	require.ErrorContains(t, err, "the server answers 404 Not Found")
	_, err = LoadMNIST(context.Background(), filepath.Join(root, "mistyped"), true)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestIDXFilesThatAreNone(t *testing.T) {
	huge := idx(2, 28, 28)
	copy(huge[4:], []byte{255, 255, 255, 255})
	for want, raw := range map[string][2][]byte{
		"not a file of bytes in the IDX format":               {nil, idx(2)},
		"an IDX file of shape [2 28 28] with 1567 elements":   {idx(2, 28, 28)[:16+1567], idx(2)},
		"an IDX file of shape [] with 1568 elements":          {huge, idx(2)},
		"the images have shape [2 20 28]":                     {idx(2, 20, 28), idx(2)},
		"the labels of 2 images have shape [3]":               {idx(2, 28, 28), idx(3)},
		"the labels of 2 images have shape [2 1]":             {idx(2, 28, 28), idx(2, 1)},
		"datasets: MNIST: not a file of bytes in the IDX for": {idx(2, 28, 28), []byte("half")},
	} {
		content, root := digitFiles(), t.TempDir()
		content["t10k-images-idx3-ubyte"], content["t10k-labels-idx1-ubyte"] = raw[0], raw[1]
		installDigits(t, root, content)
		_, err := loadMNIST(context.Background(), digitRelease(content), root, false, MNISTOptions{})
		require.ErrorContains(t, err, want)
	}
}

// TestMNISTWhole reads the real files, or fetches them where LIBTORCH_GO_DOWNLOAD is set.
func TestMNISTWhole(t *testing.T) {
	root := ""
	if os.Getenv("LIBTORCH_GO_DOWNLOAD") != "" {
		root = t.TempDir()
	}
	train, err := LoadMNIST(context.Background(), root, true, MNISTOptions{Offline: root == "", Logf: t.Logf})
	if err != nil && root == "" {
		t.Skip("needs the whole MNIST: ", err)
	}
	require.NoError(t, err)
	require.Equal(t, 60000, train.Len())
	require.Equal(t, []uint8{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, train.Labels[:10])
	sum := 0
	for _, v := range train.Images {
		sum += int(v)
	}
	require.InDelta(t, 0.1307, float64(sum)/255/float64(len(train.Images)), 1e-4)
	test, err := LoadMNIST(context.Background(), root, false)
	require.NoError(t, err)
	require.Equal(t, 10000, test.Len())
}
