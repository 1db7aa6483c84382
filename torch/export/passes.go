package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// pass rewrites the graph of a program. It keeps what the program computes: to the bit, unless it is one that fuses.
type pass struct {
	name string
	run  func(*rewriter)
}

// exactPasses keep the bits, and see what is written into parameters and buffers later.
var exactPasses = []pass{{"dead", dead}, {"constants", constants}, {"common", common},
	{"elementwise", elementwise}, {"inPlace", inPlace}, {"dead", dead}}

// stepPasses keep the bits of a step of training.
var stepPasses = []pass{{"unseen", unseen}, {"dead", dead}, {"common", common}, {"copies", copies}, {"turns", turns}, {"kept", kept},
	{"dead", dead}, {"updates", updates}, {"dead", dead}, {"rectified", rectified},
	{"elementwise", elementwise}, {"inPlace", inPlace}, {"dead", dead}}

// simplifying passes take the weights as they are now, and find what the others compute at once.
var simplifying = []pass{{"dead", dead}, {"functional", functional}, {"identities", identities},
	{"likes", likes}, {"constants", constants}, {"settled", settled},
	{"constants", constants}, {"attention", attention}, {"dead", dead}, {"constants", constants}, {"common", common}, {"paddings", paddings},
	{"dead", dead}, {"batchNorms", batchNorms}}

// fusedPasses are for a program on the CPU.
var fusedPasses = slices.Concat(simplifying, []pass{{"taps", taps}, {"residuals", residuals}, {"lower", lower},
	{"quantize", quantize}, {"heads", heads}, {"recurrent", recurrent}, {"tables", tables}, {"besides", besides}, {"pointwise", pointwise},
	{"channelNorms", channelNorms}, {"rmsNorms", rmsNorms}, {"rotary", rotary}, {"dead", dead}, {"formats", formats}, {"sums", sums},
	{"gates", gates}, {"flattened", flattened}, {"pooled", pooled}, {"pairs", pairs}, {"widened", widened},
	{"elementwise", elementwise}, {"inPlace", inPlace}, {"dead", dead}})

// cardPasses are for one on a card.
var cardPasses = slices.Concat(simplifying, []pass{{"lower", lower}, {"cudnn", cudnn}, {"formats", formats}, {"inPlace", inPlace},
	{"dead", dead}})

// rewriter is a copy of a program that passes change.
type rewriter struct {
	ctx     context.Context // with which it ends
	p       *Program
	frozen  bool         // parameters and buffers are constants
	device  torch.Device // of all tensors, or none
	dtype   torch.DType
	weights torch.DType             // of linear layers that are computed in float32; none if they are, too
	floats  map[string]bool         // what layers make that are computed in float32 all the same
	ranges  Calibration             // for what is computed in eight bits
	rounded map[string]torch.Tensor // what constants of dtype were before
	schemas map[string]library.Schema
	inputs  map[string]InputSpec // of the graph, by their names in it
	numbers map[string]int       // how many values have been named after one word
	spare   int                  // how many bytes constants may still take that are computed from others
	made    []torch.Tensor
	err     error // why a pass cannot be made
}

