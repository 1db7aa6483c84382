package meter

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Average keeps the last value of a figure and the mean of all values: PyTorch's AverageMeter.
// The zero value is ready to use.
type Average struct {
	Name    string // what lines call it
	Format  string // of one number; default "%.4e"
	Summary bool   // the mean is part of the closing line

	val, sum float64
	count    int
	pending  []torch.Tensor // values that are still on their device
	weights  []int          // how often each counts
}

// Update records a value that stands for n samples.
func (a *Average) Update(val float64, n int) {
	a.settle()
	a.update(val, n)
}

func (a *Average) update(val float64, n int) {
	a.val = val
	a.sum += val * float64(n)
	a.count += n
}

// patience is how many tensors may be pending: enough to wait rarely for the device,
// few enough to cost no memory.
const patience = 256

// Add records a tensor with one element, such as the mean loss of a batch of n samples. It
// does not wait for the device: a copy stays there until a figure is asked for. So the tensor
// may end with the caller's scope, or be written to by the next step of a graph. It panics with
// a *torch.Error for a tensor of more elements, or of none.
func (a *Average) Add(t torch.Tensor, n int) {
	if t.NumEl() != 1 {
		torch.Throw("meter", torch.KindValue, "%s: a tensor of shape %v where one element is expected", a.Name, t.Shape())
	}
	torch.Scope(func() { a.pending = append(a.pending, t.Detach().Reshape().Clone().Keep()) })
	a.weights = append(a.weights, n)
	if len(a.pending) >= patience {
		a.settle()
	}
}

// settle reads the pending values, all in one copy from the device.
func (a *Average) settle() {
	if len(a.pending) == 0 {
		return
	}
	torch.Scope(func() {
		for i, val := range torch.Values[float64](torch.Stack(a.pending)) {
			a.update(val, a.weights[i])
		}
	})
	a.drop()
}

func (a *Average) drop() {
	torch.Close(a.pending...)
	a.pending, a.weights = a.pending[:0], a.weights[:0]
}

// Reset forgets all values.
func (a *Average) Reset() {
	a.drop()
	a.val, a.sum, a.count = 0, 0, 0
}

// Val is the last value; 0 before the first.
func (a *Average) Val() float64 { a.settle(); return a.val }

// Sum is the sum of the values, each times the samples it stood for.
func (a *Average) Sum() float64 { a.settle(); return a.sum }

// Count is the number of samples.
func (a *Average) Count() int { a.settle(); return a.count }

// Avg is the mean over the samples; 0 before the first.
func (a *Average) Avg() float64 {
	a.settle()
	if a.count == 0 {
		return 0
	}
	return a.sum / float64(a.count)
}

// String is "Loss 2.1325e+00 (2.2018e+00)": the last value and the mean.
func (a *Average) String() string {
	format := cmp.Or(a.Format, "%.4e")
	return a.Name + " " + number(format, a.Val()) + " (" + number(format, a.Avg()) + ")"
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
