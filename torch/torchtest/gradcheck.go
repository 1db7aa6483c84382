package torchtest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
)

// GradCheckOptions are the rarer arguments of [GradCheck].
type GradCheckOptions struct {
	Eps           float64 // the step of the finite differences; default 1e-6
	ATol          float64 // as Tolerance.Absolute; default 1e-5
	RTol          float64 // as Tolerance.Relative; default 1e-3
	NonDetTol     float64 // how far apart two backward passes may be
	SkipUndefined bool    // do not check that undefined gradients of outputs count as zeros
	Fast          bool    // compare one random projection of each Jacobian
}

// GradCheck stops the test unless the gradients that autograd computes for fn agree with
// finite differences: [CheckGradients] for tests.
func GradCheck(t testing.TB, fn func(inputs []torch.Tensor) []torch.Tensor, inputs []torch.Tensor, opts ...GradCheckOptions) {
	t.Helper()
	if err := CheckGradients(fn, inputs, opts...); err != nil {
		t.Fatal(err)
	}
}

// CheckGradients holds the backward pass of fn against central differences, as PyTorch's
// gradcheck does. For each input that requires gradients, and each output that has them,
// every element of the Jacobian is compared; with Fast a single random combination of
// them, which is enough to find nearly every mistake and takes two calls of fn per input
// in place of two per element. A complex output counts as two real ones, and the gradient
// with respect to a complex input is PyTorch's: that of the real part plus i times that of
// the imaginary part.
//
// It also wants two backward passes to agree, and gradients of outputs that are zero or
// undefined to give zero.
//
// The inputs that require gradients must be float64 or complex128. They are changed in
// place and back, so fn may as well reach them through variables of its own; it must
// compute the same from the same inputs, so what is random in it has to be seeded there.
// What fn makes is freed. What it panics with as a *torch.Error is returned.
func CheckGradients(fn func(inputs []torch.Tensor) []torch.Tensor, inputs []torch.Tensor, opts ...GradCheckOptions) error {
	g := &gradCheck{fn: fn, inputs: inputs, backward: torch.Grad}
	return g.check(opts...)
}

// gradCheck is one run of CheckGradients.
type gradCheck struct {
	fn       func([]torch.Tensor) []torch.Tensor
	inputs   []torch.Tensor
	wanted   []int // the inputs that require gradients
	o        GradCheckOptions
	rng      *rand.Rand // of its own: fn's random numbers stay what they are
	backward func(outputs, inputs []torch.Tensor, opts ...torch.GradOptions) []torch.Tensor
	kinds    []string      // dtype and shape of each output
	probes   [][]direction // in which each wanted input is moved
	slopes   [][]slope     // what comes of it
}

func (g *gradCheck) check(opts ...GradCheckOptions) (err error) {
	if len(opts) > 0 {
		g.o = opts[0]
	}
	g.o.Eps, g.o.ATol, g.o.RTol = cmp.Or(g.o.Eps, 1e-6), cmp.Or(g.o.ATol, 1e-5), cmp.Or(g.o.RTol, 1e-3)
	g.rng = rand.New(rand.NewPCG(1, 2))
	thrown := torch.Try(func() {
		torch.Scope(func() {
			if err = g.accept(); err == nil {
				err = g.run()
			}
		})
	})
	if err = errors.Join(err, thrown); err != nil {
		return fmt.Errorf("gradcheck: %w", err)
	}
	return nil
}

// accept refuses inputs that no finite difference can be taken of.
func (g *gradCheck) accept() error {
	for i, x := range g.inputs {
		if !x.Defined() || !x.RequiresGrad() {
			continue
		}
		g.wanted = append(g.wanted, i)
		switch {
		case x.DType() != torch.Float64 && x.DType() != torch.Complex128:
			return fmt.Errorf("input %d is %v, too coarse for finite differences: make it float64 or complex128", i, x.DType())
		case x.Layout() != torch.Strided:
			return fmt.Errorf("input %d is %v: make it dense, and sparse again within the function", i, x.Layout())
		}
		for d, stride := range x.Stride() {
			if stride == 0 && x.Size(d) > 1 {
				return fmt.Errorf("elements of input %d share memory, so none can be changed by itself: use its Contiguous copy", i)
			}
		}
	}
	if len(g.wanted) == 0 {
		return errors.New("no input requires gradients: call SetRequiresGrad(true) on those to check")
	}
	return nil
}

func (g *gradCheck) run() error {
	first, err := g.evaluate()
	if err != nil {
		return err
	}
	for _, o := range first {
		g.kinds = append(g.kinds, o.kind)
	}
	for _, i := range g.wanted {
		probes := g.directions(g.inputs[i].NumEl())
		slopes := make([]slope, len(probes))
		for n, p := range probes {
			if slopes[n], err = g.slope(i, p); err != nil {
				return err
			}
		}
		g.probes, g.slopes = append(g.probes, probes), append(g.slopes, slopes)
	}
	var roots []torch.Tensor
	outputs := g.fn(g.inputs)
	for k, o := range outputs {
		if !o.RequiresGrad() {
			continue
		}
		roots = append(roots, o)
		if err := g.compare(k, o); err != nil {
			return err
		}
	}
	if len(roots) == 0 {
		return g.flat()
	}
	return g.silent(roots)
}

