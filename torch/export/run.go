package export

import (
	"context"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/internal/refused"
	"github.com/libtorch-go/libtorch/torch"
)

// values are what a block computes, by their slots.
type values []any

// fill puts values in the place of slots.
func (v values) fill(a any) any {
	switch a := a.(type) {
	case slot:
		return v[a]
	case []any:
		list := make([]any, len(a))
		for i, own := range a {
			list[i] = v.fill(own)
		}
		return list
	case torch.Named:
		return torch.Arg(a.Name, v.fill(a.Value))
	}
	return a
}

// run computes a block from the values of its inputs. The results belong to the caller; the inputs do not change hands.
func (b *block) run(ctx context.Context, inputs []any) (outputs []any, err error) {
	return b.watched(ctx, inputs, nil)
}

// watched is run that shows the values after each step.
func (b *block) watched(ctx context.Context, inputs []any, watch func(*step, values)) (outputs []any, err error) {
	if len(inputs) != len(b.inputs) {
		return nil, fmt.Errorf("a graph of %d inputs got %d", len(b.inputs), len(inputs))
	}
	v := make(values, b.slots)
	borrowed := make([]bool, b.slots)
	for i, s := range b.inputs {
		if s >= 0 {
			v[s], borrowed[s] = inputs[i], true
		}
	}
	defer func() {
		if err != nil {
			for s := range v {
				if !borrowed[s] {
					drop(v[s])
				}
			}
		}
	}()
	for i := range b.steps {
		s := &b.steps[i]
		if err := s.run(ctx, v); err != nil {
			return nil, fmt.Errorf("%s: %w", s.node.where(), err)
		}
		if watch != nil {
			watch(s, v)
		}
	}
	for _, out := range b.outputs {
		own := v.fill(out)
		if s, ok := out.(slot); ok {
			if t, ok := own.(torch.Tensor); ok && borrowed[s] {
				own = t.Alias()
			}
			borrowed[s] = true // a second time it is an alias
		}
		outputs = append(outputs, own)
	}
	return outputs, nil
}

// drop closes the tensors of a value.
func drop(v any) {
	switch v := v.(type) {
	case torch.Tensor:
		v.Close()
	case []torch.Tensor:
		torch.Close(v...)
	case []any:
		for _, own := range v {
			drop(own)
		}
	}
}

// run computes a step, and frees what nothing reads any more.
func (s *step) run(ctx context.Context, v values) error {
	if err := goesOn(ctx); err != nil {
		return err
	}
	args := make([]any, len(s.args))
	for i, a := range s.args {
		args[i] = v.fill(a)
	}
	results, err := s.do(ctx, args)
	if err != nil {
		return err
	}
	if err := s.bind(v, results); err != nil {
		drop(results)
		return err
	}
	for _, own := range s.frees {
		drop(v[own])
		v[own] = nil
	}
	return nil
}

// operator calls libtorch's operator of that name.
func operator(op string) doing {
	return func(_ context.Context, args []any) ([]any, error) {
		return torch.Try1(func() []any { return torch.Call(op, args...) })
	}
}

// bind gives the results their slots.
func (s *step) bind(v values, results []any) error {
	if len(results) < len(s.outputs) {
		return fmt.Errorf("%d results, expected %d", len(results), len(s.outputs))
	}
	for i, out := range s.outputs {
		own := results[i]
		switch out := out.(type) {
		case slot:
			if err := s.bindOne(v, out, s.node.Outputs[i], own); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
			results[i] = nil
		case []slot:
			list, ok := own.([]torch.Tensor)
			if !ok || len(list) != len(out) {
				return fmt.Errorf("result %d has %d tensors, expected %d", i, len(list), len(out))
			}
			for k, t := range list {
				v[out[k]] = t
			}
			results[i] = nil
		}
	}
	drop(results)
	return nil
}

// bindOne gives one result its slot if it is of the kind that the graph says.
func (*step) bindOne(v values, to slot, out Argument, own any) error {
	if n, ok := own.(int64); ok {
		own = int(n)
	}
	ok := false
	switch out.(type) {
	case TensorArgument:
		_, ok = own.(torch.Tensor)
	case SymIntArgument:
		own, ok = whole(own)
	case SymFloatArgument:
		x, err := number(own)
		own, ok = x, err == nil
	case SymBoolArgument:
		own, ok = own.(bool)
	}
	if !ok {
		return fmt.Errorf("it is %T, expected %s", own, formatArgument(out))
	}
	v[to] = own
	return nil
}

// where is the node for errors: its name, what it calls and its place.
func (n *Node) where() string {
	return refused.Line(fmt.Sprintf("node %q, %s%s", n.Name, n.Target, n.place()))
}

// place is the line of Python that made the node.
func (n *Node) place() string {
	file, line, _, code := n.Line()
	if file == "" {
		return ""
	}
	return fmt.Sprintf(" (%s:%s: %s)", file, line, code)
}

// Line is the line of Python that made the node: its file, number, function and text; empty where that is not known.
func (n *Node) Line() (file, line, function, code string) {
	lines := strings.Split(strings.TrimRight(n.Metadata["stack_trace"], "\n"), "\n")
	const withText = 2 // a line of code follows that of its place
	for i := len(lines) - withText; i >= 0; i-- {
		rest, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), `File "`)
		if !ok {
			continue
		}
		file, rest, _ = strings.Cut(rest, `", line `)
		line, function, _ = strings.Cut(rest, ", in ")
		return file, line, function, strings.TrimSpace(lines[i+1])
	}
	return "", "", "", ""
}
