package export

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Calibration is what [CompileOptions].Int8 knows of a program: what its tensors hold, by their names in the graph.
// It is plain data, to be kept beside the program and changed.
type Calibration map[string]Span

// Span is what a tensor holds.
type Span struct {
	Min, Max float64   // the least and the greatest element
	Mean     []float64 // of each channel: the second dimension of images, the last one of others
	Float    bool      // the layer that makes the tensor is computed in float32
}

// CalibrateOptions are the rarer arguments of [Calibrate].
type CalibrateOptions struct {
	// Error is how far the results for the samples may be from those in float32: the root of the mean square, relative to the deviation
	// of the results. Layers whose rounding shows most are left in float32 until it is no more, and those of them that the others make
	// needless are not. Default: 0.03, or 0.01 with a DType; 1 leaves none.
	Error float64

	// DType is what layers are tried in, as [CompileOptions].DType: BFloat16, or Float16 on a card. Default: eight bits.
	DType torch.DType
}

// Calibrate runs a program on samples, the inputs of one call each, and notes the ranges of what it computes, for
// [CompileOptions].Int8. Some dozens of inputs like those that are to come will do. Then it tries each layer by itself in eight bits,
// on the first samples, and says of those which spoil the results most that they are to be left in float32 ([Calibration.Floats],
// [CalibrateOptions]).
//
//	ranges, err := export.Calibrate(program, slices.Values([][]any{{images}, {more}}))
//	compiled, err := export.Compile(program, export.CompileOptions{Int8: ranges})
//
// With CalibrateOptions.DType layers are tried in that dtype, those first that show most for what they compute:
//
//	found, err := export.Calibrate(program, samples, export.CalibrateOptions{DType: torch.BFloat16, Error: 0.005})
//	compiled, err := export.Compile(program, export.CompileOptions{DType: torch.BFloat16, Floats: found.Floats()})
func Calibrate(p *Program, samples iter.Seq[[]any], opts ...CalibrateOptions) (Calibration, error) {
	return CalibrateContext(context.Background(), p, samples, opts...)
}

// CalibrateContext is [Calibrate] until ctx ends, with an error that matches context.Cause then: a large program is run for each of its
// layers, and one of unknown origin may have no end.
func CalibrateContext(ctx context.Context, p *Program, samples iter.Seq[[]any], opts ...CalibrateOptions) (Calibration, error) {
	const usual, lowered = 0.03, 0.01
	search := option.One(opts)
	if !search.DType.IsZero() {
		if err := (&CompileOptions{DType: search.DType}).check(p.device()); err != nil {
			return nil, err
		}
		search.Error = cmp.Or(search.Error, lowered)
	}
	search.Error = cmp.Or(search.Error, usual)
	m, err := p.Module()
	if err != nil {
		return nil, err
	}
	o := observer{program: m, seen: map[string]*observed{}}
	defer o.close()
	for inputs := range samples {
		torch.Scope(func() { torch.NoGrad(func() { err = o.run(ctx, inputs) }) })
		if err != nil {
			return nil, err
		}
	}
	if len(o.seen) == 0 {
		return nil, errors.New("export: Calibrate: there are no samples, or the program computes nothing in float32")
	}
	c := Calibration{}
	for name, s := range o.seen {
		c[name] = s.span()
	}
	return c, c.choose(ctx, p, o.kept, search)
}

// Floats are the names of the tensors whose layers are left in float32.
func (c Calibration) Floats() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name].Float {
			list = append(list, name)
		}
	}
	return list
}

// observer looks at what a program computes.
type observer struct {
	program *Module
	seen    map[string]*observed
	kept    [][]any // the first samples
	size    int     // how many elements these have
}

func (o *observer) close() {
	for _, inputs := range o.kept {
		drop(inputs)
	}
}

// run notes what one run computes.
func (o *observer) run(ctx context.Context, inputs []any) error {
	m, first := o.program, true
	leaves, err := m.watched(ctx, inputs, func(s *step, v values) {
		if first {
			first = false
			for i, own := range m.main.inputs {
				if own >= 0 && m.program.Signature.Inputs[i].Kind == UserInput {
					o.see(m.program.Graph.Inputs[i], v[own])
				}
			}
		}
		for i, out := range s.outputs {
			if own, ok := out.(slot); ok {
				o.see(s.node.Outputs[i], v[own])
			}
		}
	})
	drop(leaves)
	if err == nil {
		o.keep(inputs)
	}
	return err
}

// keep holds the first samples, for what is tried later: as many as make some images.
func (o *observer) keep(inputs []any) {
	const enough, most = 1 << 21, 16
	if o.size >= enough || len(o.kept) >= most {
		return
	}
	own := copyOf(inputs, &o.size).([]any)
	o.kept = append(o.kept, own)
}

// copyOf is a value with tensors of its own, which live on; size grows by their elements.
func copyOf(v any, size *int) any {
	switch v := v.(type) {
	case torch.Tensor:
		*size += v.NumEl()
		return v.Clone().Keep()
	case torch.Named:
		return torch.Arg(v.Name, copyOf(v.Value, size))
	}
	if m, ok := entries(v); ok {
		own := map[string]any{}
		for key, one := range m {
			own[key] = copyOf(one, size)
		}
		return own
	}
	list, ok := elements(v)
	if !ok {
		return v
	}
	own := make([]any, len(list))
	for i, one := range list {
		own[i] = copyOf(one, size)
	}
	return own
}

// observed is what was seen of a tensor so far.
type observed struct {
	min, max float64
	sums     []float64 // of the means of channels
	calls    int
}

func (o *observer) see(a Argument, v any) {
	name, kind := kindOf(a)
	t, ok := v.(torch.Tensor)
	if kind != "Tensor" || !ok || !t.Defined() || t.DType() != torch.Float32 || t.NumEl() == 0 || t.Layout() != torch.Strided {
		return
	}
	s := o.seen[name]
	if s == nil {
		s = &observed{min: math.Inf(1), max: math.Inf(-1)}
		o.seen[name] = s
	}
	s.calls++
	torch.Scope(func() {
		least, most := t.AMinMax()
		s.min, s.max = min(s.min, least.Float64()), max(s.max, most.Float64())
		s.average(t)
	})
}

// average adds the means of the channels.
func (s *observed) average(t torch.Tensor) {
	if t.Dim() == 0 {
		return
	}
	channel := t.Dim() - 1
	if t.Dim() == 4 {
		channel = 1
	}
	var others []int
	for d := range t.Dim() {
		if d != channel {
			others = append(others, d)
		}
	}
	if len(others) > 0 {
		t = t.Mean(others...)
	}
	means := torch.Values[float64](t.To(torch.Float64))
	if s.sums == nil {
		s.sums = make([]float64, len(means))
	}
	for i := range min(len(s.sums), len(means)) {
		s.sums[i] += means[i]
	}
}

// span is the range, and the means.
func (s *observed) span() Span {
	own := Span{Min: s.min, Max: s.max}
	for _, sum := range s.sums {
		own.Mean = append(own.Mean, sum/float64(s.calls))
	}
	return own
}
