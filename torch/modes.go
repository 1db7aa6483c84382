package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// Modes belong to OS threads in libtorch. Here a mode is a function that runs another: it
// locks the goroutine to its thread, sets the mode and restores the mode before, also if
// the function panics. There is no switch that a program could forget.

// NoGrad runs fn without recording operations for [Tensor.Backward].
func NoGrad(fn func()) { withGrad(false, fn) }

// EnableGrad runs fn with recording switched on again, inside [NoGrad].
func EnableGrad(fn func()) { withGrad(true, fn) }

func withGrad(on bool, fn func()) {
	var c cgo.Call
	c.Begin(cgo.OpEnterGrad)
	c.Bool(on)
	within(&c, fn)
}

// Inference runs fn in inference mode: faster than [NoGrad], and the tensors made in it
// can never take part in autograd.
func Inference(fn func()) {
	var c cgo.Call
	c.Begin(cgo.OpEnterInference)
	c.Bool(true)
	within(&c, fn)
}

// Unsafe runs fn with libtorch's inner operators permitted: those of package aten and of [Call]
// that trust their arguments, because other operators prepare these for them. A wrong argument
// to one of them ends the process, overwrites memory or never returns; outside Unsafe they are
// refused. Everything else is checked as usual. The permission belongs to the goroutine and
// ends with fn.
func Unsafe(fn func()) {
	var c cgo.Call
	c.Begin(cgo.OpEnterUnsafe)
	within(&c, fn)
}

// AutocastMode is one setting of automatic mixed precision. Package amp is easier to use.
type AutocastMode struct {
	Device  Device // whose operations are cast
	Enabled bool
	DType   DType // what they are cast to, BFloat16 or Float16; default: the device's (bfloat16 on CPU, float16 on CUDA)
	NoCache bool  // cast weights again at every use
}

// WithAutocast runs fn in that mode. It panics with a *[Error] if the mode is enabled for a
// dtype that is not a lower precision. PyTorch warns and computes as without autocast there;
// libtorch itself would compute in that dtype, even in integers.
func WithAutocast(m AutocastMode, fn func()) {
	if m.Enabled && !m.DType.IsZero() && m.DType != BFloat16 && m.DType != Float16 {
		throw("autocast", KindType, "mixed precision computes in bfloat16 or float16, got %v", m.DType)
	}
	var c cgo.Call
	c.Begin(cgo.OpEnterAutocast)
	c.Code(m.Device.code())
	c.Bool(m.Enabled)
	c.Code(m.DType.code())
	c.Bool(!m.NoCache)
	within(&c, fn)
}

// WithDevice runs fn with d as the current device of its type. Types that have no current device
// are refused: where a tensor is made, [TensorOptions] say.
func WithDevice(d Device, fn func()) {
	if t := d.Type(); t != DeviceCPU && t != DeviceCUDA {
		throw("with_device", KindValue, "there is no current %v device; TensorOptions{Device: …} makes tensors there", d)
	}
	need("with_device", d)
	var c cgo.Call
	c.Begin(cgo.OpEnterDevice)
	c.Code(d.code())
	within(&c, fn)
}

// within runs fn between entering the guard that a call makes and leaving it.
func within(c *cgo.Call, fn func()) {
	cgo.LockThread()
	defer cgo.UnlockThread()
	done(c)
	defer leave(c.WordResult(0))
	fn()
}

// leave leaves a guard.
func leave(guard uint64) {
	var c cgo.Call
	c.Begin(cgo.OpLeave)
	c.Word(guard)
	done(&c)
}

// IsGradEnabled tells whether operations are being recorded for Backward here.
func IsGradEnabled() bool {
	var c cgo.Call
	c.Begin(cgo.OpIsGradEnabled)
	return resultBool(&c)
}

// IsExporting tells whether the caller is being captured as a program, as torch.compiler.is_exporting does. A layer that has a faster
// operator of libtorch's own inner ones takes those then that any program may have.
func IsExporting() bool {
	var c cgo.Call
	c.Begin(cgo.OpIsExporting)
	return resultBool(&c)
}

// IsInference tells whether the caller runs inside [Inference].
func IsInference() bool {
	var c cgo.Call
	c.Begin(cgo.OpIsInference)
	return resultBool(&c)
}

// Autocasting is the autocast mode that holds here for a device.
func Autocasting(d Device) AutocastMode {
	var c cgo.Call
	c.Begin(cgo.OpAutocastState)
	c.Code(d.code())
	done(&c)
	return AutocastMode{Device: d, Enabled: c.BoolResult(0), DType: dtypeOf(c.WordResult(1)), NoCache: !c.BoolResult(2)}
}

// Go starts fn in a goroutine that inherits the caller's modes: gradients, inference,
// autocast. A plain go statement starts with the defaults. Scopes are not inherited, and a
// panic in fn ends the program as it does in any goroutine: wrap the work in [Try].
func Go(fn func()) {
	modes := captureModes()
	go func() {
		defer freeModes(modes)
		withModes(modes, fn)
	}()
}

// captureModes records the modes of this thread.
func captureModes() uint64 {
	var c cgo.Call
	c.Begin(cgo.OpCaptureModes)
	done(&c)
	return c.WordResult(0)
}

func withModes(modes uint64, fn func()) {
	var c cgo.Call
	c.Begin(cgo.OpEnterModes)
	c.Word(modes)
	within(&c, fn)
}

func freeModes(modes uint64) {
	var c cgo.Call
	c.Begin(cgo.OpFreeModes)
	c.Word(modes)
	done(&c)
}
