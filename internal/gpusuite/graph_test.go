package gpusuite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

const classes = 10

// trainer is all of a training: network, optimizer, scaler.
type trainer struct {
	model  *models.ResNet
	opt    *optim.SGD
	scaler *amp.GradScaler
}

func newTrainer() *trainer {
	torch.ManualSeed(3)
	r := &trainer{model: models.ResNet18(classes, models.ResNetOptions{Stem: models.CIFARStem})}
	nn.To(r.model, dev, torch.ChannelsLast)
	r.opt = optim.NewSGD(nn.Parameters(r.model), 0.0625, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4})
	r.scaler = amp.NewGradScaler(dev, amp.GradScalerOptions{InitScale: 1024})
	return r
}

func (r *trainer) Close() {
	nn.Close(r.model)
	r.opt.Close()
	r.scaler.Close()
}

func (r *trainer) step(in []torch.Tensor) []torch.Tensor {
	var loss torch.Tensor
	amp.Autocast(dev, torch.Float16, func() { loss = F.CrossEntropy(r.model.Forward(in[0]), in[1]) })
	r.scaler.Scale(loss).Backward()
	r.scaler.Step(r.opt)
	r.opt.ZeroGrad()
	return []torch.Tensor{loss}
}

// batch is the i-th batch of images and labels.
func batch(i, n int) (images, labels torch.Tensor) {
	torch.ManualSeed(uint64(100 + i))
	return torch.RandN(n, 3, 32, 32).To(torch.ChannelsLast), torch.RandInt(0, classes, []int{n})
}

// A training that becomes a graph equals one that does not, bit for bit and step for step:
// losses, and weights at the end.
func TestGraphedTrainingEqualsEager(t *testing.T) {
	needCard(t)
	const steps, n = 12, 32
	exact(func() {
		eager, other := newTrainer(), newTrainer()
		defer eager.Close()
		defer other.Close()
		graphed := cuda.Graphed(other.step)
		defer graphed.Close()
		eager.opt.ParamGroups()[0].LRTensor() // both have it in float32
		differing := 0
		for i := range steps {
			torch.Scope(func() {
				images, labels := batch(i, n)
				if i >= steps/2 {
					eager.opt.ParamGroups()[0].LR, other.opt.ParamGroups()[0].LR = 0.03125, 0.03125 // the graph follows
				}
				want := eager.step([]torch.Tensor{images.To(dev), labels.To(dev)})[0]
				got, err := graphed.Run(images, labels)
				require.NoError(t, err)
				if got[0].Float64() != want.Float64() {
					differing++
				}
			})
		}
		require.True(t, graphed.Captured())
		reliability.Exactly(t, "losses that differ between graph and eager", differing, 0)
		wanted := map[string]torch.Tensor{}
		for name, x := range nn.StateDict(eager.model) {
			wanted[name] = x
		}
		for name, x := range nn.StateDict(other.model) {
			torchtest.Equal(t, x, wanted[name])
		}
		require.Equal(t, eager.scaler.Scaling(), other.scaler.Scaling())
	})
}

func TestGraphedInferenceEqualsEager(t *testing.T) {
	needCard(t)
	exact(func() {
		model := models.ResNet18(classes, models.ResNetOptions{Stem: models.CIFARStem})
		defer nn.Close(model)
		nn.To(model, dev, torch.Float16, torch.ChannelsLast)
		nn.Eval(model)
		forward := func(in []torch.Tensor) (out []torch.Tensor) {
			torch.NoGrad(func() { out = []torch.Tensor{model.Forward(in[0])} })
			return out
		}
		step := cuda.Graphed(forward, cuda.GraphedOptions{Warmup: 2})
		defer step.Close()
		for i := range 6 {
			torch.Scope(func() {
				images, _ := batch(i, 4)
				images = images.To(torch.Float16)
				want := forward([]torch.Tensor{images.To(dev)})[0]
				got, err := step.Run(images)
				require.NoError(t, err)
				torchtest.Equal(t, got[0], want)
			})
		}
	})
}

