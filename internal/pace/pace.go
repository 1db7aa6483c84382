package pace

import (
	"errors"
	"io"
	"iter"
	"math"
	"slices"
)

// A Crew is the processes that are measured, each started when it is first needed. The zero
// Crew is ready for use.
type Crew[P io.Closer] struct {
	members map[string]P
	order   []string
}

// Get returns the process of that name, which start starts if there is none yet.
func (c *Crew[P]) Get(name string, start func() (P, error)) (P, error) {
	if p, ok := c.members[name]; ok {
		return p, nil
	}
	p, err := start()
	if err != nil {
		return p, err
	}
	if c.members == nil {
		c.members = map[string]P{}
	}
	c.members[name] = p
	c.order = append(c.order, name)
	return p, nil
}

// All yields the processes with their names, in the order of their start.
func (c *Crew[P]) All() iter.Seq2[string, P] {
	return func(yield func(string, P) bool) {
		for _, name := range c.order {
			if !yield(name, c.members[name]) {
				return
			}
		}
	}
}

// Len is the number of the processes.
func (c *Crew[P]) Len() int { return len(c.order) }

// Close ends all processes.
func (c *Crew[P]) Close() error {
	var failed []error
	for _, p := range c.All() {
		failed = append(failed, p.Close())
	}
	c.members, c.order = nil, nil
	return errors.Join(failed...)
}

// Rounds calls run for each round. The first ones, as many as warmup, have numbers below zero:
// they are not to be counted.
func Rounds(warmup, rounds int, run func(round int) error) error {
	for round := -warmup; round < rounds; round++ {
		if err := run(round); err != nil {
			return err
		}
	}
	return nil
}

// Turn returns those that are compared in the order of a round: every second one backwards, and
// each pair of rounds beginning with the next. So each is first as often as the others, and
// none always follows a slow one that leaves it a cold cache.
func Turn[T any](list []T, round int) []T {
	n := len(list)
	if n == 0 {
		return nil
	}
	at := ((round>>1)%n + n) % n
	turn := slices.Concat(list[at:], list[:at])
	if round&1 == 1 {
		slices.Reverse(turn)
	}
	return turn
}

// Lowest is the lowest of some times: what the machine can do where nothing disturbs it.
func Lowest(times []float64) float64 { return slices.Min(times) }

// Quarter is the quarter-lowest of some times: what else a busy machine does is in the others.
func Quarter(times []float64) float64 { return slices.Sorted(slices.Values(times))[len(times)/4] }

// Median is the middle one of some values, and an interval that has that of all there could be in it, 19 times of 20, however they are
// spread: values of their order, with as many below and above as halves by chance leave there (David and Nagaraja, Order Statistics,
// 7.1). Of less than seven it is the least and the greatest.
func Median(values []float64) (middle, low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	const deviations = 1.96 // within which 19 of 20 are
	below := max(1, int((float64(n)-deviations*math.Sqrt(float64(n)))/2))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[below-1], sorted[n-below]
}

// GeoMean is the geometric mean of some ratios.
func GeoMean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}
