package meter

import (
	"fmt"
	"math"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Summary is what the closing line of a run says about a meter.
type Summary int

// The choices of PyTorch's example.
const (
	None Summary = iota
	Average
	Sum
	Count
)

// AverageMeter keeps the last value of a figure and the mean of all values.
type AverageMeter struct {
	name    string
	format  string
	summary Summary

	val, sum float64
	count    int
	pending  []torch.Tensor // values that are still on their device
	weights  []int          // how often each counts
}

// NewAverageMeter makes a meter. The format is that of one number: "%6.3f".
func NewAverageMeter(name, format string, summary Summary) *AverageMeter {
	return &AverageMeter{name: name, format: format, summary: summary}
}

// Update records a value that stands for n samples.
func (m *AverageMeter) Update(val float64, n int) {
	m.settle()
	m.update(val, n)
}

func (m *AverageMeter) update(val float64, n int) {
	m.val = val
	m.sum += val * float64(n)
	m.count += n
}

// patience is how many tensors may be pending: enough to wait rarely for the device,
// few enough to cost no memory.
const patience = 256

// Add records a tensor with one element, such as the mean loss of a batch of n samples.
// It does not wait for the device: the value is read when it is needed. The tensor may
// end with the caller's scope.
func (m *AverageMeter) Add(t torch.Tensor, n int) {
	if t.NumEl() != 1 {
		torch.Throw("meter", torch.KindValue, "%s: a tensor of shape %v where one element is expected", m.name, t.Shape())
	}
	torch.Scope(func() { m.pending = append(m.pending, t.Detach().Reshape().Keep()) })
	m.weights = append(m.weights, n)
	if len(m.pending) >= patience {
		m.settle()
	}
}

// settle reads the pending values, all in one copy from the device.
func (m *AverageMeter) settle() {
	if len(m.pending) == 0 {
		return
	}
	torch.Scope(func() {
		for i, val := range torch.Values[float64](torch.Stack(m.pending)) {
			m.update(val, m.weights[i])
		}
	})
	m.drop()
}

func (m *AverageMeter) drop() {
	torch.Close(m.pending...)
	m.pending, m.weights = m.pending[:0], m.weights[:0]
}

// Reset forgets all values.
func (m *AverageMeter) Reset() {
	m.drop()
	m.val, m.sum, m.count = 0, 0, 0
}

// Val is the last value.
func (m *AverageMeter) Val() float64 { m.settle(); return m.val }

// Sum is the sum of the values, each times the samples it stood for.
func (m *AverageMeter) Sum() float64 { m.settle(); return m.sum }

// Count is the number of samples.
func (m *AverageMeter) Count() int { m.settle(); return m.count }

// Avg is the mean over the samples; 0 before the first.
func (m *AverageMeter) Avg() float64 {
	m.settle()
	if m.count == 0 {
		return 0
	}
	return m.sum / float64(m.count)
}

// String is "Loss 2.1325e+00 (2.2018e+00)": the last value and the mean.
func (m *AverageMeter) String() string {
	return m.name + " " + number(m.format, m.Val()) + " (" + number(m.format, m.Avg()) + ")"
}

// closing is the meter's part of the closing line; "" if it has none.
func (m *AverageMeter) closing() string {
	switch m.summary {
	case Average:
		return m.name + " " + number("%.3f", m.Avg())
	case Sum:
		return m.name + " " + number("%.3f", m.Sum())
	case Count:
		return m.name + " " + number("%.3f", float64(m.Count()))
	}
	return ""
}

// number spells what is not a number as Python does.
func number(format string, v float64) string {
	text := ""
	switch {
	case math.IsNaN(v):
		text = "nan"
	case math.IsInf(v, 1):
		text = "inf"
	case math.IsInf(v, -1):
		text = "-inf"
	default:
		return fmt.Sprintf(format, v)
	}
	width, _, _ := strings.Cut(format, ".")
	return fmt.Sprintf(width+"s", text)
}
