package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// net is a module as a program writes it.
type net struct {
	Stem   *nn.Conv2d
	Act    nn.ReLU
	Blocks []*nn.Linear
	Heads  map[string]nn.Layer
	Scales []torch.Tensor
	Gone   *nn.Linear
	width  int
}

func (n *net) Forward(x torch.Tensor) torch.Tensor { return x }
func (n *net) String() string                      { return nn.String(n) }
func (n *net) ExtraRepr() string                   { return fmt.Sprint("width=", n.width) }

// What is in a program's own struct is described as PyTorch describes it. That the texts of the
// layers themselves are Python's is held by internal/modparity.
func TestOwnStructPrintsAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		n := &net{Stem: nn.NewConv2d(1, 2, 3), Blocks: []*nn.Linear{nn.NewLinear(2, 2), nn.NewLinear(2, 2), nn.NewLinear(2, 3)},
			Heads:  map[string]nn.Layer{"b": nn.Tanh{}, "a": nn.NewSequential(nn.NewDropout(), nn.Flatten{})},
			Scales: []torch.Tensor{torch.Ones(2, 3)}, width: 7}
		defer nn.Close(n)
		const want = `net(
  width=7
  (stem): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
  (act): ReLU()
  (blocks): ModuleList(
    (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)
    (2): Linear(in_features=2, out_features=3, bias=True)
  )
  (heads): ModuleDict(
    (a): Sequential(
      (0): Dropout(p=0.5, inplace=False)
      (1): Flatten(start_dim=1, end_dim=-1)
    )
    (b): Tanh()
  )
  (scales): ParameterList(  (0): Tensor containing: [torch.float32 of size 2x3])
)`
		for _, verb := range []string{"%v", "%s", "%+v"} {
			require.Equal(t, want, fmt.Sprintf(verb, n))
		}
	})
}

// A description needs no tensors: it is for messages, too, where they may be gone.
func TestDescriptionsOfWhatIsGone(t *testing.T) {
	torchtest.NoLeaks(t)
	m := nn.NewSequential(nn.NewLinear(2, 3), nn.NewConv1d(2, 2, 1), nn.NewLayerNorm(4), nn.NewPReLU())
	nn.Close(m)
	require.Contains(t, fmt.Sprint(m), "(0): Linear(in_features=0, out_features=0, bias=True)")
	require.Equal(t, "<nil>", fmt.Sprint((*nn.Linear)(nil)))
	require.Equal(t, "MaxPool2d(kernel_size=(), stride=(), padding=0, dilation=1, ceil_mode=False)", fmt.Sprint(nn.MaxPool2d{}))
	require.ErrorContains(t, torch.Try(func() { _ = nn.String(3) }), "expected a module")
	named := &struct{ Parts []nn.Named[nn.Layer] }{[]nn.Named[nn.Layer]{{Name: "z", Module: nn.ReLU{}}, {Name: "a", Module: nn.Tanh{}}}}
	require.Equal(t, "Module(\n  (parts): ModuleDict(\n    (z): ReLU()\n    (a): Tanh()\n  )\n)", nn.String(named))
	knot := &struct{ Inner []nn.Layer }{}
	knot.Inner = []nn.Layer{nn.ReLU{}}
	require.Equal(t, "Module(\n  (inner): ModuleList(\n    (0): ReLU()\n  )\n)", nn.String(knot))
}
