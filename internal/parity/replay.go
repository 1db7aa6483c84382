package parity

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/torch"
)

// seed is record.py's SEED.
const seed = 7

// errNoForm is the outcome of a case that no typed function can make.
var errNoForm = errors.New("no Go form")

// run makes the call of a case and returns in which way it differs from Python's; "" for
// none. The error is for a call that could not be made.
func (c *chunk) run(k *Case) (difference string, err error) {
	call, err := prepare(c, k)
	if err != nil {
		return "", err
	}
	torch.ManualSeed(seed)
	var out []any
	var misfit error
	thrown := torch.Try(func() { out, misfit = call.call(k) })
	switch {
	case misfit != nil:
		return "", fmt.Errorf("%w: %w", errNoForm, misfit)
	case k.Error != nil:
		return k.Error.differs(thrown), nil
	case thrown != nil:
		return thrown.Error(), nil
	case k.Unsupported != "":
		return "", nil
	}
	var d differences
	d.add("gradients", c.grads(k, call.leaves, out))
	torch.NoGrad(func() {
		d.add("results", c.results(k, out))
		for i, t := range call.written {
			d.add("written", c.same(k.Written[i], t))
		}
	})
	return strings.Join(d, "; "), nil
}

type differences []string

func (d *differences) add(what, text string) {
	if text != "" {
		*d = append(*d, what+": "+text)
	}
}

// invocation is a case made ready: record.py's prepare.
type invocation struct {
	form    optable.Form
	args    map[string]any
	leaves  []torch.Tensor // that may need gradients, in order
	written []torch.Tensor
}

func prepare(c *chunk, k *Case) (*invocation, error) {
	in := &invocation{args: map[string]any{}, leaves: c.load(k.Tensors)}
	tensors := slices.Clone(in.leaves)
	for _, i := range k.writes() {
		if k.Tensors[i].Grad {
			tensors[i] = tensors[i].Clone()
		}
		in.written = append(in.written, tensors[i])
	}
	for name, v := range k.Args {
		in.args[name] = v.argument(tensors)
	}
	if k.isOut() {
		return in, nil
	}
	var err error
	in.form, err = k.form(in.args, tensors)
	return in, err
}

// call makes the call. It returns an error if the arguments do not fit the Go form.
func (in *invocation) call(k *Case) (out []any, err error) {
	if in.form.Func != nil {
		return permitted(in.form, in.args)
	}
	var named []any
	for name, v := range in.args {
		named = append(named, torch.Arg(name, v))
	}
	torch.Unsafe(func() { out = torch.Call(k.Op, named...) })
	return out, nil
}

// permitted is a call of a form that may be of an inner operator: Python's own calls of these are
// among the cases.
func permitted(form optable.Form, args map[string]any) (out []any, err error) {
	torch.Unsafe(func() { out, err = form.Call(args) })
	return out, err
}

// isOut reports a variant that writes to a tensor it is given: in Go that is a matter of
// torch.Call.
func (k *Case) isOut() bool {
	name, _, _ := strings.Cut(k.Op, ".")
	return len(k.Write) > 0 && !strings.HasSuffix(name, "_") && len(optable.FindAll(k.Op)) == 0
}

