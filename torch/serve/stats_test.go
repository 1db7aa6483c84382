package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurations(t *testing.T) {
	var d Durations
	require.Zero(t, d.Mean())
	require.Zero(t, d.Quantile(0.5))
	for i := range 1000 {
		d.add(time.Duration(i+1) * time.Millisecond)
	}
	for _, part := range []float64{0.001, 0.5, 0.9, 0.99, 1} {
		exact := time.Duration(part*1000) * time.Millisecond
		require.GreaterOrEqual(t, d.Quantile(part), exact)
		require.Less(t, float64(d.Quantile(part)), 1.091*float64(exact))
	}
	require.Equal(t, 500500*time.Microsecond, d.Mean())
	before := d
	d.add(time.Hour)
	d.add(0)
	since := d.since(before)
	require.EqualValues(t, 2, since.Count)
	require.Equal(t, time.Microsecond, since.Quantile(0.5))
	require.Greater(t, since.Quantile(1), 17*time.Minute)
	require.Equal(t, Stats{Sizes: []int64{0, 2}, Answered: 1, Queue: since},
		Stats{Sizes: []int64{1, 5}, Answered: 4, Queue: d}.Since(Stats{Sizes: []int64{1, 3}, Answered: 3, Queue: before}))
}
