package gotorch

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/wangkuiyi/gotorch/tool/tgz"

	"github.com/libtorch-go/libtorch/torch/pt"
)

var full = flag.Bool("full", false, "train the networks for large images too, which takes minutes")

// program is a module of a user's: gotorch as it was, and the lines that replace it.
func program(t *testing.T, files ...string) string {
	if race {
		t.Skip("the race detector sees nothing of programs that are compiled without it")
	}
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	lines := []string{
		"module example.com/old", "go 1.26.0",
		"require (", ancestor + " v0.0.0-20201028015551-9afed2f3ad7b", "gocv.io/x/gocv v0.24.0",
		"github.com/libtorch-go/libtorch v0.0.0", ")",
		"replace " + ancestor + " => " + here + "/compat/gotorch",
		"replace gocv.io/x/gocv => " + here + "/compat/gocv", // for want of OpenCV
		"replace github.com/libtorch-go/libtorch => " + here, // for want of a release
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(strings.Join(lines, "\n")), 0o644))
	sums, err := os.ReadFile(filepath.Join(here, "compat", "gotorch", "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644))
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644))
	}
	return dir
}

// compiled is the program in a folder, compiled.
func compiled(t *testing.T, dir string) string {
	out, err := command(dir, "go", "build", "-mod=mod", "-o", "program", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "program")
}

// example is one of the original's programs, not a letter changed, as a program of ours.
func example(t *testing.T, name string) string {
	return compiled(t, program(t, filepath.Join(theOriginal(t), "example", name, name+".go")))
}

// picture is an image of a class: a bright square in a place of its own on noise.
func picture(class, size int, random *rand.Rand) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	side := size / 4
	left, top := class%4*side, class/4*side
	for y := range size {
		for x := range size {
			v := uint8(random.IntN(60))
			if x >= left && x < left+side && y >= top && y < top+side {
				v += 190
			}
			img.SetNRGBA(x, y, color.NRGBA{v, v, v, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// archive writes images of classes, each in the folder of its class, by the real gotorch's own package.
func archive(t *testing.T, classes, each, size int) string {
	random := rand.New(rand.NewPCG(1, 2))
	return archiveOf(t, classes, each, func(class int) []byte { return picture(class, size, random) })
}

func archiveOf(t *testing.T, classes, each int, picture func(class int) []byte) string {
	name := filepath.Join(t.TempDir(), "images.tar.gz")
	w, err := tgz.CreateFile(name)
	require.NoError(t, err)
	for i := range each {
		for class := range classes {
			content := picture(class)
			header := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("images/%d/%d.png", class, i), Mode: 0o600, Size: int64(len(content))}
			require.NoError(t, w.WriteHeader(header))
			_, err := w.Write(content)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return name
}

// train runs a program and returns the losses that the pattern finds in what it says.
func train(t *testing.T, pattern, binary string, args ...string) (losses []float64) {
	cmd := command(filepath.Dir(binary), binary, args...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(out, -1) {
		loss, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		losses = append(losses, loss)
	}
	require.NotEmpty(t, losses, "%s", out)
	t.Logf("%s: losses %v", filepath.Base(filepath.Dir(binary)), losses)
	return losses
}

func falls(t *testing.T, losses []float64) {
	assert.Less(t, losses[len(losses)-1], losses[0])
}

func TestMNISTTrains(t *testing.T) {
	binary, data := example(t, "mnist"), archive(t, 10, 40, 28)
	saved := filepath.Join(t.TempDir(), "model.gob")
	falls(t, train(t, `Train Epoch: \d+, Loss: ([\d.]+)`, binary, "train", "-data", data, "-test", data, "-save", saved))
	digit := filepath.Join(t.TempDir(), "3.png")
	require.NoError(t, os.WriteFile(digit, picture(3, 28, rand.New(rand.NewPCG(3, 4))), 0o644))
	assert.Equal(t, []float64{3}, train(t, `(?m)^(\d+)$`, binary, "predict", "-load", saved, digit))
}

func TestDCGANCompilesAndTrains(t *testing.T) {
	binary := example(t, "dcgan")
	if !*full {
		t.Skip("it compiles; -full trains it")
	}
	falls(t, train(t, `Loss_D: ([\d.]+)`, binary, "-data", archive(t, 2, 2, 64)))
	sample, err := pt.Load(filepath.Join(filepath.Dir(binary), "gotorch-dcgan-sample-0.pt"))
	require.NoError(t, err)
	pt.Close(sample)
}

func TestResNetCompilesAndTrains(t *testing.T) {
	binary := example(t, "resnet")
	if !*full {
		t.Skip("it compiles; -full trains it")
	}
	data := archive(t, 2, 2, 256)
	saved := filepath.Join(t.TempDir(), "model.gob")
	falls(t, train(t, `Train Epoch.*loss:([\d.]+)`, binary, "train", "-data", data, "-test", data, "-epochs", "6", "-save", saved))
}

// A program that never heard of GC makes 24,000 tensors in two thousand steps. After each quarter the same few are left, and its
// memory never grows beyond what some hundred steps leave behind.
func TestStepsLeaveNothing(t *testing.T) {
	binary := compiled(t, program(t, "testdata/steps/main.go"))
	out, err := command(".", binary, "2000").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("tensors, most megabytes:\n%s", out)
	var tensors, megabytes [4]int
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		_, err := fmt.Sscan(line, &tensors[i], &megabytes[i])
		require.NoError(t, err)
	}
	assert.Equal(t, [4]int{tensors[0], tensors[0], tensors[0], tensors[0]}, tensors)
	assert.Less(t, megabytes[3], 600, "a step makes half a megabyte")
}
