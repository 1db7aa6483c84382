package pytext

import (
	"math"
	"strconv"
	"strings"
)

// Size is a shape as a torch.Size: "torch.Size([2, 3])".
func Size(shape []int) string { return "torch.Size(" + List(shape) + ")" }

// List is a list of integers: "[2, 3]".
func List(values []int) string { return "[" + join(values, strconv.Itoa) + "]" }

// Tuple is a tuple of integers: "(2, 3)", and "(2,)" for a single one.
func Tuple(values []int) string {
	if len(values) == 1 {
		return "(" + strconv.Itoa(values[0]) + ",)"
	}
	return "(" + join(values, strconv.Itoa) + ")"
}

// Floats is a list of floating-point numbers: "[2.0, 0.5]".
func Floats(values []float64) string { return "[" + join(values, Float) + "]" }

// Float is a floating-point number: "2.0", "1e-05", "inf".
func Float(v float64) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v, 'f', -1, 64)), "+")
	case v != 0 && (abs < 1e-4 || abs >= 1e16):
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Quoted are names in quotes, as in PyTorch's list of keys: "weight", "bias".
func Quoted(names []string) string { return join(names, strconv.Quote) }

func join[T any](values []T, text func(T) string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = text(v)
	}
	return strings.Join(list, ", ")
}
