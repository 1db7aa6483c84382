package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// doubling is a compiled program.
func doubling(t *testing.T) Model {
	t.Helper()
	p, err := export.Export(func(x torch.Tensor) torch.Tensor { return x.Add(x) }, []any{torch.Ones(2, 3)},
		export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x": {0: {Name: "rows"}}}})
	require.NoError(t, err)
	m, err := Program(p)
	require.NoError(t, err)
	return m
}

// What is quick is computed on the goroutine that asks, unless the model would see its modes, could end it, or takes long.
func TestHere(t *testing.T) {
	for name, c := range map[string]struct {
		model func(t *testing.T) Model
		took  time.Duration
		under func(func())
		ripe  bool
		want  bool
	}{
		"a quick program":      {doubling, quick / 2, func(fn func()) { fn() }, true, true},
		"a long program":       {doubling, 2 * quick, func(fn func()) { fn() }, true, false},
		"a program in a scope": {doubling, quick / 2, torch.Scope, true, false},
		"a program in a mode":  {doubling, quick / 2, func(fn func()) { torch.NoGrad(fn) }, true, false},
		"others to wait for":   {doubling, quick / 2, func(fn func()) { fn() }, false, false},
		"a function of Go's": {func(*testing.T) Model {
			spec := []Spec{{Name: "x", DType: torch.Float32, Shape: []int{-1, 3}}}
			return Func(Signature{Inputs: spec, Outputs: spec}, func(x []torch.Tensor) []torch.Tensor { return []torch.Tensor{x[0].Add(x[0])} })
		}, quick / 2, func(fn func()) { fn() }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			torchtest.NoLeaks(t)
			o := Options{MaxBatch: 8}
			if !c.ripe {
				o.MaxDelay = time.Hour
			}
			s, err := New(c.model(t), o)
			require.NoError(t, err)
			defer s.Close()
			s.mu.Lock()
			s.current.took = c.took
			s.mu.Unlock()
			x := torch.Full([]int{1, 3}, float32(2))
			defer x.Close()
			c.under(func() {
				r, err := s.enter(t.Context(), Request{Inputs: []torch.Tensor{x}})
				require.NoError(t, err)
				require.Equal(t, c.want, s.here(r))
				if !c.want {
					require.NoError(t, s.turn(t.Context()))
				}
				<-r.done
				y, err := r.result()
				require.NoError(t, err)
				require.Equal(t, []float32{4, 4, 4}, torch.Values[float32](y[0]))
				torch.Close(y...)
			})
		})
	}
}
