package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { clitest.Main(m, program) }

// requireFails runs the program and wants an exit code and, on stderr, one line with text.
func requireFails(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	clitest.Fails(t, "resnet18", code, text, args...)
}

// run is the program within this process. It returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	return clitest.Run(t, command, args...)
}

// tiny are flags for a run of seconds on real images.
func tiny(more ...string) []string {
	return append([]string{"-device", "cpu", "-data", "slice", "-b", "8", "-lr", "0.01", "-p", "1", "-j", "2"}, more...)
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for _, test := range []struct {
		args, want string
	}{
		{"-lerning-rate 1", "not defined: -lerning-rate"},
		{"-b 0", "-b is 0, expected more than 0"},
		{"-b -4", "-b is -4, expected more than 0"},
		{"-b many", `invalid value "many" for flag -b`},
		{"-b", "flag needs an argument: -b"},
		{"-epochs 0", "-epochs is 0"},
		{"-epochs -1", "-epochs is -1"},
		{"-lr 0", "-lr is 0"},
		{"-lr -0.1", "-lr is -0.1"},
		{"-lr NaN", "-lr is NaN"},
		{"-lr Inf", "-lr is +Inf"},
		{"-momentum -1", "-momentum is -1, expected 0 or more"},
		{"-momentum 1", "-momentum is 1, expected less than 1"},
		{"-wd -1", "-wd is -1"},
		{"-j -1", "-j is -1"},
		{"-limit -5", "-limit is -5"},
		{"-p 0", "-p is 0"},
		{"-threads 0", "-threads is 0"},
		{"-seed -1", `invalid value "-1" for flag -seed`},
		{"-amp -amp-dtype int8", `-amp-dtype is "int8", expected bf16 or fp16`},
		{"-amp-dtype bf16", "needs -amp"},
		{"-device tpu", `-device is "tpu", expected cpu, cuda or cuda:N`},
		{"-device meta", `-device is "meta"`},
		{"-device cuda:x", `-device is "cuda:x"`},
		{"-channels-last=perhaps", `invalid boolean value "perhaps" for -channels-last`},
		{"-synthetic -data slice", "-synthetic needs no -data"},
		{"train", `unexpected argument "train"`},
		{"-device cpu -dist -graph", "-graph and -dist do not go together"},
	} {
		requireFails(t, 2, test.want, strings.Fields(test.args)...)
	}
}

func TestWhatIsMissing(t *testing.T) {
	if cuda.Unavailable() != nil {
		requireFails(t, 1, "CUDA", "-device", "cuda", "-synthetic")
		requireFails(t, 1, "CUDA", "-device", "cuda:1", "-synthetic")
		requireFails(t, 2, "-graph needs a CUDA device, this run is on the cpu", "-graph", "-synthetic")
	}
	requireFails(t, 1, "RANK is not set: run the program under torchrun", tiny("-dist")...)
	requireFails(t, 1, "data folder", "-device", "cpu", "-data", t.TempDir()+"/absent")
	damaged := t.TempDir() + "/cifar-10-batches-bin"
	require.NoError(t, os.Mkdir(damaged, 0o755))
	requireFails(t, 1, "data_batch_1.bin is missing", "-device", "cpu", "-data", damaged)
	require.NoError(t, os.WriteFile(damaged+"/data_batch_1.bin", make([]byte, 1000), 0o644))
	requireFails(t, 1, "has 1000 bytes where 30730000 are expected", "-device", "cpu", "-data", damaged)
	requireFails(t, 1, "checkpoint: there is none to load", "-device", "cpu", "-resume", t.TempDir()+"/absent", "-data", damaged)
	requireFails(t, 1, "checkpoint: none can be saved to", tiny("-save", t.TempDir()+"/absent/run.pt")...)
}

func TestHelp(t *testing.T) {
	clitest.Helps(t, command, "amp amp-dtype device epochs b lr momentum wd j data limit seed p channels-last cudnn-benchmark "+
		"deterministic dist graph resume e synthetic save threads logdir")
}

// losses are the mean losses of the last lines of all epochs.
func losses(t *testing.T, out string, batches int) (list []float64) {
	t.Helper()
	last := strconv.Itoa(batches)
	for _, found := range regexp.MustCompile(`Epoch: \[\d+\]\[`+last+`/`+last+`\].*Loss \S+ \(([^)]+)\)`).FindAllStringSubmatch(out, -1) {
		loss, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		list = append(list, loss)
	}
	return list
}

func TestLearnsRealImages(t *testing.T) {
	torchtest.NoLeaks(t)
	logs := t.TempDir()
	out := run(t, tiny("-limit", "40", "-epochs", "4", "-logdir", logs)...)
	loss := losses(t, out, 5)
	require.Len(t, loss, 4, out)
	require.Less(t, loss[3], 0.9*loss[0], out)
	require.Contains(t, out, "40 of 1,100 images to train on, 8 of 250 to validate on")
	require.Contains(t, out, "11,173,962 parameters")
	require.Len(t, regexp.MustCompile(`(?m)^ \* Acc@1 \d+\.\d{3} Acc@5 \d+\.\d{3}$`).FindAllString(out, -1), 4, out)
	require.Regexp(t, `(?m)^done: Acc@1 .* images/s in training`, out)
	require.Len(t, regexp.MustCompile(`(?m)^data: waited .* 2 workers busy for`).FindAllString(out, -1), 4, out)
	require.Len(t, regexp.MustCompile(`(?m)^host: CPU \d+ %, this process`).FindAllString(out, -1), 4, out)
	require.FileExists(t, filepath.Join(logs, "curves.svg"))
	written, err := filepath.Glob(filepath.Join(logs, "events.*"))
	require.NoError(t, err)
	require.Len(t, written, 1)
	events, err := os.ReadFile(written[0])
	require.NoError(t, err)
	for _, tag := range []string{"train/Loss", "train/Acc@1", "test/Acc@1/mean", "layer4/1/conv2/conv2d", "aten::batch_norm"} {
		require.Contains(t, string(events), tag)
	}
}

func TestMixedPrecision(t *testing.T) {
	torchtest.NoLeaks(t)
	for dtype, name := range map[string]string{"bf16": "bfloat16", "fp16": "float16"} {
		out := run(t, tiny("-limit", "4", "-epochs", "1", "-b", "2", "-amp", "-amp-dtype", dtype, "-channels-last=false")...)
		require.Contains(t, out, name+" autocast, contiguous_format")
		require.NotContains(t, out, "nan")
		require.Regexp(t, `(?m)^done: Acc@1 `, out)
	}
}