// writes are the indices of the tensors that the case writes to.
func (k *Case) writes() []int {
	var list []int
	for _, name := range k.Write {
		v := k.Args[name]
		switch {
		case v == nil:
		case v.T != nil:
			list = append(list, *v.T)
		case v.L != nil:
			for _, x := range *v.L {
				if x != nil {
					list = append(list, *x.T)
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// grads compares the gradients of everything that needs one.
func (c *chunk) grads(k *Case, leaves []torch.Tensor, out []any) string {
	var roots, seeds, inputs []torch.Tensor
	for _, t := range tensorsIn(out) {
		if t.RequiresGrad() {
			roots, seeds = append(roots, t), append(seeds, seedLike(t))
		}
	}
	for i, t := range leaves {
		if k.Tensors[i].Grad {
			inputs = append(inputs, t)
		}
	}
	if len(roots) == 0 || len(inputs) == 0 {
		if k.Grads != nil || k.GradError != nil {
			return "nothing to differentiate"
		}
		return ""
	}
	var got []torch.Tensor
	err := torch.Try(func() {
		got = torch.Grad(roots, inputs, torch.GradOptions{GradOutputs: seeds, AllowUnused: true})
	})
	switch {
	case k.GradError != nil:
		return k.GradError.differs(err)
	case err != nil:
		return err.Error()
	case len(k.Grads) != len(got):
		return fmt.Sprintf("%d of them, want %d", len(got), len(k.Grads))
	}
	for i, want := range k.Grads {
		if d := c.same(want, got[i]); d != "" {
			return fmt.Sprintf("of input %d: %s", i, d)
		}
	}
	return ""
}

// seedLike is record.py's seeds.
func seedLike(t torch.Tensor) torch.Tensor {
	re, im := make([]float64, t.NumEl()), make([]float64, t.NumEl())
	for i := range re {
		re[i], im[i] = float64(i%7-3)/4+0.125, float64(i%5-2)/4
	}
	seeds := torch.FromSlice(re)
	if t.IsComplex() {
		seeds = torch.Complex(seeds, torch.FromSlice(im))
	}
	return seeds.To(t.Device(), t.DType()).Reshape(t.Shape()...)
}

func tensorsIn(list []any) []torch.Tensor {
	var out []torch.Tensor
	for _, v := range list {
		switch v := v.(type) {
		case torch.Tensor:
			if v.Defined() {
				out = append(out, v)
			}
		case []torch.Tensor:
			out = append(out, v...)
		}
	}
	return out
}

// results compares what the operator returned.
func (c *chunk) results(k *Case, got []any) string {
	want := k.Out
	if len(want) == 1 && want[0] == nil && len(got) == 0 {
		return ""
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%d of them, want %d", len(got), len(want))
	}
	for i := range want {
		if d := c.result(exceptionFor(k.Op, i), want[i], got[i]); d != "" {
			return fmt.Sprintf("number %d: %s", i, d)
		}
	}
	return ""
}

// result compares one of them, as far as it can be.
func (c *chunk) result(e *exception, want *value, got any) string {
	t, isTensor := got.(torch.Tensor)
	if e == nil || !isTensor || want == nil || want.Tensor == nil {
		return c.same(want, got)
	}
	return c.sameTensor(*want.Tensor, t, e.elements)
}

// same says how got differs from what Python has.
func (c *chunk) same(want *value, got any) string {
	if list := reflect.ValueOf(got); want != nil && want.L != nil && list.Kind() == reflect.Slice {
		if list.Len() != len(*want.L) {
			return fmt.Sprintf("%d elements, want %d", list.Len(), len(*want.L))
		}
		for i, w := range *want.L {
			if d := c.same(w, list.Index(i).Interface()); d != "" {
				return fmt.Sprintf("element %d: %s", i, d)
			}
		}
		return ""
	}
	t, isTensor := got.(torch.Tensor)
	switch {
	case want == nil:
		if got == nil || isTensor && !t.Defined() {
			return ""
		}
	case isTensor && want.Tensor != nil && t.Defined():
		return c.sameTensor(*want.Tensor, t, differing)
	case !isTensor && want.Tensor == nil:
		if plain(want.argument(nil)) == plain(got) {
			return ""
		}
	}
	return fmt.Sprintf("got %v, want %+v", got, want)
}

// plain is a number or bool in a form that can be compared.
func plain(v any) string {
	if i, ok := v.(int64); ok {
		v = int(i)
	}
	return fmt.Sprintf("%T %v", v, v)
}

// sameTensor compares dtype, shape, layout and strides, and the elements as it is told to.
func (c *chunk) sameTensor(want tensorDesc, got torch.Tensor, elements compare) string {
	if got.DType().String() != want.DType || !slices.Equal(got.Shape(), want.Shape) {
		return fmt.Sprintf("got %v%v, want %s%v", got.DType(), got.Shape(), want.DType, want.Shape)
	}
	if want.Layout != "" {
		return c.sameSparse(want, got)
	}
	if got.Layout() != torch.Strided {
		return fmt.Sprintf("got layout %v, want strided", got.Layout())
	}
	if got.Device() != want.device() {
		return fmt.Sprintf("got it on %v, want %v", got.Device(), want.device())
	}
	if !slices.Equal(got.Stride(), want.Stride) {
		return fmt.Sprintf("got strides %v, want %v", got.Stride(), want.Stride)
	}
	return elements(got.Detach().Bytes(), c.storages[want.Storage], got)
}

// compare says how the elements a of got differ from b, "" for not at all.
type compare func(a, b []byte, got torch.Tensor) string

// differing says how many elements differ, and the first.
func differing(a, b []byte, got torch.Tensor) string {
	size := got.ElementSize()
	if len(a) != len(b) || size == 0 {
		return fmt.Sprintf("%d bytes, want %d", len(a), len(b))
	}
	count, first := 0, -1
	for i := 0; i < len(a); i += size {
		if !bytes.Equal(a[i:i+size], b[i:i+size]) {
			if count++; first < 0 {
				first = i
			}
		}
	}
	if count == 0 {
		return ""
	}
	one := func(raw []byte) any { return torch.FromBytes(raw[first:first+size], got.DType(), 1).Item() }
	return fmt.Sprintf("%d of %d elements differ, the first at %d: got %v, want %v", count, len(a)/size, first/size, one(a), one(b))
}

func (c *chunk) sameSparse(want tensorDesc, got torch.Tensor) string {
	if got.Layout().String() != want.Layout {
		return fmt.Sprintf("got layout %v, want %s", got.Layout(), want.Layout)
	}
	accessors := []string{"crow_indices", "col_indices", "values"}
	switch got.Layout() {
	case torch.Sparse:
		accessors = []string{"_indices", "_values"}
	case torch.SparseCSC, torch.SparseBSC:
		accessors = []string{"ccol_indices", "row_indices", "values"}
	}
	for i, name := range accessors {
		part := torch.Call(name, got.Detach())[0].(torch.Tensor)
		w := want.Parts[i]
		if part.DType().String() != w.DType || !slices.Equal(part.Shape(), w.Shape) {
			return fmt.Sprintf("%s: got %v%v, want %s%v", name, part.DType(), part.Shape(), w.DType, w.Shape)
		}
		if d := differing(part.Bytes(), c.plain(w).Bytes(), part); d != "" {
			return name + ": " + d
		}
	}
	return ""
}

// kinds are the kinds of error that Python's exceptions are.
var kinds = map[string]torch.Kind{
	"RuntimeError": torch.KindGeneric, "IndexError": torch.KindIndex, "ValueError": torch.KindValue, "TypeError": torch.KindType,
	"AttributeError":      torch.KindType, // Python asks a number for a method of tensors
	"NotImplementedError": torch.KindNotImplemented, "LinAlgError": torch.KindLinAlg, "_LinAlgError": torch.KindLinAlg,
	"OutOfMemoryError": torch.KindOutOfMemory,
}

// differs says how err is not what Python threw.
func (f *Failure) differs(err error) string {
	var e *torch.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("no error, want %s: %s", f.Type, f.Text)
	}
	if kind, ok := kinds[f.Type]; !ok || kind != e.Kind {
		return fmt.Sprintf("error of kind %v, want %s: %s", e.Kind, f.Type, f.Text)
	}
	want, _, _ := strings.Cut(f.Text, ". This could be because") // and a list of all backends, which package cgo leaves out, too
	if strings.TrimSpace(e.Msg) != strings.TrimSpace(want) {
		return fmt.Sprintf("error %q, want %q", e.Msg, want)
	}
	return ""
}
