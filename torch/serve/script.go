package serve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
)

// TorchScript is a model made of a module, which it puts into evaluation mode and closes at its end. TorchScript does not say dtypes
// and shapes, so inputs and outputs do. Inputs go to the arguments of forward that have their names; where none of them does, to
// the arguments in their order, or by the number behind the name, as Triton has it ("INPUT__1"). The other arguments need
// defaults. Outputs are the tensors that forward returns: those of a tuple or list in their order, those of a dict by their names.
// The first batch is computed three times more, for libtorch to compile what it learns.
//
// A module that changes itself (jit.Module.Stateful) computes one batch at a time, and answers depend on those before.
func TorchScript(m *jit.Module, inputs, outputs []Spec) (Model, error) {
	s := &script{module: m, signature: Signature{Inputs: inputs, Outputs: outputs}}
	s.forward = func(_ context.Context, args ...any) (any, error) { return m.Forward(args...) }
	s.warmUp = func(_ context.Context, args ...any) error { return m.Warm(args...) }
	if err := s.check(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(m.Attributes(), func(a jit.Attribute) bool { return a.Name == "training" && !a.Constant }) {
		if err := m.Eval(); err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
	}
	return s, nil
}

// Confined is a model made of a module of unknown origin, which child processes run: see [TorchScript]. A module that changes itself has as
// many states as there are processes.
func Confined(m *jit.Confined, inputs, outputs []Spec) (Model, error) {
	s := &script{module: m, forward: m.Forward, warmUp: m.Warm, signature: Signature{Inputs: inputs, Outputs: outputs}}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

type script struct {
	module interface {
		Name() string
		Method(name string) (jit.Method, bool)
		Stateful() bool
		Close()
	}
	forward   func(ctx context.Context, args ...any) (any, error)
	warmUp    func(ctx context.Context, args ...any) error
	signature Signature
	names     []string // the arguments that the inputs go to
	warm      sync.Once
}

// check compares the signature with the module's.
func (s *script) check() error {
	if err := s.signature.check(); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	forward, ok := s.module.Method("forward")
	if !ok {
		return fmt.Errorf("serve: the module %s has no method forward", s.module.Name())
	}
	if err := s.match(forward.Args); err != nil {
		return fmt.Errorf("serve: %w: its schema is %s", err, forward.Schema)
	}
	return nil
}

// match finds the argument of each input.
func (s *script) match(args []jit.Argument) error {
	named := func(name string) int {
		return slices.IndexFunc(args, func(a jit.Argument) bool { return a.Name == name })
	}
	places := make([]int, len(s.signature.Inputs))
	byName := slices.ContainsFunc(s.signature.Inputs, func(spec Spec) bool { return named(spec.Name) >= 0 })
	taken := map[int]bool{}
	for i, spec := range s.signature.Inputs {
		if places[i] = named(spec.Name); !byName {
			places[i] = numbered(spec.Name, i)
		}
		at := places[i]
		if at < 0 || at >= len(args) || taken[at] {
			return fmt.Errorf("forward has no argument for the input %q", spec.Name)
		}
		if taken[at] = true; args[at].Type != "Tensor" && args[at].Type != "Optional[Tensor]" {
			return fmt.Errorf("the argument %s of forward is no tensor, but %s; a module that takes tensors alone can be served",
				args[at].Name, args[at].Type)
		}
		s.names = append(s.names, args[at].Name)
	}
	for i, a := range args {
		if !taken[i] && !a.HasDefault {
			return fmt.Errorf("there is no input for the argument %s of forward", a.Name)
		}
	}
	return nil
}

// numbered is the number behind a name of Triton's, or i.
func numbered(name string, i int) int {
	if _, text, found := strings.Cut(name, "__"); found {
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	}
	return i
}

func (s *script) Signature() Signature { return s.signature }

func (s *script) Run(ctx context.Context, inputs []torch.Tensor) ([]torch.Tensor, error) {
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = torch.Arg(s.names[i], x)
	}
	var err error
	if !s.module.Stateful() {
		s.warm.Do(func() { err = s.warmUp(context.WithoutCancel(ctx), args...) })
	}
	if err != nil {
		return nil, err
	}
	result, err := s.forward(ctx, args...)
	if err != nil {
		return nil, err
	}
	return s.outputs(result)
}

// outputs are the tensors of a result in the order of the signature. What is left over belongs to the scope that Run is called in.
func (s *script) outputs(result any) (list []torch.Tensor, err error) {
	dict, ok := result.(map[string]torch.Tensor)
	if !ok {
		list, err = jit.Tensors(result)
	}
	for _, spec := range s.signature.Outputs {
		if !ok {
			break
		}
		y, found := dict[spec.Name]
		if !found {
			return nil, fmt.Errorf("serve: %s.forward returned no %q", s.module.Name(), spec.Name)
		}
		list = append(list, y)
	}
	if err == nil && len(list) != len(s.signature.Outputs) {
		err = fmt.Errorf("serve: %s.forward returned %d tensors, expected %d", s.module.Name(), len(list), len(s.signature.Outputs))
	}
	return list, err
}

func (s *script) Close() { s.module.Close() }
