// Dcgan trains two networks against each other, as PyTorch's DCGAN tutorial does: one draws
// digits, the other tells them from those of MNIST.
//
//	go run ./examples/dcgan
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

var (
	nz    = flag.Int("nz", 100, "numbers that an image is drawn from")
	width = flag.Int("width", 32, "channels where the feature maps are largest")
	file  = flag.String("o", "dcgan.png", "`file` for the digits drawn")
)

// A gan is the two networks and what trains them.
type gan struct {
	G, D       nn.Sequential
	optG, optD *optim.Adam
	on         torch.TensorOptions // their device
}

// newGAN makes the networks: G makes images [N, 1, 32, 32] from -1 to 1 of noise [N, nz, 1, 1], D
// says how likely an image is real [N, 1, 1, 1].
func newGAN(nz, n int, dev torch.Device) *gan {
	half, double := nn.ConvOptions{Stride: 2, Padding: 1, NoBias: true}, nn.ConvTransposeOptions{Stride: 2, Padding: 1, NoBias: true}
	relu, leaky := nn.ReLU{InPlace: true}, nn.LeakyReLU{NegativeSlope: new(0.2), InPlace: true}
	g := &gan{on: torch.TensorOptions{Device: dev},
		G: nn.Apply(nn.Sequential{
			nn.NewConvTranspose2d(nz, 4*n, 4, nn.ConvTransposeOptions{NoBias: true}), nn.NewBatchNorm2d(4 * n), relu,
			nn.NewConvTranspose2d(4*n, 2*n, 4, double), nn.NewBatchNorm2d(2 * n), relu,
			nn.NewConvTranspose2d(2*n, n, 4, double), nn.NewBatchNorm2d(n), relu,
			nn.NewConvTranspose2d(n, 1, 4, double), nn.Tanh{},
		}, initialise),
		D: nn.Apply(nn.Sequential{
			nn.NewConv2d(1, n, 4, half), leaky, nn.NewConv2d(n, 2*n, 4, half), nn.NewBatchNorm2d(2 * n), leaky,
			nn.NewConv2d(2*n, 4*n, 4, half), nn.NewBatchNorm2d(4 * n), leaky,
			nn.NewConv2d(4*n, 1, 4, nn.ConvOptions{NoBias: true}), nn.Sigmoid{},
		}, initialise),
	}
	nn.To(nn.Sequential{g.G, g.D}, dev)
	adam := optim.AdamOptions{Betas: &[2]float64{0.5, 0.999}}
	g.optD = optim.NewAdam(nn.Parameters(g.D), 2e-4, adam)
	g.optG = optim.NewAdam(nn.Parameters(g.G), 2e-4, adam)
	return g
}

// train is one pass over real images [N, 1, 32, 32]. The averages get the losses of D and G.
func (g *gan) train(ctx context.Context, loader *data.Loader[data.Batch], epoch int, lossD, lossG *meter.Average,
	progress *meter.Progress) error {
	for batch, err := range loader.Epoch(ctx, epoch) {
		if err != nil {
			return err
		}
		n := batch.Len()
		ones, zeros := g.on.Ones(n), g.on.Zeros(n)

		// D learns from real images, and from fake ones through which G does not learn.
		g.optD.ZeroGrad()
		errReal := F.BinaryCrossEntropy(g.D.Forward(batch.Input.To(g.on.Device)).View(-1), ones)
		errReal.Backward()
		fake := g.G.Forward(g.on.RandN(n, *nz, 1, 1))
		errFake := F.BinaryCrossEntropy(g.D.Forward(fake.Detach()).View(-1), zeros)
		errFake.Backward()
		g.optD.Step()

		// G learns what D, as it is now, would take for real.
		g.optG.ZeroGrad()
		errG := F.BinaryCrossEntropy(g.D.Forward(fake).View(-1), ones)
		errG.Backward()
		g.optG.Step()

		lossD.Add(errReal.Add(errFake), n)
		lossG.Add(errG, n)
		progress.Step(n)
	}
	return nil
}

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	defer torch.Recover(&err)
	torch.ManualSeed(*seed)
	loader, err := digits(ctx)
	if err != nil {
		return err
	}
	g := newGAN(*nz, *width, torch.DefaultDevice())
	lossD, lossG := &meter.Average{Name: "Loss_D", Format: "%.4f"}, &meter.Average{Name: "Loss_G", Format: "%.4f"}
	progress := meter.NewProgress(os.Stdout, "", *epochs*loader.Len(), lossD, lossG)
	defer progress.Close()
	progress.Every = 100
	for epoch := range *epochs {
		if err := g.train(ctx, loader, epoch, lossD, lossG, progress); err != nil {
			return err
		}
	}
	torch.NoGrad(func() {
		err = imageio.Save(*file, imageio.Grid(g.G.Forward(g.on.RandN(64, *nz, 1, 1)).AddScalar(1).DivScalar(2)))
	})
	return err
}
