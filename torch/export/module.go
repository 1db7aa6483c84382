package export

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// Module is a program that is ready to run: PyTorch's program.module(). It runs in several goroutines at once unless the
// program changes its buffers.
type Module struct {
	program *Program
	main    *block
	call    *ModuleCallSignature
	inputs  []int          // the inputs of the graph that the caller gives, in their order
	named   map[string]int // those of them that are tensors
	keeps   []guard        // what the sizes of the inputs have to keep beyond the ranges
}

// Verify tells whether a program is sound: all values have one name each and are defined before they are used, all operators
// are known to libtorch and permitted, arguments and results are of the types of their schemas, and all parameters, buffers
// and constants are there with their sizes and dtypes.
func (p *Program) Verify() error {
	_, err := p.Module()
	return err
}

// Module prepares a program to be run many times. What is changed in the program later does not reach the module, but
// for its tensors.
func (p *Program) Module() (*Module, error) {
	if len(p.Modules) == 0 || p.Modules[0].Signature == nil {
		return nil, malformed("it does not say what it takes and returns: module_call_graph has no entry for the whole")
	}
	m := &Module{program: p, call: p.Modules[0].Signature, named: map[string]int{}}
	if err := m.call.check(); err != nil {
		return nil, malformed("%w", err)
	}
	var err error
	if m.main, err = (&preparer{program: p, schemas: map[string]library.Schema{}}).block(&p.Graph, 0); err != nil {
		return nil, err
	}
	if err := m.checkInputs(); err != nil {
		return nil, err
	}
	m.keeps = m.guards()
	return m, m.checkOutputs()
}

// checkInputs compares the signature with the graph and the tensors.
func (m *Module) checkInputs() error {
	p := m.program
	if len(p.Signature.Inputs) != len(p.Graph.Inputs) {
		return malformed("the signature has %d inputs, the graph %d", len(p.Signature.Inputs), len(p.Graph.Inputs))
	}
	for i, s := range p.Signature.Inputs {
		switch s.Kind {
		case UserInput:
			m.inputs = append(m.inputs, i)
		case CustomObj, Token:
			return malformed("input %d is a %v, which this package does not run", i, s.Kind)
		}
		name, kind := kindOf(s.Arg)
		if own, _ := kindOf(p.Graph.Inputs[i]); own != name {
			return malformed("input %d is %q in the signature and %q in the graph", i, name, own)
		}
		if s.Kind == UserInput {
			if kind == "Tensor" {
				m.named[name] = i
			}
			continue
		}
		t, ok := p.state(s)
		if !ok {
			return malformed("%v %q is missing", s.Kind, s.Target)
		}
		if kind != "Tensor" {
			return malformed("%v %q is no tensor", s.Kind, s.Target)
		}
		if err := p.Graph.Tensors[name].match(t, map[string]int64{}); err != nil {
			return malformed("%v %q: %w", s.Kind, s.Target, err)
		}
	}
	if n := m.call.In.leaves(); n != len(m.inputs) {
		return malformed("the program takes %d values, its graph %d", n, len(m.inputs))
	}
	return nil
}

// checkOutputs compares the signature with the graph.
func (m *Module) checkOutputs() error {
	p := m.program
	if len(p.Signature.Outputs) != len(p.Graph.Outputs) {
		return malformed("the signature has %d outputs, the graph %d", len(p.Signature.Outputs), len(p.Graph.Outputs))
	}
	n := 0
	for i, s := range p.Signature.Outputs {
		ok := true
		switch s.Kind {
		case UserOutput:
			n++
		case BufferMutation, ParameterMutation:
			_, ok = m.mutated(s, nil)
		case UserInputMutation:
			_, ok = m.named[s.Target]
		default:
			return malformed("output %d is a %v: this is a program for training, and only those for inference run here", i, s.Kind)
		}
		if _, kind := kindOf(p.Graph.Outputs[i]); !ok || s.Kind != UserOutput && kind != "Tensor" {
			return malformed("output %d changes %q, which is no tensor of the program", i, s.Target)
		}
	}
	if own := m.call.Out.leaves(); own != n {
		return malformed("the program returns %d values, its graph %d", own, n)
	}
	return nil
}

// mutated is the tensor that an output replaces. Values are those of the graph's inputs.
func (m *Module) mutated(s OutputSpec, values []any) (torch.Tensor, bool) {
	if s.Kind == UserInputMutation {
		i, ok := m.named[s.Target]
		if !ok || values == nil {
			return torch.Tensor{}, ok
		}
		t, ok := values[i].(torch.Tensor)
		return t, ok
	}
	if t, ok := m.program.StateDict[s.Target]; ok {
		return t, ok
	}
	t, ok := m.program.Constants[s.Target]
	return t, ok
}

// Run runs the program once; see [Module.Run].
func (p *Program) Run(inputs ...any) ([]torch.Tensor, error) {
	m, err := p.Module()
	if err != nil {
		return nil, err
	}
	return m.Run(inputs...)
}

