package lint

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// exports is where the compiler has left what each package exports, by its path.
var exports = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}",
		"./torch", "./torch/nn", "./torch/nn/functional", "./torch/nn/init", "./torch/nn/utils/parametrize", "./torch/optim",
		"./torch/linalg", "./torch/fft", "./amp", "./torch/cuda", "./torch/data")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files, nil
})

// snippet is a program around one statement.
const snippet = `package main

import (
	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/fft"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
	"github.com/libtorch-go/libtorch/torch/optim"
)

var (
	x, y   torch.Tensor
	params []torch.Tensor
	source data.Source[data.Batch]
	_      = amp.NewGradScaler
	_      = cuda.DeviceCount
	_      = fft.RFFT
	_      = linalg.SVD
	_      = nn.NewLinear
	_      = F.ReLU
	_      = nninit.Zeros
	_      = parametrize.Remove[nn.Layer]
	_      = optim.NewSGD
)

func main() {
	%s
}
`

// The packages are read once for all statements.
var (
	set     = token.NewFileSet()
	imports types.Importer
)

// compile type-checks a statement; it returns the first complaint.
func compile(t *testing.T, statement string) error {
	t.Helper()
	files, err := exports()
	require.NoError(t, err)
	if imports == nil {
		imports = importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	}
	file, err := parser.ParseFile(set, "main.go", fmt.Sprintf(snippet, statement), parser.SkipObjectResolution)
	require.NoError(t, err, statement)
	checker := types.Config{Importer: imports}
	_, err = checker.Check("main", set, []*ast.File{file}, nil)
	return err
}

// What a user of PyTorch would write first means what it says.
func TestIdiomsCompile(t *testing.T) {
	for _, statement := range []string{
		`_ = x.Sum()`, `_ = x.Sum(1)`, `_ = x.Sum(0, -1)`, `_ = x.Mean(0, 2)`, `_ = x.Prod(3)`, `_ = x.ArgMax(1)`, `_ = x.Any(1)`, `_ = x.All(1)`,
		`_ = x.Std(1)`, `_ = x.Var(0)`, `_ = x.LogSumExp(1)`, `_ = x.AMax(0, 1)`, `_ = x.CumSum(1)`, `_ = x.Squeeze(1)`, `_ = x.CountNonzero(1)`,
		`_, _ = x.MaxDim(1)`, `_ = x.Softmax(-1)`, `_ = x.SumDim([]int{1}, torch.SumOptions{KeepDim: true, DType: torch.Float64})`,
		`_ = x.SumAll(torch.SumAllOptions{DType: torch.Float64})`, `_ = x.To(torch.Float64)`, `_ = x.Contiguous(torch.ChannelsLast)`,
		`_ = F.CrossEntropy(x, y)`, `_ = F.ELU(x)`, `_ = F.Hardtanh(x)`, `_ = F.LeakyReLU(x, F.LeakyReLUOptions{NegativeSlope: new(0.2)})`,
		`_ = nn.NewLinear(2, 1)`, `_ = nn.NewConv2d(3, 64, 7, nn.ConvOptions{Stride: 2, Padding: 3})`,
		`_ = nn.LeakyReLU{NegativeSlope: new(0.0)}`,
		`_ = optim.NewSGD(params, 0.1, optim.SGDOptions{Momentum: 0.9})`, `_ = optim.NewAdam(params, 1e-3)`,
		`_ = optim.NewAdam(params, 1e-3, optim.AdamOptions{Betas: new([2]float64{0, 0})})`,
		`_ = nn.NewConv2d(3, 64, []int{3, 5})`, `_ = nn.NewConv2d(3, 64, [2]int{3, 3})`, `_ = nn.NewConv2d(3, 64, int64(3))`,
		`type size int; _ = nn.NewConv3d(3, 64, size(3))`,
		`type sizes []int; _ = nn.NewMaxPool2d(sizes{2, 2})`, `_ = nn.NewZeroPad2d([4]int{1, 1, 2, 2})`, `_ = nn.NewLayerNorm(512)`,
		`_ = nn.NewLayerNorm([]int{4, 5})`,
		`_ = F.MaxPool2d(x, 2)`, `_ = F.AdaptiveAvgPool2d(x, []int{F.Unchanged, 7})`, `_ = F.Fold(x, [2]int{4, 4}, 2)`,
		`_ = F.Linear(x, y)`, `_ = F.Linear(x, y, x)`,
		`_, _ = nn.NewGRU(2, 3).Forward(x)`, `_, _, _ = nn.NewLSTM(2, 3).Forward(x, y, y)`, `_ = nn.NewTransformerEncoder(nil, 2)`,
		`_, _, _ = linalg.SVD(x)`, `_ = fft.RFFT(x)`, `_, _ = data.NewLoader(source)`, `_ = amp.NewGradScaler(torch.CPU)`,
	} {
		require.NoError(t, compile(t, statement), statement)
	}
}

