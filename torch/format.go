package torch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// PrintOptions say how tensors are printed. The zero value is PyTorch's default.
type PrintOptions struct {
	Precision *int  // digits after the decimal point; default: 4
	Threshold int   // tensors with more elements are summarised; default: 1000
	EdgeItems *int  // elements shown at both ends of a summarised dimension; default: 3
	LineWidth int   // rows are broken at this width; default: 80
	SciMode   *bool // 1.0000e+00 rather than 1.0000; default: if the numbers need it
}

var printOptions atomic.Pointer[PrintOptions]

// SetPrintOptions sets how tensors are printed from now on, unless a call says
// otherwise.
func SetPrintOptions(o PrintOptions) { printOptions.Store(&o) }

func currentPrintOptions() (o PrintOptions) {
	if p := printOptions.Load(); p != nil {
		o = *p
	}
	return o
}

// String is the tensor as Python's str prints it:
//
//	tensor([[0.5000, 1.0000],
//	        [1.5000, 2.0000]], requires_grad=True)
//
// Only the elements that are shown are fetched from the device. A closed tensor prints
// as <closed tensor>, the undefined one as <undefined tensor>.
func (x Tensor) String() string { return currentPrintOptions().Sprint(x) }

// Sprint is [Tensor.String] with these options.
func (o PrintOptions) Sprint(t Tensor) (text string) { return o.sprint(t, 0, 0) }

// sprint is Sprint with elements of at least a width, and with their verb if it is not 0.
func (o PrintOptions) sprint(t Tensor, width int, verb byte) (text string) {
	if !t.Defined() {
		return "<undefined tensor>"
	}
	err := Try(func() {
		p := o.printer()
		p.least, p.verb = min(width, maxPrecision), verb
		Scope(func() {
			NoGrad(func() { text = p.tensor(t) })
		})
	})
	switch {
	case errors.Is(err, ErrClosed):
		return "<closed tensor>"
	case err != nil:
		return "<tensor that cannot be printed: " + err.Error() + ">"
	}
	return text
}

func (o PrintOptions) printer() printer {
	p := printer{precision: 4, threshold: 1000, edge: 3, width: 80, sci: o.SciMode}
	if o.Precision != nil {
		p.precision = *o.Precision
	}
	if o.EdgeItems != nil {
		p.edge = *o.EdgeItems
	}
	if o.Threshold != 0 {
		p.threshold = o.Threshold
	}
	if o.LineWidth != 0 {
		p.width = o.LineWidth
	}
	if p.precision > maxPrecision || p.edge < 0 {
		throw("print", KindValue, "expected a precision of at most %d digits and 0 or more items at the edges, got %d and %d",
			maxPrecision, p.precision, p.edge)
	}
	return p
}

// Bounds of what is printed: the text is made in Go's memory, and Go ends a program that runs out
// of it.
const (
	maxPrecision = 1100    // digits: no float64 has more after the point
	maxPrinted   = 1 << 24 // elements
	maxDeep      = 1000    // dimensions; Python's recursion ends there too
)

// printer is PrintOptions with the defaults filled in.
type printer struct {
	precision, threshold, edge, width int
	sci                               *bool
	least                             int  // characters of an element
	verb                              byte // how floating-point numbers are written, if it is not 0
}

func (p printer) tensor(t Tensor) string {
	if t.nested() {
		return p.nestedTensor(t)
	}
	const prefix = "tensor("
	body, notes := p.body(t, len(prefix))
	if d := t.Device(); !d.IsCPU() {
		notes = slices.Insert(notes, 0, "device='"+d.String()+"'")
	}
	if l := t.Layout(); l != Strided {
		notes = append(notes, "layout=torch."+l.String())
	}
	if made, err := Try1(t.gradName); err != nil {
		notes = append(notes, "grad_fn=<Invalid>")
	} else if made != "" {
		notes = append(notes, "grad_fn=<"+made[strings.LastIndexByte(made, ':')+1:]+">")
	} else if t.RequiresGrad() {
		notes = append(notes, "requires_grad=True")
	}
	return p.annotate(prefix+body, notes, len(prefix), t.Layout() == Sparse) + ")"
}

