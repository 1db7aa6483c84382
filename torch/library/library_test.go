package library_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// open makes a library that is closed when the test ends, before leaks are looked for.
func open(t testing.TB) *library.Library {
	torchtest.NoLeaks(t)
	lib := library.New("gotest")
	t.Cleanup(lib.Close)
	return lib
}

// Every type of a schema arrives in Go, and comes back.
func TestTypes(t *testing.T) {
	lib := open(t)
	for i, c := range []struct {
		schema string
		fn     any
		args   []any
		want   any
	}{
		{"(int v) -> int", func(v int) int { return v + 1 }, []any{4}, int64(5)},
		{"(SymInt v) -> int", func(v int64) int64 { return v + 1 }, []any{4}, int64(5)},
		{"(float v) -> float", func(v float64) float64 { return v / 2 }, []any{3}, 1.5},
		{"(bool v) -> bool", func(v bool) bool { return !v }, []any{true}, false},
		{"(str v) -> str", func(v string) string { return v + "!" }, []any{"good morning"}, "good morning!"},
		{"(complex v) -> complex", func(v complex128) complex128 { return v * 1i }, []any{2 + 1i}, -1 + 2i},
		{"(Scalar v) -> str", func(v any) string { return fmt.Sprintf("%T", v) }, []any{2}, "int64"},
		{"(Scalar v) -> str", func(v any) string { return fmt.Sprintf("%T", v) }, []any{2.5}, "float64"},
		{"(ScalarType v) -> str", func(v torch.DType) string { return v.String() }, []any{torch.Int16}, "int16"},
		{"(Layout v) -> bool", func(v torch.Layout) bool { return v == torch.Strided }, []any{torch.Strided}, true},
		{"(MemoryFormat v) -> bool", func(v torch.MemoryFormat) bool { return v == torch.ChannelsLast }, []any{torch.ChannelsLast}, true},
		{"(Device v) -> Device", func(v torch.Device) torch.Device { return v }, []any{torch.Meta}, torch.Meta},
		{"(int[] v) -> int", func(v []int) int { return len(v) + v[1] }, []any{[]int{5, 7}}, int64(9)},
		{"(int[] v) -> int[]", func(v []int) []int { return append(v, 1) }, []any{[]int{}}, []any{int64(1)}},
		{"(float[] v) -> float[]", func(v []float64) []float64 { return append(v, 1) }, []any{[]float64{2}}, []any{2.0, 1.0}},
		{"(str[] v) -> str[]", func(v []string) []string { return append(v, "b") }, []any{[]string{"a"}}, []any{"a", "b"}},
		{"(int? v) -> int?", func(v *int) *int { return v }, []any{nil}, nil},
		{"(int? v) -> int?", func(v *int) *int { return v }, []any{3}, int64(3)},
		{"(float? v) -> float?", func(v *float64) *float64 { return v }, []any{0.5}, 0.5},
		{"(bool? v=None) -> bool", func(v *bool) bool { return v == nil }, nil, true},
		{"(int[]? v) -> bool", func(v *[]int) bool { return v == nil }, []any{nil}, true},
		{"(int[]? v) -> int[]", func(v *[]int) []int { return *v }, []any{[]int{3}}, []any{int64(3)}},
		{"(Tensor? v) -> bool", func(v torch.Tensor) bool { return v.Defined() }, []any{nil}, false},
		{"(int v=7) -> int", func(v int) int { return v }, nil, int64(7)},
		{"(str v='x') -> str", func(v string) string { return v }, nil, "x"},
	} {
		op := lib.Define(fmt.Sprintf("type%d%s", i, c.schema)).Impl(library.CompositeExplicit, c.fn)
		require.Equal(t, []any{c.want}, op.Call(c.args...), c.schema)
	}
}

