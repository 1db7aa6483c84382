package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// The program measures in separate processes, one for each value of -benchmark, and asks them in
// turns. libtorch keeps the plans of cuDNN's convolutions in a cache that it looks into before it
// asks whether to benchmark, that plans enter either way, and whose key knows shapes, dtype,
// layout, deterministic and TF32 but not benchmark (aten/src/ATen/native/cudnn/Conv_v8.cpp). So in
// one process whichever value came first would be measured twice. The cache is also one per thread,
// which is why the process stays on its thread; the backward pass has the device's own.

// serveFlag as the only argument makes the program a process that obeys questions.
const serveFlag = "-serve"

// A question is a command to such a process.
type question struct {
	Cmd     string   `json:"cmd"` // "shapes", "open", "run" or "trim"
	Device  string   `json:"device"`
	Work    workload `json:"work,omitzero"`
	Setting setting  `json:"setting,omitempty"`
	N       int      `json:"n,omitempty"` // iterations
}

// An answer has what the command asks for.
type answer struct {
	Error   string    `json:"error,omitempty"`
	Memory  bool      `json:"memory,omitempty"` // the error is that there was not enough
	Seconds float64   `json:"seconds,omitempty"`
	Peak    int64     `json:"peak,omitempty"` // bytes
	Shapes  []counted `json:"shapes,omitempty"`
}

// counted is a convolution and the number of times a network has it.
type counted struct {
	Shape string `json:"shape"`
	Count int    `json:"count"`
}

// server is the state of the process that obeys: one workload.
type server struct{ rig *rig }

// serve obeys until its input ends. The process that asks handles interrupts.
func serve(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	if err := torch.Load(); err != nil {
		return err
	}
	s := &server{}
	defer s.close()
	return talk.Answer(in, out, func(q question) (a answer) {
		failed := torch.Try(func() { a = s.obey(q) })
		if failed != nil {
			a = refusal(failed)
		}
		return a
	})
}

// refusal is the answer that tells an error.
func refusal(err error) answer {
	return answer{Error: err.Error(), Memory: errors.Is(err, torch.ErrOutOfMemory)}
}

func (s *server) obey(q question) (a answer) {
	device, err := torch.ParseDevice(q.Device)
	if err == nil {
		err = torch.CheckDevice(device)
	}
	if err != nil {
		return refusal(err)
	}
	on(device, func() {
		switch q.Cmd {
		case "shapes":
			a.Shapes, err = q.Work.shapes()
		case "open":
			s.close()
			s.rig = newRig(device, q.Work)
		case "run":
			a, err = s.run(q)
		case "trim":
			emptyCache(device)
		default:
			err = fmt.Errorf("there is no command %q", q.Cmd)
		}
	})
	if err != nil {
		return refusal(err)
	}
	return a
}

func (s *server) run(q question) (a answer, err error) {
	if s.rig == nil {
		return a, errors.New("there is no workload")
	}
	took, peak, err := s.rig.run(q.Setting, q.N)
	if err != nil {
		s.rig.forget(q.Setting)
		return a, err
	}
	return answer{Seconds: took.Seconds(), Peak: peak}, nil
}

func (s *server) close() {
	if s.rig != nil {
		s.rig.close()
		s.rig = nil
	}
}

// emptyCache gives back memory that no tensor uses.
func emptyCache(device torch.Device) {
	if device.IsCUDA() {
		cuda.EmptyCache()
	}
}

// on runs fn with the device as the current one.
func on(device torch.Device, fn func()) {
	if device.IsCUDA() {
		cuda.WithDevice(max(0, device.Index()), fn)
		return
	}
	fn()
}

// key is the same for equal settings.
func (s setting) key() (text string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		text += name + "=" + s[name] + " "
	}
	return text
}
