package torch

import (
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/frames"
)

// AnomalyOptions are the rarer arguments of [DetectAnomaly].
type AnomalyOptions struct {
	NoNaNCheck bool // do not look for NaNs
}

// DetectAnomaly runs fn, a forward and a backward pass, and finds out where in the program
// derivatives go wrong: an error of Backward says in which line the operation was recorded
// whose derivative failed, and a gradient with a NaN in it is such an error. It makes
// operations several times slower, on all goroutines: libtorch has one switch for the
// process. Regions may nest and overlap; NaNs are looked for as long as one of them does.
//
//	err := torch.Try(func() {
//		torch.DetectAnomaly(func() { loss(model, x).Backward() })
//	})
//	// torch: backward: Function 'LogBackward0' returned nan values in its 0th output.; LogBackward0 was recorded at model.go:33 (main.loss)
func DetectAnomaly(fn func(), opts ...AnomalyOptions) {
	if err := cgo.Anomaly(!first(opts).NoNaNCheck, fn); err != nil {
		throw("detect_anomaly", KindLibrary, "%v", err)
	}
}

// IsAnomalyEnabled tells whether a [DetectAnomaly] is running somewhere in the process.
func IsAnomalyEnabled() bool { on, _ := cgo.InAnomaly(); return on }

// IsAnomalyCheckNaNEnabled tells whether one of them looks for NaNs.
func IsAnomalyCheckNaNEnabled() bool { _, nan := cgo.InAnomaly(); return nan }

// Recorded is an operation of a graph and the Go code that recorded it, in the form that
// runtime.CallersFrames takes. Callers is empty for what was recorded outside of
// [DetectAnomaly].
type Recorded = cgo.Recorded

// trailText says where the operation was recorded that an error arose in, and, if that was
// in a backward pass, where those were that led there.
func trailText(trail []Recorded) string {
	var b strings.Builder
	for i, r := range trail {
		format := "; %s was recorded %s"
		if i > 0 {
			format = ", in the backward pass of %s, recorded %s"
		}
		place := "outside of DetectAnomaly"
		if at := frames.Place(r.Callers); at != "" {
			place = "at " + at
		}
		fmt.Fprintf(&b, format, r.Node, place)
	}
	return b.String()
}
