package export

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// engine is a program as C++ has it.
type engine struct {
	module  *Module
	h       *cgo.Handle
	back    bool    // it may enter Go: there are operators that are none of libtorch's
	slow    bool    // what the inputs' sizes have to keep is beyond what C++ compares
	steps   []*step // by their numbers
	inputs  int     // the values that C++ is given
	results []int   // for each result the number among the outputs, or -1 for a constant
	graphs  *graphs // on a card, unless they are not wanted
}

func newEngine(p *Program) (*engine, error) {
	m, err := p.Module()
	if err != nil {
		return nil, err
	}
	c := &engine{module: m}
	if err := c.compile(); err != nil {
		return nil, fmt.Errorf("export: the program cannot be compiled: %w", err)
	}
	return c, nil
}

func (c *engine) compile() error {
	p, b := c.module.program, c.module.main
	var call cgo.Call
	call.Begin(cgo.OpCompileProgram)
	e := &emitter{Call: &call}
	known, inputs := map[slot]torch.Tensor{}, []slot{}
	for i, s := range p.Signature.Inputs {
		switch to := b.inputs[i]; {
		case s.Kind != UserInput:
			known[to], _ = p.state(s)
		case to >= 0:
			inputs = append(inputs, to)
		}
	}
	c.guards(&call)
	outputs, replace, err := c.outputs(known)
	if err == nil {
		err = e.block(b, inputs, known, outputs, replace)
	}
	if err != nil {
		call.Abandon()
		return err
	}
	c.back, c.steps = e.foreign, e.steps
	call.Bool(c.back)
	return torch.Try(func() {
		bridge.Done(&call)
		c.h = call.Owned(0, cgo.ProgramKind)
	})
}

// outputs are the values that a run returns, and the tensors that it replaces, each with the slot of its new value.
func (c *engine) outputs(known map[slot]torch.Tensor) (outputs []any, replace [][2]slot, err error) {
	p, b := c.module.program, c.module.main
	for i, s := range p.Signature.Outputs {
		value, isSlot := b.outputs[i].(slot)
		switch {
		case s.Kind == UserOutput && isSlot:
			c.results = append(c.results, len(outputs))
			outputs = append(outputs, value)
		case s.Kind == UserOutput:
			if _, list := b.outputs[i].([]any); list {
				return nil, nil, fmt.Errorf("result %d is a list", i)
			}
			c.results = append(c.results, nowhere)
		default:
			to, err := c.replaced(s, known)
			if err != nil {
				return nil, nil, err
			}
			replace = append(replace, [2]slot{to, value})
		}
	}
	return outputs, replace, nil
}

// replaced is the slot of the tensor that an output replaces.
func (c *engine) replaced(s OutputSpec, known map[slot]torch.Tensor) (slot, error) {
	p, b := c.module.program, c.module.main
	for i, in := range p.Signature.Inputs {
		name, _ := kindOf(in.Arg)
		if users := in.Kind == UserInput; users && name != s.Target || !users && in.Target != s.Target || users != (s.Kind == UserInputMutation) {
			continue
		}
		return b.inputs[i], nil
	}
	return nowhere, fmt.Errorf("an output changes %q, which is no input of the graph", s.Target)
}

// guards writes what C++ compares inputs with: the dtype of each tensor, and its sizes, which are numbers or symbols.
// What is more than that is compared here, before each run.
func (c *engine) guards(call *cgo.Call) {
	p, m := c.module.program, c.module
	c.slow = len(m.keeps) > 0
	symbols := map[string]int{}
	var list []Range
	for _, i := range m.inputs {
		if m.main.inputs[i] >= 0 {
			c.inputs++
		}
	}
	size := func(e Expr) {
		n, ok := e.Value()
		call.Bool(ok)
		if !ok {
			if e.Op != "Symbol" {
				c.slow = true
			}
			at, known := symbols[e.Name]
			if !known {
				at = len(list)
				symbols[e.Name], list = at, append(list, p.Ranges[e.Name])
			}
			n = int64(at)
		}
		call.Int(int(n))
	}
	call.List(c.inputs)
	for _, i := range m.inputs {
		name, kind := kindOf(p.Signature.Inputs[i].Arg)
		var sizes []Expr
		switch kind {
		case "":
			continue
		case "Tensor":
			sizes = p.Graph.Tensors[name].Sizes
		case "SymInt":
			sizes = []Expr{p.Graph.SymInts[name]}
		}
		call.Int(kinds[kind])
		if kind == "Tensor" {
			call.Code(bridge.Code(p.Graph.Tensors[name].DType))
		}
		call.List(len(sizes))
		for _, s := range sizes {
			size(s)
		}
	}
	call.List(len(list))
	for _, r := range list {
		least, most := r.bounds()
		call.Int(int(least))
		call.Int(int(most))
	}
}

