package main

import (
	"math"
	"slices"
)

// An estimate is a median with an interval that holds the true one with the confidence asked
// for. Without enough samples for that there is no interval, and High is 0.
type estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
}

// usual is the chance that an interval of the tables misses the truth.
const usual = 0.05

// known tells whether there is an interval.
func (e estimate) known() bool { return e.High > 0 }

// same tells whether a ratio may be 1.
func (e estimate) same() bool { return !e.known() || e.Low <= 1 && e.High >= 1 }

// over1 and under1 tell whether a ratio is certainly more, or less, than 1.
func (e estimate) over1() bool  { return e.known() && e.Low > 1 }
func (e estimate) under1() bool { return e.known() && e.High < 1 }

// median estimates the median of samples. Times on a machine are skewed and have outliers, so
// the interval goes from one order statistic to another: how many samples lie below the true
// median is binomial whatever the distribution is, and nothing has to be assumed or drawn at
// random, as for a bootstrap.
func median(samples []float64, miss float64) (e estimate) {
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	if n == 0 {
		return e
	}
	e.Median = (sorted[(n-1)/2] + sorted[n/2]) / 2
	if k := rank(n, miss); k > 0 {
		e.Low, e.High = sorted[k-1], sorted[n-k]
	}
	return e
}

// rank is the largest k for which the k-th lowest and the k-th highest of n samples enclose the
// median but for a chance of miss; 0 where there are too few.
func rank(n int, miss float64) (k int) {
	term := math.Pow(0.5, float64(n)) // of n throws of a coin, k are heads
	for sum := term; 2*sum <= miss && k < n/2; sum += term {
		k++
		term *= float64(n-k+1) / float64(k)
	}
	return k
}

// roundsFor is the least number of samples that gives an interval.
func roundsFor(miss float64) (n int) {
	for n = 1; rank(n, miss) == 0; n++ {
	}
	return n
}

// speedup estimates how many times faster b is than a, given the times of both in the same
// rounds. Each round gives its own ratio, so that a disturbance of the machine, which affects
// both, cancels out.
func speedup(a, b []float64, miss float64) estimate {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return median(ratios, miss)
}
