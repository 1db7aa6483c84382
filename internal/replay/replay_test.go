package replay

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecording(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var log []string
	note := func(what string) func(bool) { return func(bool) { log = append(log, what) } }
	require.False(t, Before(t, note("outside")))
	var inner []func(bool)
	outer := Recording(func() {
		require.True(t, Before(1, note("first")))
		require.True(t, Before(1, note("again")))
		inner = Recording(func() { require.True(t, Before(1, note("inner"))) })
		require.True(t, Before(2, note("second")))
		elsewhere := make(chan bool)
		go func() {
			runtime.LockOSThread()
			elsewhere <- Before(3, note("another thread"))
		}()
		require.False(t, <-elsewhere)
	})
	for _, fn := range append(outer, inner...) {
		fn(true)
	}
	require.Equal(t, []string{"first", "second", "inner"}, log)
	require.Panics(t, func() { Recording(func() { panic("broken") }) })
	require.False(t, Before(t, note("after")))
	require.Empty(t, tapes)
}
