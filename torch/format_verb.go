package torch

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Format prints the tensor as String does, for the verbs %v and %s. A precision is the number of
// digits after the point and a width that of each element, as [SetPrintOptions] and package fmt
// have them; a plus sign shows all elements: fmt.Printf("%+.2v", x). %e is scientific notation,
// %f is none, %g the shorter of both for each element, %d for integers.
//
// A tensor without dimensions is formatted as the number it holds by every other verb, as Python's
// f"{loss:.2f}" does: fmt.Printf("%.2f", loss). Verbs that make no sense give fmt's own
// %!x(torch.Tensor=…).
func (x Tensor) Format(s fmt.State, verb rune) {
	if verb != 'v' && verb != 's' && x.formatNumber(s, verb) {
		return
	}
	o, element := currentPrintOptions(), byte(0)
	switch lower := verb | 0x20; {
	case verb == 'v' || verb == 's' || verb == 'd' && x.integral():
	case lower == 'e' || lower == 'f':
		o.SciMode = new(lower == 'e')
		if verb == 'E' {
			element = 'E'
		}
	case lower == 'g':
		element = byte(verb)
	default:
		fmt.Fprintf(s, "%%!%c(torch.Tensor=%s)", verb, x.String())
		return
	}
	if digits, ok := s.Precision(); ok {
		o.Precision = &digits
	}
	if s.Flag('+') {
		o.Threshold = math.MaxInt
	}
	width, _ := s.Width()
	_, _ = io.WriteString(s, o.sprint(x, width, element)) // fmt reports the writer's error
}

// integral tells whether the elements are integers; false for a tensor that cannot be asked.
func (x Tensor) integral() bool {
	d, err := Try1(x.DType)
	return err == nil && !d.IsFloatingPoint() && !d.IsComplex() && d != Bool
}

// formatNumber writes the number of a tensor without dimensions; false if x is no such tensor.
func (x Tensor) formatNumber(s fmt.State, verb rune) bool {
	if !x.Defined() {
		return false
	}
	n, err := Try1(x.Dim)
	if err != nil || n != 0 {
		return false
	}
	v, err := Try1(x.Item)
	if err != nil {
		return false
	}
	if strings.ContainsRune("eEfFgG", verb) {
		writeNumber(s, verb, v)
	} else {
		fmt.Fprintf(s, fmt.FormatString(s, verb), v)
	}
	return true
}

// writeNumber writes a number of any kind by a verb for floating-point numbers, with Python's
// number of digits where none is given.
func writeNumber(s fmt.State, verb rune, v any) {
	format := fmt.FormatString(s, verb)
	if _, ok := s.Precision(); !ok {
		format = format[:len(format)-1] + ".6" + string(verb)
	}
	switch v := v.(type) {
	case int64:
		fmt.Fprintf(s, format, float64(v))
	case uint64:
		fmt.Fprintf(s, format, float64(v))
	case bool:
		fmt.Fprintf(s, format, map[bool]float64{true: 1}[v])
	case complex128:
		text := fmt.Sprintf(format+"%+"+strings.TrimLeft(format, "%+-# 0123456789")+"j", real(v), imag(v))
		_, _ = io.WriteString(s, text)
	default:
		fmt.Fprintf(s, format, v)
	}
}
