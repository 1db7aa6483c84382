package torch_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// mode is what a thread's modes look like from inside.
type mode struct {
	grad, inference, autocast bool
	dtype                     torch.DType
}

func current() mode {
	a := torch.Autocasting(torch.CPU)
	m := mode{grad: torch.IsGradEnabled(), inference: torch.IsInference(), autocast: a.Enabled}
	if a.Enabled {
		m.dtype = a.DType
	}
	return m
}

func autocast(d torch.DType, fn func()) {
	torch.WithAutocast(torch.AutocastMode{Device: torch.CPU, Enabled: true, DType: d}, fn)
}

func noAutocast(fn func()) { torch.WithAutocast(torch.AutocastMode{Device: torch.CPU}, fn) }

var plain = mode{grad: true}

var modes = []struct {
	name  string
	enter func(fn func())
	want  func(outer mode) mode
}{
	{"plain", func(fn func()) { fn() }, func(m mode) mode { return m }},
	{"NoGrad", torch.NoGrad, func(m mode) mode { m.grad = false; return m }},
	{"EnableGrad", torch.EnableGrad, func(m mode) mode { m.grad = true; return m }},
	{"Inference", torch.Inference, func(m mode) mode { m.grad, m.inference = false, true; return m }},
	{"Autocast bfloat16", func(fn func()) { autocast(torch.BFloat16, fn) },
		func(m mode) mode { m.autocast, m.dtype = true, torch.BFloat16; return m }},
	{"Autocast float16", func(fn func()) { autocast(torch.Float16, fn) },
		func(m mode) mode { m.autocast, m.dtype = true, torch.Float16; return m }},
	{"no Autocast", noAutocast, func(m mode) mode { m.autocast, m.dtype = false, torch.DType{}; return m }},
	{"Scope", torch.Scope, func(m mode) mode { return m }},
	{"Unscoped", torch.Unscoped, func(m mode) mode { return m }},
	{"WithDevice", func(fn func()) { torch.WithDevice(torch.CPU, fn) }, func(m mode) mode { return m }},
}

func TestModesNest(t *testing.T) {
	torchtest.NoLeaks(t)
	require.Equal(t, plain, current())
	for _, outer := range modes {
		outer.enter(func() {
			for _, inner := range modes {
				inner.enter(func() { assert.Equal(t, inner.want(outer.want(plain)), current(), "%s in %s", inner.name, outer.name) })
				assert.Equal(t, outer.want(plain), current(), "after %s in %s", inner.name, outer.name)
			}
		})
		assert.Equal(t, plain, current(), "after %s", outer.name)
	}
}

func TestModesEndWhateverHappens(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, m := range modes {
		assert.PanicsWithValue(t, "boom", func() { m.enter(func() { panic("boom") }) }, m.name)
		assert.Equal(t, plain, current(), m.name)
		err := torch.Try(func() { m.enter(func() { torch.Ones(2).Select(0, 9) }) })
		assert.ErrorIs(t, err, torch.ErrIndex, m.name)
		assert.Equal(t, plain, current(), m.name)

		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { assert.Equal(t, plain, current(), m.name) }()
			m.enter(runtime.Goexit)
		}()
		<-done
	}
}

func TestModesDoWhatTheySay(t *testing.T) {
	torchtest.NoLeaks(t)
	w := torch.Ones(2, 2).SetRequiresGrad(true)
	torch.NoGrad(func() { assert.False(t, w.MM(w).RequiresGrad()) })
	torch.Inference(func() {
		y := w.MM(w)
		assert.True(t, y.IsInference())
		assert.False(t, y.RequiresGrad())
	})
	for _, d := range []torch.DType{torch.BFloat16, torch.Float16} {
		autocast(d, func() {
			y := w.MM(w)
			assert.Equal(t, d, y.DType())
			noAutocast(func() { assert.Equal(t, torch.Float32, w.MM(w).DType()) })
			y.Sum().Backward()
		})
	}
	assert.Equal(t, torch.Float32, w.Grad().DType())
	assert.False(t, w.MM(w).IsInference())
	assert.Equal(t, torch.Float32, w.MM(w).DType())
}

