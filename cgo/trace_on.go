//go:build torchdebug

package cgo

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/libtorch-go/libtorch/internal/frames"
)

// With the tag torchdebug the stack that made each open handle is kept. The table knows
// handles by address only, so that it does not keep them alive.
var origins sync.Map // address of the Handle -> []uintptr, the stack

func trace(h *Handle) {
	origins.Store(address(h), frames.Callers(1))
	ends.forget(address(h)) // of an earlier handle at this address
}

func untrace(h *Handle) {
	if made, open := origins.LoadAndDelete(address(h)); open {
		ends.note(address(h), end{made.([]uintptr), frames.Callers(1)})
	}
}

// ends records where closed handles were made and closed. It is emptied when it is
// full.
var ends endTable

type end struct{ made, closed []uintptr }

type endTable struct {
	mu   sync.Mutex
	list map[uintptr]end
}

func (g *endTable) note(key uintptr, e end) {
	const most = 1 << 16
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.list == nil || len(g.list) >= most {
		g.list = map[uintptr]end{}
	}
	g.list[key] = e
}

func (g *endTable) forget(key uintptr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.list, key)
}

// life says where a closed handle was made and closed.
func life(h *Handle) string {
	ends.mu.Lock()
	e, known := ends.list[address(h)]
	ends.mu.Unlock()
	if !known {
		return ""
	}
	return fmt.Sprintf("; it was made at %s and closed at %s", frames.Place(e.made), frames.Place(e.closed))
}

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
