//go:build torchdebug

package cgo

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// With the tag torchdebug the stack that made each open handle is kept. The table knows
// handles by address only, so that it does not keep them alive.
var origins sync.Map // address of the Handle -> []uintptr, the stack

func trace(h *Handle) {
	var pcs [24]uintptr
	n := runtime.Callers(3, pcs[:])
	origins.Store(address(h), pcs[:n:n])
}

func untrace(h *Handle) { origins.Delete(address(h)) }

func address(h *Handle) uintptr { return uintptr(unsafe.Pointer(h)) }

// Origins lists where the open handles were made, one stack each.
func Origins() []string {
	var list []string
	origins.Range(func(_, v any) bool {
		var b strings.Builder
		frames := runtime.CallersFrames(v.([]uintptr))
		for {
			f, more := frames.Next()
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
			if !more {
				break
			}
		}
		list = append(list, b.String())
		return true
	})
	return list
}
