package torch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestCallByName(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Arange(6).Reshape(2, 3)
	f := torch.FromSlice([]float32{1, -2, 3})
	out := torch.Zeros(3)
	arg := torch.Arg
	cases := []struct {
		name string
		args []any
		want string // the results as they print
	}{
		{"relu", ix(f), "[tensor([1., 0., 3.])]"},
		{"aten::relu", ix(arg("self", f)), "[tensor([1., 0., 3.])]"},
		{"add.Tensor", ix(f, f, arg("alpha", 2)), "[tensor([ 3., -6.,  9.])]"},
		{"add.out", ix(f, f, arg("out", out)), "[tensor([ 2., -4.,  6.])]"},
		{"max.dim", ix(x, 1), "[tensor([2, 5]) tensor([2, 2])]"},
		{"max.dim", ix(arg("keepdim", true), arg("dim", 0), arg("self", x)), "[tensor([[3, 4, 5]]) tensor([[1, 1, 1]])]"},
		{"split.Tensor", ix(f, 2), "[[tensor([ 1., -2.]) tensor([3.])]]"},
		{"cat", ix([]torch.Tensor{f, f}), "[tensor([ 1., -2.,  3.,  1., -2.,  3.])]"},
		{"index.Tensor", ix(x, []any{nil, torch.FromSlice([]int{2, 0})}), "[tensor([[2, 0],\n        [5, 3]])]"},
		{"einsum", ix("ij->ji", []torch.Tensor{x}), "[tensor([[0, 3],\n        [1, 4],\n        [2, 5]])]"},
		{"sum.dim_IntList", ix(x, []int{0}, arg("dtype", torch.Float64)), "[tensor([3., 5., 7.], dtype=torch.float64)]"},
		{"sum.dim_IntList", ix(x, nil), "[tensor(15)]"},
		{"full", ix([]int{2}, 1+2i), "[tensor([1.+2.j, 1.+2.j])]"},
		{"full", ix([]int{2}, true), "[tensor([True, True])]"}, // truth values are numbers, too
		{"fill.Scalar", ix(f, true), "[tensor([1., 1., 1.])]"},
		{"clamp", ix(x, arg("max", true)), "[tensor([[0, 1, 1],\n        [1, 1, 1]])]"},
		{"_foreach_add.ScalarList", ix([]torch.Tensor{f, x}, []any{0.5, true}),
			"[[tensor([ 1.5000, -1.5000,  3.5000]) tensor([[1, 2, 3],\n        [4, 5, 6]])]]"},
		{"upsample_nearest1d.vec", ix(torch.Ones(1, 1, 2), nil, []float64{2}), "[tensor([[[1., 1., 1., 1.]]])]"},
		{"item", ix(torch.FromValue(7)), "[7]"},
		{"item", ix(torch.FromValue(true)), "[true]"},
		{"item", ix(torch.FromValue(0.5)), "[0.5]"},
		{"item", ix(torch.FromValue(1i)), "[(0+1i)]"},
		{"is_floating_point", ix(f), "[true]"},
		{"_foreach_neg_", ix([]torch.Tensor{f.Clone()}), "[]"},
		{"_foreach_add.Scalar", ix([]torch.Tensor{f, x}, 1), "[[tensor([ 2., -1.,  4.]) tensor([[1, 2, 3],\n        [4, 5, 6]])]]"},
		{"scatter.reduce", ix(torch.Zeros(3), 0, torch.FromSlice([]int{1}), torch.Ones(1), arg("reduce", "add")), "[tensor([0., 1., 0.])]"},
		{"to.device", ix(f, torch.CPU, torch.Float64), "[tensor([ 1., -2.,  3.], dtype=torch.float64)]"},
		{"empty.memory_format", ix([]int{0}, arg("dtype", torch.Int32), arg("layout", torch.Strided), arg("device", torch.CPU),
			arg("pin_memory", nil), arg("memory_format", torch.ContiguousFormat)),
			"[tensor([], dtype=torch.int32)]"},
		{"native_layer_norm", ix(f, []int{3}, nil, nil, 1e-5), "[tensor([ 0.1622, -1.2978,  1.1355]) tensor([0.6667]) tensor([0.4867])]"},
	}
	for _, c := range cases {
		results, err := torch.Try1(func() []any { return torch.Call(c.name, c.args...) })
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, fmt.Sprint(results), c.name)
	}
	assert.Equal(t, []float32{2, -4, 6}, torch.Values[float32](out))
}

func TestCallTakesAGenerator(t *testing.T) {
	torchtest.NoLeaks(t)
	g := torch.NewGenerator(torch.CPU).ManualSeed(3)
	x := torch.Call("normal_", torch.Zeros(5), torch.Arg("generator", g))[0].(torch.Tensor)
	torch.ManualSeed(3)
	torchtest.Equal(t, x, torch.Call("normal_", torch.Zeros(5), torch.Arg("generator", (*torch.Generator)(nil)))[0].(torch.Tensor))
}

func TestCallRecordsAndScopes(t *testing.T) {
	torchtest.NoLeaks(t)
	w := leaf(1, 2)
	torch.Scope(func() {
		y := torch.Call("mul.Tensor", w, w)[0].(torch.Tensor)
		y.Sum().Backward()
	})
	assert.Equal(t, []float64{2, 4}, floats(w.Grad()))
}

func TestCallErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(2)
	arg := torch.Arg
	cases := []struct {
		name string
		args []any
		text string
	}{
		{"nonsense", ix(x), "there is no operator aten::nonsense"},
		{"add.nonsense", ix(x), "there is no operator aten::add.nonsense"},
		{"mine::add", ix(x), "there is no operator mine::add"},
		{"", nil, "there is no operator"},
		{"add.Tensor", ix(x, x, arg("beta", 1)), "no argument beta: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)"},
		{"add.Tensor", ix(x), "argument other is missing"},
		{"add.Tensor", ix(x, x, arg("other", x)), "argument other was given twice"},
		{"add.Tensor", ix(arg("self", x), x), `a positional argument follows the named one "self"`},
		{"relu", ix(x, x), "too many arguments: 2 given"},
		{"relu", ix("x"), "Expected a value of type 'Tensor' for argument 'self'"},
		{"relu", ix([]int{1}), "a list was given where Tensor is expected"},
		{"relu", ix(struct{}{}), "a value of type struct {} cannot be passed"},
		{"relu", ix(nil), "Expected a value of type 'Tensor'"},
		{"sum.dim_IntList", ix(x, []any{1, "a"}), ""},
		{"sum.dim_IntList", ix(x, []float64{1.5}), ""},
		{"cat", ix([]any{x, nil}), ""},
		{"cat", ix([]any{x, []any{x}}), ""},
		{"mm", ix(x, x), "self must be a matrix"},
		{"item", ix(x), "2 elements"},
		{"normal_", ix(x, 0, 1, 5), "Generator"},
		{"sum.dim_IntList", ix(x, []bool{true}), "expected int as element 0 of a list"}, // they are numbers where any number will do
		{"narrow", ix(x, 0, true, 1), "argument 'start'"},
	}
	for _, c := range cases {
		err := torch.Try(func() { torch.Call(c.name, c.args...) })
		var e *torch.Error
		require.ErrorAs(t, err, &e, c.name)
		assert.ErrorContains(t, err, c.text, c.name)
	}
}
