package export

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/replay"
	"github.com/libtorch-go/libtorch/torch"
)

// Step is a step of training that runs in one call. It may be used from one goroutine at a time. The zero value runs nothing.
type Step struct {
	fn     func(inputs []torch.Tensor) []torch.Tensor
	warm   int                 // runs that are left before the first recording
	tapes  map[string]*engine  // by what the inputs are
	key    []byte              // these of the run; its memory is used again
	before []func(replay bool) // what Go does before each run: the learning rates of optimizers
}

// CompileStep makes a step that is computed as usual the first two times, then recorded, and from then on repeated in one call of
// C++: forwards, backwards and the optimizer's work, without autograd's graph and without Go in between. The results, the parameters and
// the states of the optimizer have the same bits as without.
//
//	step := export.CompileStep(func(in []torch.Tensor) []torch.Tensor {
//		opt.ZeroGrad()
//		loss := F.CrossEntropy(model.Forward(in[0]), in[1])
//		loss.Backward()
//		opt.Step()
//		return []torch.Tensor{loss}
//	})
//	defer step.Close()
//	for … {
//		out, err := step.Run(images, labels)
//
// What Go decides is decided when the step is recorded, and its numbers are those of then, but for the learning rates of optimizers with
// fused kernels, which each run writes before it begins; where another optimizer's has changed, the next run is an error. Inputs of other
// shapes or dtypes are recorded anew. A step that reads the values of a tensor cannot be recorded, which is an error that names the line;
// what the step did before that line was done. Random numbers differ from run to run, as ever. Parameters keep the Grad of the last run
// that was not repeated.
func CompileStep(step func(inputs []torch.Tensor) []torch.Tensor) *Step {
	const optimizers = 2 // they make their state in the first run and arrange it in the second
	return &Step{fn: step, warm: optimizers, tapes: map[string]*engine{}}
}

// Run computes one step. The results have no history. An error of the step is returned.
func (s *Step) Run(inputs ...torch.Tensor) (out []torch.Tensor, err error) {
	if s.tapes == nil {
		return nil, errors.New("export: the step is closed; export.CompileStep makes one")
	}
	if err := torch.Try(func() { s.key = appendLayouts(s.key[:0], inputs) }); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	tape := s.tapes[string(s.key)]
	err = torch.Try(func() {
		for _, fn := range s.before {
			fn(tape != nil)
		}
	})
	switch {
	case err != nil:
	case s.warm > 0:
		out, err = s.compute(inputs)
		s.warm--
	case tape == nil:
		out, err = s.record(string(s.key), inputs)
	default:
		given := make([]any, len(inputs))
		for i, t := range inputs {
			given[i] = t
		}
		torch.NoGrad(func() { torch.Unsafe(func() { out, err = tape.tensors(tape.ordered(nil, given)) }) })
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return out, nil
}

// Recorded tells for how many shapes of inputs the step has been recorded.
func (s *Step) Recorded() int { return len(s.tapes) }

// Close frees what was recorded.
func (s *Step) Close() {
	for _, e := range s.tapes {
		e.h.Close()
	}
	s.tapes = nil
}

// appendLayouts appends what a step is recorded for: the dtypes, devices, layouts, shapes and strides of tensors. Each run asks for it.
func appendLayouts(b []byte, list []torch.Tensor) []byte {
	var c cgo.Call
	c.Begin(cgo.OpLayouts)
	c.List(len(list))
	for _, t := range list {
		c.Tensor(bridge.Handle(t))
	}
	bridge.Done(&c)
	for _, word := range c.Words(0) {
		b = binary.AppendUvarint(b, word)
	}
	return b
}

// compute runs the step as usual. Optimizers hear that it will be recorded.
func (s *Step) compute(inputs []torch.Tensor) (out []torch.Tensor, err error) {
	err = torch.Try(func() {
		torch.Scope(func() {
			s.before = replay.Recording(func() {
				for _, t := range s.fn(inputs) {
					out = append(out, t.Detach().Keep())
				}
			})
		})
	})
	return out, err
}

// record computes the step and writes it down.
func (s *Step) record(key string, inputs []torch.Tensor) (out []torch.Tensor, err error) {
	runtime.LockOSThread() // replay asks for it
	defer runtime.UnlockOSThread()
	broken := torch.Try(func() {
		torch.Scope(func() {
			var run *trace
			e := newExporter(ExportOptions{ArgNames: []string{"x"}})
			in, leaves, failed := inputTree([]any{inputs}, e.options.ArgNames)
			if err = failed; err != nil {
				return
			}
			s.before = replay.Recording(func() { run, err = record(reflect.ValueOf(s.fn), nil, []any{inputs}, leaves, belowAutograd) })
			if err != nil {
				return
			}
			e.tree, e.runs, e.sizes, e.memory, e.bases = in, []*trace{run}, []map[string]int64{{}}, map[memory]string{}, map[uint64]string{}
			if err = e.build(); err != nil {
				return
			}
			e.sign()
			r := plainRewriter(e.p)
			if err = r.apply(stepPasses); err != nil {
				return
			}
			torch.Unsafe(func() { s.tapes[key], err = newEngine(r.p) })
			for _, v := range run.outputs {
				out = append(out, v.(torch.Tensor).Detach().Keep())
			}
		})
	})
	if err = errors.Join(err, broken); err != nil {
		if s.tapes[key] == nil {
			delete(s.tapes, key)
		}
		torch.Close(out...)
		return nil, err
	}
	return out, nil
}

// unseen is an error where a step reads memory that no operator has written to: an operator of libtorch's has done so by itself, without
// another one that was seen.
func unseen(r *rewriter) {
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		if !ok || !empty[n.op()] || slices.ContainsFunc(r.p.Graph.Tensors[name].Sizes, isZero) {
			continue
		}
		if reader := r.firstUse(f, i, f.root(name)); reader != nil && !r.writesTo(f, reader, f.root(name)) {
			r.err = fmt.Errorf("a step that is recorded cannot compute what %s reads%s: libtorch does that without an operator that is seen",
				reader.Target, reader.place())
			return
		}
	}
}

