// Service classifies images over HTTP: ResNet-18 behind net/http. Images that come at the same time are computed together.
//
//	go run ./examples/service
//	curl --data-binary @dog.jpg localhost:8080/classify
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

var (
	addr    = flag.String("addr", "localhost:8080", "`address` to listen on")
	weights = flag.String("weights", "", "safetensors `file` with torchvision's resnet18 (default: random weights)")
	batch   = flag.Int("batch", 8, "images that are computed together, at most")
	queue   = flag.Int("queue", 64, "images that may wait; what comes then is refused with 429")
	timeout = flag.Duration("timeout", 5*time.Second, "how long a request may take")
)

// newServer makes what computes: the likeliest classes of images, and their probabilities.
func newServer() (*serve.Server, error) {
	model := nn.Eval(nn.To(models.ResNet18(1000), torch.DefaultDevice(), torch.ChannelsLast))
	if *weights != "" {
		if err := safetensors.LoadInto(*weights, nn.StateDict(model)); err != nil {
			return nil, err
		}
	}
	top5 := serve.Func(serve.Signature{
		Inputs:  []serve.Spec{{Name: "image", DType: torch.Float32, Shape: []int{-1, 3, 224, 224}}},
		Outputs: []serve.Spec{{Name: "p", DType: torch.Float32, Shape: []int{-1, 5}}, {Name: "class", DType: torch.Int64, Shape: []int{-1, 5}}},
	}, func(in []torch.Tensor) []torch.Tensor {
		p, class := model.Forward(in[0]).Softmax(1).TopK(5)
		return []torch.Tensor{p, class}
	})
	return serve.New(top5, serve.Options{MaxBatch: *batch, MaxDelay: 2 * time.Millisecond, Queue: *queue, Device: torch.DefaultDevice()})
}

// classify is the answer to a JPEG, PNG, GIF or WebP, or why there is none.
func classify(ctx context.Context, server *serve.Server, body io.Reader) (answer any, err error) {
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	img, err := imageio.Decode(body, imageio.DecodeOptions{MaxPixels: 20_000_000})
	if err != nil {
		return nil, &serve.InputError{Err: err}
	}
	defer img.Close()
	x, err := torch.Try1(func() torch.Tensor { return transforms.ImageClassification{}.Apply(img) })
	if err != nil {
		return nil, err
	}
	defer x.Close()
	out, err := server.Run(ctx, x)
	defer torch.Close(out...)
	if err != nil {
		return nil, err
	}
	return map[string]any{"classes": torch.Values[int](out[1]), "probabilities": torch.Values[float32](out[0])}, nil
}

// run serves until ctx ends, and then answers what has been asked.
func run(ctx context.Context, listener net.Listener) (err error) {
	defer torch.Recover(&err)
	server, err := newServer()
	if err != nil {
		return err
	}
	defer server.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /classify", func(w http.ResponseWriter, r *http.Request) {
		answer, err := classify(r.Context(), server, http.MaxBytesReader(w, r.Body, 8<<20))
		if err != nil {
			http.Error(w, err.Error(), serve.Status(err))
			return
		}
		_ = json.NewEncoder(w).Encode(answer) // whoever asked may have gone
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := server.Ready(); err != nil { // a card has failed: start the process again
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	web := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() { stopped <- web.Shutdown(context.Background()) })
	log.Printf("listening on %s", listener.Addr())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err == nil {
		err = run(ctx, listener)
	}
	if err != nil {
		log.Fatal(err)
	}
}
