package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// photos makes a folder of photographs of three classes, dark, medium and bright noise, n of each to train on and two to measure with.
func photos(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for class, name := range []string{"bright", "dark", "grey"} {
		for _, half := range []string{"train", "val"} {
			folder := filepath.Join(dir, half, name)
			require.NoError(t, os.MkdirAll(folder, 0o755))
			for i := range map[string]int{"train": n, "val": 2}[half] {
				pixels := make([]uint8, 3*40*50)
				for k := range pixels {
					pixels[k] = uint8([]int{190, 0, 90}[class] + r.IntN(60))
				}
				torch.Scope(func() {
					require.NoError(t, imageio.Save(filepath.Join(folder, fmt.Sprint(i, ".jpeg")), torch.FromSlice(pixels, 3, 40, 50)))
				})
			}
		}
	}
	return dir
}

// tiny are flags for a run of seconds on such a folder.
func tiny(dir string, more ...string) []string {
	return append([]string{"-device", "cpu", "-data", dir, "-arch", "squeezenet1_1", "-b", "4", "-lr", "0.02", "-p", "1", "-j", "2",
		"-train-crop-size", "32", "-val-resize-size", "32", "-val-crop-size", "32", "-epochs", "2"}, more...)
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	return clitest.Run(t, command, args...)
}

func TestMistakesInTheCommandLine(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	other := photos(t, 1)
	require.NoError(t, os.RemoveAll(filepath.Join(other, "val", "dark")))
	for args, want := range map[string]string{
		"":                                  "-data is missing",
		"-data x -b 0":                      "-b is 0, expected 1 or more",
		"-data x -lr NaN":                   "-lr is NaN",
		"-data x -momentum 2":               "-momentum is 2, expected 0 to 1",
		"-data x -lr-warmup-epochs 90":      "-lr-warmup-epochs is 90, expected 0 to 89",
		"-data x -val-crop-size 300":        "-val-crop-size is 300, expected 1 to 256",
		"-data x -arch alexandria":          `-arch is "alexandria", expected one of alexnet`,
		"-data x -opt lion":                 `-opt is "lion", expected one of sgd rmsprop adamw`,
		"-data x -auto-augment all":         `-auto-augment is "all"`,
		"-data x -bach 3":                   "not defined: -bach",
		"-data x train":                     `unexpected argument "train"`,
		"-data " + absent:                   "no such file or directory",
		"-data " + other:                    "folders for 3 classes in train and for 2 in val",
		"-dist -data " + other:              "RANK is not set: run the program under torchrun",
		"-device tpu -data " + other:        "tpu",
		"-pretrained -data " + photos(t, 1): "-pretrained weights tell apart 1000 classes, there are 3",
		"-resume " + absent + " -data " + photos(t, 1): "no such file or directory",
	} {
		require.ErrorContains(t, command(t.Context(), strings.Fields(args), io.Discard), want, args)
	}
	clitest.Fails(t, "imagenet", 1, "-data is missing")
}

func TestHelp(t *testing.T) {
	clitest.Helps(t, command, "data limit j e output-dir resume save-every logdir p device threads channels-last deterministic dist arch "+
		"pretrained epochs b seed amp opt lr momentum wd clip-grad-norm label-smoothing mixup-alpha cutmix-alpha auto-augment random-erase "+
		"train-crop-size val-resize-size val-crop-size lr-scheduler lr-warmup-epochs lr-warmup-decay lr-step-size lr-gamma lr-min "+
		"model-ema model-ema-steps model-ema-decay")
}

// A network and a recipe that learn these photographs from any seed, so that no processor's rounding decides.
func TestLearnsPhotographs(t *testing.T) {
	torchtest.NoLeaks(t)
	logs := t.TempDir()
	out := run(t, tiny(photos(t, 16), "-arch", "resnet18", "-opt", "adamw", "-lr", "0.0003", "-b", "12", "-epochs", "8", "-logdir", logs)...)
	require.Contains(t, out, "48 images to train on, 16 to 16 of each of 3 classes; 6 to measure with")
	require.Len(t, regexp.MustCompile(`(?m)^data: waited .* 2 workers busy for`).FindAllString(out, -1), 8, out)
	require.Len(t, regexp.MustCompile(`(?m)^host: CPU \d+ %, this process`).FindAllString(out, -1), 8, out)
	require.FileExists(t, filepath.Join(logs, "curves.svg"))
	require.Regexp(t, `(?m)^done: Acc@1 (66.67|83.33|100.00) %, where chance is 33.33 %`, out)
	events, err := filepath.Glob(filepath.Join(logs, "events.*"))
	require.NoError(t, err)
	require.Len(t, events, 1)
	text, err := os.ReadFile(events[0])
	require.NoError(t, err)
	for _, tag := range []string{"train/Loss", "train/Acc@1", "train/lr", "val/Acc@1/mean"} {
		require.Contains(t, string(text), tag)
	}
}

