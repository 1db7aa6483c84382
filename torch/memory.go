package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// MemoryStats counts what this process holds of libtorch's. It serves as it is for expvar
// and for JSON:
//
//	expvar.Publish("torch", expvar.Func(func() any { return torch.Stats() }))
type MemoryStats struct {
	Scoped        int   // open tensors that belong to scopes
	Unscoped      int   // open tensors that do not
	Generators    int   // open generators
	DeviceObjects int   // open events, pools and graphs of torch/cuda
	Nodes         int   // recorded operations that the program refers to, see [Tensor.GradFn]
	Programs      int   // compiled programs of torch/export, and modules of torch/jit
	Lists         int   // lists of tensors that optimizers keep from step to step
	GroupObjects  int   // open stores, groups and operations of torch/dist
	Callbacks     int   // Go values that libtorch refers to: hooks, custom functions in graphs
	HostBytes     int64 // live bytes from libtorch's CPU allocator, whoever holds them
	HostPeak      int64 // the most there were since the start, or since [ResetPeakMemory]

	Collections int64 // runs of Go's garbage collector that libtorch's memory was the reason of
	Exhausted   int64 // operations that found no memory left
}

// Live is the number of open handles.
func (s MemoryStats) Live() int {
	return s.Scoped + s.Unscoped + s.Generators + s.DeviceObjects + s.Nodes + s.Programs + s.Lists + s.GroupObjects
}

// Stats counts the live handles and bytes. Memory that the garbage collector has not
// looked at yet is counted as live; [GC] makes it look. What cards hold is in torch/cuda.
func Stats() MemoryStats {
	if err := Load(); err != nil {
		return MemoryStats{}
	}
	var s MemoryStats
	s.Scoped = cgo.LiveScoped()
	s.Unscoped = cgo.LiveUnscoped(cgo.TensorKind)
	s.Generators = cgo.LiveUnscoped(cgo.GeneratorKind)
	s.DeviceObjects = cgo.LiveUnscoped(cgo.DeviceKind)
	s.Nodes = cgo.LiveUnscoped(cgo.NodeKind)
	s.Programs = cgo.LiveUnscoped(cgo.ProgramKind)
	s.Lists = cgo.LiveUnscoped(cgo.ListKind)
	s.GroupObjects = cgo.LiveUnscoped(cgo.GroupKind)
	s.Callbacks = cgo.LentValues()
	s.HostBytes, s.HostPeak, _ = cgo.HostMemory()
	s.Collections, s.Exhausted = cgo.Collections()
	return s
}

// ResetPeakMemory starts HostPeak of [Stats] anew from what is live now.
func ResetPeakMemory() {
	if Load() == nil {
		cgo.ResetPeak()
	}
}

// ScopeStats is what one open [Scope] holds.
type ScopeStats struct {
	ID, Outer uint64 // numbers of the scope and of the one around it, 0 where there is none
	Tensors   int    // open
	Bytes     int64  // of their memory; what several share is counted once
}

// Scopes lists the open scopes of all goroutines. It looks at every tensor in them: fine for
// a page of statistics, too much for every step.
func Scopes() []ScopeStats {
	if Load() != nil {
		return nil
	}
	var list []ScopeStats
	for _, s := range cgo.ScopesInUse() {
		list = append(list, ScopeStats{ID: s.ID, Outer: s.Outer, Tensors: s.Handles, Bytes: s.Bytes})
	}
	return list
}

// MemoryLimits bound the memory of tensors on one device.
type MemoryLimits struct {
	// Soft is how many bytes may be in use before Go's garbage collector is asked to look
	// for dropped tensors. The default, 0, asks whenever an eighth, but at least 32 MB, has
	// come on top of what was in use the last time. A program that frees by [Scope] and
	// Close never needs to be asked: it may set Soft high.
	Soft int64

	// Hard is how many bytes may be in use at all. An operation that wants more fails with
	// [ErrOutOfMemory] after the garbage has been collected, where the kernel would end the
	// process. 0 is no limit. It is for the host; cards have cuda.SetMemoryFraction.
	Hard int64
}

// SetMemoryLimits sets the limits for a device, and returns those from before.
func SetMemoryLimits(d Device, l MemoryLimits) (before MemoryLimits) {
	if l.Soft < 0 || l.Hard < 0 {
		throw("memory_limits", KindValue, "expected limits of at least 0 bytes, got %+v", l)
	}
	need("memory_limits", d)
	if err := Load(); err != nil {
		throw("memory_limits", KindLibrary, "%v", err)
	}
	switch {
	case d == CPU:
		before = MemoryLimits{Soft: cgo.SetSoftLimit(-1, l.Soft), Hard: cgo.SetHardLimit(l.Hard)}
	case d.Type() != DeviceCUDA:
		throw("memory_limits", KindValue, "expected the CPU or a CUDA device, got %v", d)
	case l.Hard != 0:
		throw("memory_limits", KindValue, "a hard limit is for the host; cuda.SetMemoryFraction limits %v", d)
	default:
		before.Soft = cgo.SetSoftLimit(max(0, d.Index()), l.Soft)
	}
	return before
}

// GC runs Go's garbage collector and frees the tensors it found dead. Programs need not
// call it: it happens by itself when libtorch's memory grows.
func GC() {
	if Load() == nil {
		cgo.Collect()
	}
}

// LiveOrigins says where each open tensor was made, one stack each, in a program built
// with -tags torchdebug; otherwise it is empty.
func LiveOrigins() []string { return cgo.Origins() }
