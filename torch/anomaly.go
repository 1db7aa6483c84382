package torch

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
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
		if frame, ok := userFrame(r.Callers); ok {
			place = fmt.Sprintf("at %s:%d (%s)", frame.File, frame.Line, frame.Function)
		}
		fmt.Fprintf(&b, format, r.Node, place)
	}
	return b.String()
}

// userFrame is the innermost of the callers that does not belong to this library.
func userFrame(callers []uintptr) (frame runtime.Frame, ok bool) {
	if len(callers) == 0 {
		return frame, false
	}
	for frames := runtime.CallersFrames(callers); ; {
		f, more := frames.Next()
		if !inLibrary(f.Function) {
			return f, true
		}
		if !ok {
			frame, ok = f, true
		}
		if !more {
			return frame, ok
		}
	}
}

// inLibrary tells whether a function belongs to the packages that programs call, rather
// than to a program.
func inLibrary(function string) bool {
	module := strings.TrimSuffix(reflect.TypeFor[Tensor]().PkgPath(), "torch")
	path, ours := strings.CutPrefix(function, module)
	if !ours {
		return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "iter.")
	}
	slash := strings.LastIndexByte(path, '/') + 1
	dot := strings.IndexByte(path[slash:], '.')
	path = path[:slash+max(dot, 0)]
	if strings.HasSuffix(path, "_test") {
		return false
	}
	for _, part := range []string{"cgo", "torch", "amp", "vision"} {
		if path == part || strings.HasPrefix(path, part+"/") {
			return true
		}
	}
	return false
}
