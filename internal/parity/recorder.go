package parity

import (
	"bufio"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/libtorch-go/libtorch/internal/peer"
)

//go:embed python
var python embed.FS

// script puts Python's side into a folder of the test's and returns the path of one file
// of it.
func script(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, python); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "python", name)
}

// Options say what to record.
type Options struct {
	Mode    string   // "calls" or "errors"
	Names   string   // regular expression on the entries' names
	Samples int      // of each entry in the first of its dtypes; 0 is all. In the others it is two
	Inner   int      // calls of each operator that others make; 0 is none
	Device  string   // "cpu" where empty, or "cuda"
	DTypes  []string // "" is float32, or what the entry has; none is that
}

// Entry is what was recorded of an entry of the database, in one dtype.
type Entry struct {
	Name    string            // with the variant, if it has one: "linalg.norm.subgradients_at_zero"
	Op      string            // without it
	DType   string            // "" where it has none that was asked for
	Samples int               // inputs that the entry has, or those asked for
	Skipped map[string]string // operators whose calls could not be written to a file, and why
	Python  []Failure         // wrong inputs that Python itself refused, before any operator
	Failed  string            // why PyTorch's own test database could not run it
	File    string
}

// Record starts Python and returns what it records, entry for entry, while it goes on.
func Record(t testing.TB, o Options) iter.Seq2[Entry, *chunk] {
	t.Helper()
	path, dir := script(t, "record.py"), t.TempDir()
	return func(yield func(Entry, *chunk) bool) {
		cmd := peer.Command(t, path, dir, "--mode", o.Mode, "--names", o.Names, "--dtypes", strings.Join(o.DTypes, ","),
			"--samples", strconv.Itoa(o.Samples), "--inner", strconv.Itoa(o.Inner), "--device", cmp.Or(o.Device, "cpu"))
		cmd.Env = append(cmd.Env, "TORCH_CPP_LOG_LEVEL=ERROR") // warnings that are not Python's
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Wait() }()
		defer func() { _ = cmd.Process.Kill() }()
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<26)
		for lines.Scan() {
			e, c, err := open(lines.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if !yield(e, c) {
				return
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal("record.py: ", err)
		}
	}
}

// open reads what one line of the recorder announces, and removes the file.
func open(line []byte) (e Entry, c *chunk, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return e, nil, fmt.Errorf("record.py: %w in %q", err, line)
	}
	if e.File == "" {
		return e, &chunk{}, nil
	}
	if c, err = readChunk(e.File); err != nil {
		return e, nil, err
	}
	return e, c, os.Remove(e.File)
}
