package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

// Program is a model made of a program of torch.export. Inputs have the names of Python's arguments, with the place behind those that
// are nested ("pair_0"); outputs those of the dictionary that the program returns, or else "output", or "output_0", "output_1" and so
// on. One that changes its buffers computes one batch at a time.
//
// Without options the program is compiled to its own bits (export.Compile with Exact), where it can be, or else runs node by node; with
// options it is compiled as they say, such as export.CompileOptions{} for speed and rounding, or it is an error. It is compiled for
// inference alone, whatever they say of that, and for as many threads as torch.NumThreads tells: within Lanes.Beside of lanes that
// Options.Share names, those of a lane. The program belongs to the model, which closes it as soon as it needs it no more.
func Program(p *export.Program, opts ...export.CompileOptions) (Model, error) {
	return ProgramContext(context.Background(), p, opts...)
}

// ProgramContext is [Program] until ctx ends, with an error that matches context.Cause then: the program is compiled, which may take long.
func ProgramContext(ctx context.Context, p *export.Program, opts ...export.CompileOptions) (Model, error) {
	module, err := p.Module()
	if err != nil {
		return nil, err
	}
	m := &program{program: p, run: module.RunContext, closed: func() {}, tree: p.Modules[0].Signature.In}
	for _, s := range p.Signature.Inputs {
		if s.Kind != export.UserInput {
			continue
		}
		switch arg := s.Arg.(type) {
		case export.TensorArgument:
			m.leaves = append(m.leaves, hole{})
			m.signature.Inputs = append(m.signature.Inputs, m.spec(string(arg), string(arg)))
		case export.SymIntArgument, export.SymFloatArgument, export.SymBoolArgument:
			return nil, fmt.Errorf("serve: the program's input %v is a number; a program that takes tensors alone can be served", arg)
		default:
			m.leaves = append(m.leaves, plain(arg))
		}
	}
	var results []export.TensorArgument
	for _, s := range p.Signature.Outputs {
		arg, ok := s.Arg.(export.TensorArgument)
		switch {
		case s.Kind != export.UserOutput:
			m.alone = true
		case ok:
			results = append(results, arg)
		}
	}
	names := outputNames(p.Modules[0].Signature.Out, len(results))
	for i, arg := range results {
		m.signature.Outputs = append(m.signature.Outputs, m.spec(names[i], string(arg)))
	}
	m.signature.NoBatch = m.alone || len(m.rows) != 1
	if err := m.signature.check(); err != nil {
		return nil, err
	}
	if err := m.compile(ctx, opts); err != nil {
		return nil, err
	}
	return m, nil
}

// compile compiles the program as the options say. Without options it runs node by node where it cannot be compiled.
func (m *program) compile(ctx context.Context, opts []export.CompileOptions) error {
	exact := len(opts) == 0
	if exact {
		opts = []export.CompileOptions{{Exact: true}}
	}
	o := option.One(opts)
	o.Inference = true
	compiled, err := export.CompileContext(ctx, m.program, o)
	switch {
	case err == nil:
		m.run, m.closed = compiled.RunContext, compiled.Close
		m.program.Close() // the weights that were packed are kept once
	case !exact || ctx.Err() != nil:
		return err
	}
	return nil
}

// hole is where a tensor goes among the leaves.
type hole struct{}

type program struct {
	program   *export.Program
	run       func(ctx context.Context, inputs ...any) ([]torch.Tensor, error)
	closed    func()
	signature Signature
	tree      *export.TreeSpec
	leaves    []any           // what the program takes
	rows      map[string]bool // the first sizes, as expressions
	alone     bool            // it changes what it is made of
	mu        sync.Mutex
}

// spec describes a tensor of the program.
func (m *program) spec(name, inProgram string) Spec {
	meta := m.program.Graph.Tensors[inProgram]
	s := Spec{Name: name, DType: meta.DType, Shape: make([]int, len(meta.Sizes))}
	first := ""
	for i, e := range meta.Sizes {
		n, ok := e.Value()
		if s.Shape[i] = int(n); !ok {
			s.Shape[i] = -1
		}
		if i == 0 {
			first = e.String()
		}
	}
	if m.rows == nil {
		m.rows = map[string]bool{}
	}
	m.rows[first] = true
	return s
}

// plain is a constant as a caller of the program gives it.
func plain(v any) any {
	if n, ok := v.(int64); ok {
		return int(n)
	}
	return v
}

func outputNames(out *export.TreeSpec, n int) (names []string) {
	if len(out.Keys) == n {
		return out.Keys
	}
	if n == 1 {
		return []string{"output"}
	}
	for i := range n {
		names = append(names, fmt.Sprintf("output_%d", i))
	}
	return names
}

func (m *program) Signature() Signature { return m.signature }

func (m *program) Run(ctx context.Context, inputs []torch.Tensor) ([]torch.Tensor, error) {
	args := m.arguments(inputs)
	if m.alone {
		m.mu.Lock()
		defer m.mu.Unlock()
	}
	return m.run(ctx, args...)
}

// arguments are what the program is called with.
func (m *program) arguments(inputs []torch.Tensor) []any {
	leaves := slices.Clone(m.leaves)
	next := 0
	for i, v := range m.leaves {
		if v == (hole{}) {
			leaves[i] = inputs[next]
			next++
		}
	}
	positional, named := m.tree.Children[0].Children, m.tree.Children[1]
	if len(named.Children) == 0 && !slices.ContainsFunc(positional, nests) { // as most are
		return leaves
	}
	list := make([]any, 0, len(positional)+len(named.Children))
	var v any
	for _, t := range positional {
		v, leaves = unflatten(t, leaves)
		list = append(list, v)
	}
	for i, key := range named.Keys {
		v, leaves = unflatten(named.Children[i], leaves)
		list = append(list, torch.Arg(key, v))
	}
	return list
}

// nests tells of an argument that it is made of others.
func nests(t *export.TreeSpec) bool { return t.Type != "" }

func (m *program) Close() {
	m.closed()
	m.program.Close()
}

// unflatten builds an argument of its leaves, and returns those that are left.
func unflatten(t *export.TreeSpec, leaves []any) (any, []any) {
	if t.Type == "" {
		return leaves[0], leaves[1:]
	}
	list := make([]any, len(t.Children))
	var named map[string]any
	if len(t.Keys) > 0 {
		named = map[string]any{}
	}
	for i, c := range t.Children {
		list[i], leaves = unflatten(c, leaves)
		if i < len(t.Keys) {
			named[t.Keys[i]] = list[i]
		}
	}
	if named != nil {
		return named, leaves
	}
	return list, leaves
}
