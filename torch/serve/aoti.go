package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export/aoti"
)

// AOTI is a model made of a package of AOTInductor, which it closes at its end. The package says what goes in; inputs have the names of
// aoti.Model.Inputs, outputs those of aoti.Model.Outputs. What comes out it does not say: so the model computes zeros of a few sizes
// here, unless the outputs are given. Lanes beyond aoti.LoadOptions.Runners wait for each other.
func AOTI(m *aoti.Model, outputs ...Spec) (Model, error) {
	p := &pack{model: m}
	rows := ""
	for i, in := range m.Inputs() {
		p.signature.Inputs = append(p.signature.Inputs, Spec{Name: in.Name, DType: in.DType, Shape: in.Shape()})
		first := ""
		if len(in.Sizes) > 0 {
			first = in.Sizes[0].Name
		}
		if i == 0 {
			rows = first
		}
		if first == "" || first != rows {
			p.signature.NoBatch = true
		}
	}
	p.signature.Outputs = outputs
	if len(outputs) == 0 {
		if err := p.probe(rows); err != nil {
			return nil, fmt.Errorf("serve: the package does not say what it returns, and zeros do not show it: %w", err)
		}
	}
	if err := p.signature.check(); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return p, nil
}

type pack struct {
	model     *aoti.Model
	signature Signature
}

// probe finds out what the model returns: once for sizes as small as can be, then for each size that varies with that alone
// increased. What follows it in the outputs varies.
func (p *pack) probe(rows string) error {
	sizes, larger := map[string]int{}, map[string]int{}
	for _, in := range p.model.Inputs() {
		for _, s := range in.Sizes {
			if s.Min == s.Max {
				continue
			}
			if s.Name == "" {
				return fmt.Errorf("the input %v has a size that varies and has no name", in)
			}
			sizes[s.Name] = min(max(s.Min, 2), s.Max)
			larger[s.Name] = min(sizes[s.Name]+1, s.Max)
		}
	}
	shapes, dtypes, err := p.shapes(sizes)
	if err != nil {
		return err
	}
	varying := make([][]int, len(shapes))
	for i, shape := range shapes {
		varying[i] = slices.Clone(shape)
	}
	for name, n := range larger {
		own := map[string]int{name: n}
		for other, n := range sizes {
			if other != name {
				own[other] = n
			}
		}
		now, _, err := p.shapes(own)
		if err != nil {
			return err
		}
		for i, shape := range now {
			if len(shape) != len(shapes[i]) {
				return fmt.Errorf("output %d has %d dimensions or %d", i, len(shapes[i]), len(shape))
			}
			for d, size := range shape {
				if size != shapes[i][d] {
					varying[i][d] = -1
				}
			}
			follows := len(shape) > 0 && shape[0] == n && shapes[i][0] == sizes[name]
			p.signature.NoBatch = p.signature.NoBatch || (name == rows) != follows && len(shape) > 0 && varying[i][0] == -1
		}
	}
	for i, name := range p.model.Outputs() {
		p.signature.Outputs = append(p.signature.Outputs, Spec{Name: name, DType: dtypes[i], Shape: varying[i]})
	}
	return nil
}

// shapes are what the model returns for zeros of those sizes.
func (p *pack) shapes(sizes map[string]int) (shapes [][]int, dtypes []torch.DType, err error) {
	failed := torch.Try(func() {
		inScope(func() {
			var inputs, outputs []torch.Tensor
			for _, in := range p.model.Inputs() {
				shape := in.Shape()
				for d, s := range in.Sizes {
					if shape[d] == -1 {
						shape[d] = sizes[s.Name]
					}
				}
				inputs = append(inputs, torch.TensorOptions{DType: in.DType, Device: p.model.Device()}.Zeros(shape...))
			}
			outputs, err = p.model.RunTensors(context.Background(), inputs)
			for _, y := range outputs {
				if !y.Defined() {
					err = errors.New("one of its outputs is None")
					return
				}
				shapes, dtypes = append(shapes, y.Shape()), append(dtypes, y.DType())
			}
		})
	})
	return shapes, dtypes, errors.Join(failed, err)
}

func (p *pack) Signature() Signature { return p.signature }

func (p *pack) Run(ctx context.Context, inputs []torch.Tensor) ([]torch.Tensor, error) {
	return p.model.RunTensors(ctx, inputs)
}

func (p *pack) Close() { p.model.Close() }
