package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// openScript loads a model of TorchScript, which is a program: where the operator permits that, and once a child process has survived
// it; or child processes run it.
func openScript(path string, c *config, trusted trusted) (serve.Model, error) {
	if !trusted.scripts && !trusted.confined {
		return nil, errors.New("it is TorchScript, a program that can do what this server can: -torchscript permits it, " +
			"-confine has child processes run it")
	}
	inputs, outputs, err := c.ports()
	if err != nil {
		return nil, err
	}
	if trusted.confined {
		return confined(path, c, inputs, outputs)
	}
	info, err := jit.Inspect(context.Background(), path)
	if err != nil {
		return nil, err
	}
	// What was looked at is what is loaded, unless config.json wants another file.
	module, err := jit.LoadTrusted(path, jit.LoadOptions{SHA256: cmp.Or(c.SHA256, info.SHA256)})
	if err != nil {
		return nil, err
	}
	m, err := serve.TorchScript(module, inputs, outputs)
	if err != nil {
		module.Close()
	}
	return m, err
}

// confined has child processes run a model of TorchScript.
func confined(path string, c *config, inputs, outputs []serve.Spec) (serve.Model, error) {
	module, err := jit.Confine(path, jit.ConfineOptions{SHA256: c.SHA256, Processes: c.Lanes})
	if err != nil {
		return nil, err
	}
	m, err := serve.Confined(module, inputs, outputs)
	if err != nil {
		module.Close()
	}
	return m, err
}

// ports are the inputs and outputs of a module, as config.json has them, config.pbtxt, or what is said of pictures.
func (c *config) ports() (inputs, outputs []serve.Spec, err error) {
	switch {
	case len(c.Inputs) > 0 && len(c.Outputs) > 0:
		inputs, err = specsOf(c.Inputs)
		if err == nil {
			outputs, err = specsOf(c.Outputs)
		}
	case len(c.triton.GetInput()) > 0 && len(c.triton.GetOutput()) > 0:
		inputs, err = specsOf(tritonPorts(c, c.triton.GetInput()))
		if err == nil {
			outputs, err = specsOf(tritonPorts(c, c.triton.GetOutput()))
		}
	case c.Image != nil && c.Image.Size > 0 && len(c.Labels) > 0:
		inputs = []serve.Spec{{Name: "image", DType: torch.Float32, Shape: []int{-1, 3, c.Image.Size, c.Image.Size}}}
		outputs = []serve.Spec{{Name: "scores", DType: torch.Float32, Shape: []int{-1, len(c.Labels)}}}
	default:
		err = errors.New(`TorchScript does not say dtypes and shapes: expected "inputs" and "outputs" in config.json, ` +
			`input and output in config.pbtxt, or "image" and "labels"`)
	}
	return inputs, outputs, err
}

func specsOf(list []port) (specs []serve.Spec, err error) {
	for _, p := range list {
		dtype, _, err := dtypeOf(p.Datatype)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", p.Name, err)
		}
		specs = append(specs, serve.Spec{Name: p.Name, DType: dtype, Shape: slices.Clone(p.Shape)})
	}
	return specs, nil
}

// tritonPorts are inputs or outputs of Triton's configuration.
func tritonPorts[T tritonTensor](c *config, list []T) (ports []port) {
	for _, t := range list {
		p := port{Name: t.GetName(), Datatype: t.GetDataType().String()[len("TYPE_"):]}
		if c.maxRows > 0 {
			p.Shape = append(p.Shape, -1)
		}
		for _, n := range t.GetDims() {
			p.Shape = append(p.Shape, int(n))
		}
		ports = append(ports, p)
	}
	return ports
}
