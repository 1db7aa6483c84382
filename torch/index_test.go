package torch_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

const indexed = "x = torch.arange(120).reshape(2, 3, 4, 5)\n"

// ix is an index.
func ix(indices ...any) []any { return indices }

var (
	all  = torch.All
	dots = torch.Ellipsis
	span = torch.Slice
)

// indexCases are indices of an int64 tensor of shape [2, 3, 4, 5], in Python and in Go.
func indexCases() map[string][]any {
	ints := func(shape []int, v ...int) torch.Tensor { return torch.FromSlice(v, shape...) }
	mask := torch.Arange(6).RemainderScalar(2).EqScalar(0).Reshape(2, 3)
	last := torch.FromSlice([]bool{true, false, false, true, true})
	return map[string][]any{
		"()": ix(), "0": ix(0), "-1": ix(-1), "1, 2": ix(1, 2), "1, -3, 3": ix(1, -3, 3), "1, 2, 3, 4": ix(1, 2, 3, 4),
		":": ix(all), ":, 1": ix(all, 1), "..., 1": ix(dots, 1), "0, ...": ix(0, dots), "...": ix(dots), "0, ..., 1": ix(0, dots, 1),
		"0, 1, ..., 2, 3": ix(0, 1, dots, 2, 3),
		":1":              ix(span(1)), "1:": ix(span(1, torch.End)), "..., 1:3": ix(dots, span(1, 3)),
		"..., ::2": ix(dots, span(0, torch.End, 2)), "..., 1::3": ix(dots, span(1, torch.End, 3)),
		":, :-1": ix(all, span(-1)), "..., -2:": ix(dots, span(-2, torch.End)), "..., -100:100": ix(dots, span(-100, 100)),
		"..., 3:1": ix(dots, span(3, 1)), "..., 4:4": ix(dots, span(4, 4)),
		"..., -3:-1": ix(dots, span(-3, -1)), "0:2:2, 1:3, 2, ::4": ix(span(0, 2, 2), span(1, 3), 2, span(0, torch.End, 4)),
		"None": ix(nil), "..., None": ix(dots, nil), "None, 0, None": ix(nil, 0, nil), "0, None, 1:": ix(0, nil, span(1, torch.End)),
		":, None, ..., None": ix(all, nil, dots, nil),
		"True":               ix(true), "False": ix(false), "True, 0": ix(true, 0), "0, True": ix(0, true), "..., True": ix(dots, true),
		"[0, 1], True": ix([]int{0, 1}, true),
		"[0]":          ix([]int{0}), "[1, 0, 1]": ix([]int{1, 0, 1}), ":, [2, 0]": ix(all, []int{2, 0}),
		"..., [4, -5, 0]": ix(dots, []int{4, -5, 0}), "[True, False]": ix([]bool{true, false}), "[]": ix([]int{}),
		"[0, 1], [2, 1]": ix([]int{0, 1}, []int{2, 1}), "[0, 1], :, [2, 1]": ix([]int{0, 1}, all, []int{2, 1}),
		":, [0, 1], [2, 1]":    ix(all, []int{0, 1}, []int{2, 1}),
		":, [0, 1], :, [2, 1]": ix(all, []int{0, 1}, all, []int{2, 1}), "0, [0, 1], :, [2, 1]": ix(0, []int{0, 1}, all, []int{2, 1}),
		"[0, 1], 0, [2, 1]":    ix([]int{0, 1}, 0, []int{2, 1}),
		":, 0, [2, 1], [0, 4]": ix(all, 0, []int{2, 1}, []int{0, 4}), "[0, 1], None, [2, 1]": ix([]int{0, 1}, nil, []int{2, 1}),
		"None, [0, 1]":       ix(nil, []int{0, 1}),
		"[0, 1], 1:, [2, 1]": ix([]int{0, 1}, span(1, torch.End), []int{2, 1}), "[0, 1], ..., [2, 1]": ix([]int{0, 1}, dots, []int{2, 1}),
		"..., [2, 1], 1":  ix(dots, []int{2, 1}, 1),
		"torch.tensor(1)": ix(torch.FromValue(1)), "torch.tensor(1), :, [2, 1]": ix(torch.FromValue(1), all, []int{2, 1}),
		"torch.tensor(True)":                                ix(torch.FromValue(true)),
		"torch.tensor([[0, 1], [1, 1]])":                    ix(ints([]int{2, 2}, 0, 1, 1, 1)),
		":, torch.tensor([[0], [2]]), torch.tensor([1, 3])": ix(all, ints([]int{2, 1}, 0, 2), ints([]int{2}, 1, 3)),
		"torch.tensor([0, 1], dtype=torch.int32)":           ix(ints([]int{2}, 0, 1).To(torch.Int32)),
		"x > 50": ix(torch.Arange(120).Reshape(2, 3, 4, 5).GtScalar(50)),
		"(torch.arange(6) % 2 == 0).reshape(2, 3)": ix(mask), "(torch.arange(6) % 2 == 0).reshape(2, 3), 1": ix(mask, 1),
		"(torch.arange(6) % 2 == 0).reshape(2, 3), :, 1:":        ix(mask, all, span(1, torch.End)),
		"(torch.arange(6) % 2 == 0).reshape(2, 3), [0, 1, 2]":    ix(mask, []int{0, 1, 2}),
		"None, (torch.arange(6) % 2 == 0).reshape(2, 3)":         ix(nil, mask),
		"..., torch.tensor([True, False, False, True, True])":    ix(dots, last),
		"0, ..., torch.tensor([True, False, False, True, True])": ix(0, dots, last), "1, 2, torch.tensor([3, 0])": ix(1, 2, ints([]int{2}, 3, 0)),
		"..., 1, ...": ix(dots, 1, dots), "1, ..., ...": ix(1, dots, dots), "..., 1, ..., 0, 0, 0": ix(dots, 1, dots, 0, 0, 0),
	}
}

func TestIndexAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Arange(120).Reshape(2, 3, 4, 5)
	cases := indexCases()
	require.GreaterOrEqual(t, len(cases), 60)
	for python, indices := range cases {
		want := ask(t, indexed+"y = x["+python+"]").tensor(t, 0)
		got, err := torch.Try1(func() torch.Tensor { return x.Index(indices...) })
		require.NoError(t, err, python)
		require.Equal(t, want.Shape(), got.Shape(), python)
		require.Equal(t, torch.Values[int](want), torch.Values[int](got), python)
		require.False(t, got.Is(x), python)
	}
	assert.False(t, x.Closed())
}

// A number of any integer type is an index, as a label read from elsewhere is; those of
// package torch that merely are such a type underneath are not.
func TestIndexByAnyInteger(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Arange(6).Reshape(2, 3)
		for _, one := range []any{int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1)} {
			torchtest.Equal(t, x.Index(1), x.Index(one))
			torchtest.Equal(t, x.Index(1, []int{0, 1}), x.Index(one, []int{0, 1}))
			y := x.Clone()
			y.At(0, one).Set(-1)
			require.Equal(t, []int{0, -1, 2, 3, 4, 5}, torch.Values[int](y), "%T", one)
		}
		torchtest.Equal(t, x.Index(-1), x.Index(int64(-1)))
		require.ErrorIs(t, torch.Try(func() { x.Index(uint64(1 << 63)) }), torch.ErrIndex)
		require.ErrorIs(t, torch.Try(func() { x.Index(torch.Float32) }), torch.ErrType)
	})
}

func TestSetIndexAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	for python, indices := range indexCases() {
		a := ask(t, indexed+"a, b, v = x.clone(), x.clone(), -1 - torch.arange(x["+python+"].numel()).reshape(x["+python+"].shape)\n"+
			"a["+python+"] = -7\nb["+python+"] = v\ny = [a, b]")
		number, elements := torch.Arange(120).Reshape(2, 3, 4, 5), torch.Arange(120).Reshape(2, 3, 4, 5)
		number.At(indices...).Set(-7)
		torchtest.Equal(t, number, a.tensor(t, 0))
		shape := elements.Index(indices...).Shape()
		values := torch.Arange(torch.Zeros(shape...).NumEl()).Neg().SubScalar(1).Reshape(shape...)
		if selected := torch.Values[int](elements.Index(indices...)); len(slices.Compact(slices.Sorted(slices.Values(selected)))) <
			len(selected) {
			continue // which of two values for one element wins is not said
		}
		elements.At(indices...).Set(values)
		torchtest.Equal(t, elements, a.tensor(t, 1))
	}
}

func TestAssignmentBroadcasts(t *testing.T) {
	torchtest.NoLeaks(t)
	cases := []struct {
		python string
		set    func(x torch.Tensor)
	}{
		{"x[0] = torch.arange(5)", func(x torch.Tensor) { x.At(0).Set(torch.Arange(5)) }},
		{"x[0] = torch.arange(5).reshape(1, 1, 1, 1, 5)", func(x torch.Tensor) { x.At(0).Set(torch.Arange(5).Reshape(1, 1, 1, 1, 5)) }},
		{"x[[0, 1], 0] = torch.arange(5)", func(x torch.Tensor) { x.At([]int{0, 1}, 0).Set(torch.Arange(5)) }},
		{"x[[0, 1], 0] = torch.arange(5).reshape(1, 1, 1, 1, 5)",
			func(x torch.Tensor) { x.At([]int{0, 1}, 0).Set(torch.Arange(5).Reshape(1, 1, 1, 1, 5)) }},
		{"x[1, ..., 2] = 2.75", func(x torch.Tensor) { x.At(1, dots, 2).Set(2.75) }},
		{"x[[1]] = 2.75", func(x torch.Tensor) { x.At([]int{1}).Set(2.75) }},
		{"x[0] = torch.tensor(1.5)", func(x torch.Tensor) { x.At(0).Set(torch.FromValue(1.5)) }},
		{"x[x > 100] = True", func(x torch.Tensor) { x.At(x.GtScalar(100)).Set(true) }},
		{"x[0, 0] += 5", func(x torch.Tensor) { x.At(0, 0).Add(5) }},
		{"x.index_put_((torch.tensor([0, 0, 1]),), torch.tensor(10), accumulate=True)", func(x torch.Tensor) { x.At([]int{0, 0, 1}).Add(10) }},
	}
	for _, c := range cases {
		x := torch.Arange(120).Reshape(2, 3, 4, 5)
		c.set(x)
		torchtest.Equal(t, x, ask(t, indexed+c.python+"\ny = x").tensor(t, 0))
	}
}

func TestIndexErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Arange(24).Reshape(2, 3, 4)
	cases := []struct {
		indices []any
		kind    error
		text    string
	}{
		{ix(2), torch.ErrIndex, "index 2 is out of bounds for dimension 0 with size 2"},
		{ix(0, 5), torch.ErrIndex, "index 5 is out of bounds for dimension 1 with size 3"},
		{ix(0, 0, 0, 0), torch.ErrIndex, "too many indices for tensor of dimension 3"},
		{ix(dots, dots, 1), torch.ErrIndex, "no index can follow a second"},
		{ix(dots, 1, dots, nil), torch.ErrIndex, "no index can follow a second"},
		{ix([]int{5}), torch.ErrIndex, "out of bounds"},
		{ix(span(0, 2, 0)), torch.ErrValue, "slice step cannot be zero"},
		{ix(span(0, 2, -1)), torch.ErrValue, "step must be greater than zero"},
		{ix("a"), torch.ErrType, "string"},
		{ix(1.5), torch.ErrType, "float64"},
		{ix(torch.Zeros(2)), torch.ErrIndex, "long, int, byte or bool"},
		{ix([]bool{true}), torch.ErrIndex, "does not match the shape"},
		{ix([]int{0, 1}, []int{0, 1, 2}), torch.ErrIndex, "broadcast"},
		{ix(torch.Tensor{}), nil, "undefined"},
	}
	for _, c := range cases {
		for name, use := range map[string]func(){"get": func() { x.Index(c.indices...) }, "set": func() { x.At(c.indices...).Set(0) }} {
			err := torch.Try(use)
			require.ErrorContains(t, err, c.text, "%s %v", name, c.indices)
			if c.kind != nil {
				assert.ErrorIs(t, err, c.kind, "%s %v", name, c.indices)
			}
		}
	}
	assert.ErrorIs(t, torch.Try(func() { span() }), torch.ErrIndex)
	assert.ErrorIs(t, torch.Try(func() { span(1, 2, 3, 4) }), torch.ErrIndex)
	assert.Error(t, torch.Try(func() { x.At(0).Set(torch.Ones(7)) }), "a value that does not broadcast")
}

func TestViewsShareAndPicksCopy(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Zeros(4, 4)
	id := x.Storage().ID
	for _, indices := range [][]any{ix(), ix(0), ix(all, 1), ix(dots, nil), ix(span(1, 3)), ix(all)} {
		assert.Equal(t, id, x.Index(indices...).Storage().ID)
	}
	for _, indices := range [][]any{ix([]int{0}), ix(true), ix(torch.Eye(4).GtScalar(0))} {
		assert.NotEqual(t, id, x.Index(indices...).Storage().ID)
	}
	view := x.Index(all)
	view.Close()
	assert.False(t, x.Closed(), "an index that takes all is still a tensor of its own")

	w := torch.Ones(3, 3).SetRequiresGrad(true)
	w.Index(1, all).Sum().Backward()
	w.Index([]int{0, 0}, span(1, 2)).Sum().Backward()
	assert.Equal(t, []float32{0, 2, 0, 1, 1, 1, 0, 0, 0}, torch.Values[float32](w.Grad()))
}

// Integers and lists of them may have types of a program's own.
func TestIndicesOfNamedTypes(t *testing.T) {
	torchtest.NoLeaks(t)
	type (
		row  int
		byID uint16
		mask []bool
	)
	x := torch.Arange(6).View(3, 2)
	for name, c := range map[string]struct {
		index any
		want  []int
	}{
		"a named int": {row(1), []int{2, 3}}, "a named uint": {byID(2), []int{4, 5}}, "an array": {[2]int{2, 0}, []int{4, 5, 0, 1}},
		"named rows": {[]row{1}, []int{2, 3}}, "int32": {[]int32{-1}, []int{4, 5}}, "uint8": {[1]uint8{1}, []int{2, 3}},
		"a mask": {mask{true, false, false}, []int{0, 1}}, "an array of bools": {[3]bool{false, true}, []int{2, 3}},
	} {
		require.Equal(t, c.want, torch.Values[int](x.Index(c.index)), name)
	}
	require.ErrorIs(t, torch.Try(func() { x.Index([]string{"a"}) }), torch.ErrType)
	require.ErrorIs(t, torch.Try(func() { x.Index(1.5) }), torch.ErrType)
}
