package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/internal/pace"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

const showIntro = `usage: libtorch show FILE

Prints a program of torch.export.save, .pt2, as Python prints it, after it was verified.
`

func show(_ context.Context, args []string, out io.Writer) error {
	found, err := parse(flag.NewFlagSet("show", flag.ContinueOnError), args, out, showIntro, "FILE")
	if err != nil {
		return err
	}
	program, err := export.Load(found[0])
	if err != nil {
		return err
	}
	defer program.Close()
	_, err = fmt.Fprint(out, program)
	return err
}

const runIntro = `usage: libtorch run [-exact] -input FILE [-output FILE] [-device cuda] PROGRAM

Runs a program of torch.export.save, .pt2. The inputs are the tensors of a .safetensors file, by the names of the arguments of
Python's forward; the results are printed, or written to another one by their names in the program. It is compiled first, and rounds
otherwise than Python, about one in a million; with -exact it has Python's bits.
`

func runProgram(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	input := fs.String("input", "", "the .safetensors file of the inputs")
	output := fs.String("output", "", "the .safetensors file of the results")
	device := fs.String("device", "", deviceUsage)
	exact := fs.Bool("exact", false, "compute with Python's bits")
	found, err := parse(fs, args, out, runIntro, "PROGRAM")
	if err != nil {
		return err
	}
	if *input == "" {
		return cli.Usagef("run: expected -input")
	}
	program, inputs, done, err := open(found[0], *input, *device)
	if err != nil {
		return err
	}
	defer done()
	compute, closed, err := ready(ctx, program, inputs, *exact)
	if err != nil {
		return err
	}
	defer closed()
	torch.Scope(func() {
		torch.NoGrad(func() {
			var results []torch.Tensor
			if results, err = compute(ctx, inputs...); err == nil {
				err = deliver(out, *output, program, results)
			}
		})
	})
	return err
}

// ready prepares a program to be run once, with Python's bits or for speed.
func ready(ctx context.Context, program *export.Program, inputs []any, exact bool) (run runs, closed func(), err error) {
	if exact {
		module, err := program.Module()
		if err != nil {
			return nil, nil, err
		}
		return module.RunContext, func() {}, nil
	}
	compiled, err := export.CompileContext(ctx, program, export.CompileOptions{ExampleInputs: inputs, Inference: true})
	if err != nil {
		return nil, nil, fmt.Errorf("%w (-exact runs it as it is)", err)
	}
	return compiled.RunContext, compiled.Close, nil
}

// runs is how a program is run.
type runs = func(ctx context.Context, inputs ...any) ([]torch.Tensor, error)

const deviceUsage = "cpu, cuda or cuda:N: where the program is computed (default: where it was exported)"

