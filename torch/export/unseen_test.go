package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A step reads no memory that no operator has written to, itself or as another view; none of no numbers needs that.
func TestUnseen(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(3, 2)
		for name, c := range map[string]struct {
			step   func(x torch.Tensor) torch.Tensor
			unseen bool
		}{
			"read":            {func(x torch.Tensor) torch.Tensor { return torch.Empty(3, 2).Add(x) }, true},
			"a view is read":  {func(x torch.Tensor) torch.Tensor { return x.MatMul(torch.Empty(3, 2).T()) }, true},
			"written first":   {func(x torch.Tensor) torch.Tensor { return torch.Empty(3, 2).CopyInPlace(x).Add(x) }, false},
			"a view written":  {func(x torch.Tensor) torch.Tensor { y := torch.Empty(2, 3); y.T().CopyInPlace(x); return y.Exp() }, false},
			"there is no one": {func(x torch.Tensor) torch.Tensor { return torch.Empty(0, 2).Exp() }, false},
		} {
			p, err := Export(c.step, []any{x})
			require.NoError(t, err)
			defer p.Close()
			if err = newRewriter(p, CompileOptions{}).apply([]pass{{"unseen", unseen}}); c.unseen {
				require.ErrorContains(t, err, "without an operator that is seen", name)
			} else {
				require.NoError(t, err, name)
			}
		}
	})
}
