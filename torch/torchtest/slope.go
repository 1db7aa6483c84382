package torchtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/versions"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// direction is a direction in the space of a tensor's elements: that of one element, or a
// random one.
type direction struct {
	unit   int // the element; -1 for random
	random []float64
}

// directions are those to look in: one random one if the check is fast, else all.
func (g *gradCheck) directions(n int) []direction {
	if g.o.Fast {
		return []direction{g.random(n)}
	}
	list := make([]direction, n)
	for i := range list {
		list[i].unit = i
	}
	return list
}

// random is a vector of length 1 without negative elements, like PyTorch's: deviations of
// the same sign must not cancel each other.
func (g *gradCheck) random(n int) direction {
	d, squares := direction{unit: -1, random: make([]float64, n)}, 0.0
	for i := range d.random {
		d.random[i] = g.rng.Float64()
		squares += d.random[i] * d.random[i]
	}
	for i := range d.random {
		d.random[i] /= math.Sqrt(squares)
	}
	return d
}

// dot is 0 for an x that is not there.
func (d direction) dot(x []float64) (sum float64) {
	switch {
	case x == nil:
		return 0
	case d.unit >= 0:
		return x[d.unit]
	}
	for i, v := range d.random {
		sum += v * x[i]
	}
	return sum
}

// weight is by how much the error of a projection may exceed that of an element.
func (d direction) weight() (sum float64) {
	if d.unit >= 0 {
		return 1
	}
	for _, v := range d.random {
		sum += v
	}
	return sum
}

// values are the direction as the elements of a tensor of n.
func (d direction) values(n int) []float64 {
	if d.unit < 0 {
		return d.random
	}
	list := make([]float64, n)
	list[d.unit] = 1
	return list
}

// numbered are the elements of a tensor: im is nil for real ones, both are for what has
// no derivative, such as integers.
type numbered struct{ re, im []float64 }

func (n numbered) part(imaginary bool) []float64 {
	if imaginary {
		return n.im
	}
	return n.re
}

func elements(t torch.Tensor) (n numbered) {
	switch d := t.DType(); {
	case d.IsComplex():
		for _, v := range torch.Values[complex128](t) {
			n.re, n.im = append(n.re, real(v)), append(n.im, imag(v))
		}
	case d.IsFloatingPoint():
		n.re = torch.Values[float64](t)
	}
	return n
}

// like is a tensor of the elements with the dtype, shape and device of x.
func (n numbered) like(x torch.Tensor) torch.Tensor {
	t := torch.FromSlice(n.re)
	if x.DType().IsComplex() {
		t = torch.Complex(t, torch.FromSlice(n.im))
	}
	return t.Reshape(x.Shape()...).To(x.DType(), x.Device())
}

// outcome is one output of the function at some point.
type outcome struct {
	kind string
	numbered
}

// evaluate calls the function.
func (g *gradCheck) evaluate() (list []outcome, err error) {
	torch.Scope(func() {
		for k, o := range g.fn(g.inputs) {
			if !o.Defined() {
				err = fmt.Errorf("output %d is the undefined tensor", k)
				return
			}
			if o.Layout() != torch.Strided {
				err = fmt.Errorf("output %d is %v: make it dense within the function", k, o.Layout())
				return
			}
			list = append(list, outcome{fmt.Sprint(o.DType(), o.Shape()), elements(o)})
		}
	})
	return list, err
}

// slope is how each output changes where the real part of an input moves in a direction,
// and where the imaginary part does if it has one.
type slope struct{ re, im []numbered }

func (g *gradCheck) slope(i int, d direction) (s slope, err error) {
	if s.re, err = g.difference(i, d, false); err != nil {
		return s, err
	}
	s.im = make([]numbered, len(s.re))
	if g.inputs[i].DType().IsComplex() {
		s.im, err = g.difference(i, d, true)
	}
	return s, err
}

// difference is the central difference of each output.
func (g *gradCheck) difference(i int, d direction, imaginary bool) ([]numbered, error) {
	below, err := g.moved(i, d, imaginary, -g.o.Eps)
	if err != nil {
		return nil, err
	}
	above, err := g.moved(i, d, imaginary, g.o.Eps)
	if err != nil {
		return nil, err
	}
	list := make([]numbered, len(above))
	for k := range list {
		list[k] = numbered{g.quotient(below[k].re, above[k].re), g.quotient(below[k].im, above[k].im)}
	}
	return list, nil
}

func (g *gradCheck) quotient(below, above []float64) []float64 {
	for e := range above {
		above[e] = (above[e] - below[e]) / (2 * g.o.Eps)
	}
	return above
}

