package export

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A file may say anything of a convolution or of a window: a program with numbers that none can have compiles as well as others, or not,
// and fails when it runs, as it does without, rather than end the process.
func TestImpossibleNumbers(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		sides := func(n int) (x, w torch.Tensor) {
			size := []int{16, 16, 3, 3, 3}[:2+n]
			return torch.RandN([]int{1, 16, 8, 8, 8}[:2+n]...), torch.RandN(size...)
		}
		none := torch.Tensor{}
		for op, c := range map[string]struct {
			sides int
			fn    func(x, w torch.Tensor) torch.Tensor
		}{
			"conv1d":           {1, func(x, w torch.Tensor) torch.Tensor { return F.Conv1d(x, w, none) }},
			"conv2d":           {2, func(x, w torch.Tensor) torch.Tensor { return F.Conv2d(x, w, none) }},
			"conv3d":           {3, func(x, w torch.Tensor) torch.Tensor { return F.Conv3d(x, w, none) }},
			"conv_transpose1d": {1, func(x, w torch.Tensor) torch.Tensor { return F.ConvTranspose1d(x, w, none) }},
			"conv_transpose2d": {2, func(x, w torch.Tensor) torch.Tensor { return F.ConvTranspose2d(x, w, none) }},
			"max_pool2d":       {2, func(x, w torch.Tensor) torch.Tensor { return F.MaxPool2d(x, 3) }},
		} {
			x, w := sides(c.sides)
			fn := func(x torch.Tensor) torch.Tensor { return c.fn(x, w) }
			for _, name := range []string{"kernel_size", "stride", "padding", "output_padding", "dilation", "groups"} {
				for _, value := range []int64{0, -1, 9, math.MaxInt32, 1 << 40, 1 << 62} {
					t.Run(fmt.Sprint(op, " ", name, " ", value), func(t *testing.T) { runsAlike(t, fn, x, name, value) })
				}
			}
		}
	})
}

// runsAlike compiles a function of one operator with another number for one of its arguments.
func runsAlike(t *testing.T, fn func(torch.Tensor) torch.Tensor, x torch.Tensor, name string, value int64) {
	p, err := Export(fn, []any{x})
	require.NoError(t, err)
	defer p.Close()
	n := &p.Graph.Nodes[0]
	schema, _ := newRewriter(p, CompileOptions{}).schema(n)
	for _, a := range schema.Arguments {
		if a.Name == name {
			var to Argument = []int64{value}
			if name == "groups" {
				to = value
			}
			n.Inputs = set(n.Inputs, name, to)
		}
	}
	_, wrong := p.Run(x)
	c, err := Compile(p)
	if err == nil {
		defer c.Close()
		_, err = c.Run(x)
	}
	require.Equal(t, wrong == nil, err == nil, "%v, not %v", err, wrong)
}

// A program that any pass would make faster, with another number for any that it says, compiles or not, and runs or fails: nothing ends the
// process, takes forever or is left over.
func TestSpoiltPrograms(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range passCases {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() {
				p, x := c.export(t)
				defer p.Close()
				nodes := p.Graph.Nodes
				for i := range nodes {
					for k, in := range nodes[i].Inputs {
						for _, to := range spoilt(in.Value) {
							p.Graph.Nodes = slices.Clone(nodes)
							p.Graph.Nodes[i].Inputs = slices.Clone(nodes[i].Inputs)
							p.Graph.Nodes[i].Inputs[k].Value = to
							torch.Scope(func() { tryProgram(p, x) })
						}
					}
				}
			})
		})
	}
}

// tryProgram compiles a program and runs it, if it can be.
func tryProgram(p *Program, inputs ...any) {
	c, err := Compile(p)
	if err != nil {
		return
	}
	defer c.Close()
	torch.NoGrad(func() { _, _ = c.Run(inputs...) })
}

// spoilt are other numbers in the place of an argument's: one for all, one more, and each by itself.
func spoilt(a Argument) (others []Argument) {
	whole := []int64{0, -1, 7, -7, 1 << 40, 1 << 62, -1 << 62}
	switch a := a.(type) {
	case int64:
		for _, n := range whole {
			others = append(others, n)
		}
	case []int64:
		others = append(others, []int64{}, append(slices.Clone(a), 1))
		for _, n := range whole {
			others = append(others, []int64{n})
			for i := range a {
				own := slices.Clone(a)
				own[i] = n
				others = append(others, own)
			}
		}
	case float64:
		others = []Argument{0.0, -1.0, math.MaxFloat64, math.NaN()}
	case bool:
		others = []Argument{!a}
	}
	return others
}
