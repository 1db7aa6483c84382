package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// What a step of a compiled program does, and how an argument is made; cgo/shim/program.cc has the same.
const (
	doesCall = iota
	doesSize
	doesCalculate
	doesAssert
	doesSame
	doesReplace
	doesCond
	doesLoop
	doesGrad
	doesAutocast
)

const (
	formValue = iota
	formSlot
	formLast
	formList
)

const (
	kindTensor = iota
	kindInt
	kindFloat
	kindBool
)

const nowhere = -1

var kinds = map[string]int{"Tensor": kindTensor, "SymInt": kindInt, "SymFloat": kindFloat, "SymBool": kindBool}

// aliases of operators that Go does itself elsewhere.
var compiledAs = map[string]string{"aten::item": "aten::item", "aten::_local_scalar_dense": "aten::item",
	"aten::lift_fresh_copy": "aten::clone"}

// emitter writes blocks as words.
type emitter struct {
	*cgo.Call
	steps   []*step // by their numbers
	foreign bool    // there is an operator that is none of aten's
}

// block writes a graph. Slots that are known have their values in their places.
func (e *emitter) block(b *block, inputs []slot, known map[slot]torch.Tensor, outputs []any, replace [][2]slot) error {
	e.Int(b.slots)
	e.List(len(inputs))
	for _, s := range inputs {
		e.Int(int(s))
	}
	steps := slices.DeleteFunc(slices.Clone(b.steps), func(s step) bool { return s.does() == doesNothing })
	e.List(len(steps) + len(replace))
	for i := range steps {
		if err := e.step(&steps[i], known); err != nil {
			return fmt.Errorf("node %q, %s: %w", steps[i].node.Name, steps[i].node.Target, err)
		}
	}
	for _, r := range replace {
		e.replace(r, known)
	}
	e.List(len(outputs))
	for _, out := range outputs {
		e.value(out, &reading{known: known})
	}
	return nil
}

// reading is what a step reads: slots that nothing reads later give their values away where they are read last.
type reading struct {
	known map[slot]torch.Tensor
	left  map[slot]int // how often a slot is read yet, for those that are read by this step last
}

// value writes an argument.
func (e *emitter) value(v any, r *reading) {
	switch v := v.(type) {
	case slot:
		e.slot(v, r)
		return
	case []any:
		some := false
		slotsIn(v, func(slot) { some = true })
		if some {
			e.Int(formList)
			e.List(len(v))
			for _, own := range v {
				e.value(own, r)
			}
			return
		}
	}
	e.Int(formValue)
	bridge.Box(e.Call, v)
}

func (e *emitter) slot(s slot, r *reading) {
	if t, ok := r.known[s]; ok {
		e.Int(formValue)
		bridge.Box(e.Call, t)
		return
	}
	form := formSlot
	if n, ok := r.left[s]; ok {
		if r.left[s] = n - 1; n == 1 {
			form = formLast
		}
	}
	e.Int(form)
	e.Int(int(s))
}

const doesNothing = -1

// does tells what a step does in a compiled program.
func (s *step) does() int {
	if _, ok := symbolic[s.node.Target]; ok {
		return doesCalculate
	}
	if _, ok := replaced[s.op]; ok && compiledAs[s.op] == "" {
		switch s.op {
		case "aten::sym_size.int":
			return doesSize
		case "aten::_assert_scalar":
			return doesAssert
		case "aten::lift_fresh":
			return doesSame
		}
		return doesNothing
	}
	if s.op != "" {
		return doesCall
	}
	switch strings.TrimPrefix(s.node.Target, "torch.ops.higher_order.") {
	case "cond":
		return doesCond
	case "while_loop":
		return doesLoop
	case "wrap_with_set_grad_enabled":
		return doesGrad
	}
	return doesAutocast
}

// step writes a step.
func (e *emitter) step(s *step, known map[slot]torch.Tensor) error {
	does := s.does()
	e.begin(s, does, s.node.Name)
	r := &reading{known: known, left: map[slot]int{}}
	args := s.args
	var blocks []*block
	if does >= doesCond {
		args, blocks = s.graphs(does)
	}
	for _, f := range s.frees {
		slotsIn(args, func(v slot) {
			if v == f {
				r.left[f]++
			}
		})
	}
	if does == doesCalculate {
		e.Str(s.node.Target)
	}
	if does == doesCall {
		e.call(s, r)
	} else {
		e.values(args, r)
	}
	e.List(len(blocks))
	for _, b := range blocks {
		if err := e.block(b, b.inputs, nil, b.outputs, nil); err != nil {
			return err
		}
	}
	e.results(s)
	return nil
}

func (e *emitter) begin(s *step, does int, name string) {
	e.Int(len(e.steps))
	e.steps = append(e.steps, s)
	e.Int(does)
	e.Str(name)
}

func (e *emitter) values(args []any, r *reading) {
	e.List(len(args))
	for _, v := range args {
		if n, ok := v.(torch.Named); ok {
			v = n.Value
		}
		e.value(v, r)
	}
}

// graphs takes the graphs out of the arguments of an operator that runs some; lists of values count as their elements.
func (s *step) graphs(does int) (args []any, blocks []*block) {
	for _, v := range s.args {
		if b, ok := v.(*block); ok {
			blocks = append(blocks, b)
			continue
		}
		list, ok := v.([]any)
		if does == doesLoop && args == nil {
			args = append(args, len(list))
		}
		if !ok {
			list = []any{v}
		}
		args = append(args, list...)
	}
	return args, blocks
}

// call writes an operator of libtorch's and its arguments.
func (e *emitter) call(s *step, r *reading) {
	op := s.op
	if own := compiledAs[op]; own != "" {
		op = own
	}
	name, overload, _ := strings.Cut(op, ".")
	e.foreign = e.foreign || !strings.HasPrefix(name, "aten::")
	e.Str(name)
	e.Str(overload)
	named := slices.IndexFunc(s.args, func(v any) bool { _, ok := v.(torch.Named); return ok })
	if named < 0 {
		named = len(s.args)
	}
	e.values(s.args[:named], r)
	e.List(len(s.args) - named)
	for _, v := range s.args[named:] {
		e.Str(v.(torch.Named).Name)
		e.value(v.(torch.Named).Value, r)
	}
}

// results writes where results go. Those that nobody reads go nowhere.
func (e *emitter) results(s *step) {
	unread := map[slot]bool{}
	for _, f := range s.frees {
		unread[f] = true
	}
	slotsIn(s.args, func(v slot) { unread[v] = false })
	one := func(to slot, a Argument) {
		_, kind := kindOf(a)
		e.Int(kinds[kind])
		if unread[to] {
			to = nowhere
		}
		e.Int(int(to))
	}
	e.List(len(s.outputs))
	for i, out := range s.outputs {
		switch out := out.(type) {
		case slot:
			e.Int(nowhere)
			one(out, s.node.Outputs[i])
		case []slot:
			list, _ := elementsOf(s.node.Outputs[i])
			e.List(len(out))
			for k, to := range out {
				one(to, list[k])
			}
		default:
			e.Int(nowhere)
			e.Int(kindTensor)
			e.Int(nowhere)
		}
	}
}

// replace writes a step that copies a tensor to the buffer, parameter or input that it replaces.
func (e *emitter) replace(r [2]slot, known map[slot]torch.Tensor) {
	e.begin(nil, doesReplace, "copy_")
	e.values([]any{r[0], r[1]}, &reading{known: known})
	e.List(0)
	e.List(0)
}
