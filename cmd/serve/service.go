package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
)

// A service answers requests of the Open Inference Protocol, whichever way they come.
type service struct {
	repository *repository
	limits     limits
	log        *slog.Logger
	images     *torch.Lanes  // where pictures are decoded
	places     chan struct{} // one for each request that is being read and answered
	entered    atomic.Int64  // requests so far
	bytes      atomic.Int64  // of their bodies
	control    bool          // clients may load and unload models
	origins    []string      // of other sites, whose pages may ask
	tracer     *tracer       // nil if nobody wants traces
	bodies     sync.Pool     // of buffers that bodies were read into
	turns      chan struct{} // one for each long body that is being read
}

// readers is how many long bodies are read at the same time.
const readers = 32

func newService(r *repository, l limits, images *torch.Lanes) *service {
	return &service{repository: r, limits: l, images: images, log: r.log,
		places: make(chan struct{}, l.concurrent), turns: make(chan struct{}, readers)}
}

// limits bound what a client can ask for.
type limits struct {
	body       int64 // bytes of a request, packed or not
	memory     int64 // bytes of all requests that are there at the same time
	concurrent int   // requests
	timeout    time.Duration
}

// A call is a request for a model to run.
type call struct {
	model, version string
	request        serve.Request
	timeout        time.Duration // default: the service's
	arranged       func()        // is told when nobody needs the body any more: tensors are copies; or nil
}

// An input is a tensor of a request that has not been looked at yet.
type input struct {
	name, datatype string
	shape          []int
	make           func() (torch.Tensor, error)
	texts          func() ([][]byte, error) // of BYTES
}

// A result is what a model returned.
type result struct {
	model   *model
	outputs []torch.Tensor // to be closed
}

// spec is the description of an output, by its place.
func (r *result) spec(i int) serve.Spec { return r.model.server.Signature().Outputs[i] }

func (r *result) close() { torch.Close(r.outputs...) }

var (
	errFull    = errors.New("too many requests at the same time")
	errSick    = errors.New("a card has failed for good")
	errControl = errors.New("models are not loaded and unloaded by clients here (see -model-control)")
)

// infer runs a model.
func (s *service) infer(ctx context.Context, c call, inputs []input) (*result, error) {
	if err := torch.Unhealthy(); err != nil {
		return nil, fmt.Errorf("%w: %w", errSick, err)
	}
	m, err := s.repository.get(c.model, c.version)
	if err != nil {
		return nil, err
	}
	timeout := s.limits.timeout
	if c.timeout > 0 {
		timeout = min(timeout, c.timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t, began := traceOf(ctx), time.Now()
	tensors, err := s.arrange(ctx, m, inputs)
	t.part("inputs", began, time.Now())
	defer func() { torch.Close(tensors...) }()
	if err != nil {
		return nil, err
	}
	if c.arranged != nil {
		c.arranged()
	}
	var times serve.Times
	c.request.Inputs, c.request.Times = tensors, &times
	outputs, err := do(ctx, m, c.request)
	if errors.Is(err, serve.ErrClosed) { // another version may have taken its place just now
		if next, again := s.repository.get(c.model, c.version); again == nil && next.server != m.server {
			m = next
			outputs, err = do(ctx, m, c.request)
		}
	}
	if err != nil {
		return nil, err
	}
	t.computed(m, &times)
	return &result{m, outputs}, nil
}

// do asks the model's server. A panic of a model is an error of its own, which the log has.
func do(ctx context.Context, m *model, q serve.Request) (outputs []torch.Tensor, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model panicked: %v", p)
		}
	}()
	return m.server.Do(ctx, q)
}