// What would mean something else than it says does not compile.
func TestMistakesDoNotCompile(t *testing.T) {
	for _, statement := range []string{
		// a number for a dtype, a reduction, a memory format, a layout, a device
		`_ = x.To(6)`, `_ = torch.TensorOptions{DType: 6}`, `_ = torch.TensorOptions{Layout: 1}`, `_ = torch.TensorOptions{Device: 0}`,
		`_ = torch.TensorOptions{MemoryFormat: 2}`, `_ = x.Contiguous(2)`, `_ = x.IsContiguous(1)`, `_ = torch.NewDevice(1, 0)`,
		`_ = torch.FromBytes(nil, 6)`,
		`_ = x.DType() == 6`, `_ = x.Device() == 0`, `var _ torch.DType = 1`, `var _ torch.Reduction = 2`, `var _ torch.Layout = 1`,
		`var _ torch.DeviceType = 1`,
		`_ = x.SumDim([]int{0}, torch.SumOptions{DType: 7})`, `_ = F.MSELoss(x, y, 2)`,
		`_ = F.MSELoss(x, y, F.WeightedLossOptions{Reduction: 2})`,
		`_ = F.CrossEntropy(x, y, F.CrossEntropyOptions{Reduction: 1})`, `_ = nn.MSELoss{Reduction: 1}`,
		`torch.WithAutocast(torch.AutocastMode{DType: 5}, nil)`,
		`cuda.Set(cuda.Settings{Benchmark: 2})`, `cuda.Set(cuda.Settings{Conv: 1})`,
		// a dtype for a dimension
		`_ = x.Sum(torch.Float64)`, `_ = x.Mean(torch.Float32)`, `_ = x.ArgMax(torch.Int64)`, `_ = x.CumSum(torch.Float64)`,
		`_ = x.Softmax(torch.Float64)`,
		// two results for one
		`_ = x.Max(1)`, `_ = x.Min(1)`, `_ = x.Median(1)`, `_ = x.MaxDim(1)`, `_ = x.Sort()`,
		// nil and pointers for options
		`_ = F.CrossEntropy(x, y, nil)`, `_ = nn.NewLinear(2, 1, nil)`, `_ = nn.NewConv2d(3, 64, 7, &nn.ConvOptions{})`,
		`_ = optim.NewSGD(params, 0.1, &optim.SGDOptions{})`,
		`_, _ = data.NewLoader(source, nil)`, `_ = amp.NewGradScaler(torch.CPU, nil)`, `_ = nn.NewTransformerEncoder(nil, 2, nil)`,
		`_ = nn.NewTransformerDecoder(nil, 2, nn.NewLayerNorm(4))`, `_, _, _ = nn.NewLSTM(2, 3).Forward(x, nil)`, `_ = F.Linear(x, y, nil)`,
		// a word for an enumeration
		`var _ nninit.Nonlinearity = "relu"`, `_ = nninit.KaimingOptions{Nonlinearity: "relu"}`, `_ = nninit.KaimingOptions{Mode: "fan_in"}`,
		`_ = parametrize.OrthogonalOptions{Map: "cayley"}`, `_ = nn.NewDropout("0.5")`,
		// what is no size
		`_ = nn.NewConv2d(1, 2, "3")`, `_ = nn.NewConv2d(1, 2, 3.5)`, `_ = nn.NewConv2d(1, 2, nil)`, `_ = nn.NewConv2d(1, 2, [3]int{3, 3, 3})`,
		`_ = nn.NewConv1d(1, 2, []string{"3"})`, `_ = nn.NewConvTranspose3d(1, 2, [2]int{3, 3})`, `_ = nn.NewLazyConv2d(2, "3")`,
		`_ = nn.NewMaxPool2d("2")`,
		`_ = nn.NewMaxPool2d([]float64{2, 2})`, `_ = nn.NewAvgPool3d([2]int{2, 2})`, `_ = nn.NewAdaptiveAvgPool2d(nil)`,
		`_ = nn.NewZeroPad2d("1")`,
		`_ = nn.NewConstantPad1d([4]int{1, 1, 1, 1}, 0)`, `_ = nn.NewLayerNorm("4")`, `_ = nn.NewRMSNorm(nil)`, `_ = F.MaxPool2d(x, "2")`,
		`_ = F.AvgPool1d(x, 2.5)`,
		`_ = F.LPPool2d(x, 2, true)`, `_ = F.AdaptiveAvgPool2d(x, nil)`, `_ = F.Unfold(x, "3")`, `_ = F.Fold(x, 4, nil)`,
		`_ = F.LayerNorm(x, "4")`,
		// other options, other types
		`_ = optim.NewAdam(params, 1e-3, optim.SGDOptions{})`, `_ = optim.NewAdam(params, "fast")`, `_ = nn.NewLinear("2", 1)`, `_ = x.View("2")`,
	} {
		err := compile(t, statement)
		require.Error(t, err, statement)
		require.NotContains(t, err.Error(), "undefined", statement)
	}
	for _, statement := range []string{`_ = torch.MSELoss(x, y)`, `_ = torch.LinalgSVD(x)`, `_ = torch.FFT(x)`, `_ = x.Raw()`} {
		require.ErrorContains(t, compile(t, statement), "undefined", statement) // has moved
	}
}
