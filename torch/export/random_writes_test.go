package export_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

// scribe draws functions that write to memory which several of their values share, and read any of them afterwards. Numbers stay so small
// and round that nothing rounds them.
type scribe struct {
	rand   *rand.Rand
	views  bool // among the values
	values []torch.Tensor
	says   []string
}

// value is any of the values, or of those with the sizes of another one.
func (w *scribe) value(like ...torch.Tensor) (torch.Tensor, int) {
	for {
		i := w.rand.IntN(len(w.values))
		if v := w.values[i]; len(like) == 0 || slices.Equal(v.Shape(), like[0].Shape()) {
			return v, i
		}
	}
}

func (w *scribe) add(v torch.Tensor, format string, args ...any) {
	w.says = append(w.says, fmt.Sprintf("%d = ", len(w.values))+fmt.Sprintf(format, args...))
	w.values = append(w.values, v)
}

// step makes a value: a new one, a view of another, or what another is once something was written to it.
func (w *scribe) step() {
	v, i := w.value()
	u, k := w.value(v)
	rows := v.Size(0)
	switch n := w.rand.IntN(16); {
	case n == 0:
		w.add(v.Add(u), "%d + %d", i, k)
	case n == 1:
		w.add(v.Neg(), "-%d", i)
	case n == 2:
		w.add(v.ReLU(), "relu %d", i)
	case n == 3:
		w.add(v.Sub(u).MulScalar(0.5), "(%d - %d) / 2", i, k)
	case n == 4 && w.views && rows > 1:
		from := w.rand.IntN(rows)
		w.add(v.Narrow(0, from, rows-from), "rows of %d from %d on", i, from)
	case n == 5 && w.views:
		w.add(v.T(), "%d turned", i)
	case n == 6:
		w.add(v.Clone(), "a copy of %d", i)
	case n == 7 && w.views:
		w.add(v.Detach(), "%d itself", i)
	case n == 8:
		w.add(v.FillInPlace(3), "%d filled with 3", i)
	case n == 9:
		w.add(v.ZeroInPlace(), "%d filled with 0", i)
	case n == 10 && i != k:
		w.add(v.CopyInPlace(u.Clone()), "%d, into which %d was copied", i, k)
	case n == 11:
		w.add(v.AddInPlace(u.ReLU()), "%d, to which relu %d was added", i, k)
	case n == 12:
		w.add(v.MulScalarInPlace(-0.5), "%d, times -1/2", i)
	case n == 13:
		w.add(v.ReLUInPlace(), "%d without what is negative", i)
	case n > 13:
		w.add(v.NegInPlace(), "%d with the other sign", i)
	}
}

// written is the function of a seed, which returns some of its values. The input's own memory it leaves as it is.
func (w *scribe) written(seed uint64) func(x torch.Tensor) []torch.Tensor {
	return func(x torch.Tensor) (out []torch.Tensor) {
		*w = scribe{rand: rand.New(rand.NewPCG(seed, 2)), views: seed%2 == 0}
		for w.add(x.Add(x), "x + x"); len(w.values) < 16; {
			w.step()
		}
		for range 3 {
			v, i := w.value()
			out = append(out, v)
			w.says = append(w.says, fmt.Sprint("return ", i))
		}
		return out
	}
}

// renames has a program read what was written to by any of its names: that before, and those that the operators gave it which wrote to
// it. Go and Python take the last one.
func (w *scribe) renames(p *export.Program) {
	names := map[export.TensorArgument]*[]export.TensorArgument{}
	for _, n := range p.Graph.Nodes {
		for i, in := range n.Inputs {
			if name, ok := in.Value.(export.TensorArgument); ok && names[name] != nil {
				all := names[name]
				n.Inputs[i].Value = (*all)[w.rand.IntN(len(*all))]
			}
		}
		out, all := n.Outputs[0].(export.TensorArgument), &[]export.TensorArgument{}
		op, _, _ := strings.Cut(strings.TrimPrefix(n.Target, "torch.ops.aten."), ".")
		if strings.HasSuffix(op, "_") {
			all = names[n.Inputs[0].Value.(export.TensorArgument)]
		}
		*all = append(*all, out)
		names[out] = all
	}
}

// A compiled program computes what its function does, whatever it writes to and in which way it reads that afterwards: by the value that
// was written to, by what the operator returned, by views that were made before and after.
//
//	LIBTORCH_GO_RANDOM_NETWORKS=0:50000 go test -timeout 1h -run TestRandomWrites ./torch/export
func TestRandomWrites(t *testing.T) {
	export.EachSeed(t, 300, func(t *testing.T, seed uint64) {
		w := &scribe{}
		fn := w.written(seed)
		x := torch.Arange(24).View(4, 6).To(torch.Float32).SubScalar(7)
		want := fn(x)
		p, err := export.Export(fn, []any{x})
		require.NoError(t, err)
		defer p.Close()
		w.renames(p)
		for _, o := range []export.CompileOptions{{Exact: true}, {}} {
			c := compiled(t, p, o)
			torch.NoGrad(func() {
				for range 2 {
					got, err := c.Run(x)
					require.NoError(t, err)
					for i, y := range got {
						require.True(t, y.Equal(want[i]), "exact %v, result %d: %v\n%v, not\n%v\n%v", o.Exact, i, w.says, y, want[i], c)
					}
				}
			})
		}
	})
}