// arrange makes the tensors of a request, in the order of the model's inputs. What does not fit is refused before it is made.
func (s *service) arrange(ctx context.Context, m *model, inputs []input) (tensors []torch.Tensor, err error) {
	specs := m.server.Signature().Inputs
	if len(inputs) != len(specs) {
		return nil, badf("%d inputs, expected %d", len(inputs), len(specs))
	}
	for _, spec := range specs {
		i := slices.IndexFunc(inputs, func(in input) bool { return in.name == spec.Name })
		if i < 0 {
			return tensors, badf("the input %q is missing", spec.Name)
		}
		t, err := s.tensor(ctx, m, spec, inputs[i])
		if err != nil {
			return tensors, fmt.Errorf("input %q: %w", spec.Name, err)
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}

// tensor makes one input. BYTES are files of pictures, for models that take pictures.
func (s *service) tensor(ctx context.Context, m *model, spec serve.Spec, in input) (torch.Tensor, error) {
	if in.datatype == textType && m.config.Image != nil {
		files, err := in.texts()
		if err != nil {
			return torch.Tensor{}, err
		}
		return s.pictures(ctx, m, files)
	}
	fits := in.datatype == datatypeOf(spec.DType) && len(in.shape) == len(spec.Shape)
	for d := 0; fits && d < len(in.shape); d++ {
		fits = spec.Shape[d] == -1 || spec.Shape[d] == in.shape[d]
	}
	if !fits {
		return torch.Tensor{}, badf("%s%v, expected %s%v", in.datatype, in.shape, datatypeOf(spec.DType), spec.Shape)
	}
	if most := m.config.maxRows; most > 0 && len(in.shape) > 0 && in.shape[0] > most {
		return torch.Tensor{}, badf("%d rows, expected 1 to %d", in.shape[0], most)
	}
	return in.make()
}

// pictures makes a batch of the files of pictures. They are decoded on lanes, since that takes longer than most models.
func (s *service) pictures(ctx context.Context, m *model, files [][]byte) (x torch.Tensor, err error) {
	if most := max(1, m.config.MaxBatch, m.config.maxRows); len(files) < 1 || len(files) > most {
		return x, badf("%d pictures, expected 1 to %d", len(files), most)
	}
	busy := s.images.Do(ctx, func() {
		torch.Scope(func() {
			var parts []torch.Tensor
			for _, file := range files {
				var part torch.Tensor
				if part, err = m.config.Image.decode(file); err != nil {
					return
				}
				parts = append(parts, part)
			}
			x = torch.Cat(parts).Keep()
		})
	})
	return x, errors.Join(err, busy)
}

// A visit is a request that has one of the places for those that are served at the same time. It counts the bytes that were sent.
type visit struct {
	service *service
	bytes   int64
	body    *bytes.Buffer // that another visit gets later
	turn    func()        // gives the turn back to read a long body; or nil
	late    *time.Timer   // does, while it is being read
	tensor  torch.Tensor  // that was read and belongs to nobody yet
}

// enter takes a place, if one is free.
func (s *service) enter() (*visit, error) {
	select {
	case s.places <- struct{}{}:
		s.entered.Add(1)
		return &visit{service: s}, nil
	default:
		return nil, errFull
	}
}

// empty returns when nobody is served any more, and nobody will be, or when ctx ends: with HTTP/2 a request may outlive its connection, for
// which the server does not wait.
func (s *service) empty(ctx context.Context) error {
	for range cap(s.places) {
		select {
		case s.places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// drop has another visit read into the body's memory.
func (v *visit) drop() {
	const worthKeeping = 4 << 20
	if v.body != nil && v.body.Cap() <= worthKeeping {
		v.service.bodies.Put(v.body)
	}
	v.body = nil
	if v.turn != nil {
		v.late.Stop()
		v.turn()
	}
}

func (v *visit) leave() {
	v.tensor.Close()
	v.drop()
	v.service.bytes.Add(-v.bytes)
	<-v.service.places
}

// buffer is where to read the body: tensors are copies of what is in it.
func (v *visit) buffer() *bytes.Buffer {
	if v.body == nil {
		if b, ok := v.service.bodies.Get().(*bytes.Buffer); ok {
			b.Reset()
			v.body = b
		} else {
			v.body = new(bytes.Buffer)
		}
	}
	return v.body
}

// count has what is read counted, and reading fail where all requests together are too large: many clients that each stay within
// the limit of a body shall not fill the memory.
func (v *visit) count(r io.Reader) io.Reader { return counted{v, r} }

type counted struct {
	visit *visit
	r     io.Reader
}

// Read reads and counts.
func (c counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.visit.bytes += int64(n)
	if c.visit.service.bytes.Add(int64(n)) > c.visit.service.limits.memory {
		return 0, errFull
	}
	return n, err
}

// ready is nil while requests are answered: no card has failed, and every model that should be there is.
func (s *service) ready() error {
	if err := torch.Unhealthy(); err != nil {
		return err
	}
	for _, m := range s.repository.all() {
		if m.server == nil {
			if m.reason == "unloaded" {
				continue
			}
			return fmt.Errorf("model %s: %s", m.name, m.reason)
		}
		if err := m.server.Ready(); err != nil {
			return err
		}
	}
	return nil
}

// errModel is what clients hear of a failure that only the log explains: no addresses and paths for them.
var errModel = errors.New("the model failed")

// status is the status in HTTP of an error.
func status(err error) int {
	switch {
	case errors.Is(err, errRequest):
		return http.StatusBadRequest
	case errors.Is(err, errNoModel):
		return http.StatusNotFound
	case errors.Is(err, errControl):
		return http.StatusForbidden
	case errors.Is(err, errFull):
		return http.StatusTooManyRequests
	case errors.Is(err, errUnloaded), errors.Is(err, errSick):
		return http.StatusServiceUnavailable
	}
	return serve.Status(err)
}
