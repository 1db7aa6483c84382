package main

import (
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// A rig runs one workload under all settings.
type rig struct {
	device     torch.Device
	work       workload
	bodies     map[torch.MemoryFormat]*body
	graphs     map[string]*cuda.Step // by the setting's key
	start, end *cuda.Event           // nil on the CPU
}

func newRig(device torch.Device, w workload) *rig {
	r := &rig{device: device, work: w, bodies: map[torch.MemoryFormat]*body{}, graphs: map[string]*cuda.Step{}}
	if device.IsCUDA() {
		r.start, r.end = cuda.NewEvent(cuda.EventOptions{Timing: true}), cuda.NewEvent(cuda.EventOptions{Timing: true})
	}
	return r
}

func (r *rig) close() {
	for _, g := range r.graphs {
		g.Close()
	}
	for _, b := range r.bodies {
		b.close()
	}
	if r.start != nil {
		r.start.Close()
		r.end.Close()
	}
	emptyCache(r.device)
}

// run makes n iterations under a setting. It tells how long they took and the most memory that
// the workload held meanwhile: its weights and images, and what came and went.
func (r *rig) run(s setting, n int) (took time.Duration, peak int64, err error) {
	failed := torch.Try(func() {
		s.enter(r.device, func() {
			var b *body
			if b, err = r.body(s); err == nil {
				held := b.held
				var rise int64
				b.held, rise = r.watch(b.held, func() { took, err = r.time(b, s, n) })
				peak = held + rise
			}
		})
	})
	if failed != nil {
		return 0, 0, failed
	}
	return took, peak, err
}

// body is the workload in the setting's memory format.
func (r *rig) body(s setting) (b *body, err error) {
	format := torch.ContiguousFormat
	if s.on("channels-last") {
		format = torch.ChannelsLast
	}
	if b = r.bodies[format]; b != nil {
		return b, nil
	}
	held, _ := r.watch(0, func() { b, err = newBody(r.device, r.work, format) })
	if err != nil {
		return nil, err
	}
	b.held, r.bodies[format] = held, b
	return b, nil
}

// time makes n iterations: by the clock of the device, where it has one of its own.
func (r *rig) time(b *body, s setting, n int) (time.Duration, error) {
	in := b.inputs(s.dtype())
	step := b.step(s.dtype())
	once := func() error {
		torch.Scope(func() { step(in) })
		return nil
	}
	if s.on("graph") {
		graph := r.graphs[s.key()]
		if graph == nil {
			graph = cuda.Graphed(step, cuda.GraphedOptions{Device: max(0, r.device.Index())})
			r.graphs[s.key()] = graph
		}
		once = func() error {
			_, err := graph.Run(in...)
			return err
		}
	}
	began := time.Now()
	if r.start != nil {
		r.start.Record()
	}
	for range n {
		if err := once(); err != nil {
			return 0, err
		}
	}
	if r.start == nil {
		return time.Since(began), nil
	}
	r.end.Record()
	r.end.Synchronize()
	return r.start.Elapsed(r.end), nil
}

// watch runs fn. It tells what is held then, with held before, and how far the memory rose
// above what there was at the beginning.
func (r *rig) watch(held int64, fn func()) (after, rise int64) {
	r.resetPeak()
	before, _ := r.memory()
	fn()
	now, peak := r.memory()
	return held + now - before, peak - before
}

// memory is what tensors hold on the device, and the most they held.
func (r *rig) memory() (now, peak int64) {
	if r.device.IsCUDA() {
		m := cuda.Memory(max(0, r.device.Index()))
		return m.Allocated, m.PeakAllocated
	}
	m := torch.Stats()
	return m.HostBytes, m.HostPeak
}

func (r *rig) resetPeak() {
	if r.device.IsCUDA() {
		cuda.ResetPeakMemory(max(0, r.device.Index()))
		return
	}
	torch.ResetPeakMemory()
}

// forget frees what a failed setting held, so that other settings, and the other process on the
// card, may find room.
func (r *rig) forget(s setting) {
	if g := r.graphs[s.key()]; g != nil {
		g.Close()
		delete(r.graphs, s.key())
	}
	for _, b := range r.bodies {
		if b.opt != nil {
			b.opt.ZeroGrad() // the step may have stopped half way
		}
	}
	emptyCache(r.device)
}
