package cuda

import "github.com/libtorch-go/libtorch/torch"

// What the tests see of the inside.
type (
	StepRecorder = recorder
	Fake         struct {
		Log    *[]string
		Failed error
	}
)

// NewStep is Graphed with a recorder of one's own.
func NewStep(fn func([]torch.Tensor) []torch.Tensor, o GraphedOptions, rec StepRecorder) *Step {
	return newStep(fn, o, torch.CPU, rec)
}

func (f Fake) note(what string) { *f.Log = append(*f.Log, what) }

func (f Fake) warm(fn func()) error {
	f.note("warm")
	return torch.Try(fn)
}

func (f Fake) capture(fn func()) error {
	f.note("capture")
	if f.Failed != nil {
		return f.Failed
	}
	return torch.Try(fn)
}

func (f Fake) replay() { f.note("replay") }
func (f Fake) close()  { f.note("close") }

var (
	CaptureError   = captureError
	ReadStats      = readStats
	ReadProperties = readProperties
	ReadSnapshot   = readSnapshot
)

// Summary is the table of these counters.
func (s Stats) Summary(device int, abbreviated bool) string { return s.summary(device, abbreviated) }

// Write is DumpSnapshot of this picture.
func (s Snapshot) Write(path string) error { return s.write(path) }

// NewPool is a name of a pool.
func NewPool(first, second uint64) PoolID { return PoolID{first, second} }
