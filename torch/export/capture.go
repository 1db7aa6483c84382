package export

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// ExportOptions are the rarer arguments of [Export].
type ExportOptions struct {
	ArgNames []string // of the inputs; default: "x" for one, "x0", "x1" and so on for several

	// DynamicShapes are the sizes that may differ from call to call, by the name of the input and the dimension. For each
	// subset of them the model runs once more with other sizes, and then a few times with sizes that are farther away: what it
	// computes from sizes may be sums and products of them, and multiples of such and quotients rounded down.
	DynamicShapes map[string]map[int]Dim
}

// Export captures a model as a program: PyTorch's torch.export.export. The model has a method Forward or is a function of
// tensors; it runs once with the inputs, and the operators that it calls become the nodes. Its parameters and buffers
// ([nn.StateDict]) become those of the program, under their names, and share their memory with it; other tensors that it uses
// become constants.
//
//	program, err := export.Export(model, []any{x}, export.ExportOptions{
//		DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "batch"}}},
//	})
//	err = program.Save("model.pt2")
//
// Inputs and results are tensors, numbers, which become part of the program, and slices, maps and, for results, structs of tensors. What
// Go decides is decided once: a loop is unrolled, a branch is the one that was taken, and a model that reads the values of a
// tensor (Float64, Bool, Values) is an error, as is one whose calls differ from size to size. Modules should be in Eval,
// so that they draw no random numbers; what a run changes in buffers is undone.
func Export(model any, inputs []any, opts ...ExportOptions) (p *Program, err error) {
	broken := torch.Try(func() {
		torch.Scope(func() { p, err = capture(model, inputs, option.One(opts)) })
	})
	cgo.ReleaseSpare() // all that the model computed was kept until now
	if err == nil {
		err = broken
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return p, nil
}

// exporter makes a program of the runs of a model.
type exporter struct {
	p       *Program
	options ExportOptions
	tree    *TreeSpec // of the inputs
	symbols []symbol
	sizes   []map[string]int64
	runs    []*trace

	names    map[int64]string // of the tensors that the graph has so far, by their numbers
	taken    map[string]bool  // names of values
	numbers  map[string]int   // the last one behind each of them
	schemas  map[string]library.Schema
	computed map[string]SymIntArgument // what was computed from sizes, by its expression
	solved   []Expr                    // what sizes were found to be
	next     [][]Expr                  // what those of the results of the next node are likely to be
	unknown  int                       // sizes of which none was found
	before   []Node                    // nodes that the next one needs
	lifted   []InputSpec

	memory map[memory]string // names by memory, for steps, whose tensors autograd keeps as others; nil for models
	bases  map[uint64]string // a tensor of each storage
}

// newExporter makes an exporter of a program that is empty so far.
func newExporter(o ExportOptions) *exporter {
	return &exporter{names: map[int64]string{}, taken: map[string]bool{}, numbers: map[string]int{}, schemas: map[string]library.Schema{},
		computed: map[string]SymIntArgument{}, options: o,
		p: &Program{StateDict: map[string]torch.Tensor{}, Constants: map[string]torch.Tensor{}, Ranges: map[string]Range{},
			Opset: map[string]int{"aten": 10}, Verifiers: []string{"TRAINING"}, Torch: strings.SplitN(torch.Version(), "+", 2)[0]}}
}

// sign says what the program takes and returns.
func (e *exporter) sign() {
	e.p.Guards = e.options.equalSizes()
	e.p.Modules = []ModuleCall{{Signature: &ModuleCallSignature{ArgNames: e.options.ArgNames, Out: e.runs[0].outTree,
		In: &TreeSpec{Type: typeTuple, Children: []*TreeSpec{e.tree, {Type: typeDict}}}}}}
}

func capture(model any, inputs []any, o ExportOptions) (*Program, error) {
	fn, err := forward(model)
	if err != nil {
		return nil, err
	}
	if len(o.ArgNames) == 0 {
		for i := range inputs {
			o.ArgNames = append(o.ArgNames, fmt.Sprint("x", i))
		}
		if len(inputs) == 1 {
			o.ArgNames[0] = "x"
		}
	}
	if len(o.ArgNames) != len(inputs) {
		return nil, fmt.Errorf("%d names of arguments for %d inputs: %q", len(o.ArgNames), len(inputs), o.ArgNames)
	}
	e := newExporter(o)
	if e.symbols, err = symbolsOf(inputs, o); err != nil {
		return nil, err
	}
	if e.sizes, err = sizesToTry(e.symbols); err != nil {
		return nil, err
	}
	state := e.state(model)
	defer e.restoring()()
	for _, sizes := range e.sizes {
		given := resized(inputs, o, sizes)
		in, leaves, err := inputTree(given, o.ArgNames)
		if err != nil {
			return nil, err
		}
		run, err := record(fn, state, given, leaves, aboveAutograd)
		if err != nil {
			return nil, err
		}
		e.tree = in
		e.runs = append(e.runs, run)
	}
	if err := e.build(); err != nil {
		return nil, err
	}
	e.sign()
	if err := e.p.Verify(); err != nil {
		return nil, err
	}
	for name, t := range e.p.StateDict {
		e.p.StateDict[name] = t.Alias().Keep()
	}
	for name, t := range e.p.Constants {
		e.p.Constants[name] = t.Alias().Keep()
	}
	return e.p, nil
}

// restoring remembers the model's buffers, and returns what gives them back the values that they have now.
func (e *exporter) restoring() func() {
	before := map[torch.Tensor]torch.Tensor{}
	for _, s := range e.p.Signature.Inputs {
		if t, ok := e.p.state(s); ok && s.Kind == Buffer {
			torch.NoGrad(func() { before[t] = t.Clone() })
		}
	}
	return func() {
		torch.NoGrad(func() {
			for t, was := range before {
				if !t.Equal(was) {
					t.CopyInPlace(was)
				}
			}
		})
	}
}

// inputTree is the tree of the positional arguments, and its leaves.
func inputTree(inputs []any, names []string) (*TreeSpec, []any, error) {
	tree := &TreeSpec{Type: typeTuple}
	var leaves []any
	for i, v := range inputs {
		t, own, err := treeOf(v, fmt.Sprintf("input %q", names[i]))
		if err != nil {
			return nil, nil, err
		}
		tree.Children, leaves = append(tree.Children, t), append(leaves, own...)
	}
	return tree, leaves, nil
}

// symbolsOf are the sizes that may differ, in the order of their names.
func symbolsOf(inputs []any, o ExportOptions) ([]symbol, error) {
	all := map[string]symbol{}
	for name, dims := range o.DynamicShapes {
		i := slices.Index(o.ArgNames, name)
		if i < 0 {
			return nil, fmt.Errorf("DynamicShapes: there is no input %q, expected %q", name, o.ArgNames)
		}
		t, ok := inputs[i].(torch.Tensor)
		if !ok {
			return nil, fmt.Errorf("DynamicShapes: input %q is a %T, expected a tensor", name, inputs[i])
		}
		for d, dim := range dims {
			if d < 0 || d >= t.Dim() || dim.Name == "" {
				return nil, fmt.Errorf("DynamicShapes: input %q has the shape %v; dimension %d has the name %q", name, t.Shape(), d, dim.Name)
			}
			s := symbol{dim, int64(t.Size(d))}
			if before, ok := all[dim.Name]; ok && before != s {
				return nil, fmt.Errorf("DynamicShapes: %q is %v and %v", dim.Name, before, s)
			}
			all[dim.Name] = s
		}
	}
	if len(all) > mostSymbols {
		return nil, fmt.Errorf("DynamicShapes: %d sizes differ, at most %d may", len(all), mostSymbols)
	}
	var list []symbol
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list, nil
}

// resized are inputs with other sizes: their elements, repeated.
func resized(inputs []any, o ExportOptions, sizes map[string]int64) []any {
	list := slices.Clone(inputs)
	for name, dims := range o.DynamicShapes {
		i := slices.Index(o.ArgNames, name)
		t := list[i].(torch.Tensor)
		for d, dim := range dims {
			if n, have := int(sizes[dim.Name]), t.Size(d); n != have {
				t = t.IndexSelect(d, torch.Arange(n).RemainderScalar(have))
			}
		}
		list[i] = t
	}
	return list
}

// state takes the parameters and buffers of a model.
func (e *exporter) state(model any) (list []torch.Tensor) {
	saved := map[string]bool{}
	if reflect.TypeOf(model).Kind() == reflect.Func {
		return nil
	}
	for name := range nn.StateDict(model) {
		saved[name] = true
	}
	add := func(kind InputKind, prefix, name string, t torch.Tensor) {
		arg := TensorArgument(e.name(prefix + identifier(name)))
		persistent := kind == Buffer && saved[name]
		e.p.Signature.Inputs = append(e.p.Signature.Inputs, InputSpec{Kind: kind, Arg: arg, Target: name, Persistent: persistent})
		if kind == Buffer && !saved[name] {
			e.p.Constants[name] = t
		} else {
			e.p.StateDict[name] = t
		}
		list = append(list, t)
	}
	for name, t := range nn.NamedParameters(model) {
		add(Parameter, "p_", name, t)
	}
	for name, t := range nn.NamedBuffers(model) {
		add(Buffer, "b_", name, t)
	}
	return list
}

// identifier is the name of a parameter or buffer as Python's export spells it among the graph's inputs, where it has to be an identifier.
func identifier(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(name))
}

// name is a name that no other value has.
func (e *exporter) name(base string) string {
	name := base
	for e.taken[name] {
		e.numbers[base]++
		name = fmt.Sprint(base, "_", e.numbers[base])
	}
	e.taken[name] = true
	return name
}