// bounds are the least and the greatest number that a symbol may be; see [Range.check].
func (r Range) bounds() (least, most int64) {
	const always = 2
	most = math.MaxInt64
	if r.Min != nil && *r.Min > always {
		least = *r.Min
	}
	if r.Max != nil {
		most = *r.Max
	}
	return least, most
}

// Run returns the results that are tensors.
func (c *engine) Run(inputs ...any) ([]torch.Tensor, error) {
	return c.tensors(c.run(nil, inputs))
}

// tensors are those among the outputs of a run.
func (c *engine) tensors(outputs []any, err error) ([]torch.Tensor, error) {
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	list := make([]torch.Tensor, 0, len(outputs))
	for _, i := range c.results {
		if i < 0 {
			continue
		}
		if t, ok := outputs[i].(torch.Tensor); ok {
			list = append(list, t)
		}
	}
	return list, nil
}

// Call returns the results as they are nested.
func (c *engine) Call(inputs ...any) (any, error) {
	outputs, err := c.run(nil, inputs)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	leaves := make([]any, len(c.results))
	own := 0
	for i, s := range c.module.program.Signature.Outputs {
		if s.Kind != UserOutput {
			continue
		}
		if at := c.results[own]; at >= 0 {
			leaves[own] = plainInt(outputs[at])
		} else {
			leaves[own] = c.module.main.outputs[i]
		}
		own++
	}
	v, _ := c.module.call.Out.unflatten(leaves)
	return v, nil
}

// run is a run until stop is set; none does not end early.
func (c *engine) run(stop *atomic.Uint32, inputs []any) ([]any, error) {
	given, err := c.module.call.flattenInputs(inputs)
	if err != nil {
		return nil, err
	}
	return c.ordered(stop, given)
}

// ordered is run of inputs that are in the order of the graph.
func (c *engine) ordered(stop *atomic.Uint32, given []any) ([]any, error) {
	if c.graphs != nil {
		return c.graphs.run(stop, given)
	}
	return c.bound(stop, given)
}

// bound makes the call. Where C++ finds that the inputs do not fit, they are compared here, to say why.
func (c *engine) bound(stop *atomic.Uint32, given []any) ([]any, error) {
	checked := false
	if c.slow || !c.isPlain(given) {
		if _, _, err := c.module.bind(given); err != nil {
			return nil, err
		}
		checked = true
	}
	outputs, fit, err := c.pass(stop, given, checked)
	if err == nil && !fit {
		if _, _, err := c.module.bind(given); err != nil {
			return nil, err
		}
		outputs, _, err = c.pass(stop, given, true)
	}
	return outputs, err
}

// isPlain tells whether all inputs are values that C++ can look at.
func (c *engine) isPlain(given []any) bool {
	for k, i := range c.module.inputs {
		switch given[k].(type) {
		case torch.Tensor, int:
		case float64, bool:
		default:
			return false
		}
		if c.module.main.inputs[i] < 0 {
			return false
		}
	}
	return true
}

// pass runs the program on inputs.
func (c *engine) pass(stop *atomic.Uint32, given []any, checked bool) (outputs []any, fit bool, err error) {
	var call cgo.Call
	call.Begin(cgo.OpRunProgram)
	call.Object(c.h)
	call.Bool(checked)
	call.Flag(stop)
	call.List(c.inputs)
	for k, i := range c.module.inputs {
		if c.module.main.inputs[i] >= 0 {
			bridge.Box(&call, given[k])
		}
	}
	run := call.RunGated
	if c.back {
		run = call.RunBack
	}
	if failed := run(); failed != nil {
		return nil, false, c.failure(&call, failed)
	}
	if call.WordResult(0) == math.MaxUint64 {
		return nil, false, nil
	}
	return bridge.Unboxed(&call), true, nil
}

// failure is the error of a run, with the node that failed.
func (c *engine) failure(call *cgo.Call, failed *cgo.Error) error {
	n := call.LastWord()
	if n >= uint64(len(c.steps)) || c.steps[n] == nil {
		return torch.Try(func() { bridge.Fail(failed) })
	}
	node := c.steps[n].node
	failed.Op, failed.Args = strings.TrimPrefix(c.steps[n].op, "aten::"), nil // C++ has said what the arguments of the operator were
	err := torch.Try(func() { bridge.Fail(failed) })
	return fmt.Errorf("%s: %w", node.where(), err)
}
