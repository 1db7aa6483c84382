package jit

import (
	"regexp"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
)

// Exception is what TorchScript raised, or libtorch in the middle of it. It is the Cause of the *torch.Error of a call.
type Exception struct {
	Class     string // in Python's terms: "ValueError"; "RuntimeError" for whatever libtorch refuses
	Message   string
	Traceback string // where it happened, in the code as TorchScript has it and, if the file says, in the original
}

// Error is all of it, the traceback first.
func (e *Exception) Error() string { return e.Traceback + e.Class + ": " + e.Message }

// kinds are the kinds of Python's classes.
func kindOf(class string) (k cgo.Kind, known bool) {
	switch className(class) {
	case "IndexError", "KeyError":
		return cgo.KindIndex, true
	case "ValueError":
		return cgo.KindValue, true
	case "TypeError":
		return cgo.KindType, true
	case "NotImplementedError":
		return cgo.KindNotImplemented, true
	}
	return k, false
}

// exhausted are the messages of allocators, which the interpreter passes on as text alone.
var exhausted = []string{"DefaultCPUAllocator: not enough memory", "DefaultCPUAllocator: can't allocate memory", "CUDA out of memory"}

// here marks a place in the source, in a traceback; classLine is what follows a traceback.
const here = "<--- HERE\n"

var classLine = regexp.MustCompile(`(?m)^([A-Za-z_][\w.]*): `)

// explain takes the text of an error of the interpreter's apart: a traceback, then a class and a message.
func explain(e *cgo.Error) {
	const opening = "The following operation failed in the TorchScript interpreter.\n"
	rest, found := strings.CutPrefix(e.Msg, opening)
	if !found {
		return
	}
	begin := 0 // behind the last line of source
	if at := strings.LastIndex(rest, here); at >= 0 {
		begin = at + len(here)
	}
	at := classLine.FindStringSubmatchIndex(rest[begin:])
	if at == nil {
		return
	}
	traceback, class, message := rest[:begin+at[0]], rest[begin+at[2]:begin+at[3]], strings.TrimSpace(rest[begin+at[1]:])
	if own, ok := strings.CutPrefix(message, "AssertionError: "); ok {
		class, message = "AssertionError", own
	}
	e.Msg, e.Cause = class+": "+message, &Exception{Class: class, Message: message, Traceback: traceback}
	if class == "RuntimeError" {
		e.Msg = message
	}
	if kind, known := kindOf(class); known {
		e.Kind = kind
	}
	for _, text := range exhausted {
		if strings.Contains(message, text) {
			e.Kind = cgo.KindOutOfMemory
		}
	}
}
