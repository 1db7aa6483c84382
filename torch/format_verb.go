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
	text := ""
	switch v := v.(type) {
	case int64:
		text = floatText(s, verb, float64(v), s.Flag('+'))
	case uint64:
		text = floatText(s, verb, float64(v), s.Flag('+'))
	case bool:
		text = floatText(s, verb, map[bool]float64{true: 1}[v], s.Flag('+'))
	case float64:
		text = floatText(s, verb, v, s.Flag('+'))
	case complex128:
		text = floatText(s, verb, real(v), s.Flag('+')) + floatText(s, verb, imag(v), true) + "j"
	}
	width, _ := s.Width()
	room := max(0, width-len(text))
	switch {
	case s.Flag('-'):
		text += strings.Repeat(" ", room)
	case s.Flag('0') && text[0] != '+' && text[0] != '-':
		text = strings.Repeat("0", room) + text
	case s.Flag('0'):
		text = text[:1] + strings.Repeat("0", room) + text[1:]
	default:
		text = strings.Repeat(" ", room) + text
	}
	_, _ = io.WriteString(s, text)
}

// floatText is a number without padding; what is no finite number is written as Python does.
func floatText(s fmt.State, verb rune, v float64, plus bool) string {
	digits, ok := s.Precision()
	if !ok {
		digits = 6
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		text := column{}.text(v)
		if verb < 'a' {
			text = strings.ToUpper(text)
		}
		if plus && text[0] != '-' {
			text = "+" + text
		}
		return text
	}
	format := "%"
	if s.Flag('#') {
		format += "#"
	}
	if plus {
		format += "+"
	}
	return fmt.Sprintf(format+".*"+string(verb), min(digits, maxPrecision), v)
}
