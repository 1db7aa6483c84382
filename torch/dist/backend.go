package dist

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// carrier is a backend, and the kinds of devices whose tensors it carries in a group.
type carrier struct {
	name    string
	devices []string
}

const gloo, nccl = "gloo", "nccl"

// carriers reads the name of a backend as PyTorch does: "gloo", "nccl", or one for each kind of device, as "cpu:gloo,cuda:nccl".
func carriers(backend string) (list []carrier, err error) {
	carried := map[string][]string{gloo: {"cpu", "cuda"}, nccl: {"cuda"}}
	if !strings.Contains(backend, ":") {
		list = []carrier{{backend, carried[backend]}}
	} else {
		for pair := range strings.SplitSeq(backend, ",") {
			device, name, _ := strings.Cut(pair, ":")
			if i := slices.IndexFunc(list, func(c carrier) bool { return c.name == name }); i >= 0 {
				list[i].devices = append(list[i].devices, device)
			} else {
				list = append(list, carrier{name, []string{device}})
			}
		}
	}
	for _, c := range list {
		for _, device := range c.devices {
			if !slices.Contains(carried[c.name], device) {
				return nil, fmt.Errorf("dist: the backend %q cannot carry tensors of %q", c.name, device)
			}
		}
		if carried[c.name] == nil {
			return nil, fmt.Errorf("dist: there is no backend %q: \"nccl\" is for tensors on cards, \"gloo\" for those on the CPU, and "+
				"copies those on cards; \"cpu:gloo,cuda:nccl\" has both", c.name)
		}
		if missing := cuda.Unavailable(); c.name == nccl && missing != nil {
			return nil, fmt.Errorf("dist: there is no backend \"nccl\" here: %w", missing)
		}
	}
	return list, nil
}

// DefaultBackendForDevice is "nccl" for cards and "gloo" for others.
func DefaultBackendForDevice(d torch.Device) string {
	if d.IsCUDA() {
		return nccl
	}
	return gloo
}

// defaultTimeout is PyTorch's.
func defaultTimeout(backend string) time.Duration {
	if backend == nccl {
		return 10 * time.Minute
	}
	return DefaultTimeout
}

// carries tells whether the group has a backend for tensors of a kind of device.
func (g *Group) carries(device string) bool {
	return slices.ContainsFunc(g.carriers, func(c carrier) bool { return slices.Contains(c.devices, device) })
}

// onCards tells whether NCCL does an operation with these tensors, or one that has none.
func (g *Group) onCards(list ...torch.Tensor) bool {
	has := slices.ContainsFunc(g.carriers, func(c carrier) bool { return c.name == nccl })
	return has && (len(list) == 0 || list[0].Defined() && list[0].Device().IsCUDA())
}

// card is this process's.
func (w *world) card() torch.Device {
	if w.opts.Device.IsCUDA() {
		return w.opts.Device
	}
	return torch.CUDA(cuda.CurrentDevice())
}

// connect makes the group of libtorch's.
func (w *world) connect(g *Group, s *Store, name, about string) (*cgo.Handle, error) {
	var cards *cgo.Handle
	defer func() { cards.Close() }() // the group holds it
	if g.onCards() {
		var err error
		if cards, err = w.connectCards(g, s, name); err != nil {
			return nil, err
		}
	}
	return object(cgo.OpNewGroup, func(c *cgo.Call) {
		c.Object(s.h)
		c.Int(g.rank)
		c.Int(len(g.ranks))
		putTimeout(c, g.timeout)
		c.Str(name)
		c.Str(about)
		c.Bool(w.opts.Detail)
		c.List(len(g.carriers))
		for _, each := range g.carriers {
			if c.Bool(each.name == nccl); each.name == nccl {
				c.Object(cards)
			}
			putKeys(c, each.devices)
		}
	})
}

// connectCards makes NCCL's part of a group.
func (w *world) connectCards(g *Group, s *Store, name string) (*cgo.Handle, error) {
	part, err := NewPrefixStore(name+"/", s)
	if err != nil {
		return nil, err
	}
	defer part.Close()
	own, err := NewPrefixStore("cuda/", part)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	var card torch.Device
	if w.opts.Device.IsCUDA() {
		card = w.opts.Device
	}
	var members []int
	if w.group != nil {
		members = g.ranks
	}
	return object(cgo.OpNewNccl, func(c *cgo.Call) {
		c.Object(own.h)
		c.Int(g.rank)
		c.Int(len(g.ranks))
		putTimeout(c, g.timeout)
		c.Str(name)
		c.Ints(members)
		c.Code(bridge.Code(card))
	})
}
