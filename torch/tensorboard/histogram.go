package tensorboard

import (
	"errors"
	"math"
	"slices"
	"sync"
)

type histogram struct {
	least, most, sum, squares float64
	count                     int
	limits, buckets           []float64 // the upper limit of each bucket, and how many values it has
}

// edges are the limits of all buckets, from the least on.
var edges = sync.OnceValue(func() []float64 {
	var up []float64
	for v := 1e-12; v < 1e20; v *= 1.1 {
		up = append(up, v)
	}
	all := make([]float64, 0, 2*len(up)+1)
	for _, v := range slices.Backward(up) {
		all = append(all, -v)
	}
	return append(append(all, 0), up...)
})

func newHistogram(values []float64) (histogram, error) {
	all := edges()
	h := histogram{least: math.Inf(1), most: math.Inf(-1), count: len(values)}
	counts := make([]float64, len(all)-1) // of values from all[k] up to all[k+1]
	first, last := len(counts), -1
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return h, errors.New("a value is not finite, and has no bucket")
		}
		h.least, h.most = min(h.least, v), max(h.most, v)
		h.sum += v
		h.squares += v * v
		k, exact := slices.BinarySearch(all, v)
		if !exact {
			k--
		}
		if k == len(counts) && exact {
			k-- // the last bucket has its upper limit, too
		}
		if k < 0 || k >= len(counts) {
			continue // beyond 1e20, where there are no buckets
		}
		counts[k]++
		first, last = min(first, k), max(last, k)
	}
	if last < 0 {
		return h, errors.New("all values are beyond the buckets, which end at 1e20")
	}
	// One empty bucket before the first shows where that begins.
	h.limits = all[first : last+2]
	if first > 0 {
		h.buckets = counts[first-1 : last+1]
	} else {
		h.buckets = append([]float64{0}, counts[:last+1]...)
	}
	return h, nil
}

func (h histogram) put(m *message) {
	for field, v := range []float64{h.least, h.most, float64(h.count), h.sum, h.squares} {
		m.double(field+1, v)
	}
	m.doubles(6, h.limits)
	m.doubles(7, h.buckets)
}
