package torch_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// wrongCall is a call, and what the error says of it.
type wrongCall struct {
	name     string
	fn       func()
	kind     torch.Kind
	sentinel error
	text     string // part of the message
	args     string // the tensors at its end
}

func (c wrongCall) check(t *testing.T) {
	t.Helper()
	err := torch.Try(c.fn)
	var e *torch.Error
	require.ErrorAs(t, err, &e, c.name)
	assert.Equal(t, c.kind, e.Kind, c.name)
	assert.ErrorContains(t, err, c.text, c.name)
	assert.Equal(t, c.args, strings.Join(e.Args, ", "), c.name)
	assert.True(t, c.args == "" || strings.HasSuffix(err.Error(), " (with "+c.args+")"), c.name)
	assert.NotContains(t, err.Error(), "\n", c.name)
	if c.sentinel != nil {
		assert.ErrorIs(t, err, c.sentinel, c.name)
		assert.ErrorIs(t, fmt.Errorf("step 3: %w", err), c.sentinel, c.name)
	}
	assert.NotErrorIs(t, err, torch.ErrDist, c.name)
}

func TestErrorsHaveKinds(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(2, 3)
	meta := torch.TensorOptions{Device: torch.Meta}.Zeros(2, 3)
	generator := torch.NewGenerator(torch.CPU)
	cases := []wrongCall{
		{"shapes", func() { x.MM(x) }, torch.KindGeneric, nil, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
			"float32[2, 3], float32[2, 3]"},
		{"device", func() { x.Add(meta) }, torch.KindGeneric, nil, "two devices, meta and cpu", "float32[2, 3], float32[2, 3] on meta"},
		{"negative size", func() { torch.Zeros(-5) }, torch.KindGeneric, nil, "must be non-negative", ""},
		{"size overflow", func() { torch.Empty(1<<62, 1<<10) }, torch.KindGeneric, nil, "overflow", ""},
		{"memory", func() { torch.Empty(1 << 50) }, torch.KindOutOfMemory, torch.ErrOutOfMemory, "allocate 4503599627370496 bytes", ""},
		{"index", func() { x.Select(0, 9) }, torch.KindIndex, torch.ErrIndex, "index 9 out of range", "float32[2, 3]"},
		{"dimension", func() { x.Select(7, 0) }, torch.KindIndex, torch.ErrIndex, "Dimension out of range", "float32[2, 3]"},
		{"size of", func() { x.Size(2) }, torch.KindIndex, torch.ErrIndex, "torch: size: dimension 2 is out of range", ""},
		{"embedding", func() { aten.Embedding(x, torch.FromSlice([]int{5})) }, torch.KindIndex, torch.ErrIndex, "out of range",
			"float32[2, 3], int64[1]"},
		{"value", func() { torch.FromSlice([]int{1}, 2) }, torch.KindValue, torch.ErrValue, "1 values do not fill shape [2]", ""},
		{"undefined", func() { torch.Tensor{}.Shape() }, torch.KindValue, torch.ErrValue, "undefined", ""},
		{"undefined in a list", func() { torch.Cat([]torch.Tensor{x, {}}) }, torch.KindValue, torch.ErrValue,
			"element 1 of the tensor list is undefined", "float32[2, 3]"},
		{"type", func() { torch.Call("relu", []torch.Tensor{x}) }, torch.KindType, torch.ErrType, "torch: relu: a list was given",
			"float32[2, 3]"},
		{"add.Scalar", func() { x.AddScalar("1") }, torch.KindType, torch.ErrType, "got string", ""},
		{"no kernel", func() { x.To(torch.Bool).MM(x.T().To(torch.Bool)) }, torch.KindNotImplemented, torch.ErrNotImplemented,
			"not implemented for 'Bool'", "bool[2, 3], bool[3, 2]"},
		{"no data", func() { meta.Bytes() }, torch.KindNotImplemented, torch.ErrNotImplemented, "meta", "float32[2, 3] on meta"},
		{"no backend", func() { x.ToSparse().View(6) }, torch.KindNotImplemented, torch.ErrNotImplemented, "'SparseCPU' backend",
			"float32[2, 3]"},
		{"no operator", func() { torch.Call("nonsense", x) }, torch.KindNotImplemented, torch.ErrNotImplemented,
			"no operator aten::nonsense", "float32[2, 3]"},
		{"singular", func() { linalg.Inv(torch.Zeros(2, 2)) }, torch.KindLinAlg, torch.ErrLinAlg, "singular", "float32[2, 2]"},
		{"generator", func() { torch.Zeros(3).NormalInPlace(0, -1, torch.NormalOptions{Generator: generator}) }, torch.KindGeneric, nil,
			"std >= 0", "float32[3]"},
		{"closed generator", func() {
			g := torch.NewGenerator(torch.CPU)
			g.Close()
			torch.Zeros(3).NormalInPlace(0, 1, torch.NormalOptions{Generator: g})
		}, torch.KindClosed, torch.ErrClosed, "closed", "float32[3]"},
	}
	for _, c := range cases {
		c.check(t)
	}
}

