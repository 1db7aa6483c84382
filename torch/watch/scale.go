package watch

import (
	"cmp"
	"math"
	"strconv"
)

// A scale brings the numbers from low to high to the pixels from first to last.
type scale struct {
	low, high   float64
	first, last float64
}

// at is the pixel of a number.
func (s scale) at(v float64) float64 {
	return s.first + (v-s.low)/(s.high-s.low)*(s.last-s.first)
}

// widened is a range with some room on both sides, at least as much as is given where all numbers are the same.
func widened(low, high, least float64) (float64, float64) {
	const room = 0.04 // of the range
	if low > high {
		return 0, 1
	}
	more := room * (high - low)
	if more <= 1e-12*max(math.Abs(low), math.Abs(high)) {
		more = max(cmp.Or(math.Abs(low)/10, 1), least)
	}
	return low - more, high + more
}

// ticks are round numbers within a range, about as many as wanted, and how far they are apart: 1, 2 or 5 times a power of ten.
func (s scale) ticks(wanted int, least float64) (list []float64, step float64) {
	rough := max((s.high-s.low)/float64(wanted), least)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, times := range []float64{1, 2, 5, 10} {
		if step = times * power; step >= rough*(1-1e-9) {
			break
		}
	}
	for k := math.Ceil(s.low / step); k*step <= s.high; k++ {
		list = append(list, k*step)
	}
	return list, step
}

// label is a tick's number, with as many digits as tell it from its neighbours.
func label(v, step float64) string {
	decimals := int(max(0, -math.Floor(math.Log10(step)+1e-9)))
	if math.Abs(v) < step/2 {
		return "0"
	}
	if math.Abs(v) < 1e6 && decimals <= 5 {
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	const most = 15
	digits := int(math.Floor(math.Log10(math.Abs(v))+1e-9) - math.Floor(math.Log10(step)+1e-9))
	return strconv.FormatFloat(v, 'e', min(max(digits, 0), most), 64)
}

// drawable tells whether a number has a place in a chart: infinities and what is next to them have none.
func drawable(v float64) bool { return math.Abs(v) <= math.MaxFloat64/4 }