// Call runs the program once; see [Module.Call].
func (p *Program) Call(inputs ...any) (any, error) {
	m, err := p.Module()
	if err != nil {
		return nil, err
	}
	return m.Call(inputs...)
}

// Run computes the program and returns the tensors among its results, in their order. The inputs are those of
// Python's forward, in its order or named by torch.Arg: tensors, numbers, []any and []torch.Tensor for tuples and lists, map[string]any
// and map[string]torch.Tensor for dictionaries. An input with another dtype, or sizes beyond the program's, is an error.
// Where autograd is on, it records as in Python.
func (m *Module) Run(inputs ...any) ([]torch.Tensor, error) {
	return m.RunContext(context.Background(), inputs...)
}

// RunContext is [Module.Run] until ctx ends: a run that has not ended by then ends before its next operator, with an error that matches
// context.Cause. It bounds programs of unknown origin, whose loops may have no end.
func (m *Module) RunContext(ctx context.Context, inputs ...any) ([]torch.Tensor, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	leaves, err := m.watched(ctx, inputs, nil)
	if err != nil {
		return nil, err
	}
	var list []torch.Tensor
	for _, v := range leaves {
		if t, ok := v.(torch.Tensor); ok {
			list = append(list, t)
		}
	}
	return list, nil
}

// Call computes the program as [Module.Run] does, and returns all of its results, nested as in Python: a tensor or a number,
// []any for a tuple or a list, map[string]any for a dictionary.
func (m *Module) Call(inputs ...any) (any, error) {
	leaves, err := m.watched(context.Background(), inputs, nil)
	if err != nil {
		return nil, err
	}
	v, _ := m.call.Out.unflatten(leaves)
	return v, nil
}

// watched is a run that shows the values of the program after each step.
func (m *Module) watched(ctx context.Context, inputs []any, watch func(*step, values)) ([]any, error) {
	given, err := m.call.flattenInputs(inputs)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	values, _, err := m.bind(given)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	outputs, err := m.main.watched(ctx, values, watch)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	leaves, err := m.mutate(outputs, values)
	if err != nil {
		drop(outputs)
		return nil, fmt.Errorf("export: %w", err)
	}
	return leaves, nil
}

// mutate writes what replaces buffers and inputs to them, and returns the other outputs.
func (m *Module) mutate(outputs, values []any) (leaves []any, err error) {
	for i, s := range m.program.Signature.Outputs {
		if s.Kind == UserOutput {
			leaves = append(leaves, outputs[i])
			continue
		}
		to, ok := m.mutated(s, values)
		from, isTensor := outputs[i].(torch.Tensor)
		if !ok || !isTensor {
			return nil, fmt.Errorf("output %d changes %q, which is no tensor", i, s.Target)
		}
		err := torch.Try(func() {
			torch.NoGrad(func() { torch.Scope(func() { to.CopyInPlace(from) }) })
		})
		if err != nil {
			return nil, fmt.Errorf("%v %q: %w", s.Kind, s.Target, err)
		}
		from.Close()
	}
	return leaves, nil
}

// bind brings the caller's values and the program's own tensors into the order of the graph's inputs, and checks them.
func (m *Module) bind(given []any) (values []any, symbols map[string]int64, err error) {
	p := m.program
	values = make([]any, len(p.Signature.Inputs))
	for i, s := range p.Signature.Inputs {
		if s.Kind != UserInput {
			values[i], _ = p.state(s)
		}
	}
	b := binding{program: p, symbols: map[string]int64{}}
	for k, i := range m.inputs {
		if values[i], err = b.input(p.Signature.Inputs[i], given[k]); err != nil {
			return nil, nil, err
		}
	}
	if err := b.finish(); err != nil {
		return nil, nil, err
	}
	for _, g := range m.keeps {
		if err := g.check(b.symbols); err != nil {
			return nil, nil, err
		}
	}
	return values, b.symbols, nil
}

// binding finds the values of the symbols from the inputs' sizes.
type binding struct {
	program *Program
	symbols map[string]int64
	later   []later
}

// later is a size that is a function of symbols, some of which had no value yet.
type later struct {
	what string
	expr Expr
	n    int64
}

// input checks one value.
func (b *binding) input(s InputSpec, v any) (any, error) {
	name, kind := kindOf(s.Arg)
	what := fmt.Sprintf("input %q", name)
	switch kind {
	case "Tensor":
		t, ok := v.(torch.Tensor)
		if !ok || !t.Defined() {
			return nil, fmt.Errorf("%s is %s, expected a tensor", what, describe(v))
		}
		return t, b.tensor(what, b.program.Graph.Tensors[name], t)
	case "SymInt":
		n, ok := v.(int)
		if !ok {
			return nil, fmt.Errorf("%s is %s, expected an int", what, describe(v))
		}
		return n, b.size(what, b.program.Graph.SymInts[name], int64(n))
	case "":
		return nil, constant(fmt.Sprintf("input %q", s.Name), s.Arg, v)
	}
	return v, nil
}

