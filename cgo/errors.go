package cgo

import (
	"fmt"
	"strings"
)

// Kind says what sort of failure an [Error] is.
type Kind struct{ n uint8 }

// The first thirteen are tg_kind in shim/torchgo.h; the rest arise on the Go side.
var (
	KindNone           = Kind{0}
	KindGeneric        = Kind{1}
	KindOutOfMemory    = Kind{2}
	KindAccelerator    = Kind{3}
	KindIndex          = Kind{4}
	KindValue          = Kind{5}
	KindType           = Kind{6}
	KindNotImplemented = Kind{7}
	KindLinAlg         = Kind{8}
	KindDist           = Kind{9}
	kindStd            = Kind{10}
	kindUnknown        = Kind{11}
	KindCallback       = Kind{12}
	KindClosed         = Kind{13}
	KindLibrary        = Kind{14}
	KindNoCUDA         = Kind{15}
)

// Error is a failure of one call.
type Error struct {
	Op   string   // the operator's name: "add.Tensor"
	Kind Kind     // what sort of failure
	Code int      // the device runtime's error code, for KindAccelerator
	Msg  string   // libtorch's own words
	Args []string // the tensors among the arguments: "float32[2, 3]", "float32[2, 3] on cuda:0"

	Cause error      // what failed in Go, for KindCallback
	Trail []Recorded // in anomaly mode, the node that failed and where it comes from
}

// Error is one line: the operator, what was wrong and the arguments.
func (e *Error) Error() string {
	text := e.Op + ": " + InGo(e.Msg)
	if len(e.Args) > 0 {
		text += " (with " + strings.Join(e.Args, ", ") + ")"
	}
	return text
}

func (c *Call) error() *Error {
	e := &Error{
		Op:   c.op.String(),
		Kind: Kind{uint8(c.frame.kind)},
		Code: int(c.frame.code),
		Msg:  takeString(c.frame.msg, -1),
		Args: c.describe(),
	}
	e.latch()
	if c.frame.flags&flagTrail != 0 {
		e.Trail = c.trail()
	}
	switch e.Kind {
	case KindCallback:
		if p, ok := TakeBack(c.frame.out[0]).(*CallbackPanic); ok {
			e.Msg, e.Cause = p.Error(), p
		}
	case KindNotImplemented:
		e.explainBackend()
	case kindStd, kindUnknown:
		e.Kind = KindGeneric // Python, too, makes them its RuntimeError
	}
	return e
}

// explainBackend shortens libtorch's error for a backend without a kernel, which lists two
// screens of registrations. If that backend is CUDA and CUDA was not loaded, it says so
// instead.
func (e *Error) explainBackend() {
	short, _, found := strings.Cut(e.Msg, ". This could be because")
	if !found {
		return
	}
	e.Msg = short
	if strings.HasSuffix(short, "'CUDA' backend") && noCUDA != nil {
		e.Kind, e.Msg = KindNoCUDA, "CUDA is not available: "+noCUDA.Error()
	}
}

// describe says in a few words what each tensor argument is.
func (c *Call) describe() []string {
	handles := append(c.pinned[:c.pins:c.pins], c.morePins...)
	const many = 8
	var list []string
	for i, h := range handles[:min(len(handles), many)] {
		if c.opaque&(1<<i) == 0 {
			list = append(list, describe(h))
		}
	}
	if len(handles) > many {
		list = append(list, "…")
	}
	return list
}

func describe(h *Handle) string {
	var c Call
	c.Begin(OpDescribe)
	c.put(uint64(h.impl.Load())) // pinned by the call that failed
	c.ask()
	if c.frame.kind != 0 {
		return "a tensor"
	}
	dtype, device := c.frame.out[0], c.frame.out[1]
	var s Call
	s.Begin(OpSizes)
	s.put(uint64(h.impl.Load()))
	s.ask()
	text := DTypeName(int(dtype)) + strings.ReplaceAll(fmt.Sprint(s.Words(0)), " ", ", ")
	if name := DeviceName(device); name != "cpu" {
		text += " on " + name
	}
	return text
}

var dtypeNames = [...]string{
	"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
	"complex32", "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16",
	"quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16",
	"float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64",
	44: "float8_e8m0fnu", 45: "float4_e2m1fn_x2", // between them are integers of fewer bits, of which there are no tensors
}

// DTypeName is PyTorch's name of the c10::ScalarType with that number.
func DTypeName(code int) string {
	if code >= 0 && code < len(dtypeNames) && dtypeNames[code] != "" {
		return dtypeNames[code]
	}
	return fmt.Sprintf("dtype(%d)", code)
}

var deviceNames = map[uint64]string{
	0: "cpu", 1: "cuda", 2: "mkldnn", 6: "hip", 9: "xla", 12: "xpu", 13: "mps", 14: "meta", 15: "hpu", 18: "mtia",
}

// DeviceName is PyTorch's name of the device with that wire number: "cpu", "cuda:0".
func DeviceName(word uint64) string {
	name, ok := deviceNames[word>>8]
	if !ok {
		name = fmt.Sprintf("device(%d)", word>>8)
	}
	if index := int8(word); index >= 0 && name != "cpu" && name != "meta" {
		return fmt.Sprintf("%s:%d", name, index)
	}
	return name
}
