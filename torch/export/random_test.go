package export

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/fuzz/networks"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// randomVariable has the tests of random networks take other networks than the first few: "500:2000", or one, "731".
const randomVariable = "LIBTORCH_GO_RANDOM_NETWORKS"

// randomWay is a way in which a network is compiled.
type randomWay struct {
	name    string
	options func(p *Program, inputs [][]any) (CompileOptions, error)
	eager   torch.DType // results may be as far off as layer by layer in this dtype; none: not at all
	times   float64     // that many times
	apart   float64     // and that much, relative to the largest
}

func always(o CompileOptions) func(*Program, [][]any) (CompileOptions, error) {
	return func(*Program, [][]any) (CompileOptions, error) { return o, nil }
}

var randomWays = []randomWay{
	{"exact", always(CompileOptions{Exact: true}), torch.DType{}, 0, 0},
	{"float32", always(CompileOptions{Inference: true}), torch.Float32, 100, 3e-5},
	{"bfloat16", always(CompileOptions{DType: torch.BFloat16}), torch.BFloat16, 6, 0.06},
	{"eight bits", func(p *Program, inputs [][]any) (o CompileOptions, err error) {
		o.Int8, err = Calibrate(p, slices.Values(inputs))
		return o, err
	}, torch.BFloat16, 20, 0.15},
	{"weights of bfloat16", always(CompileOptions{Weights: torch.BFloat16}), torch.BFloat16, 6, 0.06},
	{"weights of eight bits", always(CompileOptions{Weights: torch.Int8}), torch.BFloat16, 20, 0.15},
}

// Networks that nobody has thought of, of layers of any sizes, compute compiled what they compute layer by layer, as near as each way of
// compiling them is, for inputs that lie in any way, and the same each time:
//
//	LIBTORCH_GO_RANDOM_NETWORKS=0:5000 go test -timeout 1h -run TestRandomNetworks ./torch/export
func TestRandomNetworks(t *testing.T) {
	EachSeed(t, 60, func(t *testing.T, seed uint64) {
		n := networks.Draw(seed)
		for _, way := range randomWays {
			way.test(t, n)
		}
	})
}

// EachSeed tests the first seeds, or those that the variable names.
func EachSeed(t *testing.T, few uint64, test func(t *testing.T, seed uint64)) {
	first, last := uint64(0), few
	if v := os.Getenv(randomVariable); v != "" {
		from, to, several := strings.Cut(v, ":")
		var err error
		first, err = strconv.ParseUint(from, 10, 64)
		require.NoError(t, err)
		if last = first + 1; several {
			last, err = strconv.ParseUint(to, 10, 64)
			require.NoError(t, err)
		}
	}
	for seed := first; seed < last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			torchtest.NoLeaks(t)
			torch.Scope(func() { test(t, seed) })
		})
	}
}

// test compiles a network in this way. Where that fails, the error is of the first of its values that fails by itself.
func (way randomWay) test(t *testing.T, n *networks.Network) {
	results := n.Results
	err := way.check(n, results)
	for k := 1; err != nil && k < n.Results[0]; k++ {
		if first := way.check(n, []int{k}); first != nil {
			err, results = first, []int{k}
			break
		}
	}
	if err != nil {
		t.Errorf("%s: %v%s", way.name, err, n.Describe(results...))
	}
}

// check compiles what of a network some results need, and compares what is computed.
func (way randomWay) check(n *networks.Network, results []int) (err error) {
	torch.Scope(func() {
		fn, x := n.Forward(results...), n.Input()
		var p *Program
		if p, err = ExportRandom(n, results...); err != nil {
			return
		}
		defer p.Close()
		var e *engine
		var text string
		inputs := randomInputs(fn, x, p)
		if e, text, err = way.engine(p, inputs); err != nil {
			return
		}
		defer e.h.Close()
		for k, w := range p.Constants {
			if w.DType() == torch.Float32 {
				p.Constants[k] = w.To(torch.BFloat16).To(torch.Float32)
			}
		}
		for i, in := range inputs {
			if err = way.compare(e, fn, p, in[0].(torch.Tensor)); err != nil {
				err = fmt.Errorf("input %d, %w; compiled:\n%s", i, err, text)
				return
			}
		}
	})
	return err
}

