package main

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch/export/aoti"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// openPackage loads a package of AOTInductor, which is machine code: where the operator permits that.
func openPackage(path string, c *config, permitted bool) (serve.Model, error) {
	if !permitted {
		return nil, errors.New("it is a package of AOTInductor, machine code that can do what this server can: -aoti permits it")
	}
	o := aoti.LoadOptions{SHA256: c.SHA256, Runners: max(c.Lanes, 4)}
	specs, err := specsOf(c.Inputs)
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		in := aoti.Input{Name: s.Name, DType: s.DType}
		for d, n := range s.Shape {
			size := aoti.Fixed(n)
			switch {
			case n < 0 && d > 0:
				return nil, fmt.Errorf("%q: only the first size of an input of a package may vary", s.Name)
			case n < 0:
				size = aoti.Varying("rows")
			}
			in.Sizes = append(in.Sizes, size)
		}
		o.Inputs = append(o.Inputs, in)
	}
	outputs, err := specsOf(c.Outputs)
	if err != nil {
		return nil, err
	}
	module, err := aoti.LoadTrusted(path, o)
	if err != nil {
		return nil, err
	}
	m, err := serve.AOTI(module, outputs...)
	if err != nil {
		module.Close()
	}
	return m, err
}
