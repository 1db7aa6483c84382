package dist

import (
	"context"
	"errors"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

// PowerSGD compresses gradients to matrices of low rank on their way: Python's PowerSGDState and powerSGD_hook, bit for bit. A gradient M
// of n x m travels as P of n x r and Q of m x r, whose product is close to M; what is lost is added to the gradients of the next pass.
//
//	compressed, err := dist.NewPowerSGD(g, dist.PowerSGDOptions{MatrixApproximationRank: 2, StartIter: 500})
//	…
//	defer compressed.Close()
//	model.RegisterCommHook(compressed.Hook)
//
// A bucket is reduced before the next one is begun, so it pays where the network is slow.
type PowerSGD struct {
	g             *Group
	o             PowerSGDOptions
	seeds         *torch.Generator
	iter          int
	lost, ps, qs  map[int]torch.Tensor // by the buckets' numbers
	before, after int
}

// PowerSGDOptions are the rarer arguments of [NewPowerSGD], by PyTorch's names.
type PowerSGDOptions struct {
	MatrixApproximationRank   int     // r: more is more exact and more bytes; default 1
	StartIter                 int     // passes that reduce gradients as they are, before compression begins; default 1000, at least 2
	MinCompressionRate        float64 // gradients that would not become smaller by more than this factor travel as they are; default 2
	NoErrorFeedback           bool    // what is lost is lost
	NoWarmStart               bool    // Q begins with random numbers in every pass, instead of the last one's Q
	OrthogonalizationEpsilon  float64 // added to the norms of columns, against columns of zeros; default 0
	RandomSeed                uint32  // of the first Q, the same on all ranks
	BatchTensorsWithSameShape bool    // gradients of one shape in a bucket are multiplied together: faster for many small ones
}

// NewPowerSGD makes the state of the hook. All ranks of g, the model's group, give the same options.
func NewPowerSGD(g *Group, opts ...PowerSGDOptions) (*PowerSGD, error) {
	o := option.One(opts)
	o.MatrixApproximationRank = or(o.MatrixApproximationRank, 1)
	o.StartIter = or(o.StartIter, 1000)
	o.MinCompressionRate = or(o.MinCompressionRate, 2)
	switch {
	case o.MatrixApproximationRank < 0 || o.StartIter < 0 || o.MinCompressionRate < 0 || o.OrthogonalizationEpsilon < 0:
		return nil, errors.New("dist: powerSGD: the options must be positive")
	case o.StartIter < 2 && !(o.NoErrorFeedback && o.NoWarmStart):
		return nil, errors.New("dist: powerSGD: StartIter must be at least 2, because buckets are made anew after the first pass and what is " +
			"kept for the next pass would not fit them")
	}
	if err := g.member("powerSGD"); err != nil {
		return nil, err
	}
	none := func() map[int]torch.Tensor { return map[int]torch.Tensor{} }
	seeds := torch.NewGenerator(torch.CPU).ManualSeed(uint64(o.RandomSeed))
	return &PowerSGD{g: g, o: o, seeds: seeds, lost: none(), ps: none(), qs: none()}, nil
}

// Close frees what is kept for the next pass.
func (s *PowerSGD) Close() {
	forget(s.lost)
	forget(s.ps)
	forget(s.qs)
	s.seeds.Close()
}

// CompressionStats are the numbers of elements that gradients had since compression began, and that travelled in their place.
func (s *PowerSGD) CompressionStats() (before, after int) { return s.before, s.after }

// Hook reduces a bucket: it is for [DDP.RegisterCommHook].
func (s *PowerSGD) Hook(b GradBucket) torch.Tensor {
	start := s.iter
	if b.Last {
		s.iter++
	}
	if start < s.o.StartIter {
		b.Buffer.DivScalarInPlace(float64(s.g.Size()))
		s.sum(b.Buffer)
		return b.Buffer
	}
	if s.o.NoErrorFeedback {
		s.reduce(b)
		return b.Buffer
	}
	if lost, ok := s.lost[b.Index]; ok {
		b.Buffer.AddInPlace(lost)
	}
	whole := b.Buffer.Clone()
	s.reduce(b)
	keep(s.lost, b.Index, whole.Sub(b.Buffer))
	return b.Buffer
}

// low is a gradient, or several of one shape, with the matrices that travel in its place.
type low struct {
	m, p, q torch.Tensor   // batch x rows x columns
	parts   []torch.Tensor // what m is copied from and back to; nil where it is the gradient itself
}

// reduce leaves the mean over the ranks in the bucket, nearly.
func (s *PowerSGD) reduce(b GradBucket) {
	matrices, rest := s.divide(b)
	plain := torch.Cat(rest)
	fresh := s.o.NoWarmStart || !s.ps[b.Index].Defined()
	list := s.lowered(b.Index, matrices, fresh)
	if fresh {
		s.randomize(list)
	}
	for _, l := range list {
		s.orthogonalize(l.q)
		l.p.CopyInPlace(l.m.BMM(l.q))
	}
	s.sum(plain)
	plain.DivScalarInPlace(float64(s.g.Size()))
	for at, t := 0, 0; t < len(rest); t++ {
		n := rest[t].NumEl()
		rest[t].CopyInPlace(plain.Narrow(0, at, n).ViewAs(rest[t]))
		at += n
	}
	s.sum(s.ps[b.Index])
	for _, l := range list {
		s.orthogonalize(l.p)
		l.q.CopyInPlace(l.m.Transpose(1, 2).BMM(l.p))
	}
	s.sum(s.qs[b.Index])
	s.qs[b.Index].DivScalarInPlace(float64(s.g.Size()))
	for _, l := range list {
		l.m.CopyInPlace(l.p.BMM(l.q.Transpose(1, 2)))
		for i, part := range l.parts {
			part.CopyInPlace(l.m.Select(0, i))
		}
	}
	if s.o.NoWarmStart {
		forget(s.ps)
		forget(s.qs)
	}
}

// divide finds the gradients that are worth compressing, as matrices, those of one shape together, and the others.
func (s *PowerSGD) divide(b GradBucket) (matrices [][]torch.Tensor, rest []torch.Tensor) {
	rest = []torch.Tensor{b.Buffer.Narrow(0, 0, 0)} // in case that all are compressed
	for _, t := range b.Gradients {
		s.before += t.NumEl()
		m := t
		if t.Dim() > 0 && t.NumEl() > 0 {
			m = t.View(t.Size(0), -1)
		}
		small := 0
		if m.Dim() == 2 {
			small = (m.Size(0) + m.Size(1)) * s.rank(m)
		}
		if small == 0 || float64(small)*s.o.MinCompressionRate >= float64(t.NumEl()) {
			rest = append(rest, t.View(-1))
			s.after += t.NumEl()
			continue
		}
		s.after += small
		same := func(list []torch.Tensor) bool { return slices.Equal(list[0].Shape(), m.Shape()) }
		if i := slices.IndexFunc(matrices, same); i >= 0 {
			matrices[i] = append(matrices[i], m)
		} else {
			matrices = append(matrices, []torch.Tensor{m})
		}
	}
	return matrices, rest
}

func (s *PowerSGD) rank(m torch.Tensor) int {
	return min(m.Size(-2), m.Size(-1), s.o.MatrixApproximationRank)
}

// lowered gives each matrix its places in the bucket's Ps and Qs.
func (s *PowerSGD) lowered(bucket int, matrices [][]torch.Tensor, fresh bool) (list []low) {
	var rows, columns int
	for _, same := range matrices {
		if s.o.BatchTensorsWithSameShape && len(same) > 1 {
			list = append(list, low{m: torch.Stack(same), parts: same})
			continue
		}
		for _, m := range same {
			list = append(list, low{m: m.Unsqueeze(0)})
		}
	}
	for _, l := range list {
		rows += l.m.Size(0) * l.m.Size(1) * s.rank(l.m)
		columns += l.m.Size(0) * l.m.Size(2) * s.rank(l.m)
	}
	if fresh {
		like := torch.TensorOptions{}
		if len(list) > 0 {
			like = torch.TensorOptions{DType: list[0].m.DType(), Device: list[0].m.Device()}
		}
		keep(s.ps, bucket, like.Zeros(rows))
		keep(s.qs, bucket, like.Zeros(columns))
	}
	rows, columns = 0, 0
	place := func(all torch.Tensor, at *int, batch, n, r int) torch.Tensor {
		part := all.Narrow(0, *at, batch*n*r).View(batch, n, r)
		*at += batch * n * r
		return part
	}
	for i, l := range list {
		list[i].p = place(s.ps[bucket], &rows, l.m.Size(0), l.m.Size(1), s.rank(l.m))
		list[i].q = place(s.qs[bucket], &columns, l.m.Size(0), l.m.Size(2), s.rank(l.m))
	}
	return list
}

// randomize fills the Qs with numbers that are the same on all ranks.
func (s *PowerSGD) randomize(list []low) {
	numbers := torch.NewGenerator(torch.CPU).ManualSeed(s.seed())
	defer numbers.Close()
	for _, l := range list {
		l.q.CopyInPlace(torch.TensorOptions{DType: l.q.DType(), Generator: numbers}.RandN(l.q.Shape()...))
	}
}

// seed is what Python gets from numpy, by RandomState.randint(1_000_000_000): the first of the generator's numbers, 30 bits of each,
// that is small enough.
func (s *PowerSGD) seed() uint64 {
	word := torch.TensorOptions{DType: torch.Int32}.Empty(1)
	for {
		if n := word.RandomInPlace(torch.RandomOptions{Generator: s.seeds}).Int() & (1<<30 - 1); n < 1_000_000_000 {
			return uint64(n)
		}
	}
}

// orthogonalize makes the columns of matrices orthogonal, and one long, in place.
func (s *PowerSGD) orthogonalize(m torch.Tensor) {
	columns := m.Size(2)
	if columns > 2 && m.DType() != torch.Float16 && m.DType() != torch.BFloat16 {
		q, _ := linalg.QR(m)
		m.CopyInPlace(q)
		return
	}
	for i := range columns {
		column := m.Narrow(2, i, 1)
		norm := linalg.VectorNorm(column, linalg.VectorNormOptions{Dim: []int{1}, KeepDim: true})
		if s.o.OrthogonalizationEpsilon > 0 {
			norm = norm.AddScalar(s.o.OrthogonalizationEpsilon)
		}
		column.DivInPlace(norm)
		if i+1 < columns {
			others := m.Narrow(2, i+1, columns-i-1)
			others.SubInPlace(column.Mul(others).SumDim([]int{1}, torch.SumOptions{KeepDim: true}).Mul(column))
		}
	}
}

// sum adds up a tensor over the ranks. It panics with a *torch.Error if one does not come.
func (s *PowerSGD) sum(t torch.Tensor) {
	if err := s.g.AllReduce(t).Wait(context.Background()); err != nil {
		throw(err)
	}
}

// keep holds a tensor beyond the pass in place of the one before.
func keep(kept map[int]torch.Tensor, bucket int, t torch.Tensor) {
	if old, ok := kept[bucket]; ok {
		old.Close()
	}
	kept[bucket] = t.Keep()
}

// forget closes what was kept.
func forget(kept map[int]torch.Tensor) {
	for _, t := range kept {
		t.Close()
	}
	clear(kept)
}
