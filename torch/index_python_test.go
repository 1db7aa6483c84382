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

// same is what Python makes of a piece of code and what Go makes of it: the same tensor, or the
// same error word for word.
type same struct {
	python string // works on x and may leave it changed, or is an expression
	run    func(x torch.Tensor) torch.Tensor
}

func get(indices ...any) func(torch.Tensor) torch.Tensor {
	return func(x torch.Tensor) torch.Tensor { return x.Index(indices...) }
}

func set(value any, indices ...any) func(torch.Tensor) torch.Tensor {
	return func(x torch.Tensor) torch.Tensor {
		x.At(indices...).Set(value)
		return x
	}
}

// pythonKinds are the kinds of errors by the names of Python's.
var pythonKinds = map[string]torch.Kind{
	"IndexError": torch.KindIndex, "ValueError": torch.KindValue, "TypeError": torch.KindType, "RuntimeError": torch.KindGeneric,
}

func checkSame(t *testing.T, made string, make func() torch.Tensor, cases []same) {
	t.Helper()
	for _, c := range cases {
		body := "y = " + c.python
		if strings.Contains(c.python, " = ") {
			body = c.python + "\ny = x"
		}
		want := ask(t, "x = "+made+"\n"+body)
		torch.Scope(func() {
			got, err := torch.Try1(func() torch.Tensor { return c.run(make()) })
			if want.Error == "" {
				require.NoError(t, err, c.python)
				w := want.tensor(t, 0)
				require.Equal(t, w.DType(), got.DType(), c.python)
				require.Equal(t, w.Shape(), got.Shape(), c.python)
				require.Equal(t, w.Bytes(), got.Bytes(), c.python)
				return
			}
			kind, text, _ := strings.Cut(want.Error, ": ")
			text, _, _ = strings.Cut(text, "\n")
			text = strings.ReplaceAll(text, "torch.FloatTensor", "CPUFloatType") // Python renames libtorch's types
			var e *torch.Error
			require.ErrorAs(t, err, &e, "%s: Python says %s", c.python, want.Error)
			assert.Equal(t, text, strings.TrimSpace(strings.SplitN(e.Msg, "\n", 2)[0]), c.python)
			assert.Equal(t, pythonKinds[kind], e.Kind, "%s: %s", c.python, want.Error)
		})
	}
}

func TestIndexAndItsErrorsAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		ints := func(v ...int) torch.Tensor { return torch.FromSlice(v) }
		u8 := torch.FromValue(uint8(1))
		cases := []same{
			{"x[2]", get(2)}, {"x[-3]", get(-3)}, {"x[0, 5]", get(0, 5)}, {"x[0, -4]", get(0, -4)}, {"x[:, 3]", get(all, 3)},
			{"x[..., 4]", get(dots, 4)},
			{"x[None, 0, 7]", get(nil, 0, 7)}, {"x[True, 0, 7]", get(true, 0, 7)}, {"x[[0, 1], 9]", get([]int{0, 1}, 9)},
			{"x[0, None, 3]", get(0, nil, 3)},
			{"x[-2**63]", get(-1 << 63)}, {"x[2**63-1]", get(1<<63 - 1)}, {"x[0, 0, 0, 0]", get(0, 0, 0, 0)},
			{"x[0, ..., 0, 0, 0]", get(0, dots, 0, 0, 0)},
			{"x[..., ...]", get(dots, dots)}, {"x[0, ..., ...]", get(0, dots, dots)}, {"x[[0, 2]]", get([]int{0, 2})},
			{"x[:, [3]]", get(all, []int{3})}, {"x[[-3]]", get([]int{-3})},
			{"x[[0, 1], [0, 1, 2]]", get([]int{0, 1}, []int{0, 1, 2})}, {"x[[True]]", get([]bool{true})},
			{"x[[True, False, True]]", get([]bool{true, false, true})},
			{"x[torch.zeros(2)]", get(torch.Zeros(2))}, {"x[torch.tensor(1.)]", get(torch.FromValue(1.0))},
			{"x[torch.tensor(2)]", get(torch.FromValue(2))},
			{"x[torch.tensor(-3), 0]", get(torch.FromValue(-3), 0)}, {"x[torch.tensor(1, dtype=torch.uint8)]", get(u8)},
			{"x[torch.tensor(0, dtype=torch.uint8)]", get(torch.FromValue(uint8(0)))},
			{"x[torch.tensor([1, 0], dtype=torch.uint8)]", get(torch.FromSlice([]uint8{1, 0}))},
			{"x[torch.tensor([1, 0], dtype=torch.int16)]", get(torch.FromSlice([]int16{1, 0}))},
			{"x[torch.ones(2, 3, 4, 1, dtype=torch.bool)]", get(torch.TensorOptions{DType: torch.Bool}.Ones(2, 3, 4, 1))},
			{"x[torch.ones(3, 2, dtype=torch.bool)]", get(torch.TensorOptions{DType: torch.Bool}.Ones(3, 2))},
			{"x[torch.ones(2, 3, dtype=torch.bool), 4]", get(torch.TensorOptions{DType: torch.Bool}.Ones(2, 3), 4)},
			{"x[torch.ones(2, 3, dtype=torch.bool), 1]", get(torch.TensorOptions{DType: torch.Bool}.Ones(2, 3), 1)},
			{"x[::0]", get(span(0, torch.End, 0))}, {"x[5:2]", get(span(5, 2))}, {"x[-1:-9]", get(span(-1, -9))},
			{"x[1:2:2**62]", get(span(1, 2, 1<<62))}, {"x[-2**63:2**63-1]", get(span(-1<<63, torch.End))},
			{"x[False]", get(false)}, {"x[False, False]", get(false, false)}, {"x[True, False]", get(true, false)},
			{"x[False, [0, 1]]", get(false, []int{0, 1})}, {"x[[], 0]", get([]int{}, 0)},
			{"x[torch.empty(0, dtype=torch.long)]", get(ints())},
			{"x[torch.tensor([[0], [1]]), [[0, 2]]]", get(torch.FromSlice([]int{0, 1}, 2, 1), torch.FromSlice([]int{0, 2}, 1, 2))},
			{"x[()][0]", func(x torch.Tensor) torch.Tensor { return x.Index().Index(0) }},
			{"x[0, 0, 0][0]", func(x torch.Tensor) torch.Tensor { return x.Index(0, 0, 0).Index(0) }},
			{"x[0, 0, 0][1]", func(x torch.Tensor) torch.Tensor { return x.Index(0, 0, 0).Index(1) }},
			{"x[0, 0, 0][...]", func(x torch.Tensor) torch.Tensor { return x.Index(0, 0, 0).Index(dots) }},
			{"x[0, 0, 0][None]", func(x torch.Tensor) torch.Tensor { return x.Index(0, 0, 0).Index(nil) }},
			{"x[0, 0, 0][0:1]", func(x torch.Tensor) torch.Tensor { return x.Index(0, 0, 0).Index(span(1)) }},
			{"x[0, 0, 0][True]", func(x torch.Tensor) torch.Tensor { return x.Index(0, 0, 0).Index(true) }},
		}
		checkSame(t, "torch.arange(24).reshape(2, 3, 4)", func() torch.Tensor { return torch.Arange(24).Reshape(2, 3, 4) }, cases)
	})
}

func TestAssignmentAndItsErrorsAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		doubles := torch.FromSlice([]float64{1, 2, 3})
		u8 := torch.FromValue(uint8(1))
		cases := []same{
			{"x[0] = torch.tensor([1., 2., 3.], dtype=torch.float64)", set(doubles, 0)},
			{"x[:] = torch.tensor([1., 2., 3.], dtype=torch.float64)", set(doubles, all)},
			{"x[...] = torch.tensor(7)", set(torch.FromValue(7), dots)},
			{"x[[0]] = torch.tensor([1., 2., 3.], dtype=torch.float64)", set(doubles, []int{0})},
			{"x[x > 2] = torch.tensor(1.5, dtype=torch.float64)",
				func(x torch.Tensor) torch.Tensor { return set(torch.FromValue(1.5), x.GtScalar(2))(x) }},
			{"x[x > 2] = torch.tensor(1)", func(x torch.Tensor) torch.Tensor { return set(torch.FromValue(1), x.GtScalar(2))(x) }},
			{"x[x > 2] = 9.5", func(x torch.Tensor) torch.Tensor { return set(9.5, x.GtScalar(2))(x) }},
			{"x[[0, 1], [1, 2]] = torch.tensor([1, 2])", set(torch.FromSlice([]int{1, 2}), []int{0, 1}, []int{1, 2})},
			{"x[torch.tensor(1, dtype=torch.uint8)] = 5", set(5, u8)},
			{"x[torch.tensor(0, dtype=torch.uint8)] = 5", set(5, torch.FromValue(uint8(0)))},
			{"x[torch.tensor(1)] = 5", set(5, torch.FromValue(1))}, {"x[torch.tensor(True)] = 5", set(5, torch.FromValue(true))},
			{"x[True] = 5", set(5, true)}, {"x[False] = 5", set(5, false)}, {"x[None] = 5", set(5, nil)}, {"x[True, 0] = 5", set(5, true, 0)},
			{"x[2] = 5", set(5, 2)}, {"x[0, 5] = 5", set(5, 0, 5)}, {"x[[0, 4]] = 5", set(5, []int{0, 4})}, {"x[0, 0, 0] = 5", set(5, 0, 0, 0)},
			{"x[0] = torch.ones(7)", set(torch.Ones(7), 0)}, {"x[0] = torch.ones(2, 3)", set(torch.Ones(2, 3), 0)},
			{"x[[0]] = torch.ones(7)", set(torch.Ones(7), []int{0})},
			{"x[0] = torch.ones(1, 1, 3)", set(torch.Ones(1, 1, 3), 0)},
			{"x[[0]] = torch.ones(1, 1, 1, 3)", set(torch.Ones(1, 1, 1, 3), []int{0})}, {"x[0, 0] = torch.ones(1, 1)", set(torch.Ones(1, 1), 0, 0)},
			{"x[0, 0] = torch.ones(2)", set(torch.Ones(2), 0, 0)}, {"x[0] = 1j", set(1i, 0)},
			{"x[0] = torch.tensor(1j)", set(torch.FromValue(complex64(1i)), 0)},
			{"x[0] = 1e300", set(1e300, 0)}, {"x[:, 1] = float('nan')", set(math.NaN(), all, 1)},
			{"x[:, ::2] = -1", set(-1, all, span(0, torch.End, 2))},
			{"x[[]] = 3", set(3, []int{})}, {"x[0:0] = 3", set(3, span(0, 0))}, {"x[0:0] = torch.ones(2)", set(torch.Ones(2), span(0, 0))},
			{"x[::0] = 1", set(1, span(0, 2, 0))},
			{"x[[True]] = 1", set(1, []bool{true})},
			{"x[torch.tensor([[True, False, True], [False, False, True]])] = torch.tensor([7., 8., 9.])",
				set(torch.FromSlice([]float32{7, 8, 9}), torch.FromSlice([]bool{true, false, true, false, false, true}, 2, 3))},
			{"x[torch.tensor([[True, False, True], [False, False, True]])] = torch.tensor([7., 8.])",
				set(torch.FromSlice([]float32{7, 8}), torch.FromSlice([]bool{true, false, true, false, false, true}, 2, 3))},
		}
		checkSame(t, "torch.arange(6.).reshape(2, 3)",
			func() torch.Tensor { return torch.ArangeStep(0, 6, 1.0).To(torch.Float32).Reshape(2, 3) }, cases)

		bytes := []same{{"x[0] = 300", set(300, 0)}, {"x[0] = -1", set(-1, 0)}, {"x[[0]] = 300", set(300, []int{0})},
			{"x[0] = 2.75", set(2.75, 0)}, {"x[0] = True", set(true, 0)}, {"x[0] = torch.tensor(300)", set(torch.FromValue(300), 0)}}
		checkSame(t, "torch.zeros(3, dtype=torch.uint8)", func() torch.Tensor { return torch.TensorOptions{DType: torch.Uint8}.Zeros(3) }, bytes)
		expanded := []same{{"x[0] = 3", set(3, 0)}, {"x[:] = torch.arange(3.)", set(torch.FromSlice([]float32{0, 1, 2}), all)},
			{"x[[0, 2]] = 4", set(4, []int{0, 2})}}
		checkSame(t, "torch.zeros(1).expand(3)", func() torch.Tensor { return torch.Zeros(1).Expand(3) }, expanded)
		imaginary := []same{{"x[0] = 2", set(2, 0)}, {"x[0] = 1 + 2j", set(1+2i, 0)}, {"x[[1]] = 1 + 2j", set(1+2i, []int{1})},
			{"x[[1]] = torch.tensor(2.)", set(torch.FromValue(float32(2)), []int{1})}}
		checkSame(t, "torch.zeros(3, dtype=torch.complex64).conj()",
			func() torch.Tensor { return torch.TensorOptions{DType: torch.Complex64}.Zeros(3).Conj() }, imaginary)
		require.Greater(t, len(cases)+len(bytes)+len(expanded)+len(imaginary), 50, fmt.Sprint(len(cases)))
	})
}
