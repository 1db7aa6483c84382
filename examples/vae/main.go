// Vae trains a variational autoencoder on MNIST, as PyTorch's example of that name does, and
// draws digits that nobody wrote.
//
//	go run ./examples/vae
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

var (
	root   = flag.String("data", "", "folder with mnist in it (default a `folder` in the user's cache)")
	epochs = flag.Int("epochs", 10, "passes over the images")
	size   = flag.Int("b", 128, "images in a batch")
	seed   = flag.Uint64("seed", 1, "seed of weights, order and noise")
	file   = flag.String("o", "vae.png", "`file` for the digits drawn")
)

// VAE brings images [N, 784] to 20 numbers each, or rather to how they are distributed, and back.
type VAE struct {
	FC1  *nn.Linear `torch:"fc1"`
	FC21 *nn.Linear `torch:"fc21"`
	FC22 *nn.Linear `torch:"fc22"`
	FC3  *nn.Linear `torch:"fc3"`
	FC4  *nn.Linear `torch:"fc4"`
}

func newVAE() *VAE {
	return &VAE{nn.NewLinear(784, 400), nn.NewLinear(400, 20), nn.NewLinear(400, 20), nn.NewLinear(20, 400), nn.NewLinear(400, 784)}
}

func (m *VAE) decode(z torch.Tensor) torch.Tensor {
	return m.FC4.Forward(m.FC3.Forward(z).ReLU()).Sigmoid()
}

// Forward draws a point from each image's distribution, and decodes it.
func (m *VAE) Forward(x torch.Tensor) (reconstruction, mu, logVar torch.Tensor) {
	h := m.FC1.Forward(x.View(-1, 784)).ReLU()
	mu, logVar = m.FC21.Forward(h), m.FC22.Forward(h)
	std := logVar.MulScalar(0.5).Exp()
	z := mu.Add(torch.RandNLike(std).Mul(std))
	return m.decode(z), mu, logVar
}

// lossFunction is the reconstruction error plus the Kullback-Leibler divergence, summed over all
// elements and the batch (Kingma and Welling, "Auto-Encoding Variational Bayes", 2014).
func lossFunction(reconstruction, x, mu, logVar torch.Tensor) torch.Tensor {
	bce := F.BinaryCrossEntropy(reconstruction, x.View(-1, 784), F.BCEOptions{Reduction: torch.ReductionSum})
	kld := logVar.AddScalar(1).Sub(mu.PowScalar(2)).Sub(logVar.Exp()).Sum().MulScalar(-0.5)
	return bce.Add(kld)
}

// train is one pass over the images, uint8 [N, 1, 28, 28]; it returns the mean loss of an image.
func train(ctx context.Context, model *VAE, opt optim.Optimizer, loader *data.Loader[data.Batch], epoch int,
	dev torch.Device) (float64, error) {
	var mean meter.Average
	for batch, err := range loader.Epoch(ctx, epoch) {
		if err != nil {
			return 0, err
		}
		x := batch.Input.To(dev).To(torch.Float32).DivScalar(255)
		opt.ZeroGrad()
		reconstruction, mu, logVar := model.Forward(x)
		loss := lossFunction(reconstruction, x, mu, logVar)
		loss.Backward()
		opt.Step()
		mean.Add(loss.DivScalar(batch.Len()), batch.Len())
	}
	return mean.Avg(), nil
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
	dev := torch.DefaultDevice()
	set, err := datasets.LoadMNIST(ctx, *root, true, datasets.MNISTOptions{Logf: log.Printf})
	if err != nil {
		return err
	}
	images, labels := set.Tensors()
	loader, err := data.NewLoader(data.NewTensorDataset(images, labels), data.LoaderOptions{BatchSize: *size, Shuffle: true, Seed: *seed})
	if err != nil {
		return err
	}
	model := nn.To(newVAE(), dev)
	opt := optim.NewAdam(nn.Parameters(model), 1e-3)
	for epoch := range *epochs {
		loss, err := train(ctx, model, opt, loader, epoch, dev)
		if err != nil {
			return err
		}
		fmt.Printf("epoch %d: loss %.4f\n", epoch, loss)
	}
	torch.Inference(func() {
		digits := model.decode(torch.TensorOptions{Device: dev}.RandN(64, 20)).View(64, 1, 28, 28)
		err = imageio.Save(*file, imageio.Grid(digits))
	})
	return err
}
