package torchtest_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// recorder is a testing.TB that keeps what would have failed the test.
type recorder struct {
	testing.TB
	report   string
	cleanups []func()
}

type stop struct{}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }

func (r *recorder) Errorf(format string, args ...any) { r.report += fmt.Sprintf(format, args...) }

func (r *recorder) Fatal(args ...any) {
	r.report += fmt.Sprint(args...)
	panic(stop{})
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

// report is what fn complains about; "" if it is content.
func report(t *testing.T, fn func(t testing.TB)) string {
	r := &recorder{TB: t}
	func() {
		defer func() {
			if v := recover(); v != nil && v != (stop{}) {
				panic(v)
			}
		}()
		fn(r)
		for _, fn := range r.cleanups {
			fn()
		}
	}()
	return r.report
}

func TestComparisons(t *testing.T) {
	torchtest.NoLeaks(t)
	f := func(v ...float32) torch.Tensor { return torch.FromSlice(v) }
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	wide := func(v ...float64) torch.Tensor { return torch.FromSlice(v) }
	relative := torchtest.Tolerance{Relative: 0.1}
	cases := []struct {
		name         string
		got, want    torch.Tensor
		equal, close string // parts of the reports; "" for none
		tolerance    []torchtest.Tolerance
	}{
		{"same", f(1, 2), f(1, 2), "", "", nil},
		{"within", f(1, 2), f(1, 2.000001),
			"1 of 2 elements differ, the first at [1]: got 2 (40000000), want 2.0000009536743164 (40000004)", "", nil},
		{"apart", f(1, 2, 5), f(1, 2.1, 3), "2 of 3 elements differ, the first at [1]",
			"2 of 3 elements differ by more than 1e-05 + 1.3e-06*|want|\nfurthest apart by 2 at [2]: got 5, want 3", nil},
		{"own tolerance", f(1, 2), f(1.05, 2.1), "differ", "", []torchtest.Tolerance{relative}},
		{"zeros", f(0), f(float32(math.Copysign(0, -1))), "got 0 (00000000), want -0 (80000000)", "", nil},
		{"NaN", f(nan), f(nan), "", "differ by more", nil},
		{"equal NaN", f(nan), f(nan), "", "", []torchtest.Tolerance{{EqualNaN: true}}},
		{"NaN and number", f(nan), f(1), "differ", "got NaN, want 1", []torchtest.Tolerance{{EqualNaN: true}}},
		{"infinities", f(inf, -inf), f(inf, -inf), "", "", nil},
		{"infinity and number", f(inf), f(1), "differ", "furthest apart by NaN at [0]: got +Inf, want 1", nil},
		{"number and infinity", f(1), f(inf), "differ", "furthest apart by NaN", []torchtest.Tolerance{relative}},
		{"shape", f(1, 2), f(1, 2).Reshape(2, 1), "got float32[2] on cpu, want float32[2 1] on cpu", "want float32[2 1] on cpu", nil},
		{"dtype", f(1), wide(1), "got float32[1] on cpu, want float64[1] on cpu", "want float64[1]", nil},
		{"device", f(1), torch.TensorOptions{Device: torch.Meta}.Ones(1), "want float32[1] on meta", "want float32[1] on meta", nil},
		{"undefined", torch.Tensor{}, f(1), "got the undefined tensor, want float32[1]", "got the undefined tensor", nil},
		{"both undefined", torch.Tensor{}, torch.Tensor{}, "", "", nil},
		{"integers", torch.FromSlice([]int64{1 << 60}), torch.FromSlice([]int64{1<<60 + 1}),
			"got 1152921504606846976 (1000000000000000), want 1152921504606846977 (1000000000000001)", "elements differ, the first at [0]", nil},
		{"unsigned", torch.FromSlice([]uint64{math.MaxUint64}), torch.FromSlice([]uint64{0}), "got 18446744073709551615",
			"got 18446744073709551615", nil},
		{"booleans", torch.FromSlice([]bool{true}), torch.FromSlice([]bool{false}), "got true (01), want false (00)", "got true", nil},
		{"complex", torch.FromValue(1 + 2i), torch.FromValue(1 - 2i), "at []: got (1+2i) (40000000000000003ff0000000000000)",
			"furthest apart by 4 at []", nil},
		{"half", f(1).To(torch.Float16), f(1.0009766).To(torch.Float16), "differ", "", nil},
		{"bfloat16", f(1).To(torch.BFloat16), f(1.0078125).To(torch.BFloat16), "differ", "", nil},
		{"matrix", torch.Eye(3), torch.Eye(3).FillDiagonalInPlace(2), "3 of 9 elements differ, the first at [0 0]", "at [0 0]", nil},
		{"empty", torch.Zeros(0, 2), torch.Ones(0, 2), "", "", nil},
		{"views", torch.Eye(3).T(), torch.Eye(3), "", "", nil},
	}
	for _, c := range cases {
		expect(t, c.name, c.equal, report(t, func(t testing.TB) { torchtest.Equal(t, c.got, c.want) }))
		expect(t, c.name, c.close, report(t, func(t testing.TB) { torchtest.AllClose(t, c.got, c.want, c.tolerance...) }))
	}
}

func expect(t *testing.T, name, want, got string) {
	t.Helper()
	if want == "" {
		assert.Empty(t, got, name)
	} else {
		assert.Contains(t, got, want, name)
	}
}

func TestNoLeaksSeesLeaks(t *testing.T) {
	torchtest.NoLeaks(t)
	var kept []torch.Tensor
	text := report(t, func(t testing.TB) {
		torchtest.NoLeaks(t)
		kept = append(kept, torch.Ones(1000))
	})
	assert.Contains(t, text, "0 before, 1 after")
	torch.Close(kept...)

	x := torch.Ones(10)
	text = report(t, func(t testing.TB) {
		torchtest.NoLeaks(t)
		x.Close()
	})
	assert.Contains(t, text, "1 before, 0 after", "closing what others own is a mistake too")

	w := torch.Ones(10).SetRequiresGrad(true)
	text = report(t, func(t testing.TB) {
		torchtest.NoLeaks(t)
		w.Sum().Backward() // leaves a gradient: no handle, but memory
	})
	assert.Contains(t, text, "open tensors: 1 before, 1 after; bytes of host memory: 64 before, 128 after")
	runtime.KeepAlive(w)

	assert.Empty(t, report(t, func(t testing.TB) {
		torchtest.NoLeaks(t)
		for range 100 {
			torch.Ones(1000).Add(torch.Ones(1000)) // garbage
		}
		torch.Scope(func() { torch.Ones(5) })
	}))
}

func TestEachDevice(t *testing.T) {
	torchtest.NoLeaks(t)
	var seen []torch.Device
	torchtest.EachDevice(t, func(t *testing.T, d torch.Device) {
		assert.Equal(t, 2.0, torch.TensorOptions{Device: d}.Ones(2).Sum().Float64())
		seen = append(seen, d)
	})
	assert.Equal(t, torchtest.Devices(), seen)
	assert.Equal(t, torch.CPU, seen[0])
}