// flat wants no output to change where none has gradients.
func (g *gradCheck) flat() error {
	for n, i := range g.wanted {
		for _, s := range g.slopes[n] {
			for k := range g.kinds {
				for _, part := range [...][]float64{s.re[k].re, s.re[k].im, s.im[k].re, s.im[k].im} {
					for _, v := range part {
						if !(math.Abs(v) <= g.o.NonDetTol) {
							return fmt.Errorf("no output requires gradients, but output %d changes with input %d: the numerical gradient has a %v", k, i, v)
						}
					}
				}
			}
		}
	}
	return nil
}

// compare holds the gradients of output k against the slopes.
func (g *gradCheck) compare(k int, o torch.Tensor) error {
	parts := []string{""}
	if o.DType().IsComplex() {
		parts = []string{"the real part of ", "the imaginary part of "}
	}
	for imaginary, name := range parts {
		found := make([]mismatch, len(g.wanted))
		directions := g.directions(o.NumEl())
		for _, v := range directions {
			grads, err := g.gradients(k, o, v, imaginary == 1)
			if err != nil {
				return err
			}
			for n := range g.wanted {
				g.against(&found[n], n, k, imaginary == 1, v, grads[n])
			}
		}
		for n, i := range g.wanted {
			if m := found[n]; m.count > 0 {
				what := fmt.Sprintf("the gradient of %soutput %d with respect to input %d", name, k, i)
				return g.explain(m, what, k, i, len(directions)*len(g.probes[n]), o)
			}
		}
	}
	return nil
}

// mismatch are elements of a Jacobian that are too far apart.
type mismatch struct {
	count                       int
	analytical, numerical       complex128 // where they are furthest apart
	distance, allowed           float64
	outputElement, inputElement int
}

// against compares the gradient of input n, for direction v of output k, with the slopes.
func (g *gradCheck) against(m *mismatch, n, k int, imaginary bool, v direction, gradient numbered) {
	for j, p := range g.probes[n] {
		s := g.slopes[n][j]
		analytical := complex(p.dot(gradient.re), p.dot(gradient.im))
		numerical := complex(v.dot(s.re[k].part(imaginary)), v.dot(s.im[k].part(imaginary)))
		allowed := g.o.ATol*g.weight(n, p)*v.weight() + g.o.RTol*cmplx.Abs(numerical)
		d := distance(analytical, numerical, false)
		if d <= allowed {
			continue
		}
		if m.count++; m.count == 1 || d > m.distance || math.IsNaN(d) {
			m.analytical, m.numerical, m.distance, m.allowed = analytical, numerical, d, allowed
			m.outputElement, m.inputElement = v.unit, p.unit
		}
	}
}

// weight is that of a direction of input n. Where the real and the imaginary part are
// each moved at random, their errors add up.
func (g *gradCheck) weight(n int, p direction) float64 {
	if p.unit < 0 && g.inputs[g.wanted[n]].DType().IsComplex() {
		return 2 * p.weight()
	}
	return p.weight()
}

// explainable is how many elements, each of them two calls, are searched for an explanation.
const explainable = 1000

// explain says what is wrong. What the fast mode has found is sought again element by
// element, since a projection tells nobody where to look.
func (g *gradCheck) explain(m mismatch, what string, k, i, pairs int, o torch.Tensor) error {
	if !g.o.Fast {
		return fmt.Errorf("%s is wrong in %d of %d elements\nworst at output %d%v, input %d%v: analytical %v, numerical %v, apart "+
			"by %g where %g is allowed",
			what, m.count, pairs, k, position(m.outputElement, o.Shape()), i, position(m.inputElement, g.inputs[i].Shape()),
			plain(m.analytical), plain(m.numerical), m.distance, m.allowed)
	}
	err := errors.New("which of its many elements a check without Fast would tell")
	if max(g.inputs[i].NumEl(), o.NumEl()) <= explainable {
		slow := &gradCheck{fn: g.fn, inputs: g.inputs, wanted: []int{i}, o: g.o, backward: g.backward}
		slow.o.Fast = false
		if err = slow.run(); err == nil {
			err = errors.New("but each element by itself is right: the check without Fast passes")
		}
	}
	return fmt.Errorf("%s is wrong in a random projection: analytical %v, numerical %v, apart by %g where %g is allowed\n%w",
		what, plain(m.analytical), plain(m.numerical), m.distance, m.allowed, err)
}

// plain prints a number without an imaginary part as one.
func plain(c complex128) any {
	if imag(c) == 0 {
		return real(c)
	}
	return c
}