// ExportRandom captures what of a network some results need, for images of any size where it takes them.
func ExportRandom(n *networks.Network, results ...int) (p *Program, err error) {
	dims := map[int]Dim{}
	if n.Free {
		dims[0] = Dim{Name: "batch", Max: 64}
	}
	export := func() (*Program, error) {
		return Export(n.Forward(results...), []any{n.Input()}, ExportOptions{DynamicShapes: map[string]map[int]Dim{"x": dims}})
	}
	if n.Sides {
		dims[2], dims[3] = Dim{Name: "height"}, Dim{Name: "width"}
		if p, err = export(); err == nil {
			return p, nil
		}
		delete(dims, 2)
		delete(dims, 3)
	}
	return export()
}

// engine is a program, compiled in this way on any processor, and its graph.
func (way randomWay) engine(p *Program, inputs [][]any) (e *engine, text string, err error) {
	options, err := way.options(p, inputs)
	if err != nil {
		return nil, "", err
	}
	r, err := rewritten(context.Background(), p, options)
	if err != nil {
		return nil, "", err
	}
	defer r.close()
	torch.Unsafe(func() { e, err = newEngine(r.p) })
	return e, brief(&r.p.Graph), err
}

// randomInputs are what a network is called with: what it was drawn with, in several layouts, and with other sizes where they are free,
// unless it takes none such, as a group norm of one number of one image.
func randomInputs(fn func(torch.Tensor) []torch.Tensor, x torch.Tensor, p *Program) (inputs [][]any) {
	last := x.Dim() - 1
	all := []torch.Tensor{
		x, x.Transpose(1, last).Contiguous().Transpose(1, last), torch.Cat([]torch.Tensor{x.Neg(), x}, 1).Narrow(1, x.Size(1), x.Size(1)),
	}
	for d, size := range p.Graph.Tensors["x"].Sizes {
		if _, fixed := size.Value(); fixed {
			continue
		}
		all = append(all, torch.Cat([]torch.Tensor{x, x.Flip(d), x.MulScalar(0.5)}, d), x.Narrow(d, 0, 1))
		if n := x.Size(d); d > 0 && n > 2 {
			all = append(all, x.Narrow(d, 0, n-1))
		}
	}
	for _, x := range all {
		if torch.Try(func() { fn(x) }) == nil {
			inputs = append(inputs, []any{x})
		}
	}
	return inputs
}

// compare runs a network twice and compares the results with those in double precision. They may be as far off as layer by layer, or as the
// network is whose weights alone were rounded.
func (way randomWay) compare(e *engine, fn func(torch.Tensor) []torch.Tensor, rounded *Program, x torch.Tensor) (err error) {
	torch.NoGrad(func() {
		var got, again []torch.Tensor
		if got, err = e.Run(x); err == nil {
			again, err = e.Run(x)
		}
		if err != nil {
			return
		}
		want := fn(x)
		var wide, eager, coarse []torch.Tensor
		if !way.eager.IsZero() {
			wide, eager, coarse = fn(x.To(torch.Float64)), fn(x.To(way.eager)), want
		}
		if way.eager == torch.BFloat16 {
			if coarse, err = rounded.Run(x); err != nil {
				return
			}
		}
		for i, y := range got {
			switch {
			case !slices.Equal(y.Shape(), want[i].Shape()):
				err = fmt.Errorf("result %d of %v, not %v", i, y.Shape(), want[i].Shape())
			case !y.Equal(again[i]):
				err = fmt.Errorf("another result %d the second time", i)
			case way.eager.IsZero() && !y.Equal(want[i]):
				err = fmt.Errorf("other bits of result %d", i)
			case !way.eager.IsZero():
				err = way.near(y, wide[i], eager[i], coarse[i])
			}
			if err != nil {
				return
			}
		}
	})
	return err
}

// near tells how far a result is from the right one, if that is farther than this way allows.
func (way randomWay) near(got, want torch.Tensor, others ...torch.Tensor) error {
	const least = 0.1 // that counts as the largest
	far := func(y torch.Tensor) float64 { return y.To(torch.Float64).Sub(want).Abs().Max().Float64() }
	off, allowed, most := far(got), 0.0, want.Abs().Max().Float64()
	for _, y := range others {
		allowed = max(allowed, far(y))
	}
	if !(off <= way.times*allowed+way.apart*max(most, least)) {
		return fmt.Errorf("%.3g off, layer by layer %.3g, the largest is %.3g", off, allowed, most)
	}
	return nil
}