// open loads a program and the inputs of a call.
func open(path, input, where string) (program *export.Program, inputs []any, done func(), err error) {
	device, err := cli.Device(where)
	if err == nil && !device.IsZero() {
		device, err = cli.OpenDevice(device)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if program, err = export.Load(path, export.LoadOptions{Device: device}); err != nil {
		return nil, nil, nil, err
	}
	file, err := safetensors.Load(input)
	if err != nil {
		program.Close()
		return nil, nil, nil, err
	}
	var moved []torch.Tensor
	for _, name := range slices.Sorted(maps.Keys(file.Tensors)) {
		x := file.Tensors[name]
		if !device.IsZero() {
			x = x.To(device)
			moved = append(moved, x)
		}
		inputs = append(inputs, torch.Arg(name, x))
	}
	return program, inputs, func() { program.Close(); file.Close(); torch.Close(moved...) }, nil
}

const benchIntro = `usage: libtorch bench -input FILE [-rounds N] [-threads N] [-device cuda] PROGRAM

Measures a program of torch.export.save, .pt2: node by node, compiled to one call with the same bits, fused, and fused in
bfloat16 and in eight bits, with the ranges of these inputs, or in float16 on a card, where processor and program can. They take turns.
Of each one's rounds the lowest time and the median are printed, how many times as fast it was as the nodes were in the same round, each
with the interval that has the median in it 19 times of 20, and how far the first result is from theirs, relative to its largest element.
The inputs are those of run.
`

func benchProgram(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	input := fs.String("input", "", "the .safetensors file of the inputs")
	rounds := fs.Int("rounds", 30, "how often each is run")
	threads := fs.Int("threads", 1, "threads of an operation")
	device := fs.String("device", "", deviceUsage)
	found, err := parse(fs, args, out, benchIntro, "PROGRAM")
	if err != nil {
		return err
	}
	if *input == "" || *rounds < 1 || *threads < 1 {
		return cli.Usagef("bench: expected -input, and numbers above 0")
	}
	program, inputs, done, err := open(found[0], *input, *device)
	if err != nil {
		return err
	}
	defer done()
	torch.SetNumThreads(*threads) // before weights are packed for them
	module, err := program.Module()
	if err != nil {
		return err
	}
	sides := []side{{name: "node by node", run: module.RunContext}}
	for _, k := range kinds(ctx, program, inputs, strings.HasPrefix(*device, "cuda")) {
		if err := ctx.Err(); err != nil {
			return err
		}
		compiled, err := k.compile(ctx, program, inputs)
		switch {
		case err != nil && k.optional:
			if _, err := fmt.Fprintf(out, "%-12s %v\n", k.name, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		defer compiled.Close()
		sides = append(sides, side{name: k.name, run: compiled.RunContext})
	}
	if err := measure(ctx, sides, inputs, *rounds); err != nil {
		return err
	}
	for _, s := range sides {
		faster := make([]float64, len(s.times))
		for i, own := range s.times {
			faster[i] = sides[0].times[i] / own
		}
		if _, err := fmt.Fprintf(out, "%-12s %9.3f ms, median %s, %s times as fast, difference %.1e\n", s.name, pace.Lowest(s.times),
			interval(s.times, 3), interval(faster, 2), s.difference); err != nil {
			return err
		}
	}
	return nil
}

// interval is a median with its interval.
func interval(values []float64, digits int) string {
	middle, low, high := pace.Median(values)
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, middle, digits, low, digits, high)
}

// kind is a way to compile a program, which may be refused if it is optional.
type kind struct {
	name     string
	options  export.CompileOptions
	optional bool
	refused  error // why there are no options
}

func (k kind) compile(ctx context.Context, program *export.Program, inputs []any) (*export.Compiled, error) {
	if k.refused != nil {
		return nil, k.refused
	}
	k.options.ExampleInputs = inputs
	return export.CompileContext(ctx, program, k.options)
}

// kinds are the ways to compile a program.
func kinds(ctx context.Context, program *export.Program, inputs []any, onCard bool) []kind {
	list := []kind{{name: "exact", options: export.CompileOptions{Exact: true}}, {name: "fused"},
		{name: "bfloat16", options: export.CompileOptions{DType: torch.BFloat16}, optional: true}}
	if onCard {
		return append(list, kind{name: "float16", options: export.CompileOptions{DType: torch.Float16}, optional: true})
	}
	ranges, err := export.CalibrateContext(ctx, program, slices.Values([][]any{inputs}))
	return append(list, kind{name: "bf16 weights", options: export.CompileOptions{Weights: torch.BFloat16}, optional: true},
		kind{name: "int8 weights", options: export.CompileOptions{Weights: torch.Int8}, optional: true},
		kind{name: "int8", options: export.CompileOptions{Int8: ranges}, optional: true, refused: err})
}

// side is one way to run a program.
type side struct {
	name       string
	run        runs
	times      []float64 // in milliseconds
	difference float64   // from the result of the first side
}

// measure lets the sides take turns, after it has compared their results.
func measure(ctx context.Context, sides []side, inputs []any, rounds int) (err error) {
	torch.Scope(func() {
		torch.NoGrad(func() {
			var want []torch.Tensor
			for i := range sides {
				var got []torch.Tensor
				if got, err = sides[i].run(ctx, inputs...); err != nil {
					return
				}
				if i == 0 {
					want = got
				}
				sides[i].difference = difference(got, want)
			}
		})
	})
	if err != nil {
		return err
	}
	order := make([]int, len(sides))
	for i := range order {
		order[i] = i
	}
	const warmup = 3
	return pace.Rounds(warmup, rounds, func(round int) error {
		for _, i := range pace.Turn(order, round) {
			if err := ctx.Err(); err != nil {
				return err
			}
			start := time.Now()
			var err error
			torch.Scope(func() {
				torch.NoGrad(func() {
					var results []torch.Tensor
					if results, err = sides[i].run(ctx, inputs...); len(results) > 0 {
						torch.Synchronize(results[0].Device())
					}
				})
			})
			if err != nil {
				return err
			}
			if round >= 0 {
				sides[i].times = append(sides[i].times, float64(time.Since(start))/float64(time.Millisecond))
			}
		}
		return nil
	})
}

// difference is how far two first results are from each other.
func difference(got, want []torch.Tensor) float64 {
	if len(got) == 0 || got[0].NumEl() == 0 {
		return 0
	}
	a, b := got[0].To(torch.CPU, torch.Float64), want[0].To(torch.CPU, torch.Float64)
	return a.Sub(b).Abs().Max().Float64() / max(b.Abs().Max().Float64(), math.SmallestNonzeroFloat32)
}

// deliver prints results or writes them.
func deliver(out io.Writer, path string, program *export.Program, results []torch.Tensor) error {
	named, i := map[string]torch.Tensor{}, 0
	for _, s := range program.Signature.Outputs {
		name, ok := s.Arg.(export.TensorArgument)
		if !ok || s.Kind != export.UserOutput {
			continue
		}
		if path == "" {
			if _, err := fmt.Fprintf(out, "%s = %v\n", name, results[i]); err != nil {
				return err
			}
		}
		named[string(name)] = results[i].CPU()
		i++
	}
	if path == "" {
		return nil
	}
	return safetensors.Save(path, maps.All(named))
}
