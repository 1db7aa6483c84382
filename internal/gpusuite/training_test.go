package gpusuite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

// ResNet-18 learns 500 images of CIFAR-10 by heart, in mixed precision, from a loader whose
// batches are copied from pinned memory.
func TestLoaderAndAMPTrainResNet18(t *testing.T) {
	needCard(t)
	images, labels := cifarslice.Load(true).Head(500).Tensors()
	defer torch.Close(images, labels)
	loader, err := data.NewLoader(data.NewTensorDataset(images, labels),
		data.LoaderOptions{BatchSize: 50, Shuffle: true, PinMemory: true, Workers: 2})
	require.NoError(t, err)
	r := newTrainer()
	defer r.Close()
	var first, last float64
	for epoch := range 15 {
		sum := 0.0
		for b, err := range loader.Epoch(t.Context(), epoch) {
			require.NoError(t, err)
			require.True(t, b.Input.IsPinned())
			x := b.Input.To(dev, torch.NonBlocking).To(torch.Float32, torch.ChannelsLast).DivScalar(127.5).SubScalar(1)
			sum += r.step([]torch.Tensor{x, b.Target.To(dev, torch.NonBlocking)})[0].Float64()
		}
		if last = sum / 10; epoch == 0 {
			first = last
		}
	}
	reliability.Note(t, "loss of the first epoch", first)
	reliability.AtMost(t, "loss of the last epoch", last, first/2)
}

// The scaler on a card does what it does on the CPU, where it is compared with
// Python's.
func TestScalerEqualsCPU(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		o := amp.GradScalerOptions{DType: torch.Float16, InitScale: 1024, GrowthFactor: 1.5, BackoffFactor: 0.25, GrowthInterval: 3}
		var scales [2][]float64
		for i, d := range []torch.Device{torch.CPU, dev} {
			s := amp.NewGradScaler(d, o)
			p := torch.TensorOptions{DType: torch.Float32, Device: d}.Ones(3).SetRequiresGrad(true)
			opt := newPlainSGD(p)
			for step := range 60 {
				factor := 1.0
				if step%7 == 3 {
					factor = 1e38 // overflows when it is scaled
				}
				s.Scale(p.Sum().MulScalar(factor)).Backward()
				outcome := s.Step(opt)
				require.Equal(t, factor != 1, outcome.Skipped())
				opt.ZeroGrad()
				scales[i] = append(scales[i], s.Scaling())
			}
			opt.Close()
			s.Close()
		}
		require.Equal(t, scales[0], scales[1])
	})
}

func newPlainSGD(p torch.Tensor) *optim.SGD { return optim.NewSGD([]torch.Tensor{p}, 0.01) }
