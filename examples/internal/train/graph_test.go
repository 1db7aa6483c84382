package train

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// tape imitates a graph on machines without a card.
type tape struct {
	step func([]torch.Tensor) []torch.Tensor
	runs int
	loss torch.Tensor
}

func (g *tape) Run(inputs ...torch.Tensor) ([]torch.Tensor, error) {
	g.runs++
	g.loss = g.step(inputs)[0]
	return []torch.Tensor{g.loss}, nil
}

func (*tape) Close() {}

// Whole batches go through the graph, small ones do not, and both see the learning rate of the
// moment: with a graph or without, the weights are the same.
func TestStepper(t *testing.T) {
	torchtest.EachDevice(t, func(t *testing.T, dev torch.Device) {
		torchtest.NoLeaks(t)
		const whole, ragged = 4, 3
		train := func(record func(*Stepper)) (weights []float32) {
			torch.Scope(func() {
				torch.ManualSeed(1)
				w := torch.RandN(5).To(dev).SetRequiresGrad(true)
				opt := optim.NewSGD([]torch.Tensor{w}, 0.5)
				defer opt.Close()
				s := &Stepper{Optimizer: opt, Batch: whole, Step: func(in []torch.Tensor) []torch.Tensor {
					loss := in[0].To(dev).MatMul(w).Square().Mean()
					loss.Backward()
					opt.Step()
					opt.ZeroGrad()
					return []torch.Tensor{loss}
				}}
				defer s.Close()
				record(s)
				for i := range 12 {
					n := whole
					if i%5 == 4 {
						n = ragged
					}
					opt.ParamGroups()[0].LR = 0.5 / float64(int(1)<<i) // float32 holds it
					out, err := s.Run(torch.RandN(n, 5))
					require.NoError(t, err)
					if fake, ok := s.graph.(*tape); ok && n == whole {
						require.False(t, out[0].Is(fake.loss), "the graph writes the next loss there")
					}
				}
				if fake, ok := s.graph.(*tape); ok {
					require.Equal(t, 10, fake.runs)
				}
				weights = torch.Values[float32](w)
			})
			return weights
		}
		want := train(func(*Stepper) {})
		require.Equal(t, want, train(func(s *Stepper) {
			if dev.IsCUDA() {
				s.Record(dev)
				return
			}
			s.graph = &tape{step: s.Step}
		}))
	})
}

func TestGraphNeedsACard(t *testing.T) {
	torchtest.NoLeaks(t)
	var wanted bool
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	AddGraph(fs, &wanted)
	require.NoError(t, fs.Parse([]string{"-graph"}))
	require.True(t, wanted)
	require.ErrorContains(t, CheckGraph(wanted, torch.CPU), "-graph needs a CUDA device, this run is on the cpu")
	require.NoError(t, CheckGraph(wanted, torch.CUDA(0)))
	require.NoError(t, CheckGraph(false, torch.CPU))
	if torch.CheckDevice(torch.CUDA(0)) != nil {
		require.ErrorIs(t, torch.Try(func() { new(Stepper).Record(torch.CUDA(0)) }), torch.ErrNoCUDA)
	}
}
