package amp_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Gradients that do not lie in memory as their parameters do are unscaled, clipped and
// followed to Python's bits, or refused where Python refuses them.
func TestLayoutsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(4)
		inputs := peer.Tensors{"p": torch.RandN(4, 4), "g": torch.RandN(4, 4)}
		want, got := peer.Run(t, "testdata/layouts.py", inputs), peer.Tensors{}
		for name, grad := range layouts(inputs["g"]) {
			for _, kind := range []string{"SGD", "Adam"} {
				p := inputs["p"].Clone().SetRequiresGrad(true)
				if name == "sparse" {
					grad = grad.Clone()
				}
				p.SetGrad(grad)
				var opt optim.Optimizer = optim.NewSGD([]torch.Tensor{p}, 0.1)
				if kind == "Adam" {
					opt = optim.NewAdam([]torch.Tensor{p}, 0.1, optim.AdamOptions{Unfused: true})
				}
				if torch.Try(func() { scaledStep(p, opt, kind == "Adam" && name != "sparse") }) != nil {
					got[name+" "+kind+" error"] = torch.FromValue(int64(1))
					continue
				}
				after := p.Grad()
				if name == "sparse" {
					after = after.ToDense()
				}
				got[name+" "+kind+" p"], got[name+" "+kind+" g"] = p.Detach(), after.Contiguous().Clone()
			}
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name, value := range got {
			require.Equal(t, want[name].Bytes(), value.Bytes(), "%s: %v, in Python %v", name, value, want[name])
		}
	})
}

func scaledStep(p torch.Tensor, opt optim.Optimizer, clip bool) {
	s := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16, InitScale: 4})
	defer s.Close()
	s.Scale(torch.Zeros(1))
	if clip {
		s.Unscale(opt)
		nnutils.ClipGradNorm([]torch.Tensor{p}, 0.3)
		nnutils.ClipGradValue([]torch.Tensor{p}, 0.05)
	}
	s.Step(opt)
}

func layouts(g torch.Tensor) map[string]torch.Tensor {
	return map[string]torch.Tensor{
		"transposed":  g.Clone().T().Contiguous().T(),
		"narrow":      torch.Cat([]torch.Tensor{g, g}, 1).Narrow(1, 0, 4),
		"overlapping": g.Reshape(-1).Clone().AsStrided([]int{4, 4}, []int{1, 1}),
		"expanded":    g.Clone().Narrow(0, 0, 1).Expand(4, 4),
		"sparse":      g.Abs().ClampMin(0.5).SubScalar(0.5).ToSparse(),
	}
}
