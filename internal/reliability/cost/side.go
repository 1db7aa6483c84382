package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/libtorch-go/libtorch/internal/talk"
)

// checkout returns the folder with what was before: the one that is named, or a new one of
// the commit, with a shim over the libtorch that is here.
func checkout(here, before, dir string) (folder string, remove func() error, err error) {
	nothing := func() error { return nil }
	if _, err := os.Stat(filepath.Join(before, "go.mod")); err == nil {
		folder, err := filepath.Abs(before)
		return folder, nothing, err
	}
	folder = filepath.Join(dir, "before")
	if err := command(here, nil, "git", "worktree", "add", "--detach", folder, before); err != nil {
		return "", nothing, err
	}
	remove = func() error { return command(here, nil, "git", "worktree", "remove", "--force", folder) }
	torch := "LIBTORCH=" + filepath.Join(here, "third_party", "libtorch", "torch")
	if err := command(folder, []string{torch}, "./build.sh", "shim"); err != nil {
		_ = remove() // the first error says more
		return "", nothing, err
	}
	return folder, remove, nil
}

func command(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// side is the process of a benchmark, which obeys commands, and the CPU time in nanoseconds that
// each call took, by operator and round.
type side struct {
	*talk.Partner
	taken map[string][]float64
}

// start builds package bench of a checkout and starts it.
func start(folder, program string) (*talk.Partner, error) {
	if err := command(folder, nil, "go", "build", "-o", program, "./bench"); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-serve")
	cmd.Env = append(os.Environ(), "LIBTORCH_GO_HOME="+filepath.Join(folder, "third_party"))
	cmd.Stderr = os.Stderr
	return talk.Start(folder, cmd)
}

// run has the side run a round of an operator, and returns the CPU time in nanoseconds.
func (s *side) run(op string) (cpu float64, err error) {
	var reply struct {
		CPU   float64
		Error string
	}
	if err := s.Ask(map[string]any{"cmd": "run", "case": op, "threads": 1, "n": callsOf(op)}, &reply); err != nil {
		return 0, err
	}
	if reply.Error != "" {
		return 0, fmt.Errorf("%s: %s", op, reply.Error)
	}
	return reply.CPU, nil
}
