package export

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Compiled is a program that runs in one call: libtorch goes from operator to operator without Go or Python between them.
// Any number of goroutines may run it at once, each on values of its own, unless it changes its buffers.
type Compiled struct {
	plain *engine // the program as it is, for where autograd records; nil if it never does
	quick *engine // after the passes
	dtype torch.DType
}

// CompileOptions say how a program is compiled.
type CompileOptions struct {
	// Exact keeps the bits of [Program.Run], and what is written into parameters and buffers later is seen.
	Exact bool

	// DType is what float32 is computed in: BFloat16, Float16 on a card, or Float32, the default. Inputs and results keep their dtypes. It
	// is an error with Exact, and BFloat16 is one on processors where it would be slower: those without AMX, but AMD's with AVX-512's
	// instructions for it (from Zen 4 on). What a program has in bfloat16 itself runs in it everywhere. In BFloat16 the first and the last
	// layers stay float32 where that takes less than a fiftieth of the multiplications and of the weights more, and, on the CPU, sums of
	// residual branches that layer norms read. Weights are rounded so that the errors of those that make one output add up to nearly
	// nothing. In Float16 numbers beyond its largest one, 65504, become that.
	DType torch.DType

	// Weights is what linear layers keep their weights in, which they multiply in float32: BFloat16, in half the memory, or Int8, with
	// a scale for each output, in a quarter; default Float32. Where few rows meet many weights, as a language model's next word does, a
	// layer takes the time in which these come from memory, which is less then, on any processor with AVX2; many rows take some
	// hundredths more. Results differ by some thousandths, with Int8 by up to a hundredth. It is an error with Exact, Int8, another
	// DType and on a card.
	Weights torch.DType

	// Floats are tensors, by their names in the graph, whose layers stay in float32 with another DType, or with other Weights: those that
	// [Calibrate] finds ([CalibrateOptions.DType], [Calibration.Floats]), or others. What is computed of their results alone stays, too.
	Floats []string

	// Fallback has float32 computed where DType is an error only because it would be slower here; [Compiled.DType] tells.
	Fallback bool

	// Int8 computes convolutions and linear layers in whole numbers of eight bits, with the ranges that [Calibrate] found: weights
	// with a scale for each channel, inputs with one scale, activations and sums at once, and biases less what rounding the weights adds on
	// average. Where a range is not known or the calibration says so, and all else, is
	// float32. Results differ by some hundredths. Processors without VNNI add two products in sixteen bits: weights have seven bits there
	// where two neighbours would not fit, and convolutions that are as quick in float32, small ones above all, stay in it: ResNet-50 and
	// transformers take half to two thirds of float32's time, MobileNet as long. It is an error with Exact, with another DType and on a card.
	Int8 Calibration

	// ExampleInputs are inputs, as for [Program.Run], whose dynamic dimensions are as large as most will be: what is fastest is chosen for
	// them, and any others run as well. By default they are those that the program was exported with: Python's export wants two
	// examples or more there, and a network that gets one at a time takes up to a tenth less where it is chosen for one. They are read
	// for their sizes alone.
	ExampleInputs []any

	// Graphs is for how many different sizes of inputs a program on a card becomes a graph of CUDA's; default 16, none if it is negative.
	// Each keeps its inputs and results, and they share one memory for what is between.
	Graphs int

	// Inference leaves out what only runs need that autograd records: the weights as they were before they were packed, which may be as
	// much memory as the packed ones. Such a run is an error then.
	Inference bool
}

// Compile makes a program ready to run in one call. It keeps the program's tensors, so that the program may be closed
// before. Close frees it, and so does Go's garbage collector. oneDNN packs weights for as many threads as [torch.NumThreads] tells here,
// and does so again in each run where it is another number then: set it before, and compile for lanes within [torch.Lanes.Beside].
//
// Without options it is made fast, and its results differ from those of [Program.Run] by rounding, about one in a million: weights are
// taken as they are now, batch norms are multiplied into the weights before them, and convolutions, large linear layers and the
// activations and sums behind them are oneDNN's, with weights that lie as they are read (on the CPU). Convolutions of 3 x 3 have fewer
// multiplications after Winograd where that is faster, for about twice to four times the memory of their weights, and small ones, those
// of signals, volumes, groups, each channel and pixels that lie apart, recurrent layers, group norms, linear layers of few rows, rows of
// tables and what weighs channels are kernels of ours. A softmax of products of queries and keys, with scale and mask, times values is
// attention; a row that its mask leaves out altogether is zero then, where it was not a number. [CompileOptions].Exact keeps the bits;
// what is computed once, twice alike or never read is left out in either case, memory is written to again where nothing reads it any
// more, and sums, products and the like that follow upon each other go through memory once.
//
// A program on a card (see [Program.To]) takes inputs from there and from the host, and its results are there. The third run with inputs of
// the same sizes, and those after it, are a graph of CUDA's, which one call submits, whatever stream is the current one; [Compiled.Graphs]
// tells why there is none. Settings of package cuda are those that held when it was captured.
//
// Where autograd records, outside of torch.NoGrad and torch.Inference, a run computes the program as it is, with
// its gradients.
func Compile(p *Program, opts ...CompileOptions) (*Compiled, error) {
	return CompileContext(context.Background(), p, opts...)
}

