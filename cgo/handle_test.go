package cgo

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const codeFloat32 = 6

// newHandle makes a tensor of n numbers.
func newHandle(t testing.TB, values ...float32) *Handle {
	t.Helper()
	var c Call
	c.Begin(OpFromBytes)
	c.Code(codeFloat32)
	c.Ints([]int{len(values)})
	c.Int(4 * len(values))
	if err := c.RunData(unsafe.Pointer(unsafe.SliceData(values))); err != nil {
		t.Fatal(err)
	}
	return c.Handle(0)
}

func values(t testing.TB, h *Handle, n int) []float32 {
	t.Helper()
	list := make([]float32, n)
	var c Call
	c.Begin(OpToBytes)
	c.Tensor(h)
	c.Int(4 * n)
	if err := c.RunData(unsafe.Pointer(unsafe.SliceData(list))); err != nil {
		t.Fatal(err)
	}
	return list
}

// references counts the owners of h's storage: h, and whatever views it has.
func references(t testing.TB, h *Handle) int {
	t.Helper()
	var c Call
	c.Begin(OpStorage)
	c.Tensor(h)
	require.Nil(t, c.Run())
	return c.IntResult(2)
}

// clean fails the test if handles or bytes are left at its end.
func clean(t testing.TB) {
	t.Helper()
	require.NoError(t, Load())
	Collect()
	scoped, unscoped := LiveScoped(), LiveUnscoped(TensorKind)
	bytes := HostBytes()
	t.Cleanup(func() {
		var s, u int
		var b int64
		for range 10 {
			Collect()
			if s, u = LiveScoped(), LiveUnscoped(TensorKind); s == scoped && u == unscoped {
				if b = HostBytes(); b == bytes {
					return
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("scoped %d, was %d; unscoped %d, was %d; bytes %d, were %d", s, scoped, u, unscoped, b, bytes)
	})
}

func add(a, b *Handle) (*Handle, *Error) {
	var c Call
	c.Begin(OpAddTensor)
	c.Tensor(a)
	c.Tensor(b)
	c.ScalarInt(1)
	if err := c.Run(); err != nil {
		return nil, err
	}
	return c.Handle(0), nil
}

func TestHandlesComeAndGo(t *testing.T) {
	clean(t)
	h := newHandle(t, 1, 2, 3)
	assert.False(t, h.Closed())
	assert.False(t, h.Scoped())
	assert.Equal(t, []float32{1, 2, 3}, values(t, h, 3))
	d, err := h.Duplicate()
	require.Nil(t, err)
	h.Close()
	h.Close()
	assert.True(t, h.Closed())
	assert.Equal(t, []float32{1, 2, 3}, values(t, d, 3))
	_, err = add(h, d)
	require.NotNil(t, err)
	assert.Equal(t, KindClosed, err.Kind)
	assert.Equal(t, []string{"float32[3]"}, err.Args, "the one that was not closed")
	_, err = h.Keep()
	assert.Equal(t, KindClosed, err.Kind)
	d.Close()
	(*Handle)(nil).Close()
}

// However many close and use a handle at the same time, the object is given back once,
// and not while it is used.
func TestOneReleasePerHandle(t *testing.T) {
	clean(t)
	base := newHandle(t, 1)
	for range 500 {
		h, err := base.Duplicate()
		require.Nil(t, err)
		var group sync.WaitGroup
		var used atomic.Int64
		for range 4 {
			group.Go(func() {
				for {
					sum, err := add(h, base)
					if err != nil {
						return
					}
					used.Add(1)
					sum.Close()
				}
			})
			group.Go(func() {
				runtime.Gosched()
				h.Close()
			})
		}
		group.Wait()
		require.True(t, h.Closed())
		require.Equal(t, int32(closedMark), h.uses.Load())
	}
	assert.Equal(t, 1, references(t, base))
	base.Close()
}

func TestFailedCallsUnpin(t *testing.T) {
	clean(t)
	a, b := newHandle(t, 1, 2), newHandle(t, 1, 2, 3)
	_, err := add(a, b)
	require.NotNil(t, err)
	assert.Equal(t, KindGeneric, err.Kind)
	assert.Equal(t, "add.Tensor: "+err.Msg+" (with float32[2], float32[3])", err.Error())
	assert.Zero(t, a.uses.Load())
	b.Close()
	_, err = add(a, b)
	assert.Equal(t, KindClosed, err.Kind)
	assert.Zero(t, a.uses.Load(), "the open one is free again")
	a.Close()
}

func TestTheCollectorFrees(t *testing.T) {
	clean(t)
	keep := newHandle(t, 1)
	before := LiveUnscoped(TensorKind)
	for range 2000 {
		newHandle(t, 1, 2, 3)
	}
	deadline := time.Now().Add(10 * time.Second)
	for now := LiveUnscoped(TensorKind); now > before && time.Now().Before(deadline); now = LiveUnscoped(TensorKind) {
		Collect()
	}
	now := LiveUnscoped(TensorKind)
	assert.LessOrEqual(t, now, before)
	assert.Equal(t, []float32{1}, values(t, keep, 1))
	keep.Close()
}

func TestScopes(t *testing.T) {
	clean(t)
	outer, err := EnterScope()
	require.NoError(t, err)
	var escaped []*Handle
	for range 3*chunkSize + 5 {
		escaped = append(escaped, newHandle(t, 1))
	}
	assert.True(t, escaped[0].Scoped())
	assert.Equal(t, len(escaped), outer.Made())
	inner, err := EnterScope()
	require.NoError(t, err)
	assert.Same(t, outer, inner.Parent())
	assert.Nil(t, outer.Parent())
	h := newHandle(t, 7)
	kept, e := h.Keep()
	require.Nil(t, e)
	moved, e := h.MoveOut()
	require.Nil(t, e)
	assert.NoError(t, Suspend(func() {
		u := newHandle(t, 2)
		assert.False(t, u.Scoped())
		u.Close()
	}))
	inner.Leave()
	assert.True(t, h.Closed())
	assert.Equal(t, []float32{7}, values(t, moved, 1))
	for _, h := range escaped[:chunkSize] {
		h.Close()
	}
	scoped := LiveScoped()
	assert.Equal(t, len(escaped)-chunkSize+1, scoped)
	outer.Leave()
	assert.True(t, moved.Closed())
	for _, h := range escaped {
		require.True(t, h.Closed())
	}
	assert.Equal(t, []float32{7}, values(t, kept, 1))
	kept.Close()
}

// The memory of handles is used once each; the unused rest of a chunk serves the next
// scope.
func TestScopesReuseTheRestOfAChunk(t *testing.T) {
	clean(t)
	seen := map[*Handle]bool{}
	for range 200 {
		s, err := EnterScope()
		require.NoError(t, err)
		for range 7 {
			h := newHandle(t, 1)
			require.False(t, seen[h], "a handle was handed out twice")
			seen[h] = true
		}
		require.LessOrEqual(t, len(s.chunks), 2)
		s.Leave()
	}
}

// Others may ask for the counts while a scope is at work.
func TestLiveIsSafeAtAnyTime(t *testing.T) {
	clean(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			s, err := EnterScope()
			assert.NoError(t, err)
			for range 100 {
				newHandle(t, 1)
			}
			s.Leave()
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
			scoped := LiveScoped()
			assert.LessOrEqual(t, scoped, 100)
		}
	}
}

func TestGarbageComesFromManyThreads(t *testing.T) {
	clean(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 300 {
				newHandle(t, 1, 2, 3, 4)
			}
			Collect()
		})
	}
	group.Wait()
}
