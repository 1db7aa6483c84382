package cuda

import (
	"context"
	"errors"
	"sync"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Recorder captures graphs on a stream and on a thread of its own, beside those of the caller: where gradients are added up belongs
// to the stream, and what cuBLAS and cuDNN have to set up, which a capture does not allow, to the thread. What is to be captured
// runs once with [Recorder.Run] first. A goroutine may use it at a time, and so replay its graphs: they share cuBLAS's working memory.
// [Graphed] has one.
type Recorder struct {
	*aside
	device int
}

// aside is a stream and a thread. Those that nobody uses any more are kept for the next, because cuBLAS keeps its working memory for
// each pair, 32 MB on large cards.
type aside struct {
	stream Stream
	lane   *torch.Lanes
}

var unused struct {
	sync.Mutex
	of map[int][]*aside
}

// NewRecorder makes a recorder for a device. Close frees it.
func NewRecorder(device int) *Recorder {
	unused.Lock()
	defer unused.Unlock()
	if list := unused.of[device]; len(list) > 0 {
		unused.of[device] = list[:len(list)-1]
		return &Recorder{aside: list[len(list)-1], device: device}
	}
	return &Recorder{aside: &aside{NewStream(device), torch.NewLanes(1)}, device: device}
}

// Run runs fn on the recorder's thread and stream, under the caller's modes. The stream waits for what the caller's has to do, and the
// caller's for fn's work.
func (r *Recorder) Run(fn func()) error {
	return r.beside(func() error {
		WithStream(r.stream, fn)
		return nil
	})
}

// Capture captures fn as [Graph.Capture] does; the options' stream is the recorder's.
func (r *Recorder) Capture(g *Graph, fn func(), opts ...CaptureOptions) error {
	o := option.One(opts)
	return r.beside(func() error {
		o.Stream = r.stream
		return g.Capture(fn, o)
	})
}

func (r *Recorder) beside(fn func() error) (failed error) {
	device := -1
	if r != nil {
		device = r.device
	}
	current, err := torch.Try1(func() Stream { return CurrentStream(device) })
	switch {
	case err != nil:
		return err
	case r == nil || r.aside == nil:
		return errors.New("torch/cuda: the recorder was closed, or not made by NewRecorder")
	}
	err = r.lane.Do(context.Background(), func() {
		r.stream.WaitStream(current)
		failed = fn()
	})
	if err != nil {
		return err
	}
	current.WaitStream(r.stream)
	return failed
}

// Close gives the stream and the thread to the next recorder, after the card has done all its work. Close the graphs before.
func (r *Recorder) Close() {
	if r == nil || r.aside == nil {
		return
	}
	_ = torch.Try(func() { Synchronize(r.device) }) // a card that has failed has no work left
	unused.Lock()
	defer unused.Unlock()
	if unused.of == nil {
		unused.of = map[int][]*aside{}
	}
	unused.of[r.device] = append(unused.of[r.device], r.aside)
	r.aside = nil
}
