package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// program is a network that Python exported, compiled: our side of the table of programs, whose other sides are python/programs.py.
type program struct {
	compiled *export.Compiled
	inputs   []any
	device   torch.Device
}

// boundedDType is bfloat16 with so many layers in float32 that results are within a hundredth. The bound for the samples is less, because
// it is another input that is compared, and its largest difference.
const (
	boundedDType = "bfloat16 within 0.01"
	boundOfHalf  = 0.008
)

// What a program in float32 keeps its weights in.
const (
	halfWeights  = "bfloat16 weights"
	wholeWeights = "int8 weights"
)

// newProgram compiles the network in a folder, in float32, in half precision or, with the ranges that the samples beside it have, in int8.
func newProgram(dir, dtype string) (workload, error) {
	device := torch.CPU
	if os.Getenv(deviceVariable) != "" {
		device = cardDevice()
		cuda.Set(cuda.Settings{Benchmark: cuda.On})
	}
	p, err := export.Load(filepath.Join(dir, "network.pt2"), export.LoadOptions{Device: device})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	file, err := safetensors.Load(filepath.Join(dir, "inputs.safetensors"))
	if err != nil {
		return nil, err
	}
	calls := callsOf(file.Tensors)
	var o export.CompileOptions
	switch dtype {
	case "bfloat16":
		o.DType = torch.BFloat16
	case boundedDType:
		o.DType = torch.BFloat16
		found, err := export.Calibrate(p, slices.Values(calls[1:]), export.CalibrateOptions{DType: o.DType, Error: boundOfHalf})
		if err != nil {
			return nil, err
		}
		o.Floats = found.Floats()
	case "float16":
		o.DType = torch.Float16
	case halfWeights:
		o.Weights = torch.BFloat16
	case wholeWeights:
		o.Weights = torch.Int8
	case "int8":
		// The others leave no layer in float32 either. Networks with weights by chance make so much of any rounding, that of the image alone
		// included, that most layers would be left.
		if o.Int8, err = export.Calibrate(p, slices.Values(calls[1:]), export.CalibrateOptions{Error: 1}); err != nil {
			return nil, err
		}
	}
	compiled, err := export.Compile(p, o)
	inputs := calls[0]
	for i, x := range inputs {
		inputs[i] = x.(torch.Tensor).To(device)
	}
	return &program{compiled, inputs, device}, err
}

// callsOf are the inputs of each call by their order; a file names them CALL.INPUT.
func callsOf(tensors map[string]torch.Tensor) (calls [][]any) {
	for {
		var inputs []any
		for {
			x, ok := tensors[fmt.Sprint(len(calls), ".", len(inputs))]
			if !ok {
				break
			}
			inputs = append(inputs, x)
		}
		if inputs == nil {
			return calls
		}
		calls = append(calls, inputs)
	}
}

func (p *program) run(n int) { p.repeat(n, func([]torch.Tensor) {}) }

// check is what the network computes, as numbers with blanks between them: results are not compared by bits.
func (p *program) check() (result string) {
	p.repeat(1, func(out []torch.Tensor) {
		var text []string
		for _, v := range torch.Values[float32](out[0].CPU()) {
			text = append(text, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		result = strings.Join(text, " ")
	})
	return result
}

func (p *program) repeat(n int, with func([]torch.Tensor)) {
	torch.Inference(func() {
		for range n {
			torch.Scope(func() {
				out, err := p.compiled.Run(p.inputs...)
				torch.Synchronize(p.device)
				if err != nil {
					torch.Throw("bench", torch.KindValue, "%v", err)
				}
				with(out)
			})
		}
	})
}

// network is one that python/networks.py makes.
type network struct {
	name string
	n    int // runs of one round
}

var networks = []network{{"ResNet-18 at 32", 20}, {"ResNet-18 at 224", 2}, {"ResNet-50", 1}, {"MobileNet v3 large", 8}, {"ViT-B/16", 1},
	{"MiniLM", 4}}

// otherNetworks are of kinds that the table's have not: recurrent layers, signals, volumes, groups, windows, pixels that lie apart, tables,
// one token of a text.
var otherNetworks = []network{{"EfficientNet B0", 4}, {"RegNet Y 400MF", 4}, {"ResNeXt-50", 1}, {"ConvNeXt tiny", 1}, {"DenseNet-121", 1},
	{"MaxViT tiny", 1}, {"Swin v2 tiny", 1}, {"ResNet-18 of videos", 1}, {"DeepLab v3", 1}, {"U-Net", 2}, {"speech", 20}, {"LSTM", 20},
	{"GRU", 20}, {"decoder", 2}, {tokenNetwork, 10}, {"tables", 400}}

// tokenNetwork is also measured with its weights in fewer bits.
const tokenNetwork = "next token"

// names of networks, in quotes.
func names(list []network) string {
	var all []string
	for _, n := range list {
		all = append(all, strconv.Quote(n.name))
	}
	return strings.Join(all, ", ")
}

// folder is where a network's files are kept.
func (n network) folder(dir string) string {
	return filepath.Join(dir, strings.NewReplacer(" ", "-", "/", "-").Replace(n.name))
}

var programDTypes = []string{"float32", "bfloat16", boundedDType, "int8", halfWeights, wholeWeights}

func programCases() (list []benchmark) {
	for _, dtype := range append(programDTypes, "float16") {
		list = append(list, benchmark{name: oursIn(dtype), group: programGroup, n: 1,
			make: func(dir string) (workload, error) { return newProgram(dir, dtype) }})
	}
	return list
}

// oursIn is the case of our side that computes the network in a folder.
func oursIn(dtype string) string { return "program in " + dtype }
