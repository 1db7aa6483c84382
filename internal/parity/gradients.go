package parity

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// differentiable is a case as a function of those of its tensors that need gradients.
func (c *chunk) differentiable(k *Case) (fn func(in []torch.Tensor) []torch.Tensor, in []torch.Tensor) {
	tensors := c.load(k.Tensors)
	for i, d := range k.Tensors {
		if !d.Grad {
			continue
		}
		if overlaps(d) {
			tensors[i] = tensors[i].Detach().Contiguous().SetRequiresGrad(true)
		}
		in = append(in, tensors[i])
	}
	return func(in []torch.Tensor) []torch.Tensor { return k.at(slices.Clone(tensors), in) }, in
}

// overlaps reports elements that share memory, as those of an expanded tensor: a finite
// difference cannot change one of them. Without sharing they are as good.
func overlaps(d tensorDesc) bool {
	for i, stride := range d.Stride {
		if stride == 0 && d.Shape[i] > 1 {
			return true
		}
	}
	return false
}

// at makes the call with in as the tensors that need gradients. Whatever the call writes
// to is a copy, so that the next one starts from the same, from the same seed too.
func (k *Case) at(tensors, in []torch.Tensor) []torch.Tensor {
	for i, d := range k.Tensors {
		if d.Grad {
			tensors[i], in = in[0], in[1:]
		}
	}
	for _, i := range k.writes() {
		tensors[i] = tensors[i].Clone()
	}
	args := map[string]any{}
	for name, v := range k.Args {
		args[name] = v.argument(tensors)
	}
	form := must(k.form(args, tensors))
	torch.ManualSeed(seed)
	outputs := tensorsIn(must(form.Call(args)))
	for i, t := range outputs {
		if t.Layout() != torch.Strided {
			outputs[i] = t.ToDense()
		}
	}
	return outputs
}