func TestTensors(t *testing.T) {
	lib := open(t)
	split := lib.Define("split_at(Tensor x, int at) -> (Tensor, Tensor)").
		Impl(library.CPU, func(x torch.Tensor, at int) (torch.Tensor, torch.Tensor) {
			n := x.Size(0)
			return x.Narrow(0, 0, at), x.Narrow(0, at, n-at)
		})
	join := lib.Define("join.twice(Tensor[] list, *, int dim=0) -> Tensor").
		Impl(library.CPU, func(list []torch.Tensor, dim int) torch.Tensor { return torch.Cat(append(list, list...), dim) })
	pieces := lib.Define("pieces(Tensor x) -> Tensor[]").
		Impl(library.CPU, func(args []any) []any { return []any{args[0].(torch.Tensor).Chunk(2)} })
	torch.Scope(func() {
		x := torch.Arange(6)
		parts := split.Call(x, 2)
		torchtest.Equal(t, parts[0].(torch.Tensor), torch.Arange(2))
		torchtest.Equal(t, parts[1].(torch.Tensor), x.Narrow(0, 2, 4))
		require.Equal(t, "gotest::join.twice", join.Name())
		torchtest.Equal(t, torch.Call("gotest::join.twice", []torch.Tensor{x, x})[0].(torch.Tensor), torch.Cat([]torch.Tensor{x, x, x, x}, 0))
		list := pieces.Call(x)[0].([]torch.Tensor)
		require.Len(t, list, 2)
		torchtest.Equal(t, list[1], x.Narrow(0, 3, 3))
		require.Equal(t, []int{4, 3}, join.Call1([]torch.Tensor{torch.Ones(2, 3)}).Shape())
		require.ErrorIs(t, torch.Try(func() { pieces.Call1(x) }), torch.ErrType)
	})
}

func TestSchema(t *testing.T) {
	lib := open(t)
	op := lib.Define("fill_(Tensor(a!) x, Scalar v, *, bool? flag=None, int[2] pair=1) -> Tensor(a!)")
	require.Equal(t, library.Schema{
		Name: "gotest::fill_",
		Text: "gotest::fill_(Tensor(a!) x, Scalar v, *, bool? flag=None, int[2] pair=1) -> Tensor(a!)",
		Arguments: []library.Argument{
			{Name: "x", Type: "Tensor", Changed: true},
			{Name: "v", Type: "Scalar"},
			{Name: "flag", Type: "bool?", Keyword: true, Default: "None"},
			{Name: "pair", Type: "int[]", Keyword: true, Default: "[1, 1]"},
		},
		Results: []library.Argument{{Type: "Tensor", Changed: true}},
	}, op.Schema())
	require.Contains(t, torch.Operators(), "gotest::fill_")
	require.Equal(t, "aten::mm(Tensor self, Tensor mat2) -> Tensor", library.Lookup("aten::mm").String())
	require.ErrorIs(t, torch.Try(func() { library.Lookup("gotest::nothing") }), torch.ErrNotImplemented)
}

// An operator that changes its argument tells autograd so.
func TestChanges(t *testing.T) {
	lib := open(t)
	op := lib.Define("double_(Tensor(a!) x) -> Tensor(a!)").
		Impl(library.CPU, func(x torch.Tensor) torch.Tensor { return x.MulScalarInPlace(2) })
	torch.Scope(func() {
		x := torch.FromSlice([]float32{1, 2})
		y := op.Call1(x)
		require.Equal(t, []float32{2, 4}, torch.Values[float32](x))
		require.Equal(t, []float32{2, 4}, torch.Values[float32](y))
		w := torch.Ones(2).SetRequiresGrad(true)
		product := w.Mul(x)
		op.Call(x)
		err := torch.Try(func() { product.Sum().Backward() })
		require.ErrorContains(t, err, "modified by an inplace operation")
	})
	err := torch.Try(func() { op.Autograd(library.Formula{Backward: nothing}) })
	require.ErrorContains(t, err, "an operator that changes its arguments cannot have a derivative")
}

func nothing(*torch.FunctionCtx, []torch.Tensor) []torch.Tensor { return nil }

func TestErrorsOfKernels(t *testing.T) {
	lib := open(t)
	mine := errors.New("mine")
	op := lib.Define("fails(int how) -> int").Impl(library.CompositeExplicit, func(how int) (int, error) {
		switch how {
		case 0:
			return 0, mine
		case 1:
			panic("a value")
		case 2:
			torch.Ones(2, 3).MatMul(torch.Ones(2, 3))
		case 3:
			runtime.Goexit()
		}
		return how, nil
	})
	call := func(how int) error { return torch.Try(func() { op.Call(how) }) }
	err := call(0)
	require.ErrorIs(t, err, torch.ErrCallback)
	require.ErrorIs(t, err, mine)
	require.ErrorContains(t, err, "gotest::fails: the CompositeExplicitAutograd kernel of gotest::fails failed: mine")
	var panicked *torch.CallbackPanic
	require.ErrorAs(t, call(1), &panicked)
	require.Equal(t, "a value", panicked.Value)
	require.Contains(t, string(panicked.Stack), "TestErrorsOfKernels")
	require.ErrorContains(t, call(2), "mat1 and mat2 shapes cannot be multiplied")
	require.Equal(t, []any{int64(9)}, op.Call(9))
	ended := make(chan bool, 1)
	go func() {
		defer func() { ended <- recover() == nil }()
		_ = call(3)
		ended <- false
	}()
	require.True(t, <-ended)
}

