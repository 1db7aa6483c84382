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
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/internal/flock"
	"github.com/libtorch-go/libtorch/internal/home"
)

const installIntro = `usage: libtorch install [FLAGS]

Fetches libtorch with pip, checked against the hashes in this module, and builds the shim between it and Go with the C++
compiler. It takes bash, Python 3.10 or later with pip, and g++ 11 or later. What it writes gets its name only when it is
whole, so that it may be interrupted and repeated. $LIBTORCH names a libtorch of one's own to build for: Python's torch
folder or an unpacked zip.
`

// request is what install was asked for.
type request struct {
	cuda, cpu             bool
	version, home, wheels string
}

func install(ctx context.Context, args []string, out io.Writer) error {
	var r request
	fs := flag.NewFlagSet("install", flag.ContinueOnError)
	fs.BoolVar(&r.cuda, "cuda", false, "with the CUDA libraries, 2.5 GB more (the default where there is an NVIDIA driver)")
	fs.BoolVar(&r.cpu, "cpu", false, "without them")
	fs.StringVar(&r.version, "version", "", "the `X.Y.Z` of libtorch, one of those in third_party/versions.env")
	fs.StringVar(&r.home, "home", "",
		"the `folder` to fill, libtorch included; a program finds it by $LIBTORCH_GO_HOME (default: one in the user's cache, "+
			"which programs find by themselves)")
	fs.StringVar(&r.wheels, "wheels", "",
		"a `folder` with the wheels of libtorch, such as the cache of another machine: nothing is downloaded")
	if _, err := parse(fs, args, out, installIntro); err != nil {
		return err
	}
	if r.cuda && r.cpu {
		return cli.Usagef("install: -cuda and -cpu exclude each other")
	}
	source, err := sources(ctx)
	if err != nil {
		return err
	}
	return r.run(ctx, out, source)
}

// lock waits until no other installation of the same is under way; none begins before the file is closed.
func lock(ctx context.Context, path string, out io.Writer) (*os.File, error) {
	f, err := flock.Open(ctx, path, func() { fmt.Fprintln(out, "another installation is under way: waiting for it") })
	if err != nil && ctx.Err() != nil {
		return nil, cli.Interruptedf("interrupted while another installation was under way")
	}
	return f, err
}

// run installs what these sources of this module make.
func (r request) run(ctx context.Context, out io.Writer, source string) error {
	dir, shared, err := r.places(source)
	if err != nil {
		return err
	}
	cache, err := home.Cache()
	if err != nil {
		return err
	}
	for _, folder := range []string{cache, filepath.Dir(dir)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	locked, err := lock(ctx, filepath.Join(cache, "install.lock"), out)
	if err != nil {
		return err
	}
	defer locked.Close()
	if r.installed(dir) {
		fmt.Fprintf(out, "%s has it already: libtorch %s for %s %s\n", dir, builtFor(dir), home.Module, home.Version())
		return nil
	}
	partial := dir + ".partial"
	if err := r.build(ctx, out, source, partial, shared); err != nil {
		return err
	}
	if err := check(ctx, partial); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(partial, "installed"), []byte(r.stamp()), 0o644); err != nil {
		return err
	}
	if err := replace(partial, dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "libtorch %s is in %s\n", builtFor(dir), dir)
	if r.home != "" {
		fmt.Fprintf(out, "programs find it with %s=%s\n", home.Env, dir)
	}
	return nil
}

// places are the folder to fill, and where libtorch itself is unpacked for all that share it: homes in the
// cache do, a folder of the user's has its own.
func (r request) places(source string) (dir, shared string, err error) {
	if r.home != "" {
		dir, err = filepath.Abs(r.home)
		return dir, "", err
	}
	if dir, err = home.User(); err != nil {
		return "", "", err
	}
	version := r.version
	if version == "" {
		version, err = defaultVersion(source)
	}
	return dir, filepath.Join(filepath.Dir(dir), "libtorch-"+version), err
}

// defaultVersion is the version of libtorch that the sources are for, as their list of versions says.
func defaultVersion(source string) (string, error) {
	path := filepath.Join(source, "third_party", "versions.env")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "LIBTORCH_DEFAULT="); ok {
			return version, nil
		}
	}
	return "", fmt.Errorf("%s has no LIBTORCH_DEFAULT", path)
}

// build runs the module's own script, which may lie in a read-only module cache.
func (r request) build(ctx context.Context, out io.Writer, source, dir, shared string) error {
	args := []string{filepath.Join(source, "build.sh"), "--home", dir, "--lean"}
	if shared != "" {
		args = append(args, "--torch", shared)
	}
	if r.wheels != "" {
		wheels, err := filepath.Abs(r.wheels)
		if err != nil {
			return err
		}
		args = append(args, "--wheels", wheels)
	}
	if r.cuda {
		args = append(args, "--cuda")
	}
	if r.cpu {
		args = append(args, "--cpu")
	}
	cmd := exec.CommandContext(ctx, "bash", args...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Env = cmd.Environ()
	if r.version != "" {
		cmd.Env = append(cmd.Env, "LIBTORCH_VERSION="+r.version)
	}
	end := interruptAll(cmd)
	err := cmd.Run()
	end()
	switch {
	case ctx.Err() != nil:
		return cli.Interruptedf("interrupted; nothing was installed, run it again to go on")
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: install bash", err)
	case err != nil:
		return fmt.Errorf("nothing was installed: see above (%w)", err)
	}
	for _, name := range []string{"obj", "headers", "tools"} { // what it took on the way
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// stamp is what an installation was made of. The sources of a version of this module never change.
func (r request) stamp() string {
	return fmt.Sprintf("module %s\nlibtorch %s\ncuda %t\ncpu %t\nLIBTORCH %s\n", home.Version(), r.version, r.cuda, r.cpu,
		os.Getenv(home.EnvTorch))
}

func (r request) installed(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "installed"))
	if err != nil || home.Version() == "" || string(text) != r.stamp() {
		return false
	}
	torch, _ := home.Torch(dir)
	_, err = os.Stat(filepath.Join(torch, "lib", "libtorch_cpu.so"))
	return err == nil
}

// sources is the folder of this module's sources: those this program was compiled from or, where -trimpath has
// removed their path, those of its version in the module cache.
func sources(ctx context.Context) (string, error) {
	if dir := home.Sources(); dir != "" {
		return dir, nil
	}
	version := home.Version()
	if version == "" {
		return "", errors.New("this command was compiled from a checkout and does not know where it is: run go run ./cmd/libtorch install there")
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", home.Module+"@"+version)
	text, err := cmd.Output()
	var mod struct{ Dir, Error string }
	if json.Unmarshal(text, &mod) == nil && mod.Error != "" {
		err = errors.New(mod.Error)
	}
	if err != nil {
		return "", fmt.Errorf("the sources of %s %s are needed and cannot be had: %w", home.Module, version, err)
	}
	return mod.Dir, nil
}

// check opens what was built as a program would, before it gets its name.
func check(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "doctor")
	cmd.Env = append(cmd.Environ(), home.Env+"="+dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("what was built does not open, nothing was installed:\n%s", text)
	}
	return nil
}

// replace gives a folder its name, in the place of one that has it.
func replace(from, to string) error {
	old := to + ".old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(to, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.RemoveAll(old)
}
