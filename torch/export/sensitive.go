package export

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/libtorch-go/libtorch/torch"
)

// choose leaves the layers in float32 without which the results for the samples would be further from those in float32 than they may be:
// those first that, by themselves in eight bits, are furthest. A program that changes its buffers is left as it is.
func (c Calibration) choose(p *Program, samples [][]any, most float64) (err error) {
	changes := slices.ContainsFunc(p.Signature.Outputs, func(s OutputSpec) bool { return s.Kind != UserOutput })
	if most >= 1 || changes {
		return nil
	}
	at := slices.IndexFunc(fusedPasses, func(p pass) bool { return p.name == "quantize" })
	r := newRewriter(p, CompileOptions{Int8: c})
	defer r.close()
	if err := r.apply(fusedPasses[:at]); err != nil {
		return err
	}
	s := search{c: c, p: r.p, samples: samples}
	torch.Scope(func() {
		torch.NoGrad(func() { err = s.run(most * most) })
	})
	return err
}

// search finds the layers that are to be left in float32.
type search struct {
	c       Calibration
	p       *Program // after the passes before
	samples [][]any
	want    []torch.Tensor // the results in float32
	spread  float64        // the sum of the squares of what these differ from their means by
}

func (s *search) run(most float64) error {
	q := newQuantizer(newRewriter(s.p, CompileOptions{Int8: s.c}))
	q.find()
	if q.err != nil || len(q.layers) == 0 {
		return q.err
	}
	var err error
	if s.want, err = s.results(CompileOptions{}); err != nil {
		return err
	}
	for _, t := range s.want {
		s.spread += t.Sub(t.Mean()).Square().Sum().Float64()
	}
	if s.spread == 0 {
		return nil
	}
	var names []string
	for _, l := range q.layers {
		name, _ := l.node.result()
		names = append(names, name)
	}
	return s.leave(names, most)
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
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(alone[b], alone[a]) })
	n := sort.Search(len(names), func(n int) bool {
		if err == nil {
			sum, err = s.off(names[:n])
		}
		return sum <= most
	})
	for _, name := range names[:n] {
		s.c.leave(name)
	}
	return err
}

// leave lets the layer that makes a tensor be computed in float32.
func (c Calibration) leave(name string) {
	own := c[name]
	own.Float = true
	c[name] = own
}

// off is how far the results are from those in float32 if these layers are left in it and the others are computed in eight bits: the mean
// square of the differences, relative to the variance.
func (s *search) off(floats []string) (float64, error) {
	ranges := maps.Clone(s.c)
	for _, name := range floats {
		ranges.leave(name)
	}
	sum := 0.0
	var err error
	torch.Scope(func() {
		var got []torch.Tensor
		if got, err = s.results(CompileOptions{Int8: ranges}); err != nil {
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
	defer r.close()
	if err := r.apply([]pass{{"quantize", quantize}, {"formats", formats}, {"dead", dead}}); err != nil {
		return nil, err
	}
	var e *engine
	if torch.Unsafe(func() { e, err = newEngine(r.p) }); err != nil {
		return nil, err
	}
	defer e.h.Close()
	for _, inputs := range s.samples {
		outputs, err := e.run(inputs)
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
