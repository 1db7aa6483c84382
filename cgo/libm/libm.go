//go:build cgo

package libm

/*
#cgo LDFLAGS: -lm
#include <math.h>
*/
import "C"

// Cos is the cosine of x.
func Cos(x float64) float64 { return float64(C.cos(C.double(x))) }

// Log is the natural logarithm of x.
func Log(x float64) float64 { return float64(C.log(C.double(x))) }

// Pow is x to the power of y.
func Pow(x, y float64) float64 { return float64(C.pow(C.double(x), C.double(y))) }
