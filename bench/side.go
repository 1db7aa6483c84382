package main

import (
	"cmp"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/libtorch-go/libtorch/internal/home"
	"github.com/libtorch-go/libtorch/internal/talk"
)

//go:embed python/*.py
var scripts embed.FS

// side is one of the processes that are compared: ours or Python's. It gets one command
// per line, so that both stay warm and take turns.
type side struct {
	name string
	*talk.Partner
}

// maker knows how to start both kinds of side.
type maker struct {
	self, python string
	scripts      string // the folder with the Python half
	against      rival
	home         string // the folder with libtorch, and what else build.sh makes
}

// newMaker finds Python's torch over the same libraries, which ./build.sh peer makes, and
// lays out the scripts in dir.
func newMaker(dir string, against rival) (*maker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if against.program != "" {
		return &maker{self: self, against: against}, nil
	}
	made := home.FromEnv()
	if made == "" {
		_, here, _, _ := runtime.Caller(0)
		made = filepath.Join(filepath.Dir(here), "..", "third_party")
	}
	python := filepath.Join(made, "peer", "python")
	if _, err := os.Stat(python); err != nil {
		return nil, fmt.Errorf("bench: %w; make the Python side with ./build.sh peer, or, in a bundle, see what its scripts say of Python", err)
	}
	return &maker{self: self, python: python, scripts: filepath.Join(dir, "python"), home: made}, os.CopyFS(dir, scripts)
}

// ours starts a process of this program.
func (m *maker) ours(env ...string) (*side, error) {
	return start("ours", env, m.self, "-serve")
}

// rival is whom we are compared with.
func (m *maker) rival() string { return cmp.Or(m.against.name, "Python") }

// theirs starts a process of Python, or of what takes its place.
func (m *maker) theirs(env ...string) (*side, error) {
	if m.against.program != "" {
		return start(m.against.name, env, m.against.program)
	}
	return start("Python", env, m.python, filepath.Join(m.scripts, "peer.py"))
}

func start(name string, env []string, command string, args ...string) (*side, error) {
	cmd := exec.Command(command, args...)
	cmd.Env = slices.Concat(os.Environ(), env)
	cmd.Stderr = os.Stderr
	partner, err := talk.Start(name, cmd)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return &side{name, partner}, nil
}

// ask sends a command and waits for the answer.
func (s *side) ask(q request) (r reply, err error) {
	if err := s.Ask(q, &r); err != nil {
		return r, fmt.Errorf("bench: %s %s: %w", q.Cmd, q.Case, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("bench: %s: %s %s: %s", s.name, q.Cmd, q.Case, r.Error)
	}
	return r, nil
}