// body is the text for the elements, with its notes on size and dtype.
func (p printer) body(t Tensor, indent int) (text string, notes []string) {
	size, dtype := "size="+tuple(t.Shape()), "dtype=torch."+t.DType().String()
	var implied []DType // dtypes that need no note
	switch {
	case t.Layout() != Strided && t.Layout() != MKLDNN:
		text, notes = p.sparse(t, indent), []string{size, "nnz=" + fmt.Sprint(Call("_nnz", t)[0])}
		implied = []DType{Float32, Complex64, Int64, Bool}
	case t.Device() == Meta:
		text, notes, implied = "...", []string{size}, []DType{Float32}
	case t.NumEl() == 0:
		text, implied = "[]", []DType{Float32}
		if t.Dim() != 1 {
			notes = []string{size}
		}
	case t.quantized():
		text, notes = p.elements(t.dequantized(), indent), append([]string{size, dtype}, p.quantization(t)...)
		implied = []DType{t.DType()}
	default:
		text, implied = p.elements(t, indent), []DType{Float32, Complex64, Int64, Bool}
		if p.edge == 0 {
			notes = []string{size}
		}
	}
	if !slices.Contains(implied, t.DType()) {
		notes = append(notes, dtype)
	}
	return text, notes
}

// annotate appends the notes. A note goes on a new line if the last line has no room
// for it; if newline is set, the first note does in any case.
func (p printer) annotate(text string, notes []string, indent int, newline bool) string {
	used := len(text) - strings.LastIndexByte(text, '\n') + 1
	for _, note := range notes {
		if newline || used+len(note)+2 > p.width {
			text += ",\n" + strings.Repeat(" ", indent) + note
			used, newline = indent+len(note), false
		} else {
			text += ", " + note
			used += len(note) + 2
		}
	}
	return text
}

// sparse shows the tensors that make up a sparse one.
func (p printer) sparse(t Tensor, indent int) string {
	parts := map[Layout][]string{
		Sparse:    {"_indices", "_values"},
		SparseCSR: {"crow_indices", "col_indices", "values"},
		SparseBSR: {"crow_indices", "col_indices", "values"},
		SparseCSC: {"ccol_indices", "row_indices", "values"},
		SparseBSC: {"ccol_indices", "row_indices", "values"},
	}[t.Layout()]
	lines := make([]string, len(parts))
	for i, name := range parts {
		part := Call(name, t)[0].(Tensor)
		prefix := strings.TrimPrefix(name, "_") + "=tensor("
		lines[i] = prefix + p.elements(part, indent+len(prefix))
		if part.NumEl() == 0 {
			lines[i] += ", size=" + tuple(part.Shape())
		}
		lines[i] += ")"
	}
	return strings.Join(lines, ",\n"+strings.Repeat(" ", indent))
}

// elements is the nested list of the elements, or of those at the edges.
func (p printer) elements(t Tensor, indent int) string {
	if t.NumEl() == 0 {
		return "[]"
	}
	if t.Layout() == MKLDNN {
		t = t.ToDense()
	}
	t = t.Detach()
	cut := make([]bool, t.Dim()) // dimensions whose middle is left out
	summarize := t.NumEl() > min(p.threshold, maxPrinted)
	p.bound(t.Shape(), summarize)
	if summarize {
		for d, n := range t.Shape() {
			if cut[d] = n-p.edge > p.edge; cut[d] {
				t = Cat([]Tensor{t.Narrow(d, 0, p.edge), t.Narrow(d, n-p.edge, p.edge)}, d)
			}
		}
	}
	cells, width := p.cells(t)
	return p.nest(cells, width, t.Shape(), cut, indent)
}

// bound refuses tensors that would take minutes to print, or more memory than there is.
func (p printer) bound(shape []int, summarize bool) {
	if len(shape) > maxDeep {
		throw("print", KindValue, "a tensor of %d dimensions is nested too deep to be printed", len(shape))
	}
	shown := 1
	for _, n := range shape {
		if summarize && n-p.edge > p.edge {
			n = 2 * p.edge
		}
		if n > 0 && shown > maxPrinted/n {
			throw("print", KindValue, "a tensor of shape %v has more than %d elements to print", shape, maxPrinted)
		}
		shown *= max(1, n)
	}
}

// nest puts brackets around the cells, row by row.
func (p printer) nest(cells []string, width int, shape []int, cut []bool, indent int) string {
	switch len(shape) {
	case 0:
		return cells[0]
	case 1:
		return p.row(cells, width, cut[0], indent)
	}
	step := len(cells) / max(1, shape[0])
	rows := make([]string, shape[0], shape[0]+1)
	for i := range rows {
		rows[i] = p.nest(cells[i*step:][:step], width, shape[1:], cut[1:], indent+1)
	}
	if cut[0] {
		rows = slices.Insert(rows, p.edge, "...")
	}
	return "[" + strings.Join(rows, ","+strings.Repeat("\n", len(shape)-1)+strings.Repeat(" ", indent+1)) + "]"
}

