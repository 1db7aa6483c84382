//go:build !cgo

package libm

import "math"

// Cos is the cosine of x.
func Cos(x float64) float64 { return math.Cos(x) }

// Log is the natural logarithm of x.
func Log(x float64) float64 { return math.Log(x) }

// Pow is x to the power of y.
func Pow(x, y float64) float64 { return math.Pow(x, y) }
