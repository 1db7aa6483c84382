package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
)

// live is one Python for all tests of the package: to start it takes seconds, and it works while Go does something else.
var live struct {
	sync.Once
	dir    string // what tests share, removed after the last
	cmd    *exec.Cmd
	in     *json.Encoder
	stderr bytes.Buffer // to be read once the process has ended
	asked  chan *answers
	ended  chan struct{}
	failed error // to start
}

// answers are what Python says to a command, one after the other.
type answers struct {
	list   chan json.RawMessage
	failed error // to be read once the list has been closed
}

func TestMain(m *testing.M) {
	code := m.Run()
	if live.ended != nil {
		_ = live.cmd.Process.Kill()
		close(live.asked)
		<-live.ended
	}
	if err := os.RemoveAll(live.dir); err != nil && live.dir != "" {
		panic(err)
	}
	os.Exit(code)
}

// python gives Python a command of testdata/programs.py or opdb.py: the script, a function, its arguments. Commands are obeyed in
// their order; nobody has to wait for the answers. Without words it starts Python, if there is one
// and nobody has.
func python(t *testing.T, words ...string) *answers {
	t.Helper()
	if _, err := peer.Python(); err != nil && len(words) == 0 {
		return nil
	}
	cmd := peer.Command(t, "-W", "ignore", filepath.Join("testdata", "live.py"))
	live.Do(func() { live.failed = startPython(cmd) })
	require.NoError(t, live.failed)
	if len(words) == 0 {
		return nil
	}
	const most = 1 << 12 // more than any command says: it never waits for a test
	a := &answers{list: make(chan json.RawMessage, most)}
	live.asked <- a
	require.NoError(t, live.in.Encode(words))
	return a
}

func startPython(cmd *exec.Cmd) (err error) {
	if live.dir, err = os.MkdirTemp("", "export"); err != nil {
		return err
	}
	cmd.Stderr = &live.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	const many = 64
	live.cmd, live.in, live.asked, live.ended = cmd, json.NewEncoder(in), make(chan *answers, many), make(chan struct{})
	go hear(out)
	return nil
}

// hear gives each command its answers, until there are no more commands.
func hear(out io.Reader) {
	defer close(live.ended)
	decoder := json.NewDecoder(out)
	var ended error
	for a := range live.asked {
		for {
			var line struct {
				Answer json.RawMessage
				Error  string
			}
			if ended == nil && decoder.Decode(&line) != nil {
				ended = fmt.Errorf("Python has ended: %w", live.cmd.Wait())
				ended = fmt.Errorf("%w\n%s", ended, &live.stderr)
			}
			if a.failed = ended; line.Error != "" {
				a.failed = fmt.Errorf("Python: %s", line.Error)
			}
			if line.Answer == nil {
				break
			}
			a.list <- line.Answer
		}
		close(a.list)
	}
}

// all are the answers, as they come.
func (a *answers) all(t *testing.T) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for answer := range a.list {
			if !yield(answer) {
				return
			}
		}
		require.NoError(t, a.failed)
	}
}

// count waits for all answers.
func (a *answers) count(t *testing.T) (n int) {
	t.Helper()
	for range a.all(t) {
		n++
	}
	return n
}

// ahead is work for Python that a test may begin for a later one.
type ahead struct {
	name    string   // of the folder that it fills
	command []string // script and function
	args    []string // after the folder
	begun   *answers
}

var (
	ofPython      = &ahead{"programs", []string{"programs", "write"}, nil, nil}
	someOperators = &ahead{"operators", []string{"opdb", "write"}, []string{"60", ""}, nil}
)

// begin has Python begin, if nobody has.
func (a *ahead) begin(t *testing.T) {
	t.Helper()
	if a.begun == nil {
		python(t) // there is a folder then
		require.NoError(t, os.MkdirAll(a.dir(), 0o755))
		a.begun = python(t, slices.Concat(a.command, []string{a.dir()}, a.args)...)
	}
}

// take returns the answers, which are nobody else's then.
func (a *ahead) take(t *testing.T) *answers {
	t.Helper()
	a.begin(t)
	begun := a.begun
	a.begun = nil
	return begun
}

func (a *ahead) dir() string { return filepath.Join(live.dir, a.name) }
