package export

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/fuzz/networks"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A file may say of a program's values what is not so. Passes choose kernels by it, and kernels look at what they get: such a program
// compiles or not, and runs or fails; nothing ends the process, takes forever or is left over. Without RELIABILITY=full one lie in nine
// is told.
func TestLyingPrograms(t *testing.T) {
	torchtest.NoLeaks(t)
	told, every := 0, reliability.Size(1, 9)
	for _, c := range passCases {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() {
				p, x := c.export(t)
				defer p.Close()
				honest := p.Graph.Tensors
				for _, name := range slices.Sorted(maps.Keys(honest)) {
					for _, lie := range lies(honest[name]) {
						if told++; told%every == 0 {
							p.Graph.Tensors = maps.Clone(honest)
							p.Graph.Tensors[name] = lie
							torch.Scope(func() { tryProgram(p, x) })
						}
					}
				}
			})
		})
	}
	reliability.AtLeast(t, "compiled programs with a lie about a value", told/every, 300)
}

// The same of networks that nobody has thought of, in each way of compiling them:
//
//	LIBTORCH_GO_RANDOM_NETWORKS=0:5000 go test -timeout 1h -run TestRandomLies ./torch/export
func TestRandomLies(t *testing.T) {
	EachSeed(t, 10, func(t *testing.T, seed uint64) {
		n := networks.Draw(seed)
		p, err := ExportRandom(n, n.Results...)
		require.NoError(t, err)
		defer p.Close()
		r := rand.New(rand.NewPCG(seed, 0))
		honest := p.Graph.Tensors
		names := slices.Sorted(maps.Keys(honest))
		for _, way := range randomWays {
			for range 4 {
				name := names[r.IntN(len(names))]
				all := lies(honest[name])
				p.Graph.Tensors = maps.Clone(honest)
				p.Graph.Tensors[name] = all[r.IntN(len(all))]
				torch.Scope(func() { way.try(p, n.Input()) })
			}
		}
	})
}

// try compiles a program in this way and runs it, if it can be.
func (way randomWay) try(p *Program, x torch.Tensor) {
	e, _, err := way.engine(p, [][]any{{x}})
	if err != nil {
		return
	}
	defer e.h.Close()
	torch.NoGrad(func() { _, _ = e.Run(x) })
}

// lies are what a file may say of a tensor: another dtype, of its sizes and strides each other, more of them or fewer.
func lies(m TensorMeta) (all []TensorMeta) {
	tell := func(change func(*TensorMeta)) {
		own := m
		own.Sizes, own.Strides = slices.Clone(m.Sizes), slices.Clone(m.Strides)
		change(&own)
		all = append(all, own)
	}
	for _, d := range []torch.DType{torch.Float64, torch.BFloat16, torch.Int64, torch.Bool} {
		tell(func(m *TensorMeta) { m.DType = d })
	}
	for i := range m.Sizes {
		for _, n := range []int64{-1, 0, 1, 16, 64, 1 << 40} {
			tell(func(m *TensorMeta) { m.Sizes[i] = integer(n) })
			tell(func(m *TensorMeta) { m.Strides[i] = integer(n) })
		}
	}
	tell(func(m *TensorMeta) { m.Sizes, m.Strides = m.Sizes[:len(m.Sizes)/2], m.Strides[:len(m.Sizes)/2] })
	tell(func(m *TensorMeta) { m.Sizes, m.Strides = append(m.Sizes, integer(1)), append(m.Strides, integer(1)) })
	tell(func(m *TensorMeta) { m.StorageOffset = integer(1 << 40) })
	return all
}
