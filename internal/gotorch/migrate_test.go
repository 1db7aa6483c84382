package gotorch

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/migrate"
)

var update = flag.Bool("update", false, "write docs/gotorch.md")

// migrated is an example of the original's, as libtorch migrate rewrites it, compiled against our own API.
func migrated(t *testing.T, name string) string {
	dir := program(t, filepath.Join(theOriginal(t), "example", name, name+".go"))
	t.Setenv("GOFLAGS", "-mod=mod")
	result, err := migrate.Program(dir)
	require.NoError(t, err)
	assert.Empty(t, result.Left)
	to := t.TempDir()
	_, err = result.Write(dir, to)
	require.NoError(t, err)
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	mod := "module example.com/new\ngo 1.26.0\nrequire github.com/libtorch-go/libtorch v0.0.0\n" +
		"replace github.com/libtorch-go/libtorch => " + here
	require.NoError(t, os.WriteFile(filepath.Join(to, "go.mod"), []byte(mod), 0o644))
	out, err := command(to, "go", "vet", "-mod=mod", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for path, text := range result.Files {
		assert.NotContains(t, string(text), `"`+ancestor, path)
	}
	return compiled(t, to)
}

// plainPicture is an image of one color, which no crop and no flip changes.
func plainPicture(class int) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, 256, 256))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.NRGBA{uint8(80 * class), 200, uint8(255 - 80*class), 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// A program that was rewritten computes the losses that it computed before, to all the digits that it prints.
func TestMigratedMNISTHasTheSameLosses(t *testing.T) {
	data := archive(t, 10, 4, 28) // one minibatch, so that the order matters in the last bits alone
	args := []string{"train", "-data", data, "-test", data, "-epoch", "20", "-save", filepath.Join(t.TempDir(), "model")}
	const pattern = `Train Epoch: \d+, Loss: ([\d.]+)`
	assert.Equal(t, train(t, pattern, example(t, "mnist"), args...), train(t, pattern, migrated(t, "mnist"), args...))
}

func TestMigratedDCGANHasTheSameLosses(t *testing.T) {
	binary := migrated(t, "dcgan")
	if !*full {
		t.Skip("it compiles; -full trains it")
	}
	data := archive(t, 1, 1, 64)
	const pattern = `Loss_[DG]: ([\d.]+)`
	assert.Equal(t, train(t, pattern, example(t, "dcgan"), "-data", data), train(t, pattern, binary, "-data", data))
}

func TestMigratedResNetHasTheSameLosses(t *testing.T) {
	binary := migrated(t, "resnet")
	if !*full {
		t.Skip("it compiles; -full trains it")
	}
	data := archiveOf(t, 2, 1, plainPicture) // and one step: after two such steps the order of the images decides
	args := []string{"train", "-data", data, "-test", data, "-epochs", "1", "-save", filepath.Join(t.TempDir(), "model")}
	const pattern = `loss: ?([\d.]+)`
	assert.Equal(t, train(t, pattern, example(t, "resnet"), args...), train(t, pattern, binary, args...))
}

// What has no counterpart is left as it is, and named with its place and what to write instead.
func TestMigrateListsTheRest(t *testing.T) {
	dir := program(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(`package main

import (
	"fmt"
	"unsafe"

	torch "github.com/wangkuiyi/gotorch"
)

// Kept as it is.
func main() {
	data := []float32{1, 2}
	x := torch.FromBlob(unsafe.Pointer(&data[0]), torch.Float, []int64{2})
	opt := torch.SGD(0.1, 0, 0, 0, false)
	fmt.Println(x.Add(x, 1), x.Dim(), opt) // sum
}
`), 0o644))
	t.Setenv("GOFLAGS", "-mod=mod")
	result, err := migrate.Program(dir)
	require.NoError(t, err)
	var left []string
	for _, l := range result.Left {
		left = append(left, strings.TrimPrefix(l.String(), dir+"/"))
	}
	assert.Equal(t, []string{
		"main.go:13:7: gotorch.FromBlob: torch.FromSlice, torch.FromBytes",
		"main.go:14:9: gotorch.SGD",
	}, left)
	text := string(result.Files[filepath.Join(dir, "main.go")])
	for _, want := range []string{
		"// Kept as it is.", "fmt.Println(x.Add(x), int64(x.Dim()), opt) // sum", "torch.FromBlob(", "torch.Float32",
	} {
		assert.Contains(t, text, want)
	}
	wrong := "package main\nimport _ \"" + ancestor + "\"\nfunc main() { no }\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(wrong), 0o644))
	_, err = migrate.Program(dir)
	assert.ErrorContains(t, err, "the program does not compile as it is")
}

// The guide is what -update writes: prose, and a table of the rules that migrate goes by.
func TestTheGuideIsWritten(t *testing.T) {
	const page = root + "/docs/gotorch.md"
	prose, err := os.ReadFile("testdata/page.md")
	require.NoError(t, err)
	want := fmt.Appendf(prose, "%s", migrate.Table())
	if *update {
		require.NoError(t, os.WriteFile(page, want, 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), "run go test ./internal/gotorch -run Guide -update")
}
