package jit

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/libtorch-go/libtorch/internal/pin"
	"github.com/libtorch-go/libtorch/torch"
)

// questions is where a child that serves reads, behind the file for its answers.
const questions = 4

// serve loads the module and answers calls of forward until nobody asks any more.
func (o *order) serve() error {
	in, out := bufio.NewReader(os.NewFile(questions, "questions")), os.NewFile(answers, "answers")
	m, info, err := o.confined()
	if err != nil {
		return say(out, message{Failed: err.Error()}, nil, nil)
	}
	if err := say(out, message{Info: info}, nil, nil); err != nil {
		return err
	}
	for {
		q, data, err := receive(in, o.Memory)
		if err != nil {
			return nil // the parent has ended, or closed the module
		}
		err = torch.Try(func() {
			torch.Inference(func() {
				torch.Scope(func() { err = q.answer(m, data, out) })
			})
		})
		if err != nil {
			return err
		}
	}
}

// say writes a message.
func say(out *os.File, m message, names []string, list []torch.Tensor) error {
	b, err := encode(m, names, list)
	if err == nil {
		_, err = out.Write(b)
	}
	return err
}

// confined loads the module where it can do no harm.
func (o *order) confined() (m *Module, info *Info, err error) {
	defer torch.Recover(&err)
	if err := torch.Load(); err != nil {
		return nil, nil, err
	}
	b, err := os.ReadFile(o.Path)
	if err != nil {
		return nil, nil, err
	}
	if err := pin.Check(pin.Sum(b), o.SHA256); err != nil {
		return nil, nil, err
	}
	torch.SetNumThreads(o.Threads)
	torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: o.Memory})
	torch.Scope(func() { // what libtorch looks up on its first use
		x := torch.Ones(64, 64)
		torch.Call("aten::conv2d", x.View(1, 1, 64, 64), torch.Ones(1, 1, 3, 3))
		x.MatMul(x)
	})
	os.Clearenv()
	if err := o.limit(); err != nil {
		return nil, nil, err
	}
	if err := confine(); err != nil {
		return nil, nil, fmt.Errorf("the process cannot be confined: %w", err)
	}
	if m, err = load(b, LoadOptions{}); err != nil {
		return nil, nil, err
	}
	if info, err = m.info(b); err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(info.Attributes, func(a Attribute) bool { return a.Name == "training" && !a.Constant }) {
		err = m.Eval()
	}
	return m, info, err
}

// answer calls forward and sends what it returns.
func (m message) answer(module *Module, data [][]byte, out *os.File) error {
	list, err := m.tensors(data)
	if err != nil {
		return say(out, message{Failed: err.Error()}, nil, nil)
	}
	args := make([]any, len(list))
	for i, x := range list {
		if args[i] = x; m.Tensors[i].Name != "" {
			args[i] = torch.Arg(m.Tensors[i].Name, x)
		}
	}
	var v any
	for range max(m.Times, 1) {
		if v, err = module.Forward(args...); err != nil {
			break
		}
	}
	var a message
	var names []string
	var results []torch.Tensor
	if err == nil {
		a, names, results, err = outcome(v)
	}
	if err != nil {
		a = message{Failed: err.Error()}
		errors.As(err, &a.Raised)
	}
	return say(out, a, names, results)
}

// outcome is how a result is sent.
func outcome(v any) (m message, names []string, list []torch.Tensor, err error) {
	switch v := v.(type) {
	case torch.Tensor:
		return message{One: true}, []string{""}, []torch.Tensor{v}, nil
	case map[string]torch.Tensor:
		names = slices.Sorted(maps.Keys(v))
		for _, name := range names {
			list = append(list, v[name])
		}
		return message{Dict: true}, names, list, nil
	}
	list, err = Tensors(v)
	return m, make([]string, len(list)), list, err
}