// Whatever the flags ask for trains, on a few photographs of all classes.
func TestRecipes(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := photos(t, 3)
	for _, flags := range []string{
		"-amp -clip-grad-norm 1 -label-smoothing 0.1",
		"-mixup-alpha 0.2 -cutmix-alpha 1 -model-ema -model-ema-steps 1 -lr-warmup-epochs 1",
		"-auto-augment ra -random-erase 0.5 -opt rmsprop -lr-scheduler cosineannealinglr",
		"-auto-augment augmix -opt adamw -lr-scheduler exponentiallr -j 0 -channels-last=false -limit 7",
	} {
		out := run(t, tiny(dir, strings.Fields(flags)...)...)
		require.NotContains(t, out, "NaN", flags)
		require.Regexp(t, `(?m)^done: Acc@1 `, out, flags)
	}
}

// checkpointOf is the bytes of the last checkpoint of a folder.
func checkpointOf(t *testing.T, dir string) []byte {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "step-*", "checkpoint.pt"))
	require.NoError(t, err)
	require.NotEmpty(t, list)
	file, err := os.ReadFile(list[len(list)-1])
	require.NoError(t, err)
	return file
}

// A run has the same bits each time, and when it is interrupted, or killed outright, and resumed.
func TestRunsAreEqualToTheBit(t *testing.T) {
	torchtest.NoLeaks(t)
	dir, kept := photos(t, 6), t.TempDir()
	flags := func(name string) []string {
		return tiny(dir, "-mixup-alpha", "0.5", "-model-ema", "-model-ema-steps", "2", "-auto-augment", "ta_wide",
			"-save-every", "1", "-output-dir", filepath.Join(kept, name))
	}
	run(t, flags("straight")...)
	want := checkpointOf(t, filepath.Join(kept, "straight"))
	for i, where := range []string{"Epoch: [0][2/", " * Acc@1 ", "Epoch: [1][5/"} {
		name := fmt.Sprint("interrupted", i)
		ctx, cancel := context.WithCancel(t.Context())
		out := &clitest.Trigger{Text: where, Fire: cancel}
		err := command(ctx, flags(name), out)
		require.ErrorIs(t, err, errInterrupted, &out.Seen)
		require.ErrorContains(t, err, "the same command goes on from there")
		require.Contains(t, run(t, flags(name)...), "going on in epoch ")
		require.True(t, bytes.Equal(want, checkpointOf(t, filepath.Join(kept, name))), "interrupted at %s: the checkpoints differ", where)
	}
	killed, _, _ := clitest.Program(t, flags("killed")...)
	killed.Stdout = &clitest.Trigger{Text: "Epoch: [0][4/", Fire: func() { _ = killed.Process.Kill() }}
	require.Error(t, killed.Run())
	require.Equal(t, syscall.SIGKILL, killed.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.Contains(t, run(t, flags("killed")...), "going on in epoch 0 after batch ")
	require.True(t, bytes.Equal(want, checkpointOf(t, filepath.Join(kept, "killed"))), "killed: the checkpoints differ")
}

func TestSignalStopsCleanly(t *testing.T) {
	text := clitest.Signal(t, syscall.SIGTERM, "Epoch: [0][ 2/", tiny(photos(t, 20), "-output-dir", t.TempDir())...)
	require.Regexp(t, `^imagenet: interrupted in epoch 0 after batch \d+ of 15; the same command goes on from there\n$`, text)
}

func TestMeasuresACheckpoint(t *testing.T) {
	torchtest.NoLeaks(t)
	dir, kept := photos(t, 4), t.TempDir()
	trained := run(t, tiny(dir, "-output-dir", kept)...)
	list, err := filepath.Glob(filepath.Join(kept, "step-*"))
	require.NoError(t, err)
	out := run(t, tiny(dir, "-e", "-b", "5", "-resume", filepath.Join(list[len(list)-1], "checkpoint.pt"))...)
	require.NotContains(t, out, "Epoch: ")
	accuracies := regexp.MustCompile(`(?m)^ \* Acc@1 .*$`).FindAllString(trained, -1)
	require.Contains(t, out, accuracies[len(accuracies)-1])
}
