package export

import (
	"context"
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// higher are the operators that run graphs: how many there are among the first arguments and at which places, and how
// they are run.
var higher = map[string]struct {
	graphs []int
	do     doing
}{
	"cond":                       {[]int{1, 2}, cond},
	"while_loop":                 {[]int{0, 1}, whileLoop},
	"wrap_with_set_grad_enabled": {[]int{1}, withGrad},
	"wrap_with_autocast":         {[]int{4}, withAutocast},
}

// higherOrder prepares a call of an operator that runs graphs.
func (p *preparer) higherOrder(s *step, name string, n *names, depth int) error {
	h, ok := higher[name]
	if !ok {
		return &OperatorError{"higher_order::" + name, s.node.Name, "this package runs cond, while_loop and regions of gradients and autocast"}
	}
	s.do = h.do
	if len(s.node.Outputs) == 1 {
		if _, list := elementsOf(s.node.Outputs[0]); list {
			s.do = func(ctx context.Context, args []any) ([]any, error) { return gather(h.do(ctx, args)) }
		}
	}
	for i, in := range s.node.Inputs {
		g, isGraph := in.Value.(*GraphArgument)
		if isGraph {
			b, err := p.block(&g.Graph, depth+1)
			if err != nil {
				return fmt.Errorf("graph %q: %w", g.Name, err)
			}
			s.args = append(s.args, b)
			continue
		}
		v, err := n.resolve(in.Value)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
		s.args = append(s.args, v)
	}
	for _, i := range h.graphs {
		if i >= len(s.args) {
			return fmt.Errorf("%d arguments, expected a graph as argument %d", len(s.args), i)
		}
		if _, ok := s.args[i].(*block); !ok {
			return fmt.Errorf("argument %d is no graph", i)
		}
	}
	return nil
}

// gather makes one list of a graph's results.
func gather(results []any, err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	list := make([]torch.Tensor, len(results))
	for i, v := range results {
		t, ok := v.(torch.Tensor)
		if !ok {
			drop(results)
			return nil, fmt.Errorf("result %d of a graph is %T, expected a tensor", i, v)
		}
		list[i] = t
	}
	return []any{list}, nil
}

// operands are the values that a graph gets: lists of arguments count as their elements.
func operands(args []any) (list []any) {
	for _, a := range args {
		if own, ok := a.([]any); ok {
			list = append(list, own...)
		} else {
			list = append(list, a)
		}
	}
	return list
}

// decide is the truth of a condition: a number or a tensor of one element.
func decide(v any) (bool, error) {
	t, ok := v.(torch.Tensor)
	if !ok {
		return truth(v)
	}
	own, err := torch.Try1(func() []any { return torch.Call("aten::item", t) })
	if err != nil {
		return false, err
	}
	x, err := number(plainInt(own[0]))
	return x != 0, err
}

func plainInt(v any) any {
	if n, ok := v.(int64); ok {
		return int(n)
	}
	return v
}

// cond runs one of two graphs: cond(condition, then, otherwise, operands).
func cond(ctx context.Context, args []any) ([]any, error) {
	yes, err := decide(args[0])
	if err != nil {
		return nil, err
	}
	b := args[2].(*block)
	if yes {
		b = args[1].(*block)
	}
	return b.run(ctx, operands(args[3:]))
}

// The arguments of while_loop.
const loopCondition, loopBody, loopCarried, loopOthers = 0, 1, 2, 3

// whileLoop runs a graph as long as another one says: while_loop(condition, body, carried, others). No turn leaves anything behind in the
// scope around, which may see any number of them.
func whileLoop(ctx context.Context, args []any) ([]any, error) {
	if len(args) <= loopCarried {
		return nil, errors.New("the loop carries no values")
	}
	more := operands(args[loopOthers:])
	now := under(torch.Tensor.Keep, operands(args[loopCarried:loopOthers]))
	for {
		next, again, err := turn(ctx, args, append(append([]any{}, now...), more...), len(now))
		var last []any
		if err == nil && !again {
			last = under(torch.Tensor.Alias, now)
		}
		drop(now)
		if err != nil || !again {
			return last, err
		}
		now = next
	}
}

// turn asks whether a loop goes on, and if so computes the values that it carries on, which no scope owns.
func turn(ctx context.Context, args, inputs []any, carried int) (next []any, again bool, err error) {
	if err := goesOn(ctx); err != nil {
		return nil, false, err
	}
	torch.Scope(func() {
		var c []any
		if c, err = args[loopCondition].(*block).run(ctx, inputs); err != nil {
			return
		}
		if len(c) != 1 {
			err = fmt.Errorf("the condition of a loop returns %d values", len(c))
			return
		}
		if again, err = decide(c[0]); err != nil || !again {
			return
		}
		if next, err = args[loopBody].(*block).run(ctx, inputs); err == nil && len(next) != carried {
			err = fmt.Errorf("the body of a loop returns %d values, expected %d", len(next), carried)
		}
		if err == nil {
			next = under(torch.Tensor.Keep, next)
		}
	})
	return next, again, err
}

// under are the same values, tensors under other handles.
func under(handle func(torch.Tensor) torch.Tensor, list []any) []any {
	return each(list, func(v any) any {
		if t, ok := v.(torch.Tensor); ok {
			return handle(t)
		}
		return v
	})
}

// withGrad runs a graph with gradients or without: wrap_with_set_grad_enabled(enabled, graph, operands…).
func withGrad(ctx context.Context, args []any) (out []any, err error) {
	enabled, err := truth(args[0])
	if err != nil {
		return nil, err
	}
	within := torch.NoGrad
	if enabled {
		within = torch.EnableGrad
	}
	within(func() { out, err = args[1].(*block).run(ctx, operands(args[2:])) })
	return out, err
}

// withAutocast runs a graph in a region of autocast: wrap_with_autocast(device, dtype, enabled, cache, graph, operands…).
func withAutocast(ctx context.Context, args []any) (out []any, err error) {
	name, isText := args[0].(string)
	device, err := torch.ParseDevice(name)
	if err != nil || !isText {
		return nil, fmt.Errorf("autocast for %v: %w", args[0], err)
	}
	dtype, _ := args[1].(torch.DType)
	enabled, err := truth(args[2])
	if err != nil {
		return nil, err
	}
	var failed error
	mode := torch.AutocastMode{Device: device, Enabled: enabled, DType: dtype, NoCache: args[3] == false}
	broken := torch.Try(func() {
		torch.WithAutocast(mode, func() { out, failed = args[4].(*block).run(ctx, operands(args[5:])) })
	})
	return out, errors.Join(failed, broken)
}