// firstUse is the first node behind another one that reads or writes memory, and is no view of it.
func (r *rewriter) firstUse(f *flow, i int, root string) *Node {
	first := len(r.p.Graph.Nodes)
	for _, own := range f.members[root] {
		for _, at := range f.readers[own] {
			if at > i && at < first && !views[r.p.Graph.Nodes[at].op()] {
				first = at
			}
		}
	}
	if first == len(r.p.Graph.Nodes) {
		return nil
	}
	return &r.p.Graph.Nodes[first]
}

func isZero(e Expr) bool {
	n, fixed := e.Value()
	return fixed && n == 0
}

// memory is where a tensor lies and how: two tensors for which it is the same have the same elements.
type memory struct {
	storage   uint64
	offset    int
	dtype     torch.DType
	geometry  string
	conj, neg bool
}

func memoryOf(t torch.Tensor) memory {
	return memory{t.Storage().ID, t.StorageOffset(), t.DType(), fmt.Sprint(t.Shape(), t.Stride()), t.IsConj(), t.IsNeg()}
}

// found is the name of a tensor that autograd has kept or looked at in another way since it was seen.
func (e *exporter) found(n int64) (string, bool) {
	t := e.runs[0].tensors[n]
	if e.memory == nil || t.Layout() != torch.Strided {
		return "", false
	}
	own := memoryOf(t)
	if name, ok := e.memory[own]; ok {
		return name, true
	}
	base, ok := e.bases[own.storage]
	if !ok || e.p.Graph.Tensors[base].DType != own.dtype || own.conj || own.neg {
		return "", false
	}
	view := e.name(base + "_view")
	e.before = append(e.before, Node{Name: view, Target: "torch.ops.aten.as_strided.default", Outputs: []Argument{TensorArgument(view)},
		Inputs: []NamedArgument{given("self", TensorArgument(base)), given("size", wide(t.Shape())), given("stride", wide(t.Stride())),
			given("storage_offset", int64(own.offset))}})
	e.see(n, view)
	return view, true
}

func wide(list []int) []int64 {
	all := make([]int64, len(list))
	for i, n := range list {
		all[i] = int64(n)
	}
	return all
}
