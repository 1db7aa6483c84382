package jit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pin"
	"github.com/libtorch-go/libtorch/torch"
)

// InspectOptions are the rarer arguments of [Inspect].
type InspectOptions struct {
	Memory  int64         // bytes that the child may take; default: 2 GiB and four times the file
	Timeout time.Duration // default: a minute
	Sample  []Sample      // if it is not nil, forward is called with zeros of these
	Command []string      // a program that calls [InspectChild] first; default: this one
}

// Sample is a tensor of zeros.
type Sample struct {
	Name  string // of the argument; default: the next one
	DType torch.DType
	Shape []int
}

// Info is what a child process says of a file.
type Info struct {
	SHA256     string // of the bytes that it has read, for [LoadOptions]
	Name       string // of the module's class
	Tree       string // the module and those in it
	Methods    []Method
	Attributes []Attribute
	Tensors    int   // parameters and buffers
	Bytes      int64 // that they take
	Stateful   bool
}

// InspectError is the error for a file that a child process did not load, or not survive.
type InspectError struct {
	Err    error  // how the process ended, or nil if it said itself what is wrong
	Reason string // what it said
}

// Error says what the process said, or how it ended.
func (e *InspectError) Error() string {
	if e.Err == nil {
		return "jit: the file was refused in a process of its own: " + e.Reason
	}
	return fmt.Sprintf("jit: the process that looked at the file ended: %v: %s", e.Err, e.Reason)
}

// Unwrap is how the process ended.
func (e *InspectError) Unwrap() error { return e.Err }

// inspectVariable tells a process that it is the child of Inspect: it holds an order.
const inspectVariable = "LIBTORCH_GO_INSPECT"

// order is what a child has to do.
type order struct {
	Path    string
	Memory  int64
	Seconds int           // of the processors; 0 is no limit
	Samples []sampleOrder // nil: forward is not called

	Serve   bool // for Confine
	SHA256  string
	Threads int
}

type sampleOrder struct {
	Name, DType string
	Shape       []int
}

// answer is what a child found out.
type answer struct {
	Info   *Info
	Reason string
}

// Inspect has a file loaded by a child process with limits of memory and time, and returns what is in it: so a file that ends the
// process, or takes all memory, ends a child. The child is this program, which has to call [InspectChild] at the beginning of its main.
//
//	info, err := jit.Inspect(ctx, "model.pt")
//	m, err := jit.LoadTrusted("model.pt", jit.LoadOptions{SHA256: info.SHA256}) // the same bytes
//
// The child is no jail: it may do what its user may, save writing to files that grow. A file that passes is one that loads, not one to be
// trusted.
func Inspect(ctx context.Context, path string, opts ...InspectOptions) (*Info, error) {
	o := option.One(opts)
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Memory == 0 {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("jit: %w", err)
		}
		o.Memory = 2<<30 + 4*info.Size()
	}
	if o.Command == nil {
		own, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("jit: %w", err)
		}
		o.Command = []string{own}
	}
	return o.run(ctx, path)
}

// run starts the child and waits for its answer.
func (o *InspectOptions) run(ctx context.Context, path string) (*Info, error) {
	work := order{Path: path, Memory: o.Memory, Seconds: int(o.Timeout/time.Second) + 1}
	for _, s := range o.Sample {
		work.Samples = append(work.Samples, sampleOrder{s.Name, s.DType.String(), s.Shape})
	}
	text, err := json.Marshal(work)
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	file, err := os.CreateTemp("", "jit-*.json")
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	cmd.Env = append(os.Environ(), inspectVariable+"="+string(text))
	said := &tail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = said, said, time.Second
	cmd.ExtraFiles = []*os.File{file}
	ended := cmd.Run()
	var got answer
	b, err := os.ReadFile(file.Name())
	if err != nil || json.Unmarshal(b, &got) != nil || got.Info == nil && got.Reason == "" {
		if ended == nil {
			ended = errors.New("without an answer: it did not call jit.InspectChild")
		}
		if ctx.Err() != nil {
			ended = ctx.Err()
		}
		return nil, &InspectError{Err: ended, Reason: said.String()}
	}
	if got.Info == nil {
		return nil, &InspectError{Reason: got.Reason}
	}
	return got.Info, nil
}

// tail keeps the beginning of what a child says.
type tail struct{ b bytes.Buffer }

// Write keeps what there is room for.
func (t *tail) Write(p []byte) (int, error) {
	const most = 2000
	t.b.Write(p[:min(len(p), max(0, most-t.b.Len()))])
	return len(p), nil
}

// String is the first line, which says what ended the process.
func (t *tail) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.b.String()), "\n")
	return line
}

// answers is where a child writes: the first of cmd.ExtraFiles.
const answers = 3

// InspectChild does the work of a child of [Inspect] or [Confine] and ends the process. In any other process it does nothing. It belongs at
// the beginning of main.
func InspectChild() {
	text, child := os.LookupEnv(inspectVariable)
	if !child {
		return
	}
	out := os.NewFile(answers, "answer")
	var work order
	var got answer
	err := json.Unmarshal([]byte(text), &work)
	if err == nil && work.Serve {
		if err := work.serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err == nil {
		got.Info, err = work.do()
	}
	if err != nil {
		got = answer{Reason: err.Error()}
	}
	if err := json.NewEncoder(out).Encode(got); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// do looks at the file, within the limits.
func (o *order) do() (info *Info, err error) {
	defer torch.Recover(&err)
	if err := torch.Load(); err != nil {
		return nil, err
	}
	if err := o.limit(); err != nil {
		return nil, err
	}
	torch.SetNumThreads(1) // each has a stack, which counts
	torch.SetMemoryLimits(torch.CPU, torch.MemoryLimits{Hard: o.Memory})
	b, err := os.ReadFile(o.Path)
	if err != nil {
		return nil, err
	}
	m, err := load(b, LoadOptions{})
	if err != nil {
		return nil, err
	}
	if info, err = m.info(b); err != nil || o.Samples == nil {
		return info, err
	}
	torch.Inference(func() { err = o.forward(m) })
	return info, err
}

// info is what there is to say of the module that those bytes are.
func (m *Module) info(b []byte) (*Info, error) {
	info := &Info{SHA256: pin.Sum(b), Name: m.Name(), Tree: m.String(), Methods: m.Methods(), Attributes: m.Attributes(),
		Stateful: m.Stateful()}
	list, err := m.State()
	if err != nil {
		return nil, err
	}
	for _, own := range list {
		info.Tensors++
		if !own.Shared {
			info.Bytes += int64(own.Tensor.NumEl() * own.Tensor.ElementSize())
		}
	}
	return info, nil
}

// forward calls forward with zeros.
func (o *order) forward(m *Module) error {
	var args []any
	for _, s := range o.Samples {
		dtype, err := torch.ParseDType(s.DType)
		if err != nil {
			return err
		}
		var x any = torch.TensorOptions{DType: dtype}.Zeros(s.Shape...)
		if s.Name != "" {
			x = torch.Arg(s.Name, x)
		}
		args = append(args, x)
	}
	_, err := m.Forward(args...)
	return err
}
