package export_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func strided(of, name string, sizes, strides []int64, offset int64) export.Node {
	return node(name, "torch.ops.aten.as_strided.default", tensor(name), "self", tensor(of), "size", sizes, "stride", strides,
		"storage_offset", offset)
}

func transposed(of, name string, i, k int64) export.Node {
	return node(name, "torch.ops.aten.transpose.int", tensor(name), "self", tensor(of), "dim0", i, "dim1", k)
}

func added(of, name string, n any) export.Node {
	return node(name, "torch.ops.aten.add_.Scalar", tensor(name), "self", tensor(of), "other", n)
}

func cloned(of string) export.Node {
	return node("y", "torch.ops.aten.clone.default", tensor("y"), "self", tensor(of), "memory_format", torch.ContiguousFormat)
}

func ones(like string) export.Node {
	return node("ones", "torch.ops.aten.ones_like.default", tensor("ones"), "self", tensor(like))
}

func far(sizes, strides []int64, offset int64) export.Node {
	return strided("x", "far", sizes, strides, offset)
}

// Operators that a compiled program computes without libtorch's dispatcher do what they do elsewhere: the results and what autograd is told
// of them, the changes that are counted, and the errors.
func TestDirect(t *testing.T) {
	torchtest.NoLeaks(t)
	matrix := strided("x", "matrix", []int64{2, 3}, []int64{3, 1}, 1)
	for name, c := range map[string]struct {
		nodes []export.Node
		fails string
	}{
		"turned": {nodes: []export.Node{matrix, node("t", "torch.ops.aten.t.default", tensor("t"), "self", tensor("matrix")), cloned("t")}},
		"transposed": {nodes: []export.Node{
			matrix, transposed("matrix", "back", -1, 0), transposed("back", "again", 1, 1), cloned("again"),
		}},
		"of three": {nodes: []export.Node{
			strided("x", "block", []int64{2, 2, 2}, []int64{4, 2, 1}, 0), transposed("block", "turned", 0, -1), cloned("turned"),
		}},
		"a row is its own column": {nodes: []export.Node{node("t", "torch.ops.aten.t.default", tensor("t"), "self", tensor("x")), cloned("t")}},
		"a view that is returned": {nodes: []export.Node{matrix, transposed("matrix", "turned", 0, 1)}},
		"changed": {nodes: []export.Node{
			matrix, transposed("matrix", "turned", 0, 1), added("matrix", "more", int64(3)), cloned("turned"),
		}},
		"changed where it lies": {nodes: []export.Node{added("x", "more", 0.1), cloned("x")}},
		"changed by no number":  {nodes: []export.Node{added("x", "more", true), cloned("x")}},
		"of overlapping rows":   {nodes: []export.Node{strided("x", "rows", []int64{3, 4}, []int64{1, 1}, 2), cloned("rows")}},
		"one":                   {nodes: []export.Node{strided("x", "first", nil, nil, 0), ones("first")}},
		"ones":                  {nodes: []export.Node{ones("x")}},

		"no such dimension":   {nodes: []export.Node{matrix, transposed("matrix", "turned", 0, 2)}, fails: "out of range"},
		"behind the memory":   {nodes: []export.Node{far([]int64{2, 3}, []int64{3, 1}, 3), cloned("far")}, fails: "out of bounds"},
		"sizes that overflow": {nodes: []export.Node{far([]int64{1 << 40, 3}, []int64{1 << 40, 1}, 0), cloned("far")}, fails: "overflow"},
		"a negative stride":   {nodes: []export.Node{far([]int64{2, 3}, []int64{-3, 1}, 6), cloned("far")}, fails: "Negative"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plainly(c.nodes...)
			defer p.Close()
			program := compiled(t, p, export.CompileOptions{Exact: true})
			torch.Scope(func() {
				x, own := torch.Arange(8).To(torch.Float32), torch.Arange(8).To(torch.Float32)
				want, failed := p.Call(x)
				got, err := program.Call(own)
				if c.fails != "" {
					require.ErrorContains(t, failed, c.fails)
					require.ErrorContains(t, err, c.fails)
					return
				}
				require.NoError(t, failed)
				require.NoError(t, err)
				requireSame(t, want, got, "result")
				torchtest.Equal(t, own, x)
				require.Equal(t, x.Version(), own.Version(), "changes of the input")
				a, b := want.([]any)[0].(torch.Tensor), got.([]any)[0].(torch.Tensor)
				require.Equal(t, a.Stride(), b.Stride())
				require.Equal(t, a.IsView(), b.IsView())
			})
		})
	}
}
