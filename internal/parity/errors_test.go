package parity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// TestErrors gives operators the wrong inputs of the database: the error has to be of
// Python's kind, and where it is libtorch's own, of the same words.
func TestErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	quiet(t)
	var total, same, accepted, absent int
	for e, c := range Record(t, Options{Mode: "errors", Names: *names}) {
		total += e.Samples
		for i := range c.cases {
			torch.Scope(func() {
				difference, err := c.run(&c.cases[i])
				if err != nil {
					difference = err.Error()
				}
				if difference != "" {
					t.Errorf("%s: %s: %s", e.Name, c.cases[i].Op, difference)
					return
				}
				same++
			})
		}
		for i := range e.Python {
			f := &e.Python[i]
			switch {
			case f.Type == "none":
				accepted++ // wrong only for PyTorch's reference implementation
				continue
			case strings.HasPrefix(e.Name, "jiterator"):
				absent++ // compiles CUDA kernels from within Python; not a part of libtorch
				continue
			}
			torch.Scope(func() {
				if difference := c.refused(e.Op, f); difference != "" {
					t.Errorf("%s: %s", e.Name, difference)
					return
				}
				same++
			})
		}
	}
	t.Logf("%d wrong inputs: %d give Python's error, %d are none to Python either, %d belong to Python alone", total, same, accepted, absent)
	if *names == "" {
		require.Equal(t, 677, total, "inputs of the database")
	}
	require.Equal(t, total, same+accepted+absent)
}
