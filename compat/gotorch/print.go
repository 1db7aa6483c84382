package gotorch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// lineWidth is how many characters of a row stand beside each other.
const lineWidth = 80

// String is the tensor as libtorch 1.6 printed it in C++.
func (a Tensor) String() string {
	t := a.core()
	if !t.Defined() {
		return "[ Tensor (undefined) ]"
	}
	p := printer{values: torch.Values[float64](plain(t)), precision: 6}
	shape := t.Shape()
	switch {
	case len(shape) == 0:
		p.WriteString(number(p.values[0], 'g', p.precision) + "\n")
	case len(p.values) == 0:
	case len(shape) == 1:
		p.column(p.values)
	case len(shape) == 2:
		p.matrix(p.values, shape[1], "")
	default:
		p.matrices(shape)
	}
	sizes := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ",")
	fmt.Fprintf(&p, "[ %s{%s} ]", typeName(t), sizes)
	return p.String()
}

// plain is the tensor as doubles on the CPU.
func plain(t torch.Tensor) torch.Tensor {
	t = t.Detach()
	if t.Layout() != torch.Strided {
		t = t.ToDense()
	}
	if t.IsComplex() {
		t = t.Real()
	}
	return t.To(torch.CPU, torch.Float64).Contiguous()
}

// typeNames are the dtypes as they stand in the last line.
var typeNames = []string{"Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat",
	"ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16"}

// typeName is the type of a tensor in C++: CPUFloatType.
func typeName(t torch.Tensor) string {
	name := t.DType().String()
	if code := codeOf(t.DType()); code != Invalid {
		name = typeNames[code]
	}
	device := "CPU"
	if t.Device().IsCUDA() {
		device = "CUDA"
	}
	if t.Layout() != torch.Strided {
		device = "Sparse" + device
	}
	return device + name + "Type"
}

// printer lays numbers out as at::print did. Its precision outlives a matrix, as that of a C++ stream does.
type printer struct {
	strings.Builder
	values    []float64
	precision int
}

// layout is how the numbers of a matrix are written.
type layout struct {
	verb  byte    // g, f or e
	width int     // of a number
	scale float64 // that is divided out
}

// magnitude is the number of digits before the point: 2 of 12.5, 0 of 0.5, -1 of 0.05.
func magnitude(v float64) float64 {
	if v == 0 {
		return 1
	}
	return math.Floor(math.Log10(v)) + 1
}

// layout chooses how values are written.
func (p *printer) layout(values []float64) layout {
	whole, first := true, true
	least, most := 1.0, 1.0
	for _, v := range values {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			continue
		}
		whole = whole && v == math.Ceil(v)
		if v = math.Abs(v); first {
			least, most, first = v, v, false
		}
		least, most = min(least, v), max(most, v)
	}
	if !first {
		least, most = magnitude(least), magnitude(most)
	}
	switch {
	case whole && most <= 9:
		return layout{'g', int(most) + 1, 1}
	case whole:
		p.precision = 4
		return layout{'e', 11, 1}
	}
	p.precision = 4
	switch {
	case most-least > 4 && (math.Abs(most) > 99 || math.Abs(least) > 99):
		return layout{'e', 12, 1}
	case most-least > 4:
		return layout{'e', 11, 1}
	case most > 5 || most < 0:
		return layout{'f', 7, math.Pow(10, most-1)}
	case most == 0:
		return layout{'f', 7, 1}
	}
	return layout{'f', int(most) + 6, 1}
}

// put writes a number, padded on the left.
func (p *printer) put(l layout, v float64) {
	fmt.Fprintf(p, "%*s", l.width, number(v/l.scale, l.verb, p.precision))
}

// number is v as a C++ stream writes it.
func number(v float64, verb byte, precision int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case verb == 'g':
		return fmt.Sprintf("%.*g", precision, v)
	}
	return strconv.FormatFloat(v, verb, precision, 64)
}

// scale writes the factor before numbers that are divided by it.
func (p *printer) scale(l layout) {
	if l.scale != 1 {
		p.WriteString(number(l.scale, 'g', p.precision) + " *\n")
	}
}

func (p *printer) column(values []float64) {
	l := p.layout(values)
	p.scale(l)
	for _, v := range values {
		p.put(l, v)
		p.WriteByte('\n')
	}
}

// matrix writes rows of n numbers, each after indent, in blocks of as many columns as a line holds.
func (p *printer) matrix(values []float64, n int, indent string) {
	l := p.layout(values)
	p.WriteString(indent)
	fit := (lineWidth - len(indent)) / (l.width + 1)
	for first := 0; first < n; first += fit {
		end := min(first+fit, n)
		if fit < n {
			if first > 0 {
				p.WriteByte('\n')
			}
			fmt.Fprintf(p, "Columns %d to %d%s", first+1, end, indent)
		}
		if l.scale != 1 {
			p.scale(l)
			p.WriteString(indent)
		}
		p.block(l, values, n, first, end, indent)
	}
}

// block writes the columns from first to end of all rows.
func (p *printer) block(l layout, values []float64, n, first, end int, indent string) {
	for row := 0; row < len(values); row += n {
		for at := first; at < end; at++ {
			p.put(l, values[row+at])
			if at < end-1 {
				p.WriteByte(' ')
			}
		}
		p.WriteByte('\n')
		if row+n < len(values) {
			p.WriteString(indent)
			if l.scale != 1 {
				p.WriteByte(' ')
			}
		}
	}
}

// matrices writes every matrix of a tensor of three and more dimensions, the first dimension running fastest.
func (p *printer) matrices(shape []int) {
	outer := shape[:len(shape)-2]
	rows, columns := shape[len(shape)-2], shape[len(shape)-1]
	counter := make([]int, len(outer))
	for start := true; ; start = false {
		if !start {
			p.WriteByte('\n')
		}
		place := 0
		p.WriteByte('(')
		for i, at := range counter {
			place = place*outer[i] + at
			fmt.Fprintf(p, "%d,", at+1)
		}
		p.WriteString(".,.) = \n")
		p.matrix(p.values[place*rows*columns:(place+1)*rows*columns], columns, " ")
		i := 0
		for ; i < len(counter); i++ {
			if counter[i]++; counter[i] < outer[i] {
				break
			}
			counter[i] = 0
		}
		if i == len(counter) {
			return
		}
	}
}
