package cgo

import (
	"math"
	"slices"
)

// What a call brings back. A Call is asked once for each of its results, after Run has returned no error.

// Handle takes result i, a tensor, or nil if it is undefined. It belongs to the thread's
// scope, or to the garbage collector.
func (c *Call) Handle(i int) *Handle { return adopt(c.frame.out[i], c.frame.scope) }

// Unscoped takes result i out of every scope.
func (c *Call) Unscoped(i int) *Handle { return adopt(c.frame.out[i], 0) }

// Owned takes result i, an object that is no tensor. It belongs to the garbage collector.
func (c *Call) Owned(i int, k HandleKind) *Handle { return Own(c.frame.out[i], k) }

// Own takes over an object that is no tensor, whose word came with a call; nil for 0.
func Own(word uint64, k HandleKind) *Handle {
	if word == 0 {
		return nil
	}
	return newNetted(uintptr(word), k)
}

// Handles takes a list of tensors whose length is result i.
func (c *Call) Handles(i int) []*Handle {
	words := c.lent(i)
	list := make([]*Handle, len(words))
	for j, w := range words {
		list[j] = adopt(w, c.frame.scope)
	}
	return list
}

// Words takes a list of words whose length is result i.
func (c *Call) Words(i int) []uint64 {
	words := c.lent(i)
	if c.frame.more == 0 {
		words = slices.Clone(words)
	}
	return words
}

// IntResults is Words as numbers.
func (c *Call) IntResults(i int) []int {
	words := c.lent(i)
	list := make([]int, len(words))
	for j, w := range words {
		list[j] = int(w)
	}
	return list
}

// lent is Words for as long as the call is there: a short list that is the last result lies behind its length.
func (c *Call) lent(i int) []uint64 {
	n := int(c.frame.out[i])
	if c.frame.more != 0 {
		return takeWords(c.frame.more, n)
	}
	return c.frame.out[i+1 : i+1+n]
}

// Text takes a string whose length is result i.
func (c *Call) Text(i int) string { return takeString(c.frame.more, int(c.frame.out[i])) }

// IntResult is result i as an int.
func (c *Call) IntResult(i int) int { return int(c.frame.out[i]) }

// LastWord is the last word of the frame, which an entry may set before it fails.
func (c *Call) LastWord() uint64 { return c.frame.out[frameOut-1] }

// WordResult is result i as it came.
func (c *Call) WordResult(i int) uint64 { return c.frame.out[i] }

// FloatResult is result i as a float.
func (c *Call) FloatResult(i int) float64 { return math.Float64frombits(c.frame.out[i]) }

// BoolResult is result i as a bool.
func (c *Call) BoolResult(i int) bool { return c.frame.out[i] != 0 }

// ScalarResult is the number in results i to i+2: an int64, float64, bool or complex128,
// or a uint64 if an int64 cannot hold it.
func (c *Call) ScalarResult(i int) any {
	switch v := c.frame.out[i+1]; c.frame.out[i] {
	case tagFloat:
		return math.Float64frombits(v)
	case tagInt:
		return int64(v)
	case tagBool:
		return v != 0
	case tagNatural:
		return v
	default:
		return complex(math.Float64frombits(v), math.Float64frombits(c.frame.out[i+2]))
	}
}