// A goroutine may wake up on another thread at any time; its modes must come along.
func TestModesHoldAcrossThreads(t *testing.T) {
	torchtest.NoLeaks(t)
	const goroutines, switches = 64, 2000
	var wrong atomic.Int64
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range switches {
				m := modes[(i*7+g)%len(modes)]
				runtime.Gosched()
				m.enter(func() {
					runtime.Gosched()
					if current() != m.want(plain) {
						wrong.Add(1)
					}
				})
				if current() != plain {
					wrong.Add(1)
				}
			}
		})
	}
	group.Wait()
	reliability.Note(t, "modes looked at after a switch of goroutines", 2*goroutines*switches)
	reliability.Exactly(t, "of these wrong", wrong.Load(), 0)
}

func TestGoInheritsModes(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, outer := range modes {
		for _, inner := range modes {
			var group sync.WaitGroup
			outer.enter(func() {
				inner.enter(func() {
					want := inner.want(outer.want(plain))
					group.Add(2)
					torch.Go(func() {
						defer group.Done()
						runtime.Gosched()
						assert.Equal(t, want, current(), "%s in %s", inner.name, outer.name)
						torch.EnableGrad(func() {})
						assert.Equal(t, want, current())
					})
					go func() {
						defer group.Done()
						assert.Equal(t, plain, current(), "a plain goroutine starts with the defaults")
					}()
				})
			})
			group.Wait()
		}
	}
	assert.Equal(t, plain, current())
}

// libtorch keeps autocast's casts of weights in one map for the whole process, whatever
// the dtype: regions that run at the same time must not see each other's.
func TestAutocastRegionsDoNotMix(t *testing.T) {
	torchtest.NoLeaks(t)
	w := torch.FromSlice([]float32{1.001, 2.002, 3.003, 4.004}, 2, 2).SetRequiresGrad(true)
	x := torch.Eye(2)
	dtypes := []torch.DType{torch.BFloat16, torch.Float16}
	var want [2][]float32
	for i, d := range dtypes {
		want[i] = torch.Values[float32](x.To(d).MM(w.To(d)))
	}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 300 {
				torch.Scope(func() {
					k := (g + i) % 2
					enter := func(fn func()) { fn() }
					if g%4 == 3 {
						enter = torch.NoGrad
					}
					enter(func() {
						autocast(dtypes[k], func() {
							for range 3 {
								y := x.MM(w)
								runtime.Gosched()
								if y.DType() != dtypes[k] || y.RequiresGrad() != torch.IsGradEnabled() {
									t.Errorf("got %v, requires grad %v", y.DType(), y.RequiresGrad())
								}
								assert.Equal(t, want[k], torch.Values[float32](y))
							}
						})
					})
				})
			}
		})
	}
	group.Wait()
}

// A weight that changes between two regions is cast again.
func TestAutocastCacheEndsWithTheRegion(t *testing.T) {
	torchtest.NoLeaks(t)
	w := torch.Ones(1, 1).SetRequiresGrad(true)
	for i := range 5 {
		autocast(torch.BFloat16, func() { assert.Equal(t, float64(i+1), torch.Ones(1, 1).MM(w).Float64()) })
		torch.NoGrad(func() { w.AddScalarInPlace(1) })
	}
}

func TestModeErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	assert.ErrorIs(t, torch.Try(func() { torch.WithAutocast(torch.AutocastMode{}, func() {}) }), torch.ErrValue)
	for _, d := range []torch.DType{torch.Float32, torch.Float64, torch.Int32, torch.Bool, torch.Complex64} {
		assert.ErrorIs(t, torch.Try(func() { autocast(d, func() {}) }), torch.ErrType)
	}
	assert.Error(t, torch.Try(func() { torch.WithDevice(torch.NewDevice(torch.DeviceXPU, 0), func() {}) }))
	assert.Equal(t, plain, current())
}
