package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
)

// record is what is kept of a suite's last run: the card is written from the records of all suites, so that one of them can be
// run again alone.
type record struct {
	Suite   string               `json:"suite"`
	Command string               `json:"command"`
	Date    string               `json:"date"`
	Commit  string               `json:"commit"`
	On      string               `json:"on"` // libtorch, Go, machine, sizes
	Seconds float64              `json:"seconds"`
	Verdict string               `json:"verdict"`
	Failed  bool                 `json:"failed,omitempty"`
	Figures []reliability.Figure `json:"figures"`
}

// recordOf is what is kept of a result.
func recordOf(r result, o options) record {
	size := "full"
	if o.short {
		size = "those of CI"
	}
	return record{
		Suite: r.name, Command: r.alone(o), Date: time.Now().Format(time.DateOnly), Commit: commit(),
		On: fmt.Sprintf("libtorch %s, %s, %s, %d cores, %s; sizes: %s", cmp.Or(libtorch(), "unknown"), runtime.Version(), proc.Processor(),
			runtime.NumCPU(), proc.Kernel(), size),
		Seconds: r.took.Seconds(), Verdict: r.verdict(), Failed: r.failed(), Figures: r.figures,
	}
}

// save keeps the record in a folder of them.
func (r record) save(folder string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(path(folder, r.Suite), append(text, '\n'), 0o666)
}

// recorded reads the record of a suite; false if it never ran.
func recorded(folder, suite string) (r record, ok bool, err error) {
	text, err := os.ReadFile(path(folder, suite))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, false, fmt.Errorf("%s: %w", path(folder, suite), err)
	}
	return r, true, nil
}

func path(folder, suite string) string { return filepath.Join(folder, suite+".json") }

func commit() string {
	c := output("git", "rev-parse", "--short", "HEAD")
	if output("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!RELIABILITY.md", ":!"+records) != "" {
		c += ", with changes that are not committed"
	}
	return cmp.Or(c, "unknown")
}

// libtorch is the version that the shim was built for.
func libtorch() string {
	text, _ := os.ReadFile(cmp.Or(os.Getenv("LIBTORCH_GO_HOME"), "third_party") + "/lib/version.txt")
	return strings.TrimSpace(string(text))
}
