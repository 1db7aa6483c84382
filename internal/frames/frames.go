package frames

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// depth is how many callers are kept: a network's layers call each other deeply.
const depth = 64

// Callers is the stack of the caller's caller, without the innermost skip frames, in the form
// that [runtime.CallersFrames] takes. In a deferred function of a panic it has the frames that
// panicked.
func Callers(skip int) []uintptr {
	var pcs [depth]uintptr
	n := runtime.Callers(skip+3, pcs[:])
	return append([]uintptr(nil), pcs[:n]...)
}

// User is the innermost of the callers that belongs to the program; where none does, it is the
// innermost outside of Go's runtime. It is false where there are no callers.
func User(callers []uintptr) (frame runtime.Frame, ok bool) {
	if len(callers) == 0 {
		return frame, false
	}
	for frames := runtime.CallersFrames(callers); ; {
		f, more := frames.Next()
		if !inLibrary(f) {
			return f, true
		}
		if !ok && !inRuntime(f.Function) {
			frame, ok = f, true
		}
		if !more {
			return frame, ok
		}
	}
}

// Users are the callers that belong to the program, innermost first.
func Users(callers []uintptr) (list []runtime.Frame) {
	if len(callers) == 0 {
		return nil
	}
	for frames := runtime.CallersFrames(callers); ; {
		f, more := frames.Next()
		if f.Function != "" && !inLibrary(f) {
			list = append(list, f)
		}
		if !more {
			return list
		}
	}
}

// Place names the line of [User] and its function: "/src/model.go:33 (main.loss)". It is empty
// where there are no callers.
func Place(callers []uintptr) string {
	f, ok := User(callers)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d (%s)", f.File, f.Line, f.Function)
}

// root is the path of this module, with a slash behind it.
var root = strings.TrimSuffix(reflect.TypeFor[anchor]().PkgPath(), "internal/frames")

type anchor struct{}

// sources is where the files of this module are, with a slash behind it.
var sources = func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "internal/frames/frames.go")
}()

// inLibrary tells whether a frame belongs to the packages that programs call, or to Go's runtime,
// rather than to a program. The file decides: a closure of a function that was inlined has the name
// of the program's function around it. Wrappers that the compiler wrote have no file.
func inLibrary(f runtime.Frame) bool {
	if path, ours := strings.CutPrefix(f.File, sources); ours {
		return isLibrary(path[:max(0, strings.LastIndexByte(path, '/'))]) && !strings.HasSuffix(path, "_test.go")
	}
	path, ours := strings.CutPrefix(f.Function, root)
	if !ours {
		return inRuntime(f.Function)
	}
	slash := strings.LastIndexByte(path, '/') + 1
	dot := strings.IndexByte(path[slash:], '.')
	return isLibrary(path[:slash+max(dot, 0)])
}

// isLibrary tells whether a folder of this module has a package that programs call, or a part of one.
func isLibrary(folder string) bool {
	for _, part := range []string{"cgo", "torch", "amp", "vision", "internal/frames", "internal/bridge", "internal/form", "internal/option"} {
		if folder == part || strings.HasPrefix(folder, part+"/") {
			return true
		}
	}
	return false
}

// inRuntime tells whether a function belongs to what stands between a program and a panic in Go.
func inRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "iter.", "reflect.", "sync."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
