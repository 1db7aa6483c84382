package dist_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Python has no SyncBatchNorm on the CPU. What it stands for is the joined batch, whose layer equals Python's to the bit: the rows of
// each rank, how many they are, are compared with that. A rank may have no rows.
func TestSyncBatchNormIsThatOfTheJoinedBatch(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct {
		shape []int // but for the rows
		dtype torch.DType
		bound float64
		opts  nn.BatchNormOptions
	}{
		{shape: []int{4}, dtype: torch.Float64, bound: 1e-12},
		{shape: []int{3, 5}, dtype: torch.Float64, bound: 1e-12, opts: nn.BatchNormOptions{NoAffine: true}},
		{shape: []int{3, 4, 2}, dtype: torch.Float32, bound: 3e-6, opts: nn.BatchNormOptions{Cumulative: true, Eps: new(1e-3)}},
		{shape: []int{2, 2, 3, 2}, dtype: torch.Float64, bound: 1e-12, opts: nn.BatchNormOptions{NoTrackRunningStats: true}},
		{shape: []int{3, 4, 2}, dtype: torch.BFloat16, bound: 0.05},
	} {
		torch.Scope(func() {
			rows := []int{3, 0, 5}
			x := torch.TensorOptions{DType: torch.Float64}.RandN(append([]int{8}, c.shape...)...).AddScalar(3).To(c.dtype)
			dy := torch.TensorOptions{DType: torch.Float64}.RandN(append([]int{8}, c.shape...)...).To(c.dtype)
			layers := make([]*dist.SyncBatchNorm, len(rows))
			ys, dxs := make([]torch.Tensor, len(rows)), make([]torch.Tensor, len(rows))
			ranks(t, len(rows), time.Minute, func(ctx context.Context, g *dist.Group) error {
				torch.Unscoped(func() {
					layers[g.Rank()] = nn.To(dist.NewSyncBatchNorm(g, c.shape[0], c.opts), c.dtype)
					first := 0
					for _, n := range rows[:g.Rank()] {
						first += n
					}
					mine := x.Narrow(0, first, rows[g.Rank()]).Clone().SetRequiresGrad(true)
					for range 2 { // the second moves the running statistics on
						y := layers[g.Rank()].Forward(mine)
						ys[g.Rank()] = y.Detach()
						y.Mul(dy.Narrow(0, first, rows[g.Rank()])).Sum().Backward()
					}
					dxs[g.Rank()] = mine.Grad()
				})
				return g.Barrier().Wait(ctx)
			})
			joined := nn.To(nn.NewBatchNorm2d(c.shape[0], c.opts), c.dtype)
			flat := append(append([]int{8}, c.shape[:1]...), torch.Zeros(append([]int{1}, c.shape...)...).NumEl()/c.shape[0], 1)
			whole := x.Reshape(flat...).SetRequiresGrad(true)
			var want torch.Tensor
			for range 2 {
				want = joined.Forward(whole)
				want.Mul(dy.Reshape(flat...)).Sum().Backward()
			}
			near := func(got, want torch.Tensor, about string) {
				t.Helper()
				diff := got.To(torch.Float64).Reshape(-1).Sub(want.To(torch.Float64).Reshape(-1)).Abs().Max().Float64()
				require.LessOrEqual(t, diff, c.bound*max(1, want.To(torch.Float64).Abs().Max().Float64()), "%s of %v", about, c.shape)
			}
			near(torch.Cat(ys, 0), want, "result")
			near(torch.Cat(dxs, 0), whole.Grad(), "gradient")
			var dw, db torch.Tensor
			for rank, l := range layers {
				if rank > 0 && dw.Defined() {
					dw, db = dw.Add(l.Weight.Grad()), db.Add(l.Bias.Grad())
				} else if l.Weight.Defined() {
					dw, db = l.Weight.Grad(), l.Bias.Grad()
				}
				for name, buffer := range nn.StateDict(joined) {
					for own, mine := range nn.StateDict(l) {
						if own == name {
							near(mine, buffer, name)
						}
					}
				}
			}
			if dw.Defined() {
				near(dw, joined.Weight.Grad(), "gradient of the weight")
				near(db, joined.Bias.Grad(), "gradient of the bias")
			}
			for rank, l := range layers {
				nn.Close(l)
				torch.Close(ys[rank], dxs[rank])
			}
		})
	}
}

// Two ranks with half of a batch each train a network as one process does with all of it, which they do not without conversion.
func TestConvertSyncBatchNormTrainsOnTheJoinedBatch(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		in := inputs(2)
		trained := func(g *dist.Group, convert bool) torch.Tensor {
			m := nn.To(newNet(), torch.Float64)
			torch.NoGrad(func() {
				for name, p := range nn.NamedParameters(m) {
					p.CopyInPlace(in["net.state."+name])
				}
			})
			call := func(x torch.Tensor) torch.Tensor { return m.Forward(x, false) }
			if g != nil {
				if convert {
					dist.ConvertSyncBatchNorm(g, m)
				}
				ddp, err := dist.NewDDP(g, m, dist.DDPOptions{KeepBuffers: convert})
				require.NoError(t, err)
				defer ddp.Close()
				call = func(x torch.Tensor) torch.Tensor {
					return ddp.Call(func(m model) []torch.Tensor { return []torch.Tensor{m.Forward(x, false)} })[0]
				}
			}
			opt := optim.NewSGD(nn.Parameters(m), 0.05)
			defer opt.Close()
			for step := range 5 {
				x, y := in["net.x"].Select(0, step), in["net.y"].Select(0, step)
				if g != nil {
					x, y = x.Select(0, g.Rank()), y.Select(0, g.Rank())
				} else {
					x, y = x.Flatten(0, 1), y.Flatten(0, 1)
				}
				F.CrossEntropy(call(x.To(torch.Float64)), y).Backward()
				opt.Step()
				opt.ZeroGrad()
			}
			return nnutils.ParametersToVector(nn.Parameters(m))
		}
		want := trained(nil, false)
		ranks(t, 2, time.Minute, func(ctx context.Context, g *dist.Group) error {
			require.Less(t, trained(g, true).Sub(want).Abs().Max().Float64(), 1e-12)
			require.Greater(t, trained(g, false).Sub(want).Abs().Max().Float64(), 1e-4)
			return g.Barrier().Wait(ctx)
		})
	})
}
