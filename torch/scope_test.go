package torch_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func one() torch.Tensor { return torch.FromValue(float32(1)) }

func TestScopeFreesWhatWasMadeInIt(t *testing.T) {
	torchtest.NoLeaks(t)
	before := torch.Stats()
	var inside []torch.Tensor
	torch.Scope(func() {
		for range 1000 {
			inside = append(inside, one())
		}
		assert.Equal(t, before.Scoped+1000, torch.Stats().Scoped)
		assert.Equal(t, before.Unscoped, torch.Stats().Unscoped)
	})
	assert.Equal(t, before.Live(), torch.Stats().Live())
	for _, x := range inside {
		require.True(t, x.Closed())
	}
}

func TestWaysOutOfAScope(t *testing.T) {
	torchtest.NoLeaks(t)
	var kept, moved, unscoped, inner, plain, alias torch.Tensor
	torch.Scope(func() {
		torch.Scope(func() {
			plain = one()
			kept, moved, alias = one().Keep(), one().MoveOut(), plain.Alias()
			torch.Unscoped(func() {
				unscoped = one()
				torch.Scope(func() { inner = one().MoveOut() })
			})
		})
		assert.True(t, plain.Closed())
		assert.True(t, alias.Closed())
		assert.False(t, moved.Closed(), "it belongs to the outer scope now")
	})
	assert.True(t, moved.Closed())
	for _, x := range []torch.Tensor{kept, unscoped, inner} {
		assert.Equal(t, 1.0, x.Float64())
	}
	torch.Close(kept, unscoped, inner)
	assert.Equal(t, torch.Tensor{}, torch.Tensor{}.Keep(), "the undefined tensor stays undefined")

	sum := torch.Scope1(func() torch.Tensor { return one().Add(one()) })
	assert.Equal(t, 2.0, sum.Float64())
	sum.Close()
	assert.False(t, torch.Scope1(func() torch.Tensor { return torch.Tensor{} }).Defined())

	x := one().MoveOut() // outside of scopes: a second handle
	assert.Equal(t, 1.0, x.Float64())
}

func TestAliasOutlivesTheOther(t *testing.T) {
	torchtest.NoLeaks(t)
	x := one()
	y := x.Alias()
	assert.False(t, x.Is(y))
	assert.Equal(t, x.Storage().ID, y.Storage().ID)
	x.Close()
	assert.Equal(t, 1.0, y.Float64())
	y.AddScalarInPlace(1)
	assert.Equal(t, 2.0, y.Float64())
}

func TestScopeEndsWhateverHappens(t *testing.T) {
	torchtest.NoLeaks(t)
	var x torch.Tensor
	assert.PanicsWithValue(t, "boom", func() {
		torch.Scope(func() {
			torch.Scope(func() {
				x = one()
				panic("boom")
			})
		})
	})
	assert.True(t, x.Closed())

	done := make(chan struct{})
	go func() {
		defer close(done)
		torch.Scope(func() {
			x = one()
			runtime.Goexit()
		})
	}()
	<-done
	assert.True(t, x.Closed())

	x = one()
	defer x.Close()
	assert.Zero(t, torch.Stats().Scoped, "the thread has left all scopes")
}

func TestScopesNestDeeply(t *testing.T) {
	torchtest.NoLeaks(t)
	const depth = 1500 // more than one page of scopes
	var nest func(n int) torch.Tensor
	nest = func(n int) torch.Tensor {
		if n == 0 {
			return one()
		}
		return torch.Scope1(func() torch.Tensor { return nest(n - 1).AddScalar(1) })
	}
	assert.Equal(t, float64(depth+1), nest(depth).Float64())
}

func TestGoroutinesHaveTheirOwnScopes(t *testing.T) {
	torchtest.NoLeaks(t)
	var outside torch.Tensor
	torch.Scope(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			outside = one()
		}()
		<-done
	})
	assert.False(t, outside.Closed(), "a goroutine started in a scope is not part of it")
	outside.Close()

	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 50 {
				torch.Scope(func() {
					x := one()
					for range 100 {
						x = x.AddScalar(1)
					}
					runtime.Gosched()
					assert.Equal(t, 101.0, x.Float64())
				})
			}
		})
	}
	group.Wait()
}

