package gotorch

import "github.com/libtorch-go/libtorch/torch"

// GC may stand at the head of an iteration, where it had to. It does nothing: the garbage collector knows what tensors hold, and
// calls itself in time.
func GC() {}

// FinishGC frees all that the program no longer refers to.
func FinishGC() { torch.GC() }
