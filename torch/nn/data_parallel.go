package nn

import (
	"reflect"
	"sync"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// DataParallel computes a model on several devices of this process at once: each gets a part of the batch and, in every pass, a copy of the
// model. Gradients add up in the model's own parameters, which are on the first of the devices. PyTorch advises against it, and so do
// we, except for a look at what a second card brings: package torch/dist does not copy the model in every pass.
//
//	model := nn.NewDataParallel(net, []torch.Device{torch.CUDA(0), torch.CUDA(1)})
//
// Names in its state dict begin with "module.", as Python's do. What a pass writes to buffers, such as running means, is kept where the
// first device computes it. Hooks run there alone.
type DataParallel[M Layer] struct {
	Module M `torch:"module"`

	devices []torch.Device
	o       DataParallelOptions
}

// DataParallelOptions are the rarer arguments of [NewDataParallel].
type DataParallelOptions struct {
	OutputDevice torch.Device // where the results come together; default: the first of the devices
	Dim          int          // along which inputs are divided and results put together; default 0, the batch
}

// NewDataParallel makes a model compute on several devices. Without a list the model computes where it is, as in PyTorch where there are
// no GPUs. The devices may be those of any kind; the same one twice, or the CPU, makes nothing faster.
func NewDataParallel[M Layer](model M, devices []torch.Device, opts ...DataParallelOptions) *DataParallel[M] {
	o := option.One(opts)
	if o.OutputDevice == (torch.Device{}) && len(devices) > 0 {
		o.OutputDevice = devices[0]
	}
	return &DataParallel[M]{Module: model, devices: devices, o: o}
}

// Forward divides x among the devices, computes all parts at once, and puts the results together. It panics with a *torch.Error if the
// model is not on the first of the devices, or a part fails.
func (d *DataParallel[M]) Forward(x torch.Tensor) torch.Tensor { return Hooked(d, x, d.forward) }

func (d *DataParallel[M]) forward(x torch.Tensor) torch.Tensor {
	if len(d.devices) == 0 {
		return d.Module.Forward(x)
	}
	for name, t := range StateDict(d.Module) {
		if at := t.Device(); at != d.devices[0] {
			torch.Throw("data_parallel", torch.KindValue, "the model must be on %v, the first of the devices, but %s is on %v",
				d.devices[0], name, at)
		}
	}
	parts := []torch.Tensor{x}
	if len(d.devices) > 1 {
		parts = x.Chunk(len(d.devices), d.o.Dim)
		defer torch.Close(parts...)
	}
	results := d.apply(parts)
	defer torch.Close(results...)
	return torch.Cat(results, d.o.Dim)
}

// apply computes the parts, each on its device. The results are in no scope.
func (d *DataParallel[M]) apply(parts []torch.Tensor) []torch.Tensor {
	results, failures := make([]torch.Tensor, len(parts)), make([]any, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		model, copied := d.Module, []torch.Tensor(nil)
		if i > 0 {
			model, copied = replica(d.Module, d.devices[i])
			defer torch.Close(copied...)
		}
		all.Add(1)
		torch.Go(func() {
			defer all.Done()
			defer func() { failures[i] = recover() }()
			torch.WithDevice(d.devices[i], func() {
				torch.Scope(func() { results[i] = whole(model.Forward(part.To(d.devices[i]))).To(d.o.OutputDevice).Keep() })
			})
		})
	}
	all.Wait()
	for _, failure := range failures {
		if failure != nil {
			torch.Close(results...)
			panic(failure)
		}
	}
	return results
}

// whole is a result that can be put behind others: a number is a vector of one.
func whole(y torch.Tensor) torch.Tensor {
	if y.Dim() == 0 {
		return y.View(1)
	}
	return y
}

// replica copies a model to a device, so that gradients of the copy's parameters reach those of the model, and lists the tensors made.
func replica[M any](m M, device torch.Device) (_ M, copied []torch.Tensor) {
	c := newCloner(func(t torch.Tensor) torch.Tensor {
		copied = append(copied, t.To(device, torch.Copy))
		return copied[len(copied)-1]
	})
	return c.clone(reflect.ValueOf(&m).Elem()).Interface().(M), copied
}