func TestUseAfterTheEnd(t *testing.T) {
	torchtest.NoLeaks(t)
	var escaped torch.Tensor
	torch.Scope(func() { escaped = one() })
	closed := one()
	closed.Close()
	closed.Close()
	torch.Close(closed, torch.Tensor{}, escaped)

	uses := map[string]func(x torch.Tensor){
		"operator":    func(x torch.Tensor) { x.Add(x) },
		"in place":    func(x torch.Tensor) { x.AddScalarInPlace(1) },
		"argument":    func(x torch.Tensor) { one().Add(x) },
		"list":        func(x torch.Tensor) { torch.Cat([]torch.Tensor{one(), x}) },
		"long list":   func(x torch.Tensor) { torch.Stack([]torch.Tensor{one(), one(), one(), one(), one(), x}) },
		"shape":       func(x torch.Tensor) { x.Shape() },
		"dtype":       func(x torch.Tensor) { x.DType() },
		"item":        func(x torch.Tensor) { x.Item() },
		"values":      func(x torch.Tensor) { torch.Values[float32](x) },
		"fill":        func(x torch.Tensor) { torch.Fill(x, []float32{1}) },
		"index":       func(x torch.Tensor) { x.Index(nil) },
		"set":         func(x torch.Tensor) { x.At(nil).Set(1.0) },
		"keep":        func(x torch.Tensor) { x.Keep() },
		"move out":    func(x torch.Tensor) { x.MoveOut() },
		"backward":    func(x torch.Tensor) { x.Backward() },
		"grad":        func(x torch.Tensor) { x.Grad() },
		"to":          func(x torch.Tensor) { x.To(torch.Float64) },
		"call":        func(x torch.Tensor) { torch.Call("add.Tensor", x, x) },
		"boxed lists": func(x torch.Tensor) { torch.Call("cat", []torch.Tensor{x}) },
	}
	for name, use := range uses {
		for _, x := range []torch.Tensor{escaped, closed} {
			var e *torch.Error
			err := torch.Try(func() { use(x) })
			require.ErrorAs(t, err, &e, name)
			assert.Equal(t, torch.KindClosed, e.Kind, name)
			assert.ErrorIs(t, err, torch.ErrClosed, name)
			assert.Contains(t, err.Error(), "used after it had been closed", name)
		}
	}
}

// Handles of an ended scope are never reused: a tensor that escaped stays closed.
func TestEscapedTensorsStayClosed(t *testing.T) {
	torchtest.NoLeaks(t)
	for range 50 {
		var escaped []torch.Tensor
		torch.Scope(func() {
			for range 7 {
				escaped = append(escaped, one())
			}
		})
		torch.Scope(func() {
			for range 100 {
				one()
			}
			for _, x := range escaped {
				require.True(t, x.Closed())
			}
		})
	}
}

func TestCloseDuringUse(t *testing.T) {
	torchtest.NoLeaks(t)
	const rounds = 300
	var worked, refused int
	for range rounds {
		x := torch.Ones(64, 64)
		var group sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			group.Go(func() {
				for {
					y, err := torch.Try1(func() torch.Tensor { return x.MM(x) })
					mu.Lock()
					if err != nil {
						refused++
						mu.Unlock()
						assert.ErrorIs(t, err, torch.ErrClosed)
						return
					}
					worked++
					mu.Unlock()
					y.Close()
				}
			})
		}
		for range 2 {
			group.Go(func() {
				runtime.Gosched()
				x.Close()
			})
		}
		group.Wait()
	}
	assert.Equal(t, 4*rounds, refused)
	assert.Positive(t, worked)
}

func TestScopeEndsDuringUse(t *testing.T) {
	torchtest.NoLeaks(t)
	for range 200 {
		shared := make(chan torch.Tensor, 1)
		done := make(chan error)
		go func() {
			x := <-shared
			for {
				if err := torch.Try(func() { x.MM(x).Close() }); err != nil {
					done <- err
					return
				}
			}
		}()
		torch.Scope(func() {
			shared <- torch.Ones(32, 32)
			runtime.Gosched()
		})
		require.ErrorIs(t, <-done, torch.ErrClosed)
	}
}

// What the garbage collector finds comes back without a Close.
func TestTheGarbageCollectorCloses(t *testing.T) {
	before := torch.Stats()
	for range 1000 {
		one()
	}
	torch.GC()
	torchtest.NoLeaks(t)
	assert.LessOrEqual(t, torch.Stats().Live(), before.Live())
}

func TestStatsCountBytes(t *testing.T) {
	torchtest.NoLeaks(t)
	before := torch.Stats().HostBytes
	x := torch.Zeros(1 << 20)
	grown := torch.Stats().HostBytes - before
	assert.InDelta(t, 4<<20, grown, 4096)
	view := x.View(1024, 1024)
	x.Close()
	assert.Equal(t, grown, torch.Stats().HostBytes-before, "the view still holds the memory")
	view.Close()
	assert.Equal(t, before, torch.Stats().HostBytes)
}
