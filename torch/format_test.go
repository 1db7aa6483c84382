package torch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Python expressions whose value both sides print.
func printed() []string {
	var list []string
	add := func(format string, values ...any) { list = append(list, fmt.Sprintf(format, values...)) }
	floats := []string{
		"0.", "-0.", "1.", "0.5", "-3.25", "1e-5", "1e8", "100000001.", "123456.789", "float('nan')", "float('inf')", "-float('inf')",
	}
	for _, v := range floats {
		add("torch.tensor(%s)", v)
		add("torch.tensor(%s, dtype=torch.float64)", v)
		add("torch.tensor([%s, 1., 2.5])", v)
		add("torch.tensor([%s, 3., 0.])", v)
	}
	for _, d := range []string{"float16", "bfloat16", "float64", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"} {
		add("torch.tensor([[0.1, -2.5, 3.], [4., 50., 6.125]]).to(torch.%s)", d)
		add("torch.tensor([1., 2., 3.]).to(torch.%s)", d)
		add("torch.arange(2000).remainder(7).div(8).to(torch.%s)", d)
	}
	for _, d := range []string{"uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool"} {
		add("torch.tensor([[1, 0, 100], [3, 44, 5]]).to(torch.%s)", d)
		add("torch.tensor(7).to(torch.%s)", d)
		add("torch.zeros(0, 3, dtype=torch.%s)", d)
		add("torch.arange(1500).to(torch.%s).reshape(30, 50)", d)
	}
	add("torch.tensor([-9223372036854775808, 9223372036854775807])")
	add("torch.tensor([18446744073709551615, 0], dtype=torch.uint64)")
	for _, d := range []string{"complex32", "complex64", "complex128"} {
		add("torch.tensor([1+2j, -0.5-3j, 1e3+0j]).to(torch.%s)", d)
		add("torch.tensor(-1.5-0.25j).to(torch.%s)", d)
		add("torch.tensor([[complex('nan'), complex('inf'), complex('-inf')], [1j, -1j, complex(0, float('nan'))]]).to(torch.%s)", d)
		add("torch.arange(12).to(torch.%s).mul(1.25-2j).reshape(3, 4)", d)
	}
	add("torch.arange(40).to(torch.complex64).mul(1e5+1e-3j)")
	add("torch.arange(3000).to(torch.complex64).mul(1-2j).reshape(3, 1000)")
	add("torch.tensor([1+2j, 3-4j]).conj()")
	add("torch.tensor([1+2j, 3-4j]).conj().imag")
	for _, shape := range []string{"0", "0, 3", "3, 0", "2, 0, 4", "1", "1, 1", "1, 1, 1, 1", "2, 1, 3", "3, 1", "1, 3", "2, 2, 2, 2",
		"25", "80", "3, 30", "1000", "1001", "7, 143", "6, 167", "11, 11, 11", "2, 3, 4, 50", "1, 2000", "2000, 1", "6, 7, 8, 9", "7, 1, 200"} {
		n := "torch.zeros(" + shape + ").numel()"
		add("torch.arange(%s).reshape(%s)", n, shape)
		add("torch.arange(%s).reshape(%s).div(7)", n, shape)
		add("torch.arange(%s).reshape(%s).sub(30).mul(1e5)", n, shape)
	}
	for _, v := range []string{
		"[0.001, 1.]", "[0.00099, 1.]", "[1e-4, 1e-2]", "[9.9e-5]", "[1e8]", "[1.00001e8]", "[0., 0.]", "[float('nan'), 0.]",
		"[float('inf'), -float('inf')]",
		"[float('nan'), 1e10, 1.]", "[1e-40]", "[3.4e38, 1.]", "[1.5, float('nan'), -float('inf')]", "[99999., 100000.]", "[-1000., 1.]",
		"[0.99999, 0.5]", "[1e300]",
	} {
		add("torch.tensor(%s)", v)
		add("torch.tensor(%s, dtype=torch.float64).repeat(3, 4)", v)
	}
	add("torch.arange(24.).reshape(2, 3, 4).transpose(0, 2)")
	add("torch.arange(24.).reshape(2, 3, 4)[:, ::2, 1:]")
	add("torch.arange(5000.)[::3]")
	return list
}

func TestTensorsPrintAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	list := printed()
	require.GreaterOrEqual(t, len(list), 150)
	for _, expression := range list {
		a := ask(t, "y = "+expression)
		assert.Equal(t, a.Text, a.tensor(t, 0).String(), expression)
	}
}

func TestPrintOptionsAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	options := map[string]torch.PrintOptions{
		"precision=2":                    {Precision: new(2)},
		"precision=0":                    {Precision: new(0)},
		"precision=8, linewidth=100":     {Precision: new(8), LineWidth: 100},
		"threshold=5":                    {Threshold: 5},
		"threshold=20, edgeitems=1":      {Threshold: 20, EdgeItems: new(1)},
		"threshold=20, edgeitems=0":      {Threshold: 20, EdgeItems: new(0)},
		"profile='full'":                 {Threshold: math.MaxInt},
		"profile='short'":                {Precision: new(2), EdgeItems: new(2)},
		"linewidth=20":                   {LineWidth: 20},
		"linewidth=1":                    {LineWidth: 1},
		"sci_mode=True":                  {SciMode: new(true)},
		"sci_mode=False":                 {SciMode: new(false)},
		"sci_mode=True, precision=1":     {SciMode: new(true), Precision: new(1)},
		"threshold=1, edgeitems=2":       {Threshold: 1, EdgeItems: new(2)},
		"sci_mode=False, linewidth=1000": {SciMode: new(false), LineWidth: 1000},
	}
	tensors := []string{
		"torch.arange(60.).reshape(3, 4, 5).div(7)", "torch.arange(30)", "torch.tensor([1e-6, 1e6])", "torch.arange(1200.).reshape(40, 30)",
		"torch.tensor(3.14159)", "torch.arange(9).to(torch.complex64).mul(1.5+1j)", "torch.tensor([True, False])",
		"torch.tensor([0., float('nan')])", "torch.zeros(3, 0)",
	}
	for python, o := range options {
		for _, expression := range tensors {
			a := ask(t, "with torch._tensor_str.printoptions("+python+"):\n\ty = "+expression+"\n\ttext = str(y)")
			assert.Equal(t, a.Text, o.Sprint(a.tensor(t, 0)), "%s of %s", python, expression)
		}
	}
}

// What the elements alone do not show: autograd, devices, layouts.
func TestNotesPrintAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	leaf := func(shape ...int) torch.Tensor { return torch.Ones(shape...).SetRequiresGrad(true) }
	eye := func() torch.Tensor { return torch.Eye(3).MulScalar(0.5) }
	cases := []struct {
		python string
		make   func() torch.Tensor
	}{
		{"torch.ones(2, requires_grad=True)", func() torch.Tensor { return leaf(2) }},
		{"torch.ops.aten.add.Scalar(torch.ones(2, 3, requires_grad=True), 1)", func() torch.Tensor { return leaf(2, 3).AddScalar(1) }},
		{"torch.ones(2, 2, requires_grad=True).mm(torch.ones(2, 2))", func() torch.Tensor { return leaf(2, 2).MM(torch.Ones(2, 2)) }},
		{"torch.ones(2, 2, requires_grad=True).sum()", func() torch.Tensor { return leaf(2, 2).Sum() }},
		{"torch.ones(0, 2, requires_grad=True).double().exp()", func() torch.Tensor { return leaf(0, 2).To(torch.Float64).Exp() }},
		{"torch.ones(9, requires_grad=True).div(7).double()", func() torch.Tensor { return leaf(9).DivScalar(7).To(torch.Float64) }},
		{"torch.ones(2, 2, requires_grad=True).clone().t().add_(1)", func() torch.Tensor { return leaf(2, 2).Clone().T().AddScalarInPlace(1) }},
		{"torch.ones(2, 3, device='meta')", func() torch.Tensor { return torch.TensorOptions{Device: torch.Meta}.Ones(2, 3) }},
		{"torch.ones(2, 3, device='meta', dtype=torch.int64)", func() torch.Tensor {
			return torch.TensorOptions{Device: torch.Meta, DType: torch.Int64}.Ones(2, 3)
		}},
		{"torch.eye(3).mul(0.5).to_sparse()", func() torch.Tensor { return eye().ToSparse() }},
		{"torch.zeros(3).to_sparse()", func() torch.Tensor { return torch.Zeros(3).ToSparse() }},
		{"torch.eye(3).mul(0.5).half().to_sparse_csr()", func() torch.Tensor { return eye().To(torch.Float16).ToSparseCSR() }},
		{"torch.eye(3).mul(0.5).to_sparse_csc()", func() torch.Tensor { return eye().ToSparseCSC() }},
		{"torch.eye(4).to_sparse_bsr((2, 2))", func() torch.Tensor { return torch.Eye(4).ToSparseBSR([]int{2, 2}) }},
		{"torch.eye(4).to_sparse_bsc((2, 2))", func() torch.Tensor { return torch.Eye(4).ToSparseBSC([]int{2, 2}) }},
		{"torch.eye(3).mul(0.5).to_mkldnn()", func() torch.Tensor { return torch.Call("to_mkldnn", eye())[0].(torch.Tensor) }},
		{"torch.eye(3).requires_grad_().to_sparse()", func() torch.Tensor { return torch.Eye(3).SetRequiresGrad(true).ToSparse() }},
	}
	for _, c := range cases {
		a := ask(t, "y = str("+c.python+")")
		require.Empty(t, a.Error, c.python)
		torch.Scope(func() { assert.Equal(t, a.Text, c.make().String(), c.python) })
	}
}

