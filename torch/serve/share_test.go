package serve_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Lanes that have nothing to do share what waits, where that costs no rows of zeros; so does what is left, without waiting again.
func TestIdleLanesShare(t *testing.T) {
	for name, c := range map[string]struct {
		options serve.Options
		sizes   map[int]int64
	}{
		"halves":     {serve.Options{Lanes: 2, MaxBatch: 16}, map[int]int64{8: 2}},
		"thirds":     {serve.Options{Lanes: 3, MaxBatch: 16}, map[int]int64{6: 1, 5: 2}},
		"one lane":   {serve.Options{Lanes: 1, MaxBatch: 16}, map[int]int64{16: 1}},
		"buckets":    {serve.Options{Lanes: 2, MaxBatch: 16, Buckets: []int{4, 8, 16}}, map[int]int64{8: 2}},
		"one bucket": {serve.Options{Lanes: 2, MaxBatch: 16, Buckets: []int{16}}, map[int]int64{16: 1}},
		"preferred":  {serve.Options{Lanes: 2, MaxBatch: 16, Preferred: []int{16}}, map[int]int64{16: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			torchtest.NoLeaks(t)
			c.options.MaxDelay, c.options.WarmUp = time.Hour, []int{}
			m := adding(1)
			s := gathered(t, m, c.options)
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					got, err := ask(t.Context(), s, serve.Request{}, float32(i))
					require.NoError(t, err)
					require.Equal(t, []float32{float32(i) + 1}, got)
				})
			}
			m.open(t, s, 16)
			all.Wait()
			got := map[int]int64{}
			for rows, n := range s.Stats().Sizes {
				if n > 0 {
					got[rows] = n
				}
			}
			require.Equal(t, c.sizes, got)
		})
	}
}

// While one lane computes, the other begins with its part of all that are on their way, waits for no more, and leaves the rest.
func TestPartsAreFair(t *testing.T) {
	torchtest.NoLeaks(t)
	m := adding(1)
	s := gathered(t, m, serve.Options{Lanes: 2, MaxBatch: 16, MaxDelay: time.Hour, WarmUp: []int{}})
	var all sync.WaitGroup
	come := func(requests int) {
		for range requests {
			all.Go(func() {
				got, err := ask(t.Context(), s, serve.Request{}, 1)
				require.NoError(t, err)
				require.Equal(t, []float32{2}, got)
			})
		}
	}
	state := func(waiting, running int) {
		t.Helper()
		eventually(t, func() bool { st := s.Stats(); return st.Waiting == waiting && st.Running == running })
	}
	come(16)
	state(0, 16)
	m.gate <- struct{}{} // one of the two lanes has done its half, whose senders come again
	state(0, 8)
	come(7)
	state(7, 8)
	come(1)
	state(0, 16)
	come(4) // 20 are on their way: 10 for each
	state(4, 16)
	m.gate <- struct{}{}
	state(4, 8)
	come(8)
	state(2, 18)
	close(m.gate)
	require.NoError(t, s.Shutdown(t.Context()), "and those that are left over")
	all.Wait()
}
