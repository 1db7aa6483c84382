package export

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/libtorch-go/libtorch/torch"
)

// choose leaves the layers in float32 without which the results for the samples would be further from those in float32 than they may be:
// those first that, by themselves in eight bits or the other dtype, are furthest, and none that the others make needless. A program that
// changes its buffers is left as it is.
func (c Calibration) choose(ctx context.Context, p *Program, samples [][]any, o CalibrateOptions) (err error) {
	changes := slices.ContainsFunc(p.Signature.Outputs, func(s OutputSpec) bool { return s.Kind != UserOutput })
	if o.Error >= 1 || changes {
		return nil
	}
	options, from := CompileOptions{Int8: c}, "quantize"
	if !o.DType.IsZero() {
		options, from = CompileOptions{DType: o.DType}, "lower"
	}
	r := newRewriter(p, options)
	r.ctx = ctx
	defer r.close()
	passes := r.passes(options)
	at := slices.IndexFunc(passes, func(p pass) bool { return p.name == from })
	if err := r.apply(passes[:at]); err != nil {
		return err
	}
	s := search{ctx: ctx, c: c, p: r.p, samples: samples, options: options, passes: passes[at:]}
	if options.Int8 != nil {
		s.passes = []pass{{"quantize", quantize}, {"formats", formats}, {"dead", dead}}
	}
	torch.Scope(func() {
		torch.NoGrad(func() { err = s.run(o.Error * o.Error) })
	})
	return err
}

// search finds the layers that are to be left in float32.
type search struct {
	ctx     context.Context // with which it ends
	c       Calibration
	p       *Program // after the passes before
	samples [][]any
	options CompileOptions // of the layers that are not left
	passes  []pass         // that are still to be made
	want    []torch.Tensor // the results in float32
	spread  float64        // the sum of the squares of what these differ from their means by
	costs   map[string]float64
}

func (s *search) run(most float64) error {
	names, err := s.layers()
	if err != nil || len(names) == 0 {
		return err
	}
	plain := s.options
	plain.Int8, plain.DType = nil, torch.DType{}
	if s.want, err = s.results(plain); err != nil {
		return err
	}
	for _, t := range s.want {
		s.spread += t.Sub(t.Mean()).Square().Sum().Float64()
	}
	if s.spread == 0 {
		return nil
	}
	return s.leave(names, most)
}

// layers are the names of what those make that may be left.
func (s *search) layers() (names []string, err error) {
	r := newRewriter(s.p, s.options)
	s.costs = map[string]float64{}
	if s.options.Int8 != nil {
		q := newQuantizer(r)
		q.find()
		for _, l := range q.layers {
			name, _ := l.node.result()
			names = append(names, name)
			s.costs[name] = 1 // what they cost in float32 is left out of account: eight bits spoil some layers beyond use
		}
		return names, q.err
	}
	f := r.flow()
	if err := r.lowers(f); err != nil {
		return nil, err
	}
	ends := r.ends(f)
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		if c := r.cost(f, n); c.weights > 0 && !ends[i] {
			name, _ := n.result()
			names = append(names, name)
			s.costs[name] = c.multiplications
		}
	}
	return names, nil
}

// leave leaves as few layers as it takes in float32.
func (s *search) leave(names []string, most float64) error {
	sum, err := s.off(nil)
	if err != nil || sum <= most {
		return err
	}
	alone := map[string]float64{}
	for i, name := range names {
		if alone[name], err = s.off(slices.Delete(slices.Clone(names), i, i+1)); err != nil {
			return err
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(alone[b]/s.costs[b], alone[a]/s.costs[a]) })
	n := sort.Search(len(names), func(n int) bool {
		if err == nil {
			sum, err = s.off(names[:n])
		}
		return sum <= most
	})
	if names = names[:n]; err == nil {
		names, err = s.without(names, most)
	}
	for _, name := range names {
		s.c.leave(name)
	}
	return err
}

// without are the layers but those that need not be left after all, as what the others do shows: those that cost most are tried first.
func (s *search) without(names []string, most float64) ([]string, error) {
	tried := slices.Clone(names)
	slices.Reverse(tried)
	slices.SortStableFunc(tried, func(a, b string) int { return cmp.Compare(s.costs[b], s.costs[a]) })
	for _, name := range tried {
		fewer := slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
		sum, err := s.off(fewer)
		if err != nil {
			return nil, err
		}
		if sum <= most {
			names = fewer
		}
	}
	return names, nil
}

// leave lets the layer that makes a tensor be computed in float32.
func (c Calibration) leave(name string) {
	own := c[name]
	own.Float = true
	c[name] = own
}

// off is how far the results are from those in float32 if these layers are left in it: the mean square of the differences, relative to the
// variance.
func (s *search) off(floats []string) (float64, error) {
	o := s.options
	if o.Floats = floats; o.Int8 != nil {
		o.Int8 = maps.Clone(s.c)
		for _, name := range floats {
			o.Int8.leave(name)
		}
	}
	sum := 0.0
	var err error
	torch.Scope(func() {
		var got []torch.Tensor
		if got, err = s.results(o); err != nil {
			return
		}
		for i, t := range got {
			sum += t.Sub(s.want[i]).Square().Sum().Float64()
		}
	})
	if math.IsNaN(sum) {
		sum = math.Inf(1)
	}
	return sum / s.spread, err
}

// results are the numbers that the program computes for all samples.
func (s *search) results(o CompileOptions) (list []torch.Tensor, err error) {
	r := newRewriter(s.p, o)
	r.ctx = s.ctx
	defer r.close()
	if err := r.apply(s.passes); err != nil {
		return nil, err
	}
	var e *engine
	if torch.Unsafe(func() { e, err = newEngine(r.p) }); err != nil {
		return nil, err
	}
	defer e.h.Close()
	for _, inputs := range s.samples {
		outputs, err := e.until(s.ctx, inputs)
		if err != nil {
			return nil, err
		}
		for _, v := range outputs {
			if t, ok := v.(torch.Tensor); ok && t.DType() == torch.Float32 && t.NumEl() > 0 {
				list = append(list, t.To(torch.Float64))
			}
		}
	}
	return list, nil
}