// constant compares a value with the one that the program was exported with.
func constant(what string, want Argument, v any) error {
	switch n := v.(type) {
	case int:
		v = int64(n)
	case int32:
		v = int64(n)
	case float32:
		v = float64(n)
	}
	if x, ok := want.(float64); ok && math.IsNaN(x) {
		if y, ok := v.(float64); ok && math.IsNaN(y) {
			return nil
		}
	}
	if t, ok := v.(torch.Tensor); ok || !plainValue(v) || v != want {
		if ok {
			v = t.DType()
		}
		return fmt.Errorf("%s was %v when the program was exported, which is part of it now; got %v", what, want, v)
	}
	return nil
}

// plainValue tells whether == may be asked of a value.
func plainValue(v any) bool {
	switch v.(type) {
	case nil, int64, float64, bool, string, complex128:
		return true
	}
	return false
}

func (b *binding) tensor(what string, m TensorMeta, t torch.Tensor) error {
	if t.DType() != m.DType {
		return fmt.Errorf("%s is of %v, expected %v", what, t.DType(), m.DType)
	}
	shape := t.Shape()
	if len(shape) != len(m.Sizes) {
		return fmt.Errorf("%s has the shape %v, expected %v", what, shape, m.Sizes)
	}
	for d, n := range shape {
		if err := b.size(fmt.Sprintf("%s: dimension %d", what, d), m.Sizes[d], int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// size compares a size with what the program says of it, and learns the values of symbols.
func (b *binding) size(what string, e Expr, n int64) error {
	if e.Op == "Symbol" {
		if known, ok := b.symbols[e.Name]; ok && known != n {
			return fmt.Errorf("%s is %d, expected %d, as %s was before", what, n, known, e.Name)
		}
		b.symbols[e.Name] = n
		return b.program.Ranges[e.Name].check(what, n)
	}
	if want, ok := e.Eval(b.symbols); ok {
		if want != n {
			return fmt.Errorf("%s is %d, expected %v%s", what, n, e, equals(e, want))
		}
		return nil
	}
	b.later = append(b.later, later{what, e, n})
	return nil
}

func equals(e Expr, n int64) string {
	if e.Op == "Integer" {
		return "; export it with a dynamic dimension there if that should do"
	}
	return fmt.Sprintf(" = %d", n)
}

// finish checks the sizes that had to wait for others.
func (b *binding) finish() error {
	for _, l := range b.later {
		if _, ok := l.expr.Eval(b.symbols); !ok {
			if name, n, ok := l.expr.solve(l.n, b.symbols); ok {
				b.symbols[name] = n
				if err := b.program.Ranges[name].check(l.what+": "+name, n); err != nil {
					return err
				}
			}
		}
		free := map[string]bool{}
		l.expr.symbols(free)
		for name := range free {
			if _, ok := b.symbols[name]; !ok && len(free) == 1 {
				return fmt.Errorf("%s is %d, expected a number of the form %v", l.what, l.n, l.expr)
			}
		}
		if want, ok := l.expr.Eval(b.symbols); ok && want != l.n {
			return fmt.Errorf("%s is %d, expected %v = %d", l.what, l.n, l.expr, want)
		}
	}
	return nil
}

// check tells whether a number is in the range. As in PyTorch, a least size of 2 admits 0 and 1.
func (r Range) check(what string, n int64) error {
	const always = 2
	switch {
	case r.Min != nil && *r.Min > always && n < *r.Min:
		return fmt.Errorf("%s is %d, expected at least %d", what, n, *r.Min)
	case r.Max != nil && n > *r.Max:
		return fmt.Errorf("%s is %d, expected at most %d", what, n, *r.Max)
	}
	return nil
}

// match compares a parameter, buffer or constant with what the graph says of it.
func (m TensorMeta) match(t torch.Tensor, symbols map[string]int64) (err error) {
	if !t.Defined() {
		return errors.New("it is undefined")
	}
	broken := torch.Try(func() {
		if t.DType() != m.DType {
			err = fmt.Errorf("it is of %v, expected %v", t.DType(), m.DType)
			return
		}
		shape, stride := t.Shape(), []int(nil)
		strided := t.Layout() == torch.Strided
		if strided {
			stride = t.Stride()
		}
		same := len(shape) == len(m.Sizes)
		for d := 0; same && d < len(shape); d++ {
			n, ok := m.Sizes[d].Eval(symbols)
			same = ok && n == int64(shape[d])
			if !same || n == 1 || !strided {
				continue
			}
			k, ok := m.Strides[d].Eval(symbols)
			same = ok && k == int64(stride[d])
		}
		if !same {
			err = fmt.Errorf("its shape is %v and its stride %v, expected %v and %v", shape, stride, m.Sizes, m.Strides)
		}
	})
	return errors.Join(err, broken)
}