// row is a list of cells, broken into lines.
func (p printer) row(cells []string, width int, cut bool, indent int) string {
	switch {
	case cut && p.edge == 0:
		cells = []string{"..."}
	case cut:
		cells = slices.Insert(slices.Clone(cells), p.edge, " ...")
	}
	perLine := max(1, (p.width-indent)/(width+len(", ")))
	var lines []string
	for line := range slices.Chunk(cells, perLine) {
		lines = append(lines, strings.Join(line, ", "))
	}
	return "[" + strings.Join(lines, ",\n"+strings.Repeat(" ", indent+1)) + "]"
}

// cells is the text of each element, all padded to one width.
func (p printer) cells(t Tensor) (cells []string, width int) {
	cells = make([]string, 0, t.NumEl())
	switch d := t.DType(); {
	case d.IsComplex():
		values := Values[complex128](t)
		re, im := make([]float64, len(values)), make([]float64, len(values))
		for i, v := range values {
			re[i], im[i] = real(v), imag(v)
		}
		left, right := p.column(re), p.column(im)
		for i := range values {
			sum := left.format(re[i])
			imaginary := strings.TrimLeft(right.format(im[i]), " ")
			if imaginary[0] != '-' {
				sum += "+"
			}
			cells = append(cells, sum+imaginary+"j")
		}
		return cells, left.width + right.width + len("j")
	case d.IsFloatingPoint():
		values := Values[float64](t)
		c := p.column(values)
		for _, v := range values {
			cells = append(cells, c.format(v))
		}
		return cells, c.width
	case d == Bool:
		for _, v := range Values[bool](t) {
			cells = append(cells, map[bool]string{true: "True", false: "False"}[v])
		}
	case d == Uint64:
		for _, v := range Values[uint64](t) {
			cells = append(cells, strconv.FormatUint(v, 10))
		}
	default:
		for _, v := range Values[int64](t) {
			cells = append(cells, strconv.FormatInt(v, 10))
		}
	}
	width = p.least
	for _, text := range cells {
		width = max(width, len(text))
	}
	for i, text := range cells {
		cells[i] = pad(text, width)
	}
	return cells, width
}

// column is how the floating-point numbers of one tensor are written.
type column struct {
	verb      byte // of strconv.FormatFloat
	precision int
	whole     bool // all are whole numbers: 1. rather than 1.0000
	width     int
}

// column chooses by the finite numbers other than zero: whole numbers get no decimals, and
// a wide range of magnitudes, or an extreme one, scientific notation.
func (p printer) column(values []float64) column {
	c := column{verb: 'f', precision: p.precision, whole: true, width: max(p.least, 1)}
	smallest, largest := math.Inf(1), 0.0
	for _, v := range values {
		if size := math.Abs(v); size > 0 && size <= math.MaxFloat64 {
			smallest, largest = min(smallest, size), max(largest, size)
			c.whole = c.whole && v == math.Trunc(v)
		}
	}
	switch {
	case p.verb != 0:
		c.verb, c.whole = p.verb, false
	case largest > 0:
		scientific := largest/smallest > 1000 || largest > 1e8 || smallest < 1e-4
		if p.sci != nil {
			scientific = *p.sci
		}
		if scientific {
			c.verb, c.whole = 'e', false
		}
	}
	if c.whole {
		c.precision = 0
	}
	for _, v := range values {
		if size := math.Abs(v); size > 0 && size <= math.MaxFloat64 {
			c.width = max(c.width, len(c.text(v)))
		}
	}
	return c
}

func (c column) format(v float64) string { return pad(c.text(v), c.width) }

func (c column) text(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return map[bool]string{true: "inf", false: "-inf"}[v > 0]
	case c.whole:
		return strconv.FormatFloat(v, 'f', 0, 64) + "."
	}
	return strconv.FormatFloat(v, c.verb, c.precision, 64)
}

func pad(text string, width int) string {
	return strings.Repeat(" ", max(0, width-len(text))) + text
}

// tuple is a shape as Python writes it: (), (3,), (2, 3).
func tuple(shape []int) string {
	list := make([]string, len(shape))
	for i, n := range shape {
		list[i] = strconv.Itoa(n)
	}
	if len(list) == 1 {
		return "(" + list[0] + ",)"
	}
	return "(" + strings.Join(list, ", ") + ")"
}
