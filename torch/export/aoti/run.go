package aoti

import (
	"context"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Run computes the model: positional arguments, then those that torch.Arg names, nested as in Python, where a dictionary is a
// map[string]any and a list or tuple a []any. The outputs are in the order of Python's, those within others one after the other;
// None is the undefined tensor. Inputs that do not fit are an [InputError].
//
//	out, err := m.Run(x, torch.Arg("mask", mask))
func (m *Model) Run(inputs ...any) ([]torch.Tensor, error) {
	leaves, err := m.signature.Flatten(inputs...)
	if err != nil {
		return nil, &InputError{Model: m.info.Name, Reason: strings.TrimPrefix(err.Error(), "export: ")}
	}
	var list []torch.Tensor
	for _, v := range leaves {
		if x, ok := v.(torch.Tensor); ok { // what else there is was compiled in
			list = append(list, x)
		}
	}
	return m.RunTensors(context.Background(), list)
}

// Call is [Model.Run] with the outputs nested as Python returns them: a tensor, a map[string]any of a dictionary, a []any of a
// list or tuple.
func (m *Model) Call(inputs ...any) (any, error) {
	list, err := m.Run(inputs...)
	if err != nil {
		return nil, err
	}
	return m.signature.Out.Unflatten(list)
}

// RunTensors computes the model of its tensors alone, in the order of [Model.Inputs]. Ctx ends the waiting for a runner, not a
// run.
func (m *Model) RunTensors(ctx context.Context, inputs []torch.Tensor) (outputs []torch.Tensor, err error) {
	defer torch.Recover(&err)
	laid, err := m.check(inputs)
	defer func() {
		for i, x := range laid {
			if x != inputs[i] {
				x.Close()
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	select {
	case m.places <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("aoti: %s: %w", m.info.Name, context.Cause(ctx))
	}
	defer func() { <-m.places }()
	var c cgo.Call
	c.Begin(cgo.OpAotiRun)
	c.Object(m.h)
	c.List(len(laid))
	for _, x := range laid {
		c.Tensor(bridge.Handle(x))
	}
	if failed := c.RunBack(); failed != nil {
		failed.Op = "aoti." + m.info.Name
		bridge.Fail(failed)
	}
	for _, h := range c.Handles(0) {
		outputs = append(outputs, bridge.Tensor[torch.Tensor](h))
	}
	return outputs, nil
}

// check compares the inputs with what the model takes, and brings them into its layout. Those that are not inputs are copies.
func (m *Model) check(inputs []torch.Tensor) (laid []torch.Tensor, err error) {
	specs := m.info.Inputs
	if len(inputs) != len(specs) {
		return nil, &InputError{Model: m.info.Name, Reason: fmt.Sprintf("%d tensors, expected %d: %v", len(inputs), len(specs), specs)}
	}
	sizes := map[string]int{}
	for i, in := range specs {
		if reason := in.misfit(inputs[i], m.device, sizes); reason != "" {
			return nil, &InputError{Model: m.info.Name, Input: in.Name, Reason: reason}
		}
	}
	for i, in := range specs {
		x, err := in.laid(inputs[i])
		if err != nil {
			return laid, &InputError{Model: m.info.Name, Input: in.Name, Reason: err.Error()}
		}
		laid = append(laid, x)
	}
	return laid, nil
}