// Random numbers in a graph are the same as without the graph.
func TestGraphedRandomNumbers(t *testing.T) {
	needCard(t)
	step := cuda.Graphed(func([]torch.Tensor) []torch.Tensor { return []torch.Tensor{on.RandN(1000)} }, cuda.GraphedOptions{Warmup: 2})
	defer step.Close()
	seen := map[float64]bool{}
	for range 8 {
		out, err := step.Run()
		require.NoError(t, err)
		torch.Scope(func() { seen[out[0].Sum().Float64()] = true })
	}
	require.Len(t, seen, 8, "each replay has numbers of its own")
}

// Work that cannot be captured gives an error, and the card still works afterwards,
// captures included.
func TestNotCapturable(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		x := on.Ones(8)
		for name, fn := range map[string]func(){
			"item":        func() { x.Sum().Float64() },
			"values":      func() { torch.Values[float32](x) },
			"nonzero":     func() { x.Nonzero() },
			"to the host": func() { x.CPU() },
			"synchronize": func() { cuda.Synchronize(0) },
		} {
			g := cuda.NewGraph()
			err := g.Capture(func() { torch.Scope(func() { x.Add(x); on.RandN(4); fn() }) })
			require.ErrorIs(t, err, cuda.ErrNotCapturable, name)
			require.False(t, cuda.IsCapturing(), name)
			require.Equal(t, 8.0, x.Sum().Float64(), name)
			require.Equal(t, 4, on.RandN(4).NumEl(), name)
			err = g.Capture(func() { x.Add(on.Ones(3)) })
			require.Error(t, err, name)
			require.NotErrorIs(t, err, cuda.ErrNotCapturable, "it is wrong outside of a capture, too")
			require.NoError(t, g.Capture(func() { torch.Scope(func() { x.MulScalarInPlace(1) }) }), name)
			g.Replay()
			require.Equal(t, 8.0, x.Sum().Float64(), name)
			g.Close()
		}
		require.NoError(t, torch.Unhealthy())
	})
}

// Graphs that share a pool take less memory than graphs that do not.
func TestGraphsSharePools(t *testing.T) {
	needCard(t)
	reserved := func(pool func() cuda.PoolID) int64 {
		torch.GC()
		cuda.EmptyCache()
		before := cuda.Memory(0).Reserved
		var graphs []*cuda.Graph
		for range 4 {
			g := cuda.NewGraph()
			require.NoError(t, g.Capture(func() { torch.Scope(func() { on.Ones(1 << 23).AddScalar(1) }) }, cuda.CaptureOptions{Pool: pool()}))
			graphs = append(graphs, g)
		}
		taken := cuda.Memory(0).Reserved - before
		for _, g := range graphs {
			g.Close()
		}
		return taken
	}
	own := reserved(func() cuda.PoolID { return cuda.PoolID{} })
	id := cuda.NewPoolID()
	shared := reserved(func() cuda.PoolID { return id })
	reliability.Note(t, "four graphs with a pool each", int(own>>20), "MB")
	reliability.Note(t, "four graphs with one pool", int(shared>>20), "MB")
	require.Less(t, shared, own)

	pool := cuda.NewMemPool()
	defer pool.Close()
	torch.Scope(func() {
		var x torch.Tensor
		cuda.WithMemPool(pool, func() { x = on.Ones(1 << 20) })
		found := false
		for _, s := range cuda.MemorySnapshot().Segments {
			found = found || s.Pool == pool.ID() && s.Allocated > 0
		}
		require.True(t, found, "the tensor lies in the pool")
		require.Equal(t, 1.0, x.Max().Float64())
	})
}

func TestGraphDump(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		x := on.Ones(8)
		g := cuda.NewGraph(cuda.GraphOptions{Debug: true})
		defer g.Close()
		require.NoError(t, g.Capture(func() { x.AddScalarInPlace(1) }))
		g.Replay()
		require.Equal(t, 2.0, x.Max().Float64())
		require.NoError(t, g.DebugDump(t.TempDir()+"/graph.dot"))
	})
}
