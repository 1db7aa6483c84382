package dist_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// normCase is a layer and the shape of what it gets, but for the rows.
type normCase struct {
	shape []int
	dtype torch.DType
	bound float64
	opts  nn.BatchNormOptions
}

// rows are those of each rank.
var rows = []int{3, 0, 5}

// separate runs the layers of all ranks twice, which moves the running statistics on, each on its own rows. It returns results and
// gradients of all rows, and the layers.
func (c normCase) separate(t *testing.T, x, dy torch.Tensor) (y, dx torch.Tensor, layers []*dist.SyncBatchNorm) {
	layers = make([]*dist.SyncBatchNorm, len(rows))
	ys, dxs := make([]torch.Tensor, len(rows)), make([]torch.Tensor, len(rows))
	ranks(t, len(rows), patience, func(ctx context.Context, g *dist.Group) error {
		rank := g.Rank()
		torch.Unscoped(func() { layers[rank] = nn.To(dist.NewSyncBatchNorm(g, c.shape[0], c.opts), c.dtype) })
		mine := x.SplitWithSizes(rows, 0)[rank].Clone().SetRequiresGrad(true)
		for range 2 {
			y := layers[rank].Forward(mine)
			y.Mul(dy.SplitWithSizes(rows, 0)[rank]).Sum().Backward()
			ys[rank].Close()
			ys[rank] = y.Detach().Keep()
		}
		dxs[rank] = mine.Grad().Keep()
		return g.Barrier().Wait(ctx)
	})
	defer torch.Close(append(ys, dxs...)...)
	return torch.Cat(ys, 0), torch.Cat(dxs, 0), layers
}

// Python has no SyncBatchNorm on the CPU. What it stands for is the joined batch, whose layer equals Python's to the bit: the rows of
// each rank, how many they are, are compared with that. A rank may have no rows.
func TestSyncBatchNormIsThatOfTheJoinedBatch(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []normCase{
		{shape: []int{4}, dtype: torch.Float64, bound: 1e-12},
		{shape: []int{3, 5}, dtype: torch.Float64, bound: 1e-12, opts: nn.BatchNormOptions{NoAffine: true}},
		{shape: []int{3, 4, 2}, dtype: torch.Float32, bound: 3e-6, opts: nn.BatchNormOptions{Cumulative: true, Eps: new(1e-3)}},
		{shape: []int{2, 2, 3, 2}, dtype: torch.Float64, bound: 1e-12, opts: nn.BatchNormOptions{NoTrackRunningStats: true}},
		{shape: []int{3, 4, 2}, dtype: torch.BFloat16, bound: 0.05},
	} {
		torch.Scope(func() {
			shape, on := append([]int{8}, c.shape...), torch.TensorOptions{DType: torch.Float64}
			x, dy := on.RandN(shape...).AddScalar(3).To(c.dtype), on.RandN(shape...).To(c.dtype)
			y, dx, layers := c.separate(t, x, dy)
			whole := x.Reshape(8, c.shape[0], x.NumEl()/8/c.shape[0], 1).SetRequiresGrad(true)
			joined := nn.To(nn.NewBatchNorm2d(c.shape[0], c.opts), c.dtype)
			var want torch.Tensor
			for range 2 {
				want = joined.Forward(whole)
				want.Mul(dy.Reshape(whole.Shape()...)).Sum().Backward()
			}
			near := func(got, want torch.Tensor, about string) {
				t.Helper()
				got, want = got.To(torch.Float64).Reshape(-1), want.To(torch.Float64).Reshape(-1)
				require.LessOrEqual(t, got.Sub(want).Abs().Max().Float64(), c.bound*max(1, want.Abs().Max().Float64()), "%s of %v", about, c.shape)
			}
			near(y, want, "result")
			near(dx, whole.Grad(), "gradient")
			for i, p := range nn.Parameters(joined) {
				sum := torch.ZerosLike(p)
				for _, l := range layers {
					sum = sum.Add(nn.Parameters(l)[i].Grad())
				}
				near(sum, p.Grad(), "gradient of a parameter")
			}
			for _, l := range layers {
				for i, buffer := range nn.Buffers(joined) {
					near(nn.Buffers(l)[i], buffer, "buffer")
				}
				nn.Close(l)
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
		ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
			require.Less(t, trained(g, true).Sub(want).Abs().Max().Float64(), 1e-12)
			require.Greater(t, trained(g, false).Sub(want).Abs().Max().Float64(), 1e-4)
			return g.Barrier().Wait(ctx)
		})
	})
}
