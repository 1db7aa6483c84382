package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/replay"
	"github.com/libtorch-go/libtorch/torch"
)

// GraphedOptions are the rarer arguments of [Graphed].
type GraphedOptions struct {
	Disabled bool   // compute every run as usual, on whatever device: a program's choice may be "no graph"
	Device   int    // where the step runs; default 0
	Warmup   int    // runs before the capture, at least 2; default 3
	Pool     PoolID // shared with other graphs; default: one of its own
}

// Step is a function that was or will be captured as a graph. It may be used from one
// goroutine at a time.
type Step struct {
	fn       func([]torch.Tensor) []torch.Tensor
	device   torch.Device
	warm     int      // runs that are left before the capture
	rec      recorder // nil without a graph
	in, out  []torch.Tensor
	before   []func(replay bool) // what is done on the host before each run
	captured bool
	closed   bool
}

// recorder is what a Step does with a graph. The tests have one without a card.
type recorder interface {
	warm(fn func()) error    // runs fn beside the current stream
	capture(fn func()) error // records fn
	replay()
	close()
}

// Graphed makes a step that is computed as usual the first few times, then captured, and from
// then on replayed: inputs are copied into those of the capture, one call submits everything.
// The results are the same bits. The step may be inference, or all of training:
//
//	step := cuda.Graphed(func(in []torch.Tensor) []torch.Tensor {
//		var loss torch.Tensor
//		amp.Autocast(dev, torch.Float16, func() { loss = F.CrossEntropy(model.Forward(in[0]), in[1]) })
//		scaler.Scale(loss).Backward()
//		scaler.Step(opt)
//		opt.ZeroGrad()
//		return []torch.Tensor{loss}
//	})
//	defer step.Close()
//	for … {
//		out, err := step.Run(images, labels)
//
// The step runs on a thread of its own, under the caller's modes. It must not read values:
// [ErrNotCapturable] names the operation that did. Each run is one step, also before the
// capture. Numbers in Go are those of the capture, except for the learning rates of optimizers
// with fused kernels, which each run writes before it begins: schedules step as ever. Where another
// optimizer's has changed, the next run is an error. It panics with a *torch.Error if there is no
// CUDA, unless it is disabled.
func Graphed(step func(inputs []torch.Tensor) []torch.Tensor, opts ...GraphedOptions) *Step {
	o := option.One(opts)
	if o.Disabled {
		return &Step{fn: step}
	}
	return newStep(step, o, torch.CUDA(o.Device), newRecorder(o.Device, o.Pool))
}

func newStep(fn func([]torch.Tensor) []torch.Tensor, o GraphedOptions, device torch.Device, rec recorder) *Step {
	const usual, least = 3, 2 // optimizers make their state in the first run and arrange it in the second
	warm := usual
	if o.Warmup > 0 {
		warm = max(least, o.Warmup)
	}
	return &Step{fn: fn, device: device, warm: warm, rec: rec}
}

// Run computes the step. Without a graph the function gets the inputs themselves. For a graph they
// are copied: they may be on the host, preferably pinned, or on the device, and
// their shapes and dtypes must be those of the first run. The outputs belong to the step, have
// no history, and are valid until the next run: copy them to keep them. An error of the step is
// returned.
func (s *Step) Run(inputs ...torch.Tensor) ([]torch.Tensor, error) {
	if s.closed {
		return nil, errors.New("torch/cuda: the step was closed")
	}
	compute := func() { s.compute(s.in) }
	err := torch.Try(func() { s.begin(inputs) })
	switch {
	case err != nil:
	case s.rec == nil:
		err = torch.Try(compute)
	case s.warm > 0:
		s.warm--
		err = s.rec.warm(compute)
	case !s.captured:
		if err = s.rec.capture(compute); err == nil {
			s.captured = true
			err = torch.Try(s.rec.replay)
		}
	default:
		err = torch.Try(s.rec.replay)
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.out), nil
}

// Captured tells whether the step has become a graph.
func (s *Step) Captured() bool { return s.captured }

// Close frees the graph, its inputs and outputs.
func (s *Step) Close() {
	if !s.closed {
		s.closed = true
		if s.rec != nil {
			s.rec.close()
			torch.Close(s.in...)
		}
		torch.Close(s.out...)
	}
}

// begin does what the host has to do before a run.
func (s *Step) begin(inputs []torch.Tensor) {
	if s.rec == nil {
		s.in = inputs
		return
	}
	s.take(inputs)
	for _, fn := range s.before {
		fn(s.captured)
	}
}

// take copies the inputs into the tensors that the step reads.
func (s *Step) take(inputs []torch.Tensor) {
	if s.in == nil {
		torch.NoGrad(func() {
			torch.Unscoped(func() {
				for _, x := range inputs {
					s.in = append(s.in, x.To(s.device, torch.Copy))
				}
			})
		})
	}
	if len(inputs) != len(s.in) {
		torch.Throw("graphed", torch.KindValue, "the step was begun with %d inputs, got %d", len(s.in), len(inputs))
	}
	torch.NoGrad(func() {
		for i, x := range inputs {
			if old := s.in[i]; x.DType() != old.DType() || !slices.Equal(x.Shape(), old.Shape()) {
				torch.Throw("graphed", torch.KindValue, "input %d is %s, the step was begun with %s", i, kindOf(x), kindOf(old))
			}
			s.in[i].CopyInPlace(x, torch.CopyOptions{NonBlocking: true})
		}
	})
}

func kindOf(x torch.Tensor) string { return fmt.Sprintf("%v%v", x.DType(), x.Shape()) }

// compute runs the function and replaces the earlier results by the new ones.
func (s *Step) compute(inputs []torch.Tensor) {
	var results []torch.Tensor
	keep := func() {
		for _, y := range s.fn(inputs) {
			results = append(results, y.Detach().Keep())
		}
	}
	torch.Scope(func() {
		if s.rec == nil {
			keep()
		} else {
			s.before = replay.Recording(keep)
		}
	})
	torch.Close(s.out...)
	s.out = results
}

// graphRecorder is a recorder of one graph.
type graphRecorder struct {
	*Recorder
	graph *Graph
	pool  PoolID
}

func newRecorder(device int, pool PoolID) *graphRecorder {
	graph := NewGraph()
	return &graphRecorder{NewRecorder(device), graph, pool}
}

func (r *graphRecorder) warm(fn func()) error { return r.Run(fn) }

func (r *graphRecorder) capture(fn func()) error {
	return r.Capture(r.graph, fn, CaptureOptions{Pool: r.pool})
}

func (r *graphRecorder) replay() { r.graph.Replay() }

func (r *graphRecorder) close() {
	r.graph.Close()
	r.Close()
}