// CompileContext is [Compile] until ctx ends, with an error that matches context.Cause then: the weights of a large program take seconds to
// pack, and what one of unknown origin computes from its own constants may take much longer.
func CompileContext(ctx context.Context, p *Program, opts ...CompileOptions) (*Compiled, error) {
	o := option.One(opts)
	c := &Compiled{}
	err := c.compile(ctx, p, o)
	cgo.ReleaseSpare() // of the passes, which take weights several times
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Compiled) compile(ctx context.Context, p *Program, o CompileOptions) (err error) {
	if c.plain, err = newEngine(p); err != nil { // here, outside of torch.Unsafe, inner operators are refused
		return err
	}
	if err := o.check(p.device()); err != nil {
		return err
	}
	c.dtype = o.DType
	r, err := rewritten(ctx, p, o)
	if err != nil {
		return fmt.Errorf("export: the program cannot be compiled: %w", err)
	}
	defer r.close()
	if o.Inference {
		c.plain.h.Close()
		c.plain = nil
	}
	torch.Unsafe(func() { c.quick, err = newEngine(r.p) })
	if err == nil && r.device.IsCUDA() {
		c.quick.graphs = newGraphs(c.quick, r.device, o.Graphs)
		runtime.SetFinalizer(c, func(c *Compiled) { go c.quick.graphs.close() }) // it waits for the card
	}
	return err
}

// check tells what does not go together, and takes float32 for what is slower, where that is asked for.
func (o *CompileOptions) check(device torch.Device) error {
	other := !o.DType.IsZero() && o.DType != torch.Float32
	if err := o.checkWeights(device, other); err != nil {
		return err
	}
	switch {
	case o.Exact && other:
		return fmt.Errorf("export: CompileOptions: Exact keeps the bits, which %v cannot", o.DType)
	case o.Int8 != nil && (o.Exact || other):
		return errors.New("export: CompileOptions: Int8 goes neither with Exact nor with another DType than float32")
	case o.Int8 != nil && device.IsCUDA():
		return fmt.Errorf("export: CompileOptions.Int8 is for programs on the CPU, and this one is on %v", device)
	case o.DType != torch.BFloat16 || device.IsCUDA() || bfloat16IsFaster():
		return nil
	case !o.Fallback:
		return errors.New("export: CompileOptions.DType is bfloat16, which is slower than float32 on this processor (it has neither AMX nor " +
			"AMD's AVX512_BF16): leave it out, or set CompileOptions.Fallback for float32 in its place")
	}
	o.DType = torch.Float32
	return nil
}

// narrow is the dtype of [CompileOptions].Weights; none for float32.
func (o *CompileOptions) narrow() (dtype torch.DType) {
	if o.Weights != torch.Float32 {
		dtype = o.Weights
	}
	return dtype
}

func (o *CompileOptions) checkWeights(device torch.Device, otherDType bool) error {
	switch dtype := o.narrow(); {
	case dtype.IsZero():
		return nil
	case dtype != torch.BFloat16 && dtype != torch.Int8:
		return fmt.Errorf("export: CompileOptions.Weights is %v, expected BFloat16, Int8 or Float32", dtype)
	case o.Exact || o.Int8 != nil || otherDType:
		return errors.New("export: CompileOptions: Weights go neither with Exact nor with Int8 nor with another DType than float32")
	case device.IsCUDA():
		return fmt.Errorf("export: CompileOptions.Weights are for programs on the CPU, and this one is on %v", device)
	}
	return nil
}

// bfloat16IsFaster tells whether this processor, and oneDNN on it, computes bfloat16 in less time than float32. On x86 oneDNN computes
// it with fewer instructions than we ask for.
func bfloat16IsFaster() bool {
	return tells("libtorchgo::bfloat16_is_faster") && (runtime.GOARCH == "amd64" || tells("mkldnn::_is_mkldnn_bf16_supported"))
}

// DType is what float32 is computed in where autograd does not record: that of [CompileOptions], but for [CompileOptions].Fallback.
func (c *Compiled) DType() torch.DType {
	if c.dtype.IsZero() {
		return torch.Float32
	}
	return c.dtype
}

// Graphs tells how many graphs of CUDA's the program has become so far, and why there will be no more of them: an error that matches
// [cuda.ErrNotCapturable] where an operator of it waits for the card.
func (c *Compiled) Graphs() (n int, why error) {
	if c.quick == nil || c.quick.graphs == nil {
		return 0, errors.New("export: the program is not on a card")
	}
	return c.quick.graphs.state()
}

// String prints the program that runs where autograd does not record: the graph after all passes.
func (c *Compiled) String() string {
	if c.quick == nil {
		return "export.Compiled{}"
	}
	return c.quick.module.program.String()
}

// Close frees what the compiled program holds; runs that go on end as if it had not been called.
func (c *Compiled) Close() {
	for _, e := range []*engine{c.plain, c.quick} {
		if e == nil {
			continue
		}
		if e.graphs != nil {
			e.graphs.close()
		}
		e.h.Close()
	}
}

// engine is what runs here. The zero value runs nothing.
func (c *Compiled) engine() (*engine, error) {
	switch {
	case c.quick == nil:
		return nil, errors.New("export: the zero Compiled has no program; export.Compile makes one")
	case !torch.IsGradEnabled():
		return c.quick, nil
	case c.plain == nil:
		return nil, errors.New("export: the program was compiled for inference (CompileOptions.Inference), and autograd records here: " +
			"run it in torch.NoGrad or torch.Inference")
	}
	return c.plain, nil
}

// Run computes the program as [Module.Run] does.
func (c *Compiled) Run(inputs ...any) ([]torch.Tensor, error) {
	e, err := c.engine()
	if err != nil {
		return nil, err
	}
	return e.Run(inputs...)
}

// Call computes the program as [Module.Call] does.
func (c *Compiled) Call(inputs ...any) (any, error) {
	e, err := c.engine()
	if err != nil {
		return nil, err
	}
	return e.Call(inputs...)
}
