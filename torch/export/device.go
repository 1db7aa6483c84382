package export

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// To moves a program to a device, as Python's torch.export.passes.move_to_device_pass does: its tensors, and what its graph says of
// devices; operators that make tensors out of nothing make them there. Modules and compiled programs that were made before stay where
// they are. Where it fails, as on a device that is not there, the program stays where it was, too. A card without a number is the first.
func (p *Program) To(d torch.Device) error {
	if d.IsZero() {
		return errors.New("export: the program cannot be moved to no device: expected torch.CPU, torch.CUDA(0) or another one")
	}
	d = counted(d)
	state, constants := map[string]torch.Tensor{}, map[string]torch.Tensor{}
	m := mover{to: d, moved: map[string]torch.Tensor{}}
	err := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				m.all(p.StateDict, state)
				m.all(p.Constants, constants)
			})
		})
	})
	if err != nil {
		closeAll(state)
		closeAll(constants)
		return fmt.Errorf("export: the program cannot be moved to %v: %w", d, err)
	}
	p.Close()
	p.StateDict, p.Constants = state, constants
	p.Graph.place(d)
	return nil
}

// mover moves tensors. Those that are the same memory in the same order are so afterwards.
type mover struct {
	to    torch.Device
	moved map[string]torch.Tensor
}

func (m *mover) all(from, to map[string]torch.Tensor) {
	for name, t := range from {
		to[name] = m.tensor(t)
	}
}

func (m *mover) tensor(t torch.Tensor) torch.Tensor {
	key := ""
	if t.Layout() == torch.Strided && t.NumEl() > 0 {
		key = fmt.Sprint(t.Storage().ID, t.StorageOffset(), t.DType(), t.Shape(), t.Stride(), t.RequiresGrad())
	}
	own, twice := m.moved[key]
	if !twice || key == "" {
		own = moved(t, m.to)
		m.moved[key] = own
	}
	return own.Keep()
}

// moved is a tensor on a device, without a history.
func moved(t torch.Tensor, d torch.Device) torch.Tensor {
	return t.To(d).Detach().SetRequiresGrad(t.RequiresGrad())
}

// place lets all that a graph says of devices be another one.
func (g *Graph) place(d torch.Device) {
	for name, m := range g.Tensors {
		m.Device = d
		g.Tensors[name] = m
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Inputs = slices.Clone(n.Inputs)
		named := false
		for k := range n.Inputs {
			switch v := n.Inputs[k].Value.(type) {
			case torch.Device:
				n.Inputs[k].Value, named = d, true
			case *GraphArgument:
				v.Graph.place(d)
			}
		}
		if full, ok := n.operator(); ok && !named && creates(schemaOf(full), "device") {
			n.Inputs = set(n.Inputs, "device", d)
		}
	}
}

// counted is a device with its number: a card without one is the first.
func counted(d torch.Device) torch.Device {
	if d.IsCUDA() && d.Index() < 0 {
		return torch.CUDA(0)
	}
	return d
}

// device is where all tensors of a program are; none where that are several devices.
func (p *Program) device() (d torch.Device) {
	for _, m := range p.Graph.Tensors {
		own := torch.CPU
		if !m.Device.IsZero() {
			own = counted(m.Device)
		}
		if d.IsZero() {
			d = own
		}
		if d != own {
			return torch.Device{}
		}
	}
	if d.IsZero() {
		return torch.CPU
	}
	return d
}