// rewritten is a copy of a program after all passes. The tensors that they made are closed by close; the others are the program's.
func rewritten(ctx context.Context, p *Program, o CompileOptions) (*rewriter, error) {
	r := newRewriter(p, o)
	r.ctx = ctx
	if err := r.resize(p, o.ExampleInputs); err != nil {
		return nil, err
	}
	if err := r.apply(r.passes(o)); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// passes are those that a program is compiled with.
func (r *rewriter) passes(o CompileOptions) []pass {
	switch {
	case o.Exact:
		return exactPasses
	case r.device.IsCUDA():
		return cardPasses
	}
	return fusedPasses
}

func newRewriter(p *Program, o CompileOptions) *rewriter {
	own, g := *p, expanded(&p.Graph)
	own.Graph = *g
	own.Graph.Inputs, own.Graph.Nodes, own.Graph.Outputs = slices.Clone(g.Inputs), slices.Clone(g.Nodes), slices.Clone(g.Outputs)
	own.Graph.Tensors = maps.Clone(g.Tensors)
	own.Signature = Signature{slices.Clone(p.Signature.Inputs), slices.Clone(p.Signature.Outputs)}
	own.Constants, own.operators = maps.Clone(p.Constants), slices.Clone(p.operators)
	if own.Constants == nil {
		own.Constants = map[string]torch.Tensor{}
	}
	floats := map[string]bool{}
	for _, name := range o.Floats {
		floats[name] = true
	}
	r := plainRewriter(&own)
	r.frozen, r.device, r.dtype, r.weights, r.floats, r.ranges = !o.Exact, p.device(), o.DType, o.narrow(), floats, o.Int8
	return r
}

// plainRewriter changes a program itself.
func plainRewriter(p *Program) *rewriter {
	r := &rewriter{ctx: context.Background(), p: p, rounded: map[string]torch.Tensor{}, schemas: map[string]library.Schema{},
		inputs: map[string]InputSpec{}, numbers: map[string]int{}, spare: mostFolded}
	for _, s := range p.Signature.Inputs {
		name, _ := kindOf(s.Arg)
		r.inputs[name] = s
		if t, ok := p.state(s); ok {
			r.spare += mostTimes * t.NumEl() * t.ElementSize()
		}
	}
	return r
}

// resize has passes see the sizes that the program p has with these inputs.
func (r *rewriter) resize(p *Program, inputs []any) error {
	if len(inputs) == 0 {
		return nil
	}
	m, err := p.Module()
	if err != nil {
		return err
	}
	given, err := m.call.flattenInputs(inputs)
	if err != nil {
		return fmt.Errorf("ExampleInputs: %w", err)
	}
	_, symbols, err := m.bind(given)
	if err != nil {
		return fmt.Errorf("ExampleInputs: %w", err)
	}
	for name, t := range r.p.Graph.Tensors {
		t.Sizes = slices.Clone(t.Sizes)
		for i, e := range t.Sizes {
			if n, ok := e.Eval(symbols); ok {
				t.Sizes[i] = hinted(e, n)
			}
		}
		r.p.Graph.Tensors[name] = t
	}
	return nil
}

// apply makes passes.
func (r *rewriter) apply(passes []pass) error {
	err := torch.Try(func() {
		torch.NoGrad(func() {
			for _, pass := range passes {
				if torch.Scope(func() { r.make(pass) }); r.err == nil {
					r.err = r.stopped()
				}
				if r.err != nil {
					return
				}
				r.sweep()
			}
		})
	})
	return errors.Join(err, r.err)
}

// make makes a pass. A file may say of its values what cannot be: a pass that stumbles over that is an error of the program's.
func (r *rewriter) make(p pass) {
	defer func() {
		v := recover()
		switch v := v.(type) {
		case nil:
		case stopped:
			r.err = v.error
		case runtime.Error:
			r.err = fmt.Errorf("pass %q: %w: what the program says of its values does not go together, or it is a fault of this package's",
				p.name, v)
		default:
			panic(v)
		}
	}()
	p.run(r)
	r.compact()
}

// stopped is what a pass panics with whose context has ended; [rewriter.make] returns it.
type stopped struct{ error }

// stopped is an error once the context has ended.
func (r *rewriter) stopped() error { return unlessStopped(r.ctx, "it") }

func (r *rewriter) close() { torch.Close(r.made...) }

// sweep closes what passes have made and others have left out again: weights are made anew several times.
func (r *rewriter) sweep() {
	named := map[torch.Tensor]bool{}
	for _, s := range r.p.Signature.Inputs {
		if t, ok := r.p.state(s); ok {
			named[t] = true
		}
	}
	r.made = slices.DeleteFunc(r.made, func(t torch.Tensor) bool {
		if named[t] {
			return false
		}
		maps.DeleteFunc(r.p.Constants, func(_ string, own torch.Tensor) bool { return own == t })
		t.Close()
		return true
	})
}

// op is the operator of aten that a node calls, without its overload; empty for other nodes.
func (n *Node) op() string {
	rest, ok := strings.CutPrefix(n.Target, "torch.ops.aten.")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, ".")
	return name
}

// operator is the operator of libtorch that a node calls, "aten.add.Tensor"; ok is false for other nodes.
func (n *Node) operator() (full string, ok bool) {
	full, ok = strings.CutPrefix(n.Target, "torch.ops.")
	return full, ok && strings.Count(full, ".") == 2
}