// moved evaluates the function with input i moved by a step. Only the numbers that the
// direction changes are written: adding nothing would turn -0 into 0.
func (g *gradCheck) moved(i int, d direction, imaginary bool, step float64) (list []outcome, err error) {
	torch.Scope(func() {
		// Not Detach, which shares the count of changes: graphs that hold the input stay good.
		x := torch.Call("data", g.inputs[i])[0].(torch.Tensor)
		original := x.Clone()
		defer x.CopyInPlace(original)
		n := elements(x)
		part := n.part(imaginary)
		for e, v := range d.values(len(part)) {
			if v != 0 {
				part[e] += step * v
			}
		}
		x.CopyInPlace(n.like(x))
		if list, err = g.evaluate(); err != nil {
			return
		}
		kinds := make([]string, len(list))
		for k, o := range list {
			kinds[k] = o.kind
		}
		if !slices.Equal(kinds, g.kinds) {
			err = fmt.Errorf("with input %d changed by %g the outputs are %v, without %v", i, step, kinds, g.kinds)
		}
	})
	return list, err
}

// gradients are those of the wanted inputs for direction v of output k, from two passes
// that have to agree.
func (g *gradCheck) gradients(k int, o torch.Tensor, v direction, imaginary bool) ([]numbered, error) {
	seed := numbered{v.values(o.NumEl()), make([]float64, o.NumEl())}
	if imaginary {
		seed.re, seed.im = seed.im, seed.re
	}
	first := g.pass([]torch.Tensor{o}, seed.like)
	for n, again := range g.pass([]torch.Tensor{o}, seed.like) {
		if d := max(furthest(first[n].re, again.re), furthest(first[n].im, again.im)); !(d <= g.o.NonDetTol) {
			return nil, fmt.Errorf("two backward passes from output %d give gradients of input %d that are apart by %g, where "+
				"NonDetTol is %g", k, g.wanted[n], d, g.o.NonDetTol)
		}
	}
	return first, nil
}

// furthest is the largest difference; NaNs are as good as each other here, because no
// slope agrees with one.
func furthest(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, distance(complex(a[i], 0), complex(b[i], 0), true))
	}
	return most
}

// pass is a backward pass from the roots: the gradients of the wanted inputs, with zeros
// for an undefined one.
func (g *gradCheck) pass(roots []torch.Tensor, seed func(root torch.Tensor) torch.Tensor) []numbered {
	list := make([]numbered, len(g.wanted))
	torch.Scope(func() {
		var seeds, inputs []torch.Tensor
		for _, root := range roots {
			seeds = append(seeds, seed(root))
		}
		for _, i := range g.wanted {
			inputs = append(inputs, g.inputs[i])
		}
		for n, t := range g.backward(roots, inputs, torch.GradOptions{GradOutputs: seeds, AllowUnused: true, RetainGraph: true}) {
			size := inputs[n].NumEl()
			list[n] = numbered{make([]float64, size), make([]float64, size)}
			if !t.Defined() {
				continue
			}
			if t.Layout() != torch.Strided {
				t = t.ToDense()
			}
			e := elements(t)
			copy(list[n].re, e.re)
			copy(list[n].im, e.im)
		}
	})
	return list
}

// silent wants no gradient to arrive where none is sent: zeros to all outputs, then
// undefined ones to all and to each by itself.
func (g *gradCheck) silent(roots []torch.Tensor) error {
	if err := g.nothing(roots, "zero"); err != nil || g.o.SkipUndefined || !canMute() {
		return err
	}
	muted := make([]torch.Tensor, len(roots))
	for n, o := range roots {
		muted[n] = mute(o)
	}
	if err := g.nothing(muted, "undefined"); err != nil || len(roots) == 1 {
		return err
	}
	for n := range roots {
		some := slices.Clone(roots)
		some[n] = muted[n]
		if err := g.nothing(some, "zero or undefined"); err != nil {
			return err
		}
	}
	return nil
}

func (g *gradCheck) nothing(roots []torch.Tensor, what string) error {
	var grads []numbered
	err := torch.Try(func() {
		grads = g.pass(roots, func(root torch.Tensor) torch.Tensor { return torch.ZerosLike(root) })
	})
	if err != nil {
		return fmt.Errorf("backward fails where gradients of outputs are %s: %w", what, err)
	}
	for n, i := range g.wanted {
		zeros := make([]float64, len(grads[n].re))
		if d := max(furthest(grads[n].re, zeros), furthest(grads[n].im, zeros)); d != 0 {
			return fmt.Errorf("where gradients of outputs are %s, that of input %d has a %g", what, i, d)
		}
	}
	return nil
}

// canMute reports whether libtorch is one that mute works on.
func canMute() bool { return !versions.UndefinedBecomesZeros.Holds() }

// mute returns a root from which an undefined gradient reaches o. The mean that group
// normalization returns beside its result is such a one: its backward pass computes from
// the gradient of the result alone, and passes on nothing where there is none.
func mute(o torch.Tensor) torch.Tensor {
	if o.DType().IsComplex() {
		o = torch.ViewAsReal(o.ResolveConj())
	}
	n := o.NumEl()
	_, mean, _ := aten.NativeGroupNorm(o.Reshape(1, 1, n).Contiguous(), torch.Tensor{}, torch.Tensor{}, 1, 1, n, 1, 1)
	return mean
}
