package data

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// A copier brings batches to a device as soon as they are made. On a card the copies have a stream of their own, beside the
// computation of the batches before.
type copier struct {
	device torch.Device // the zero Device: batches stay where they are
	stream cuda.Stream
}

func newCopier(d torch.Device) (copier, error) {
	if d == (torch.Device{}) {
		return copier{}, nil
	}
	if err := torch.CheckDevice(d); err != nil {
		return copier{}, err
	}
	c := copier{device: d}
	err := torch.Try(func() {
		if d.Type() == torch.DeviceCUDA {
			c.stream = cuda.NewStream(max(0, d.Index()))
		}
	})
	return c, err
}

// copyAhead replaces the tensors of a batch by copies on the device, and returns an event at the end of the copies; nil where
// there is nothing to wait for. They read pinned memory, which libtorch does not give away before that event.
func copyAhead[B any](c copier, batch *B) *cuda.Event {
	move := func() {
		replaceTensors(batch, func(t torch.Tensor) torch.Tensor {
			if !t.Defined() {
				return t
			}
			return t.To(c.device, torch.NonBlocking)
		})
	}
	switch {
	case c.device == (torch.Device{}):
		return nil
	case c.stream == (cuda.Stream{}):
		move()
		return nil
	}
	cuda.WithStream(c.stream, move)
	return c.stream.RecordEvent()
}

// arrive lets the loop's stream wait for the copies of a batch, and says that it uses them.
func arrive[B any](c copier, batch *B, copied *cuda.Event) {
	if copied == nil {
		return
	}
	defer copied.Close()
	here := cuda.CurrentStream(c.stream.Device())
	here.WaitEvent(copied)
	replaceTensors(batch, func(t torch.Tensor) torch.Tensor {
		if t.Defined() {
			cuda.RecordStream(here, t)
		}
		return t
	})
}
