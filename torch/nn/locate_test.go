package nn_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type located struct {
	First  *nn.Linear
	Layers nn.Sequential
	Act    nn.Softmax
	Heads  map[string]nn.Layer
	head   string
}

func (l *located) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(l, x, l.forward) }

func (l *located) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, l.First, l.Layers, l.Act, l.Heads[l.head])
}

// TestErrorsNameTheModule breaks a network in every kind of place.
func TestErrorsNameTheModule(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct {
		path  string
		depth int
		spoil func(l *located)
	}{
		{"first", 2, func(l *located) { l.First = nn.NewLinear(7, 8) }},
		{"layers.0", 3, func(l *located) { l.Layers[0] = nn.NewLinear(7, 8) }},
		{"layers.1.0", 4, func(l *located) { l.Layers[1] = nn.Sequential{nn.NewConv2d(7, 8, 1)} }},
		{"layers.2", 3, func(l *located) { l.Layers[2] = nn.NewBatchNorm1d(5) }},
		{"act", 2, func(l *located) { l.Act.Dim = 9 }},
		{"heads.b", 2, func(l *located) { l.head = "b" }},
		{"Bilinear", 2, func(l *located) {
			l.Heads["a"] = nil
			l.Layers[0] = nn.Sequential{}
			l.Layers[2] = broken{}
		}},
	} {
		t.Run(c.path, func(t *testing.T) {
			torch.Scope(func() {
				l := &located{
					First:  nn.NewLinear(4, 8),
					Layers: nn.Sequential{nn.NewLinear(8, 8), nn.ReLU{}, nn.NewBatchNorm1d(8)},
					Act:    nn.Softmax{Dim: 1},
					Heads:  map[string]nn.Layer{"a": nn.NewLinear(8, 2), "b": nn.NewLinear(3, 2)},
					head:   "a",
				}
				c.spoil(l)
				err := torch.Try(func() { l.Forward(torch.Ones(2, 4)) })
				var e *torch.Error
				require.True(t, errors.As(err, &e), "%v", err)
				if c.path == "Bilinear" {
					assert.Equal(t, "layers.2.Bilinear", e.Module, "a module that Forward makes has no path")
					return
				}
				assert.Equal(t, c.path, e.Module)
				assert.Len(t, e.Modules, c.depth)
				assert.Same(t, l, e.Modules[c.depth-1])
				assert.Contains(t, err.Error(), "torch: "+c.path+": ")
				assert.Equal(t, "locate_test.go", filepath.Base(e.Caller().File))
				assert.Contains(t, fmt.Sprintf("%+v", err), "nn_test.(*located).forward")
			})
		})
	}
}

type broken struct{}

func (b broken) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(b, x, func(x torch.Tensor) torch.Tensor {
		return nn.NewBilinear(1, 1, 1).Forward(x, x)
	})
}

func TestOtherPanicsPassThroughModules(t *testing.T) {
	torchtest.NoLeaks(t)
	net := nn.Sequential{nn.Sequential{panics{}}}
	assert.PanicsWithValue(t, "mine", func() { net.Forward(torch.Tensor{}) })
}

type panics struct{}

func (p panics) Forward(x torch.Tensor) torch.Tensor { panic("mine") }

func TestOneModuleFails(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		err := torch.Try(func() { nn.NewLinear(3, 2).Forward(torch.Ones(2, 4)) })
		assert.ErrorContains(t, err, "torch: Linear: ")
	})
}

func BenchmarkHooked(b *testing.B) {
	var x torch.Tensor
	forward := func(x torch.Tensor) torch.Tensor { return x }
	net := &located{}
	for b.Loop() {
		nn.Hooked(net, x, forward)
	}
}