func TestEveryKindHasItsSentinel(t *testing.T) {
	sentinels := map[torch.Kind]error{
		torch.KindOutOfMemory: torch.ErrOutOfMemory, torch.KindAccelerator: torch.ErrAccelerator, torch.KindIndex: torch.ErrIndex,
		torch.KindValue: torch.ErrValue,
		torch.KindType:  torch.ErrType, torch.KindNotImplemented: torch.ErrNotImplemented, torch.KindLinAlg: torch.ErrLinAlg,
		torch.KindDist:   torch.ErrDist,
		torch.KindClosed: torch.ErrClosed, torch.KindLibrary: torch.ErrLibrary, torch.KindNoCUDA: torch.ErrNoCUDA,
	}
	for kind := range sentinels {
		err := torch.Try(func() { torch.Throw("op", kind, "number %d", 7) })
		require.ErrorContains(t, err, "number 7")
		for other, wrong := range sentinels {
			assert.Equal(t, kind == other, errors.Is(err, wrong))
		}
	}
	assert.NotErrorIs(t, &torch.Error{Kind: torch.KindGeneric}, nil)
}

func TestTheListOfTensorsIsCut(t *testing.T) {
	torchtest.NoLeaks(t)
	list := make([]torch.Tensor, 12)
	for i := range list {
		list[i] = torch.Ones(i + 1)
	}
	err := torch.Try(func() { torch.Stack(list) })
	assert.ErrorContains(t, err, "float32[1], float32[2], float32[3], float32[4], float32[5], float32[6], float32[7], float32[8], …)")
}

func TestRecover(t *testing.T) {
	torchtest.NoLeaks(t)
	foreign := errors.New("foreign")
	work := func(fn func() error) (err error) {
		defer torch.Recover(&err)
		return fn()
	}
	require.NoError(t, work(func() error { return nil }))
	require.ErrorIs(t, work(func() error { return foreign }), foreign)
	require.ErrorIs(t, work(func() error { torch.Throw("mine", torch.KindValue, "wrong"); return foreign }), torch.ErrValue)
	assert.PanicsWithValue(t, foreign, func() { _ = work(func() error { panic(foreign) }) })
}

func TestTryTakesOnlyItsOwn(t *testing.T) {
	torchtest.NoLeaks(t)
	require.NoError(t, torch.Try(func() {}))
	foreign := errors.New("foreign")
	assert.PanicsWithValue(t, "text", func() { _ = torch.Try(func() { panic("text") }) })
	assert.PanicsWithValue(t, foreign, func() { _ = torch.Try(func() { panic(foreign) }) })
	assert.Panics(t, func() { _ = torch.Try(func() { panic(nil) }) })
	assert.Panics(t, func() { _ = torch.Try(func() { _ = []int{}[len(t.Name())] }) })
	wrapped := fmt.Errorf("wrapped: %w", &torch.Error{})
	assert.PanicsWithValue(t, wrapped, func() { _ = torch.Try(func() { panic(wrapped) }) })

	exited := make(chan bool)
	go func() {
		defer close(exited)
		_ = torch.Try(runtime.Goexit)
		exited <- true
	}()
	assert.False(t, <-exited, "Goexit passes through")

	inner := torch.Try(func() {
		assert.Error(t, torch.Try(func() { torch.Ones(2).MM(torch.Ones(2)) }))
		torch.Ones(2).Select(0, 5)
	})
	assert.ErrorIs(t, inner, torch.ErrIndex)
	n, err := torch.Try1(func() int { return torch.Ones(3).NumEl() })
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	n, err = torch.Try1(func() int { return torch.Ones(3).Size(4) })
	require.Error(t, err)
	assert.Zero(t, n)
}

// Numbers out of all bounds are refused, but never crash.
func TestWildNumbers(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(2, 2)
	for _, i := range []int{-1, math.MinInt, math.MaxInt} {
		_ = torch.Try(func() { x.Select(i, i) })
		_ = torch.Try(func() { x.Narrow(0, i, i) })
		_ = torch.Try(func() { x.View(i) })
		_ = torch.Try(func() { x.Expand(i, i) })
		_ = torch.Try(func() { torch.Arange(i) })
	}
	assert.Equal(t, 4.0, x.Sum().Float64())
}
