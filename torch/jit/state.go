package jit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// NamedTensor is a parameter or a buffer with its name, such as "layer1.0.weight".
type NamedTensor struct {
	Name      string
	Tensor    torch.Tensor
	Parameter bool // it is trained; else it is a buffer
	Shared    bool // it came before, under another name
}

// State are the parameters and buffers of the module and of those in it, in the order of PyTorch's state_dict. The tensors are the
// module's own, not copies, under handles of the caller's: those of a Scope end with it.
func (m *Module) State() (list []NamedTensor, err error) {
	defer torch.Recover(&err)
	var c cgo.Call
	c.Begin(cgo.OpScriptTensors)
	c.Object(m.h)
	m.guard.mu.RLock()
	defer m.guard.mu.RUnlock()
	bridge.Done(&c)
	for part := range slices.Chunk(c.Typed(), 4) {
		list = append(list, NamedTensor{Name: part[2].(string), Tensor: bridge.Tensor[torch.Tensor](part[3].(*cgo.Handle)),
			Parameter: part[0].(bool), Shared: !part[1].(bool)})
	}
	return list, nil
}

// StateDict is [Module.State] by name: what safetensors.Save, pt.Save and nn.LoadStateDict take.
func (m *Module) StateDict() (map[string]torch.Tensor, error) {
	list, err := m.State()
	if err != nil {
		return nil, err
	}
	dict := make(map[string]torch.Tensor, len(list))
	for _, own := range list {
		dict[own.Name] = own.Tensor
	}
	return dict, nil
}

// Parameters are the tensors that are trained, each once, for an optimizer.
func (m *Module) Parameters() ([]torch.Tensor, error) { return m.tensors(true) }

// Buffers are the tensors that are kept but not trained, each once.
func (m *Module) Buffers() ([]torch.Tensor, error) { return m.tensors(false) }

func (m *Module) tensors(parameters bool) (tensors []torch.Tensor, err error) {
	list, err := m.State()
	if err != nil {
		return nil, err
	}
	for _, own := range list {
		if own.Parameter != parameters || own.Shared {
			own.Tensor.Close()
			continue
		}
		tensors = append(tensors, own.Tensor)
	}
	return tensors, nil
}

// LoadStateDict copies the tensors of a state dict into those of the module of the same names, which keep dtype and device. If a
// name is missing or too much, or a shape differs, nothing is changed. It waits until no method runs.
func (m *Module) LoadStateDict(dict map[string]torch.Tensor) (err error) {
	defer torch.Recover(&err)
	torch.NoGrad(func() {
		torch.Scope(func() { err = m.loadStateDict(dict) })
	})
	return err
}

func (m *Module) loadStateDict(dict map[string]torch.Tensor) error {
	list, err := m.State()
	if err != nil {
		return err
	}
	var wrong []string
	known := map[string]bool{}
	for _, own := range list {
		known[own.Name] = true
		switch from, ok := dict[own.Name]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%q is missing", own.Name))
		case !slices.Equal(from.Shape(), own.Tensor.Shape()):
			wrong = append(wrong, fmt.Sprintf("%q is %v, expected %v", own.Name, from.Shape(), own.Tensor.Shape()))
		}
	}
	for name := range dict {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("%q is not among the module's", name))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("jit: the state dict does not fit %s: %s", m.name, strings.Join(wrong, ", "))
	}
	m.guard.mu.Lock()
	defer m.guard.mu.Unlock()
	for _, own := range list {
		own.Tensor.CopyInPlace(dict[own.Name])
	}
	return nil
}
