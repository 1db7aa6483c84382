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
	"github.com/libtorch-go/libtorch/torch/export"
)

// interpreter is a Python for all tests of the package: to start it takes seconds, and it works while Go does something else.
type interpreter struct {
	sync.Once
	cmd    *exec.Cmd
	in     *json.Encoder
	stderr bytes.Buffer // to be read once the process has ended
	asked  chan *answers
	ended  chan struct{}
	failed error // to start
}

// The programs of [TestPythonToGoToPython] take Python as long as all else together.
var writer, live interpreter

// shared is the folder of what tests share, removed after the last.
var shared = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "export") })

// answers are what Python says to a command, one after the other.
type answers struct {
	list   chan json.RawMessage
	failed error // to be read once the list has been closed
}

func TestMain(m *testing.M) {
	export.LeaveQuick(false)
	code := m.Run()
	writer.end()
	live.end()
	dir, err := shared()
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(code)
}

// python gives Python a command: a script of testdata, a function, its arguments. Commands are obeyed in
// their order; nobody has to wait for the answers.
func python(t *testing.T, words ...string) *answers {
	t.Helper()
	return live.do(t, words...)
}

func (p *interpreter) do(t *testing.T, words ...string) *answers {
	t.Helper()
	cmd := peer.Command(t, "-W", "ignore", filepath.Join("testdata", "live.py"))
	p.Do(func() { p.failed = p.start(cmd) })
	require.NoError(t, p.failed)
	const most = 1 << 12 // more than any command says: it never waits for a test
	a := &answers{list: make(chan json.RawMessage, most)}
	p.asked <- a
	require.NoError(t, p.in.Encode(words))
	return a
}

func (p *interpreter) start(cmd *exec.Cmd) error {
	cmd.Stderr = &p.stderr
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
	p.cmd, p.in, p.asked, p.ended = cmd, json.NewEncoder(in), make(chan *answers, many), make(chan struct{})
	go p.hear(out)
	return nil
}

func (p *interpreter) end() {
	if p.ended != nil {
		_ = p.cmd.Process.Kill()
		close(p.asked)
		<-p.ended
	}
}

// hear gives each command its answers, until there are no more commands.
func (p *interpreter) hear(out io.Reader) {
	defer close(p.ended)
	decoder := json.NewDecoder(out)
	var ended error
	for a := range p.asked {
		for {
			var line struct {
				Answer json.RawMessage
				Error  string
			}
			if ended == nil && decoder.Decode(&line) != nil {
				ended = fmt.Errorf("Python has ended: %w", p.cmd.Wait())
				ended = fmt.Errorf("%w\n%s", ended, &p.stderr)
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
	by      *interpreter
	name    string   // of the folder that it fills
	command []string // script and function
	args    []string // after the folder
	begun   *answers
}

var (
	ofPython      = &ahead{&writer, "programs", []string{"programs", "write"}, nil, nil}
	someOperators = &ahead{&live, "operators", []string{"opdb", "write"}, []string{"60", ""}, nil}
)

// begin has Python begin, if nobody has.
func (a *ahead) begin(t *testing.T) {
	t.Helper()
	if a.begun == nil {
		dir := a.dir(t)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		a.begun = a.by.do(t, slices.Concat(a.command, []string{dir}, a.args)...)
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

func (a *ahead) dir(t *testing.T) string {
	t.Helper()
	dir, err := shared()
	require.NoError(t, err)
	return filepath.Join(dir, a.name)
}
