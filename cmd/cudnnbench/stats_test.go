package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRanksAreThoseOfTheTables(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 15: 4, 20: 6, 30: 10, 50: 18, 100: 40} {
		require.Equal(t, want, rank(n, 0.05), "%d samples", n)
	}
	require.Zero(t, rank(6, 0.01))
	require.Equal(t, 1, rank(8, 0.01))
	require.Equal(t, 6, roundsFor(0.05))
	require.Equal(t, 12, roundsFor(0.05/62))
}

func TestMedian(t *testing.T) {
	require.Equal(t, estimate{}, median(nil, usual))
	require.Equal(t, estimate{Median: 2}, median([]float64{3, 1, 2}, usual))
	require.Equal(t, estimate{Median: 3.5, Low: 1, High: 6}, median([]float64{6, 5, 4, 3, 2, 1}, usual))
	require.False(t, estimate{Median: 2}.known())
	for _, c := range []struct {
		e                 estimate
		same, over, under bool
	}{
		{estimate{Median: 2}, true, false, false},
		{estimate{1.1, 0.9, 1.2}, true, false, false},
		{estimate{1.1, 1.05, 1.2}, false, true, false},
		{estimate{0.8, 0.7, 0.9}, false, false, true},
	} {
		require.Equal(t, []bool{c.same, c.over, c.under}, []bool{c.e.same(), c.e.over1(), c.e.under1()}, "%v", c.e)
	}
}

// The interval contains the true median as often as it says, also for skewed times.
func TestIntervalsHoldTheMedian(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 15, 20, 41} {
		const trials = 4000
		held := 0
		for range trials {
			samples := make([]float64, n)
			for i := range samples {
				samples[i] = 1 + random.ExpFloat64()
			}
			if e, truth := median(samples, usual), 1+math.Ln2; e.Low <= truth && truth <= e.High {
				held++
			}
		}
		require.Greater(t, float64(held)/trials, 0.945, "%d samples", n)
	}
}

// A disturbance that slows both down cancels out of the speed.
func TestSpeedupIgnoresDrift(t *testing.T) {
	var slow, fast []float64
	for i := range 20 {
		drift := 1 + float64(i*i)
		slow, fast = append(slow, 3*drift), append(fast, 2*drift)
	}
	require.Equal(t, estimate{1.5, 1.5, 1.5}, speedup(slow, fast, usual))
	require.Equal(t, 1.5, speedup(slow[:7], fast, usual).Median, "an interrupted round")
	require.Equal(t, estimate{}, speedup(nil, fast, usual))
}
