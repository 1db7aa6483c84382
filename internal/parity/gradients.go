package parity

import (
	"math/cmplx"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// constraints make of an argument what the operator takes for granted, so that what a
// finite difference changes stays so: PyTorch's gradcheck_wrapper.
var constraints = map[string]struct {
	arg  string
	made func(k *Case, x torch.Tensor) torch.Tensor
}{
	"cholesky":                     {"self", hermitian},
	"linalg_cholesky":              {"self", hermitian},
	"linalg_cholesky_ex":           {"self", hermitian},
	"linalg_eigh":                  {"self", hermitian},
	"linalg_eigvalsh":              {"self", hermitian},
	"linalg_pinv.atol_rtol_tensor": {"self", hermitianIfSaid},
	"linalg_pinv.atol_rtol_float":  {"self", hermitianIfSaid},
	"cholesky_inverse":             {"self", factor},
	"cholesky_solve":               {"input2", triangular},
	"ctc_loss.IntList":             {"log_probs", logarithms},
	"ctc_loss.Tensor":              {"log_probs", logarithms},
}

func hermitian(_ *Case, x torch.Tensor) torch.Tensor { return x.Add(x.MH()).DivScalar(2) }

func hermitianIfSaid(k *Case, x torch.Tensor) torch.Tensor {
	if k.says("hermitian") {
		return hermitian(k, x)
	}
	return x
}

func triangular(k *Case, x torch.Tensor) torch.Tensor {
	if k.says("upper") {
		return x.Triu()
	}
	return x.Tril()
}

// factor is one that a Cholesky decomposition may give: its diagonal is real.
func factor(k *Case, x torch.Tensor) torch.Tensor {
	d := x.Diagonal(0, -2, -1)
	if x.IsComplex() {
		return triangular(k, x.Sub(d.DiagEmbed()).Add(d.Real().DiagEmbed()))
	}
	return triangular(k, x)
}

// logarithms are those of probabilities, which add up to 1.
func logarithms(_ *Case, x torch.Tensor) torch.Tensor { return x.LogSoftmax(2) }

// says reports a flag that is given and set.
func (k *Case) says(flag string) bool {
	v := k.Args[flag]
	return v != nil && v.B != nil && *v.B
}

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
// difference cannot change one of them. A copy without sharing will do as well.
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
	if c, ok := constraints[k.Op]; ok {
		i := *k.Args[c.arg].T
		tensors[i] = c.made(k, tensors[i])
	}
	args := map[string]any{}
	for name, v := range k.Args {
		args[name] = v.argument(tensors)
	}
	form := must(k.form(args, tensors))
	torch.ManualSeed(seed)
	outputs := tensorsIn(must(permitted(form, args)))
	for i, t := range outputs {
		if t.Layout() != torch.Strided {
			outputs[i] = t.ToDense()
		}
	}
	return outputs
}

const sparseInput = "an input is sparse"

// incomparable says why finite differences have nothing to say of a function; "" if they do.
func incomparable(fn func(in []torch.Tensor) []torch.Tensor, in []torch.Tensor) string {
	for _, t := range in {
		switch {
		case t.Layout() != torch.Strided:
			return sparseInput
		case coarse(t):
			return "an input is of a coarser dtype than float64"
		}
	}
	for _, t := range fn(in) {
		switch {
		case t.RequiresGrad() && coarse(t):
			return "a result is rounded to a coarser dtype than float64"
		case t.RequiresGrad() && !finite(t):
			return "a result is infinite or no number"
		}
	}
	return ""
}

func coarse(t torch.Tensor) bool { return t.DType() != torch.Float64 && t.DType() != torch.Complex128 }

func finite(t torch.Tensor) bool {
	return !slices.ContainsFunc(torch.Values[complex128](t), func(v complex128) bool { return cmplx.IsInf(v) || cmplx.IsNaN(v) })
}