func TestFmtVerbs(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.FromSlice([]float64{0.5, 1.25, 100}).To(torch.Float32)
	long := torch.Arange(1001)
	cases := []struct {
		format string
		value  torch.Tensor
		want   string
	}{
		{"%v", x, "tensor([  0.5000,   1.2500, 100.0000])"},
		{"%s", x, "tensor([  0.5000,   1.2500, 100.0000])"},
		{"%.1v", x, "tensor([  0.5,   1.2, 100.0])"},
		{"%.2e", x, "tensor([5.00e-01, 1.25e+00, 1.00e+02])"},
		{"%.0f", torch.FromSlice([]float32{1e-9, 2.5}), "tensor([0, 2])"},
		{"%v", long, "tensor([   0,    1,    2,  ...,  998,  999, 1000])"},
		{"%.2f", x, "tensor([  0.50,   1.25, 100.00])"},
		{"%F", torch.FromSlice([]float32{1e-9, 2.5}), "tensor([0.0000, 2.5000])"},
		{"%8.3e", x, "tensor([5.000e-01, 1.250e+00, 1.000e+02])"},
		{"%12.3E", x, "tensor([   5.000E-01,    1.250E+00,    1.000E+02])"},
		{"%.3g", x, "tensor([ 0.5, 1.25,  100])"},
		{"%g", torch.FromSlice([]float64{1e-9, 2.5}), "tensor([1e-09,   2.5], dtype=torch.float64)"},
		{"%6.1f", torch.FromSlice([]float64{1.25, 2.5}, 2, 1), "tensor([[   1.2],\n        [   2.5]], dtype=torch.float64)"},
		{"%4v", torch.FromSlice([]int{1, 2}), "tensor([   1,    2])"},
		{"%d", torch.FromSlice([]int{1, 2}), "tensor([1, 2])"},
		{"%.2f", torch.FromSlice([]int{1, 2}), "tensor([1, 2])"},
		{"%6v", torch.FromSlice([]bool{true, false}), "tensor([  True,  False])"},
		{"%d", x, "%!d(torch.Tensor=tensor([  0.5000,   1.2500, 100.0000]))"},
		{"%q", torch.FromSlice([]int{1}), "%!q(torch.Tensor=tensor([1]))"},
		{"%t", torch.Tensor{}, "%!t(torch.Tensor=<undefined tensor>)"},
		{"%.2f", torch.Tensor{}, "<undefined tensor>"},
		{"%v", torch.Tensor{}, "<undefined tensor>"},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, fmt.Sprintf(c.format, c.value))
	}
	assert.Equal(t, 1001, strings.Count(fmt.Sprintf("%+v", long), ",")+1)
	assert.Equal(t, "tensor([  0.5000,   1.2500, 100.0000])\n", fmt.Sprintln(x))

	torch.SetPrintOptions(torch.PrintOptions{Precision: new(1)})
	assert.Equal(t, "tensor([  0.5,   1.2, 100.0])", x.String())
	assert.Equal(t, "tensor([  0.500,   1.250, 100.000])", fmt.Sprintf("%.3v", x))
	torch.SetPrintOptions(torch.PrintOptions{})

	x.Close()
	assert.Equal(t, "<closed tensor>", fmt.Sprintf("%.2f", x))
	assert.Equal(t, "<closed tensor>", x.String())
	assert.Equal(t, "[<closed tensor> <undefined tensor>]", fmt.Sprint([]torch.Tensor{x, {}}))
}

// A number is formatted as Python formats a tensor without dimensions: f"{loss:.2f}".
func TestNumbersFormatAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, value := range []string{"0.5", "123456.789", "1e-7", "-2.", "float('inf')", "3", "-12", "True", "1.5-2j", "torch.pi"} {
		for _, verb := range []string{".2f", "8.3e", "g", ".3g", "f", "e", "E", "G", "12.4F", "+.1f", "010.2f"} {
			a := ask(t, "y = torch.tensor("+value+")\ntext = format(y, '"+verb+"')")
			if a.Error != "" {
				continue // Python has no such format of complex numbers
			}
			assert.Equal(t, a.Text, fmt.Sprintf("%"+verb, a.tensor(t, 0)), "%s of %s", verb, value)
		}
	}
	assert.Equal(t, "12 0xc true", fmt.Sprintf("%d %#x %t", torch.FromValue(12), torch.FromValue(12), torch.FromValue(true)))
	assert.Equal(t, "tensor(1.5000)", fmt.Sprint(torch.FromValue(float32(1.5))))
	assert.Equal(t, "...", fmt.Sprintf("%.2f", torch.TensorOptions{Device: torch.Meta}.Ones())[7:10])
}
