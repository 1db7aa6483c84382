package gotorch

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtorch-go/libtorch/torch/cuda"
)

// CUDAStream is a queue of work on a card.
type CUDAStream struct {
	P unsafe.Pointer
}

// chosen is the stream that SetCurrentCUDAStream was given last.
var chosen atomic.Pointer[cuda.Stream]

func streamOf(s cuda.Stream) CUDAStream { return CUDAStream{unsafe.Pointer(&s)} }

func (s CUDAStream) core() cuda.Stream {
	if s.P == nil {
		panic("the zero CUDAStream is no stream: NewCUDAStream makes one")
	}
	return *(*cuda.Stream)(s.P)
}

// Query tells whether all that was submitted to the stream is done.
func (s CUDAStream) Query() bool { return s.core().Query() && cuda.DefaultStream(0).Query() }

// Synchronize waits until all that was submitted to the stream is done.
func (s CUDAStream) Synchronize() {
	s.core().Synchronize()
	cuda.DefaultStream(0).Synchronize()
}

// GetCurrentCUDAStream is the stream set last, or the card's own. It panics where there is no card.
func GetCurrentCUDAStream(device Device) CUDAStream {
	if s := chosen.Load(); s != nil && device.core().IsCUDA() {
		return streamOf(*s)
	}
	return streamOf(cuda.CurrentStream(device.core().Index()))
}

// SetCurrentCUDAStream makes stream the one that GetCurrentCUDAStream names. Work goes to the card's own stream all the
// same, in the order of the calls, because a goroutine has no thread of its own to set a stream on; every stream's
// Synchronize and Query look at that one too. cuda.WithStream of libtorch for Go submits to another.
func SetCurrentCUDAStream(stream CUDAStream) {
	s := stream.core()
	chosen.Store(&s)
}

// NewCUDAStream takes a stream from the card's pool. It panics where there is no card.
func NewCUDAStream(device Device) CUDAStream { return streamOf(cuda.NewStream(device.core().Index())) }
