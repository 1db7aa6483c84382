package export

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// mostGraphs is how many sizes of inputs become graphs of CUDA's, unless CompileOptions.Graphs says otherwise.
const mostGraphs = 16

// Why a program is not captured.
var (
	errChangesInputs = errors.New("export: the program changes its inputs, and a graph would change its copies")
	errNotWanted     = errors.New("export: CompileOptions.Graphs is negative")
)

// graphs are the runs of a program on a card that became graphs of CUDA's, one for each set of sizes of the inputs. The first run of
// some sizes goes from operator to operator; the second one does, too, where captures are made, and is captured then; later ones are
// replays. All share their memory, since none begins before the results of the one before are copied.
type graphs struct {
	engine *engine
	device torch.Device
	most   int // none if it is 0

	mu     sync.Mutex
	byKey  map[string]*graph
	rec    *cuda.Recorder // from the first capture on
	pool   cuda.PoolID
	done   *cuda.Event // after the last run that was made here
	why    error       // why there will be no more
	closed bool
}

// graph is a captured run, or one that may become so.
type graph struct {
	captured *cuda.Graph
	in       []torch.Tensor // what it reads
	out      []any          // what it writes, and numbers
}

func newGraphs(e *engine, device torch.Device, most int) *graphs {
	g := &graphs{engine: e, device: device, most: cmp.Or(most, mostGraphs), byKey: map[string]*graph{}}
	switch changes := func(s OutputSpec) bool { return s.Kind == UserInputMutation }; {
	case slices.ContainsFunc(e.module.program.Signature.Outputs, changes):
		g.most, g.why = 0, errChangesInputs
	case most < 0:
		g.most, g.why = 0, errNotWanted
	}
	return g
}

// key tells runs apart: what the inputs are, but for what is in their tensors.
func key(given []any) string {
	var b []byte
	for _, v := range given {
		switch v := v.(type) {
		case torch.Tensor:
			shape := v.Shape()
			b = append(b, v.DType().String()...)
			b = binary.AppendUvarint(b, uint64(len(shape)))
			for _, n := range shape {
				b = binary.AppendUvarint(b, uint64(n))
			}
		case float64:
			b = binary.LittleEndian.AppendUint64(append(b, 'f'), math.Float64bits(v))
		default:
			b = fmt.Appendf(b, "%T %v;", v, v)
		}
	}
	return string(b)
}

// run computes the program on inputs, which may be on the host.
func (g *graphs) run(stop *atomic.Uint32, given []any) ([]any, error) {
	if g.most == 0 || !capturable(given) || torch.Autocasting(g.device).Enabled {
		return g.stream(stop, given)
	}
	k := key(given)
	g.mu.Lock()
	own := g.byKey[k]
	if own == nil || own.captured == nil && g.why != nil || g.closed {
		g.mu.Unlock()
		outputs, err := g.stream(stop, given)
		if err == nil && own == nil {
			g.note(k)
		}
		return outputs, err
	}
	defer g.mu.Unlock()
	if own.captured == nil {
		return g.capture(own, given)
	}
	return g.replay(own, given)
}

// capturable tells whether inputs are such that a run may become a graph; what is wrong with others is said by the run.
func capturable(given []any) bool {
	return !slices.ContainsFunc(given, func(v any) bool {
		t, ok := v.(torch.Tensor)
		return ok && !t.Defined()
	})
}

// note has the next run of a key captured. Sizes that came once make room for others.
func (g *graphs) note(k string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why != nil {
		return
	}
	for old, own := range g.byKey {
		if len(g.byKey) >= g.most && own.captured == nil {
			delete(g.byKey, old)
		}
	}
	if len(g.byKey) < g.most {
		g.byKey[k] = &graph{}
	}
}

// stream runs operator by operator.
func (g *graphs) stream(stop *atomic.Uint32, given []any) (outputs []any, err error) {
	own := slices.Clone(given)
	moving := torch.Try(func() {
		for i, v := range given {
			if t, ok := v.(torch.Tensor); ok && t.Defined() && t.Device() != g.device {
				own[i] = t.To(g.device)
			}
		}
	})
	if moving == nil {
		outputs, err = g.engine.bound(stop, own)
	}
	for i, v := range own {
		if t, ok := v.(torch.Tensor); ok && v != given[i] {
			t.Close()
		}
	}
	return outputs, errors.Join(moving, err)
}

