package export

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Runs are told apart by what their inputs are, not by what is in them. What takes a card is in internal/gpusuite.
func TestKeysOfGraphs(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		given := []any{torch.Ones(2, 3), 5, 0.5, true, nil, "x"}
		with := func(i int, v any) []any {
			other := append([]any{}, given...)
			other[i] = v
			return other
		}
		require.Equal(t, key(given), key(with(0, torch.Zeros(2, 3))))
		seen := map[string]bool{key(given): true}
		for _, other := range [][]any{with(0, torch.Ones(3, 2)), with(0, torch.Ones(6)), with(0, torch.Ones(2, 3).To(torch.Float64)), with(1, 6),
			with(2, 0.25), with(3, false), with(4, 0), with(5, "y"), given[:5]} {
			require.False(t, seen[key(other)], other)
			seen[key(other)] = true
		}
	})
}

// There are as many graphs as may be, of sizes that come again; those that came once make room.
func TestTableOfGraphs(t *testing.T) {
	torchtest.NoLeaks(t)
	g := &graphs{most: 2, byKey: map[string]*graph{"a": {captured: new(cuda.Graph)}}}
	for _, k := range []string{"b", "c", "d"} {
		g.note(k)
		require.Len(t, g.byKey, 2)
		require.Contains(t, g.byKey, "a")
		require.Contains(t, g.byKey, k)
	}
	n, why := g.state()
	require.Equal(t, 1, n)
	require.NoError(t, why)
	g.byKey["d"].captured = new(cuda.Graph)
	g.note("e")
	require.NotContains(t, g.byKey, "e")
	g.why = errors.New("no more")
	g.byKey = map[string]*graph{}
	g.note("f")
	require.Empty(t, g.byKey)
}

// The first run of some sizes goes from operator to operator, and what is wrong with inputs is said as on the CPU.
func TestStreamOfOperators(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p, err := Export(func(x torch.Tensor) torch.Tensor { return x.Exp() }, []any{torch.Ones(3)})
		require.NoError(t, err)
		defer p.Close()
		e, err := newEngine(p)
		require.NoError(t, err)
		defer e.h.Close()
		e.graphs = newGraphs(e, torch.CPU, -1)
		defer e.graphs.close()
		for range 3 {
			out, err := e.Run(torch.Zeros(3))
			require.NoError(t, err)
			torchtest.Equal(t, out[0], torch.Ones(3))
		}
		_, err = e.Run(torch.Zeros(4))
		require.ErrorContains(t, err, "dimension 0 is 4, expected 3")
		_, err = e.Run(torch.Tensor{})
		require.ErrorContains(t, err, "expected a tensor")
		_, why := e.graphs.state()
		require.ErrorIs(t, why, errNotWanted)
	})
}
