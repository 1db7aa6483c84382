package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/libtorch-go/libtorch/internal/home"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

const doctorIntro = `usage: libtorch doctor [FLAGS]

Says where a program looks for libtorch here, what it finds, whether that opens and computes, what a card says, and which of
the tools that install needs are there. It exits with 1 where a program would fail.
`

// report is what doctor finds out.
type report struct {
	Go       string       `json:"go"`
	Module   string       `json:"module"` // the version of this module; "" in a checkout
	Places   []home.Place `json:"places"`
	Home     string       `json:"home,omitempty"`
	Libtorch string       `json:"libtorch,omitempty"` // the folder
	Why      string       `json:"why,omitempty"`      // why that one
	BuiltFor string       `json:"built_for,omitempty"`
	Version  string       `json:"version,omitempty"` // of libtorch; "" where it does not open
	Threads  int          `json:"threads,omitempty"`
	Cards    []string     `json:"cards"`
	NoCUDA   string       `json:"no_cuda,omitempty"`
	Tools    []tool       `json:"tools"`
	Problem  string       `json:"problem,omitempty"` // why a program would fail
}

func doctor(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("doctor", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "for programs")
	if _, err := parse(fs, args, out, doctorIntro); err != nil {
		return err
	}
	r := examine(ctx)
	if *asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return err
		}
	} else {
		r.print(out)
	}
	if r.Problem != "" {
		return errors.New("a program would fail here")
	}
	return ctx.Err()
}

func examine(ctx context.Context) report {
	r := report{Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, Module: home.Version(), Places: home.Places(),
		Cards: []string{}, Tools: findTools(ctx)}
	if place, err := home.Find(); err == nil {
		r.Home, r.BuiltFor = place.Dir, builtFor(place.Dir)
		r.Libtorch, r.Why = home.Torch(place.Dir)
	}
	if err := compute(); err != nil {
		r.Problem = err.Error()
		return r
	}
	r.Version, r.Threads = torch.Version(), torch.NumThreads()
	for i := range cuda.DeviceCount() {
		r.Cards = append(r.Cards, cuda.DeviceName(i))
	}
	if err := cuda.Unavailable(); err != nil {
		r.NoCUDA = err.Error()
	}
	return r
}

// compute multiplies matrices, so that kernels which do not fit this processor show.
func compute() error {
	if err := torch.Load(); err != nil {
		return err
	}
	var sum float64
	err := torch.Try(func() {
		torch.Scope(func() {
			x := torch.Ones(8, 8)
			sum = x.MatMul(x).Sum().Float64()
		})
	})
	if err == nil && sum != 8*8*8 {
		err = fmt.Errorf("the product of ones adds up to %v, expected 512", sum)
	}
	return err
}

func (r report) print(out io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("go", "%s", r.Go)
	if r.Module == "" {
		line("module", "%s, a checkout", home.Module)
	} else {
		line("module", "%s %s", home.Module, r.Module)
	}
	for _, p := range r.Places {
		state := "nothing"
		switch {
		case p.Has && p.Dir == r.Home:
			state = "used"
		case p.Has:
			state = "not reached"
		}
		line("home", "%s (%s): %s", p.Dir, p.Why, state)
	}
	if r.Home != "" {
		line("libtorch", "%s (%s)", r.Libtorch, r.Why)
		line("shim", "for libtorch %s", r.BuiltFor)
	}
	switch {
	case r.Problem != "":
		line("opens", "no")
	default:
		line("opens", "yes, libtorch %s with %d threads", r.Version, r.Threads)
		for i, name := range r.Cards {
			line("card", "cuda:%d %s", i, name)
		}
		if r.NoCUDA != "" {
			line("card", "none: %s", r.NoCUDA)
		}
	}
	for _, t := range r.Tools {
		if t.Missing == "" {
			line("tool", "%s: %s", t.Name, t.Found)
		} else {
			line("tool", "%s is missing, %s; %s", t.Name, t.For, t.Missing)
		}
	}
	if r.Problem != "" {
		fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(r.Problem))
	}
}

// A tool is a program that install or go build needs; programs themselves need none.
type tool struct {
	Name    string `json:"name"`
	For     string `json:"for"`
	Found   string `json:"found,omitempty"`   // what it says of its version
	Missing string `json:"missing,omitempty"` // what to do
}

func findTools(ctx context.Context) []tool {
	either := func(name, fallback string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		return fallback
	}
	const toInstall, toBuild = "which libtorch install needs", "which go build needs"
	python := either("PYTHON", "python3")
	list := []struct {
		tool
		command []string
		advice  string
	}{
		{tool{Name: "C compiler", For: toBuild}, []string{either("CC", "cc"), "--version"},
			"install gcc (Debian, Ubuntu: apt install gcc) or set CC"},
		{tool{Name: "C++ compiler", For: toInstall}, []string{either("CXX", "c++"), "--version"},
			"install g++ 11 or later (Debian, Ubuntu: apt install g++) or set CXX"},
		{tool{Name: "Python", For: toInstall}, []string{python, "--version"},
			"install Python 3.10 or later (Debian, Ubuntu: apt install python3) or set PYTHON"},
		{tool{Name: "pip", For: toInstall}, []string{python, "-m", "pip", "--version"}, "install it (Debian, Ubuntu: apt install python3-pip)"},
		{tool{Name: "bash", For: toInstall}, []string{"bash", "--version"}, "install it (Debian, Ubuntu: apt install bash)"},
	}
	tools := make([]tool, len(list))
	for i, t := range list {
		tools[i] = t.tool
		if text, err := output(ctx, t.command); err != nil {
			tools[i].Missing = t.advice
		} else {
			tools[i].Found, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
		}
	}
	return tools
}

func output(ctx context.Context, command []string) (string, error) {
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	return string(text), err
}