// overload is the last part of a node's target.
func (n *Node) overload() string { return n.Target[strings.LastIndexByte(n.Target, '.')+1:] }

// arg is an argument of a node by its name, nil where it is left out.
func (n *Node) arg(name string) Argument {
	for _, in := range n.Inputs {
		if in.Name == name {
			return in.Value
		}
	}
	return nil
}

// isSum tells whether a node adds two values as they are.
func (n *Node) isSum() bool { return n.Target == "torch.ops.aten.add.Tensor" && n.unscaled() }

// unscaled tells whether a node takes its second argument as it is.
func (n *Node) unscaled() bool {
	alpha := n.arg("alpha")
	return alpha == nil || alpha == int64(1) || alpha == 1.0
}

// result is the name of a node's only result, a tensor.
func (n *Node) result() (string, bool) {
	if len(n.Outputs) != 1 {
		return "", false
	}
	name, ok := n.Outputs[0].(TensorArgument)
	return string(name), ok
}

// with is a copy of a node that calls another operator.
func (n *Node) with(target string, inputs ...NamedArgument) Node {
	return Node{Name: n.Name, Target: target, Inputs: inputs, Outputs: n.Outputs, Metadata: n.Metadata}
}

// makes lets a node make the result of another one.
func (n *Node) makes(other *Node) { n.Name, n.Outputs = other.Name, other.Outputs }

// schema finds what an operator of aten takes; ok is false where there is none, or the node calls something else.
func (r *rewriter) schema(n *Node) (library.Schema, bool) {
	full, ok := n.operator()
	if !ok {
		return library.Schema{}, false
	}
	s, known := r.schemas[full]
	if !known {
		s = schemaOf(full)
		r.schemas[full] = s
	}
	return s, s.Name != ""
}

// schemaOf is what an operator takes, "aten.add.Tensor"; without a name where there is none.
func schemaOf(full string) library.Schema {
	s, _ := torch.Try1(func() library.Schema {
		return library.Lookup(strings.TrimSuffix(strings.Replace(full, ".", "::", 1), ".default"))
	})
	return s
}

// creates tells whether an operator makes a tensor out of nothing, and lets an argument say of what kind.
func creates(s library.Schema, argument string) bool {
	takes := slices.ContainsFunc(s.Arguments, func(a library.Argument) bool { return a.Name == argument })
	return takes && !slices.ContainsFunc(s.Arguments, func(a library.Argument) bool { return strings.HasPrefix(a.Type, "Tensor") })
}

// constant adds a tensor to the program and returns its name in the graph. The pass ends here if the context has: what takes long is to
// make such tensors.
func (r *rewriter) constant(base string, t torch.Tensor) TensorArgument {
	const input = "c_"
	target := strings.TrimPrefix(r.unused(input+base, func(name string) bool {
		_, taken := r.p.Constants[strings.TrimPrefix(name, input)]
		return taken
	}), input)
	if err := r.stopped(); err != nil {
		panic(stopped{err})
	}
	t = t.Detach().Keep()
	r.made = append(r.made, t)
	name := TensorArgument(input + target)
	r.p.Constants[target] = t
	m := TensorMeta{DType: t.DType(), Device: t.Device(), Layout: t.Layout(), StorageOffset: integer(0)}
	for _, n := range t.Shape() {
		m.Sizes = append(m.Sizes, integer(int64(n)))
	}
	if t.Layout() == torch.Strided {
		for _, n := range t.Stride() {
			m.Strides = append(m.Strides, integer(int64(n)))
		}
	}
	r.p.Graph.Tensors[string(name)] = m
	at := slices.IndexFunc(r.p.Signature.Inputs, func(s InputSpec) bool { return s.Kind == UserInput })
	if at < 0 {
		at = len(r.p.Signature.Inputs)
	}
	r.inputs[string(name)] = InputSpec{Kind: ConstantTensor, Arg: name, Target: target}
	r.p.Signature.Inputs = slices.Insert(r.p.Signature.Inputs, at, r.inputs[string(name)])
	r.p.Graph.Inputs = slices.Insert(r.p.Graph.Inputs, at, Argument(name))
	return name
}
