package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// mostSamples is how many pictures of a folder a model is calibrated with: ranges change little after some dozens.
const mostSamples = 64

// compileOptions are how a program is compiled. For eight bits it runs on the samples first.
func (c *config) compileOptions(ctx context.Context, p *export.Program) ([]export.CompileOptions, error) {
	if c.Compile != "int8" {
		return compilings[c.Compile], nil
	}
	ranges, err := c.calibrate(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Samples, err)
	}
	return []export.CompileOptions{{Int8: ranges}}, nil
}

// calibrate finds the ranges of what a program computes of its samples.
func (c *config) calibrate(ctx context.Context, p *export.Program) (ranges export.Calibration, err error) {
	defer torch.Recover(&err)
	torch.Scope(func() {
		var calls [][]any
		if calls, err = c.readSamples(p); err == nil {
			ranges, err = export.CalibrateContext(ctx, p, slices.Values(calls))
		}
	})
	return ranges, err
}

// readSamples reads the samples and cuts them into calls: of one row each, or of as many as the program was made for.
func (c *config) readSamples(p *export.Program) (calls [][]any, err error) {
	names, rows := sampled(p)
	info, err := os.Stat(c.Samples)
	if err != nil {
		return nil, err
	}
	var inputs []torch.Tensor
	if info.IsDir() {
		inputs, err = c.samplePictures(names)
	} else {
		inputs, err = sampleTensors(c.Samples, names)
	}
	if err != nil {
		return nil, err
	}
	n := inputs[0].Size(0)
	for i, x := range inputs {
		if x.Size(0) != n {
			return nil, fmt.Errorf("%q has %d samples, %q %d", names[0], n, names[i], x.Size(0))
		}
	}
	for at := 0; at+rows <= n; at += rows {
		var call []any
		for _, x := range inputs {
			call = append(call, x.Narrow(0, at, rows))
		}
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("there are %d samples, and the program takes %d at a time", n, rows)
	}
	return calls, nil
}

// sampled are the names of a program's inputs, and the rows of a call for a sample.
func sampled(p *export.Program) (names []string, rows int) {
	rows = 1
	for _, s := range p.Signature.Inputs {
		arg, ok := s.Arg.(export.TensorArgument)
		if s.Kind != export.UserInput || !ok {
			continue
		}
		names = append(names, string(arg))
		sizes := p.Graph.Tensors[string(arg)].Sizes
		if len(sizes) == 0 {
			continue
		}
		if n, fixed := sizes[0].Value(); fixed {
			rows = max(rows, int(n))
		} else if least := p.Ranges[sizes[0].Name].Min; least != nil {
			rows = max(rows, int(*least))
		}
	}
	return names, rows
}

// sampleTensors reads a tensor of samples for each input.
func sampleTensors(path string, names []string) (inputs []torch.Tensor, err error) {
	file, err := safetensors.Load(path)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		inputs = append(inputs, file.Tensors[name])
	}
	if have := slices.Sorted(maps.Keys(file.Tensors)); len(have) == 0 || !slices.Equal(have, slices.Sorted(slices.Values(names))) {
		return nil, fmt.Errorf("it has the tensors %q, expected those of the inputs, with a row for each sample: %q", have, names)
	}
	return inputs, nil
}

// samplePictures reads the first pictures of a folder, as clients would send them.
func (c *config) samplePictures(names []string) ([]torch.Tensor, error) {
	if c.Image == nil || len(names) != 1 {
		return nil, errors.New(`pictures are for a model with one input and "image" in config.json; expected a .safetensors file`)
	}
	entries, err := os.ReadDir(c.Samples)
	if err != nil {
		return nil, err
	}
	var parts []torch.Tensor
	for _, e := range entries {
		if e.IsDir() || len(parts) == mostSamples {
			continue
		}
		file, err := os.ReadFile(filepath.Join(c.Samples, e.Name()))
		if err != nil {
			return nil, err
		}
		x, err := c.Image.decode(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		parts = append(parts, x)
	}
	if len(parts) == 0 {
		return nil, errors.New("there are no pictures in it")
	}
	return []torch.Tensor{torch.Cat(parts)}, nil
}
