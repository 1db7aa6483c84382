package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch"
)

// request is a command to a side; python/peer.py lists them.
type request struct {
	Cmd     string `json:"cmd"`
	Case    string `json:"case"`
	Threads int    `json:"threads"`
	N       int    `json:"n"`
	File    string `json:"file"`
}

// reply is a side's answer; which fields it fills depends on the command.
type reply struct {
	Error   string  `json:"error,omitempty"`
	Version string  `json:"version,omitempty"`
	Result  string  `json:"result,omitempty"`
	Wall    float64 `json:"wall,omitempty"` // nanoseconds
	CPU     float64 `json:"cpu,omitempty"`  // nanoseconds of the calling thread
	RSS     int64   `json:"rss,omitempty"`  // bytes
	Peak    int64   `json:"peak,omitempty"` // bytes
}

// workload is one benchmark on our side.
type workload interface {
	run(n int)
	check() string // what it computes, to be compared with Python's
}

// server is our side: a separate process, as Python's is.
type server struct {
	file  string
	cases map[string]workload
}

// serve follows commands until its input ends. It stays on one thread and reports that
// thread's CPU time.
func serve(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	s := &server{cases: map[string]workload{}}
	return talk.Answer(in, out, func(q request) (r reply) {
		var failed error
		if err := torch.Try(func() { r, failed = s.obey(q) }); err != nil {
			failed = err
		}
		if failed != nil {
			r = reply{Error: failed.Error()}
		}
		return r
	})
}

func (s *server) obey(q request) (reply, error) {
	switch q.Cmd {
	case "hello":
		version, _, _ := strings.Cut(torch.Version(), "+")
		return reply{Version: version}, nil
	case "load":
		s.file = q.File
		return reply{}, nil
	case "write":
		return reply{}, writeTraining(q.File, q.N)
	case "memory":
		return memory()
	}
	w, err := s.workload(q.Case)
	if err != nil {
		return reply{}, err
	}
	if q.Cmd == "check" {
		torch.SetNumThreads(1)
		return reply{Result: w.check()}, nil
	}
	torch.SetNumThreads(q.Threads)
	wall, cpu := time.Now(), threadTime()
	w.run(q.N)
	return reply{CPU: float64(threadTime() - cpu), Wall: float64(time.Since(wall))}, nil
}

// workload finds a case, and makes it before its first use.
func (s *server) workload(name string) (workload, error) {
	if w := s.cases[name]; w != nil {
		return w, nil
	}
	for _, c := range catalogue {
		if c.name == name {
			w, err := c.make(s.file)
			s.cases[name] = w
			return w, err
		}
	}
	return nil, fmt.Errorf("there is no case %q", name)
}

// memory is the process's resident memory, now and at its peak.
func memory() (reply, error) {
	u, err := proc.Self()
	return reply{RSS: int64(u.Resident), Peak: int64(u.Peak)}, err
}
