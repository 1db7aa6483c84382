package pace

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// member is a process of a test.
type member struct {
	name string
	end  func(name string) error
}

func (m *member) Close() error { return m.end(m.name) }

func TestCrew(t *testing.T) {
	var ended []string
	end := func(name string) error {
		ended = append(ended, name)
		if name == "b" {
			return errors.New("b ends badly")
		}
		return nil
	}
	var crew Crew[*member]
	require.NoError(t, crew.Close())
	started := 0
	get := func(name string) *member {
		m, err := crew.Get(name, func() (*member, error) {
			started++
			return &member{name, end}, nil
		})
		require.NoError(t, err)
		return m
	}
	require.Same(t, get("b"), get("b"))
	get("a")
	get("b")
	require.Equal(t, 2, started)
	_, err := crew.Get("c", func() (*member, error) { return nil, errors.New("c does not start") })
	require.EqualError(t, err, "c does not start")
	require.Equal(t, 2, crew.Len())
	var names []string
	for name, m := range crew.All() {
		require.Equal(t, name, m.name)
		names = append(names, name)
	}
	require.Equal(t, []string{"b", "a"}, names)
	require.EqualError(t, crew.Close(), "b ends badly")
	require.Equal(t, []string{"b", "a"}, ended)
	require.Zero(t, crew.Len())
	require.NoError(t, crew.Close())
}

func TestRounds(t *testing.T) {
	var seen []int
	require.NoError(t, Rounds(2, 3, func(round int) error {
		seen = append(seen, round)
		return nil
	}))
	require.Equal(t, []int{-2, -1, 0, 1, 2}, seen)
	stop := errors.New("stop")
	n := 0
	require.Equal(t, stop, Rounds(0, 9, func(round int) error {
		n++
		if round == 1 {
			return stop
		}
		return nil
	}))
	require.Equal(t, 2, n)
}

func TestEachIsFirstAsOftenAsTheOthers(t *testing.T) {
	require.Empty(t, Turn[int](nil, 3))
	require.Equal(t, []string{"a", "b", "c"}, Turn([]string{"a", "b", "c"}, 0))
	require.Equal(t, []string{"c", "b", "a"}, Turn([]string{"a", "b", "c"}, 1))
	require.Equal(t, []string{"b", "c", "a"}, Turn([]string{"a", "b", "c"}, 2))
	for n := 1; n < 6; n++ {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		first, follows := make([]int, n), map[[2]int]int{}
		for round := range 2 * n {
			turn := Turn(list, round)
			require.Equal(t, list, slices.Sorted(slices.Values(turn)))
			first[turn[0]]++
			for i := 1; i < n; i++ {
				follows[[2]int{turn[i-1], turn[i]}]++
			}
		}
		for i, times := range first {
			require.Equal(t, 2, times, "%d of %d", i, n)
		}
		for pair, times := range follows {
			require.Equal(t, times, follows[[2]int{pair[1], pair[0]}], "%v of %d", pair, n)
		}
		require.NotPanics(t, func() { Turn(list, -1) }, "a warm-up")
	}
}

func TestFigures(t *testing.T) {
	times := []float64{9, 3, 5, 1, 7, 8, 2, 6}
	require.Equal(t, 1.0, Lowest(times))
	require.Equal(t, 3.0, Quarter(times))
	require.Equal(t, 9.0, times[0], "the samples keep their order")
	require.InDelta(t, 2.0, GeoMean([]float64{1, 2, 4}), 1e-12)
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		n                 int
		middle, low, high float64
	}{{1, 1, 1, 1}, {2, 1.5, 1, 2}, {5, 3, 1, 5}, {6, 3.5, 1, 6}, {7, 4, 1, 7}, {30, 15.5, 9, 22}, {100, 50.5, 40, 61}} {
		values := make([]float64, c.n)
		for i := range values {
			values[i] = float64(c.n - i)
		}
		middle, low, high := Median(values)
		require.Equal(t, []float64{c.middle, c.low, c.high}, []float64{middle, low, high}, "%d values", c.n)
		require.EqualValues(t, c.n, values[0]) // their order is the caller's
	}
	// How often the median of all is in it: 2,000 times of what is drawn from a known one.
	r := rand.New(rand.NewPCG(1, 2))
	const tries = 2_000
	for _, n := range []int{7, 15, 30, 101} {
		within := 0
		for range tries {
			values := make([]float64, n)
			for i := range values {
				values[i] = r.ExpFloat64()
			}
			if _, low, high := Median(values); low <= math.Ln2 && math.Ln2 <= high {
				within++
			}
		}
		require.GreaterOrEqual(t, within, tries*19/20, "%d values", n)
	}
}
