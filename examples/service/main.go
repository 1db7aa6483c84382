// Service classifies images over HTTP: ResNet-18 in a fixed number of lanes, so that a thousand
// requests at once neither slow each other down nor eat the memory.
//
//	go run ./examples/service
//	curl --data-binary @dog.jpg localhost:8080/classify
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"expvar"
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
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

var (
	addr    = flag.String("addr", "localhost:8080", "`address` to listen on")
	weights = flag.String("weights", "", "safetensors `file` with torchvision's resnet18 (default: random weights)")
	lanes   = flag.Int("lanes", 2, "images that are computed at the same time")
	queue   = flag.Int("queue", 16, "images that may wait; what comes then is refused with 429")
	timeout = flag.Duration("timeout", 5*time.Second, "how long a request may take")
	answers = expvar.NewMap("answers") // by status; GET /debug/vars shows them
)

// A server answers requests with a model.
type server struct {
	model *models.ResNet
	dev   torch.Device
	lanes *torch.Lanes
}

func newServer() (*server, error) {
	s := &server{dev: torch.DefaultDevice(), lanes: torch.NewLanes(*lanes, torch.LanesOptions{Queue: *queue})}
	s.model = nn.Eval(nn.To(models.ResNet18(1000), s.dev, torch.ChannelsLast))
	if *weights == "" {
		return s, nil
	}
	file, err := safetensors.Load(*weights)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return s, nn.LoadStateDict(s.model, file.Tensors)
}

// predict makes the five likeliest classes of a JPEG, PNG, GIF or WebP image. All that is heavy happens
// in a lane, and what is made there is freed at its end.
func (s *server) predict(ctx context.Context, file []byte) (top []map[string]any, err error) {
	var unreadable error
	err = s.lanes.Do(ctx, func() {
		torch.Inference(func() {
			torch.Scope(func() {
				img, bad := imageio.Decode(bytes.NewReader(file), imageio.DecodeOptions{MaxPixels: 20_000_000})
				if unreadable = bad; bad != nil {
					return
				}
				x := transforms.ImageClassification{}.Apply(img.To(s.dev))
				p, class := s.model.Forward(x).Softmax(1).TopK(5)
				for i, c := range torch.Values[int](class) {
					top = append(top, map[string]any{"class": c, "probability": p.Index(0, i).Float64()})
				}
			})
		})
	})
	return top, errors.Join(unreadable, err)
}

// classify handles POST /classify. A caller that gives up, or whose time is up, leaves the queue.
func (s *server) classify(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), *timeout)
	defer cancel()
	var top []map[string]any
	file, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err == nil {
		top, err = s.predict(ctx, file)
	}
	status := http.StatusOK
	switch tooLarge := new(http.MaxBytesError); {
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, imageio.ErrFormat), errors.Is(err, torch.ErrValue): // no image, or one of a strange shape
		status = http.StatusBadRequest
	case errors.Is(err, torch.ErrLanesBusy):
		status = http.StatusTooManyRequests
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	case err != nil:
		status = http.StatusInternalServerError
	}
	answers.Add(http.StatusText(status), 1)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	_ = json.NewEncoder(w).Encode(top) // whoever asked may have gone
}

// run serves until ctx ends, and then answers what has been asked.
func run(ctx context.Context, listener net.Listener) (err error) {
	defer torch.Recover(&err)
	s, err := newServer()
	if err != nil {
		return err
	}
	defer s.lanes.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /classify", s.classify)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := torch.Unhealthy(); err != nil { // the card has failed: start the process again
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /debug/vars", expvar.Handler())
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
