package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/internal/cli"
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

const runIntro = `usage: libtorch run -input FILE [-output FILE] PROGRAM

Runs a program of torch.export.save, .pt2. The inputs are the tensors of a .safetensors file, by the names of the arguments of
Python's forward; the results are printed, or written to another one by their names in the program.
`

func runProgram(_ context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	input := fs.String("input", "", "the .safetensors file of the inputs")
	output := fs.String("output", "", "the .safetensors file of the results")
	found, err := parse(fs, args, out, runIntro, "PROGRAM")
	if err != nil {
		return err
	}
	if *input == "" {
		return cli.Usagef("run: expected -input")
	}
	program, err := export.Load(found[0])
	if err != nil {
		return err
	}
	defer program.Close()
	file, err := safetensors.Load(*input)
	if err != nil {
		return err
	}
	defer file.Close()
	var inputs []any
	for _, name := range slices.Sorted(maps.Keys(file.Tensors)) {
		inputs = append(inputs, torch.Arg(name, file.Tensors[name]))
	}
	torch.Scope(func() {
		torch.NoGrad(func() {
			var results []torch.Tensor
			if results, err = program.Run(inputs...); err == nil {
				err = deliver(out, *output, program, results)
			}
		})
	})
	return err
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
		named[string(name)] = results[i]
		i++
	}
	if path == "" {
		return nil
	}
	return safetensors.Save(path, maps.All(named))
}
