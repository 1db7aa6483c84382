package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type untrained struct {
	Scale torch.Tensor
	Seen  torch.Tensor `torch:",buffer"`
	Inner *nn.Linear
}

func TestForgottenGradientIsWarnedOf(t *testing.T) {
	torchtest.NoLeaks(t)
	var got []string
	torch.OnWarning(func(text string) { got = append(got, text) })
	defer torch.OnWarning(nil)
	torch.Scope(func() {
		m := &untrained{Scale: torch.Ones(2), Seen: torch.Ones(2), Inner: nn.NewLinear(2, 2)}
		m.Inner.Weight.SetRequiresGrad(false) // one freezes layers
		require.Len(t, nn.Parameters(m), 3)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "scale of nn_test.untrained does not require gradients")
		got = nil
		m.Scale.SetRequiresGrad(true)
		nn.Parameters(m)
		assert.Empty(t, got)
	})
}

func TestWhatIsNoModuleIsRefused(t *testing.T) {
	torchtest.NoLeaks(t)
	var absent *nn.Linear
	x := torch.Ones(2)
	defer x.Close()
	for _, m := range []any{3, "net", nil, absent, []int{1}, x, &x, func() {}, map[string]int{}} {
		err := torch.Try(func() { nn.Parameters(m) })
		require.ErrorIs(t, err, torch.ErrType, "%T", m)
		assert.ErrorContains(t, err, "expected a module")
	}
	assert.Empty(t, nn.Parameters(nn.Sequential{}))
	assert.Empty(t, nn.Parameters(nn.ReLU{}))
}
