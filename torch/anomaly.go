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

// DetectAnomaly runs fn, a forward and a backward pass, and finds the line of the program
// whose derivative goes wrong: if a derivative fails, the error of Backward names the line
// that recorded its operation. A gradient with a NaN in it counts as a failure. Operations
// become several times slower, on all goroutines, because libtorch has one switch for the
// process. Regions may nest and overlap; NaNs are looked for while at least one of them
// asks for it.
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

// IsAnomalyCheckNaNEnabled tells whether a [DetectAnomaly] that is running looks for
// NaNs.
func IsAnomalyCheckNaNEnabled() bool { _, nan := cgo.InAnomaly(); return nan }

// Recorded is an operation of a graph and the Go code that recorded it, in the form that
// runtime.CallersFrames takes. Callers is empty if the operation was recorded outside
// [DetectAnomaly].
type Recorded = cgo.Recorded

// trailText says where the failed operation was recorded. If that happened in a backward
// pass, it also says where the operations were recorded that the pass belongs to.
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