func TestMistakes(t *testing.T) {
	lib := open(t)
	op := lib.Define("one(Tensor x, float[] v) -> Tensor")
	fine := func(x torch.Tensor, _ []float64) torch.Tensor { return x }
	for name, c := range map[string]struct {
		run  func()
		want string
	}{
		"no schema":       {func() { lib.Define("what is this") }, "expected"},
		"twice":           {func() { lib.Define("one(Tensor x) -> Tensor") }, "multiple times"},
		"other namespace": {func() { lib.Define("aten::one(Tensor x) -> Tensor") }, "namespace"},
		"no operator":     {func() { lib.Operator("other") }, "there is no operator gotest::other"},
		"no function":     {func() { op.Impl(library.CPU, 3) }, "a kernel is a function with the parameters of gotest::one"},
		"nil":             {func() { op.Impl(library.CPU, nil) }, "a kernel is a function"},
		"too few parameters": {func() { op.Impl(library.CPU, func(torch.Tensor) torch.Tensor { return torch.Tensor{} }) },
			"takes 2 values and returns 1"},
		"wrong parameter": {func() { op.Impl(library.CPU, func(torch.Tensor, []int) (_ torch.Tensor) { return }) },
			"parameter 1 of its kernel, []int, cannot hold float[] v"},
		"wrong result": {func() { op.Impl(library.CPU, func(torch.Tensor, []float64) int { return 0 }) },
			"result 0 of its kernel, int, is not a Tensor"},
		"no key":      {func() { op.Impl(0, fine) }, "a kernel needs a key"},
		"no backward": {func() { op.Autograd(library.Formula{}) }, "a formula needs a Backward"},
		"no kernel": {func() { op.Call(torch.TensorOptions{Device: torch.Meta}.Zeros(2), []float64{}) },
			"no fake impl or Meta kernel registered"},
		"wrong argument": {func() { op.Call(3, []float64{}) }, "Expected a value of type 'Tensor'"},
	} {
		err := torch.Try(func() { torch.Scope(c.run) })
		var e *torch.Error
		require.ErrorAs(t, err, &e, name)
		require.ErrorContains(t, err, c.want, name)
	}
	other := library.New("gotest")
	other.Close()
	other.Close()
	require.ErrorContains(t, torch.Try(func() { other.Define("late(int x) -> int") }), "the library has been closed")
}

func TestWrongResults(t *testing.T) {
	lib := open(t)
	for i, results := range [][]any{{}, {"text"}, {1, 2}, {nil}} {
		op := lib.Define(fmt.Sprintf("wrong%d() -> int", i)).Impl(library.CompositeExplicit, func([]any) []any { return results })
		require.ErrorIs(t, torch.Try(func() { op.Call() }), torch.ErrCallback, results)
	}
}

// After Close nothing is left, and all may be defined again.
func TestCloseAndDefineAgain(t *testing.T) {
	torchtest.NoLeaks(t)
	for i := range 3 {
		lib := library.New("gotest")
		op := lib.Define("again() -> int").Impl(library.CompositeExplicit, func() int { return i })
		require.Equal(t, []any{int64(i)}, op.Call())
		require.ErrorContains(t, torch.Try(func() {
			lib.Define("closes() -> ()").Impl(library.CompositeExplicit, lib.Close).Call()
		}), "cannot be registered or taken back inside of a call")
		lib.Close()
		require.NotContains(t, torch.Operators(), "gotest::again")
		require.ErrorIs(t, torch.Try(func() { op.Call() }), torch.ErrNotImplemented)
	}
}

// Kernels run on many goroutines while others come and go.
func TestGoroutines(t *testing.T) {
	lib := open(t)
	op := lib.Define("add_one(Tensor x) -> Tensor").Impl(library.CPU, func(x torch.Tensor) torch.Tensor { return x.AddScalar(1) })
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 50 {
				torch.Scope(func() {
					if got := op.Call1(torch.FromSlice([]float32{float32(i)})).Float64(); got != float64(i+1) {
						t.Errorf("got %v for %d + 1", got, i)
					}
				})
				if i%10 == 0 {
					own := library.New(fmt.Sprintf("gotest%d", g))
					id := own.Define("id(int v) -> int").Impl(library.CompositeExplicit, func(v int) int { return v })
					if got := id.Call(g)[0]; got != int64(g) {
						t.Errorf("got %v for %d", got, g)
					}
					own.Close()
				}
			}
		})
	}
	group.Wait()
}