// capture runs once, and captures the run for those that come. Where it cannot be captured no other one is tried.
func (g *graphs) capture(own *graph, given []any) (outputs []any, err error) {
	var made []any
	failed := torch.Try(func() {
		if g.rec == nil {
			g.rec, g.done, g.pool = cuda.NewRecorder(g.device.Index()), cuda.NewEvent(), cuda.NewPoolID()
		}
		current := cuda.CurrentStream(g.device.Index())
		current.WaitEvent(g.done)
		apart(func() {
			cuda.WithStream(current, func() {
				failed := g.rec.Run(func() { torch.NoGrad(func() { made, err = g.first(own, given, current) }) })
				if err = errors.Join(err, failed); err == nil {
					g.why = g.record(own, given)
				}
			})
		})
		g.done.Record(current)
	})
	if err = errors.Join(err, failed); err != nil {
		own.close()
		return nil, err
	}
	for _, v := range made {
		if t, ok := v.(torch.Tensor); ok {
			v = t.Alias() // in the caller's scope
			t.Close()
		}
		outputs = append(outputs, v)
	}
	return outputs, nil
}

// first is the run before the capture, on the capture's stream.
func (g *graphs) first(own *graph, given []any, current cuda.Stream) ([]any, error) {
	for _, v := range given {
		if t, ok := v.(torch.Tensor); ok {
			own.in = append(own.in, t.Detach().To(g.device, torch.Copy))
		}
	}
	outputs, err := g.engine.bound(nil, own.with(given))
	for _, v := range outputs {
		if t, ok := v.(torch.Tensor); ok {
			cuda.RecordStream(current, t) // it is the caller's, who frees it there
		}
	}
	return outputs, err
}

// record makes the graph; the error is why there is none.
func (g *graphs) record(own *graph, given []any) (err error) {
	made := cuda.NewGraph()
	failed := g.rec.Capture(made, func() {
		torch.NoGrad(func() { own.out, err = g.engine.bound(nil, own.with(given)) })
	}, cuda.CaptureOptions{Pool: g.pool})
	if err = errors.Join(err, failed); err != nil {
		made.Close()
		own.close()
		return err
	}
	own.captured = made
	return nil
}

// replay computes what a graph holds on other inputs.
func (g *graphs) replay(own *graph, given []any) (outputs []any, err error) {
	err = torch.Try(func() {
		current := cuda.CurrentStream(g.device.Index())
		current.WaitEvent(g.done) // on whatever stream the one before was
		next := 0
		for _, v := range given {
			if t, ok := v.(torch.Tensor); ok {
				safe := t.Device() == g.device || !t.IsPinned() // pinned memory is read later, when its owner may have changed it
				own.in[next].CopyInPlace(t, torch.CopyOptions{NonBlocking: safe})
				next++
			}
		}
		own.captured.Replay()
		for _, v := range own.out {
			if t, ok := v.(torch.Tensor); ok {
				v = t.Clone()
			}
			outputs = append(outputs, v)
		}
		g.done.Record(current)
	})
	return outputs, err
}

// state is how many graphs there are, and why there will be no more.
func (g *graphs) state() (n int, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, own := range g.byKey {
		if own.captured != nil {
			n++
		}
	}
	return n, g.why
}

// close frees the graphs as soon as the card is through with them.
func (g *graphs) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed = true; g.rec == nil {
		return
	}
	_ = torch.Try(g.done.Synchronize) // on a card that has failed there is nothing to wait for
	for _, own := range g.byKey {
		own.close()
	}
	g.done.Close()
	g.rec.Close()
	clear(g.byKey)
	g.rec = nil
}

// with puts the tensors that a graph reads in the places of the inputs.
func (own *graph) with(given []any) []any {
	all, next := slices.Clone(given), 0
	for i, v := range given {
		if _, ok := v.(torch.Tensor); ok {
			all[i] = own.in[next]
			next++
		}
	}
	return all
}

func (own *graph) close() {
	if own.captured != nil {
		own.captured.Close()
	}
	for _, v := range own.out {
		if t, ok := v.(torch.Tensor); ok {
			t.Close()
		}
	}
	torch.Close(own.in...)
	own.captured, own.in, own.out = nil, nil, nil
}

// apart runs fn on a goroutine of its own, whose thread has none of the caller's modes: later callers have others.
func apart(fn func()) {
	var thrown any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { thrown = recover() }()
		fn()
	}()
	if <-done; thrown != nil {
		panic(thrown)
	}
}
