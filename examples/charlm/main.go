// Charlm trains a small transformer to continue a text letter by letter, and lets it write.
//
//	go run ./examples/charlm
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

//go:embed opticks.txt
var opticks []byte // the third book of Isaac Newton's Opticks

var (
	file        = flag.String("text", "", "`file` to learn from (default the third book of Newton's Opticks)")
	steps       = flag.Int("steps", 1500, "steps of training")
	size        = flag.Int("b", 16, "passages in a batch")
	context     = flag.Int("context", 64, "letters that a letter is predicted from, at most")
	layers      = flag.Int("layers", 3, "blocks of the transformer")
	heads       = flag.Int("heads", 4, "heads of attention")
	width       = flag.Int("width", 64, "numbers that stand for a letter")
	rate        = flag.Float64("lr", 2e-3, "learning rate")
	temperature = flag.Float64("temperature", 0.8, "how daring to write: less is duller")
	letters     = flag.Int("n", 400, "letters to write")
	seed        = flag.Uint64("seed", 0, "seed of weights, passages and writing")
)

// passages draws n passages of the text [letters], and what follows each of their letters: both
// [n, length].
func passages(text torch.Tensor, n, length int) (x, y torch.Tensor) {
	on := torch.TensorOptions{Device: text.Device()}
	at := on.RandInt(0, text.NumEl()-length, []int{n, 1}).Add(on.Arange(length))
	return text.Index(at), text.Index(at.AddScalar(1))
}

// train makes that many steps on passages of the text; each reports the loss of one.
func train(model *GPT, opt optim.Optimizer, text torch.Tensor, steps, size, length int, each func(loss torch.Tensor)) {
	for range steps {
		torch.Scope(func() {
			x, y := passages(text, size, length)
			loss := F.CrossEntropy(model.Forward(x).Flatten(0, 1), y.Flatten())
			opt.ZeroGrad()
			loss.Backward()
			opt.Step()
			each(loss.Detach())
		})
	}
}

// write continues the letters [1, length] by n.
func write(model *GPT, x torch.Tensor, n, context int, temperature float64) []int {
	var out []int
	torch.Inference(func() {
		for range n {
			x = x.Narrow(1, max(0, x.Size(1)-context), min(x.Size(1), context))
			scores := model.Forward(x).Select(1, -1).DivScalar(temperature)
			next := scores.Softmax(1).Multinomial(1)
			x = torch.Cat([]torch.Tensor{x, next}, 1)
			out = append(out, next.Int())
		}
	})
	return out
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (err error) {
	defer torch.Recover(&err)
	text := opticks
	if *file != "" {
		if text, err = os.ReadFile(*file); err != nil {
			return err
		}
	}
	alphabet := newAlphabet(text)
	torch.ManualSeed(*seed)
	dev := torch.DefaultDevice()
	codes := torch.FromSlice(alphabet.encode(text)).To(dev)
	kept := codes.NumEl() / 10 // for a loss over what was not learned
	learned, unseen := codes.Narrow(0, 0, codes.NumEl()-kept), codes.Narrow(0, codes.NumEl()-kept, kept)

	model := nn.To(newGPT(len(alphabet), *context, *width, *heads, *layers), dev)
	fmt.Printf("%d letters, %d different ones, %d parameters\n", len(text), len(alphabet), nn.NumParameters(model))
	opt := optim.NewAdamW(nn.Parameters(model), *rate)
	loss := &meter.Average{Name: "Loss", Format: "%.4f"}
	progress := meter.NewProgress(os.Stdout, "", *steps, loss)
	progress.Every, progress.Unit = 100, "letters"
	train(model, opt, learned, *steps, *size, *context, func(l torch.Tensor) {
		loss.Add(l, 1)
		progress.Step(*size * *context)
	})
	progress.Close()
	torch.Inference(func() {
		x, y := passages(unseen, 512, *context)
		fmt.Printf("loss on what it has not seen: %.4f\n\n", F.CrossEntropy(model.Forward(x).Flatten(0, 1), y.Flatten()).Float64())
	})
	start := torch.FromSlice(alphabet.encode([]byte("\n")), 1, 1).To(dev)
	fmt.Println(string(bytes.TrimSpace(alphabet.decode(write(model, start, *letters, *context, *temperature)))))
	return nil
}
