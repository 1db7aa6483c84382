package jit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// ConfineOptions are the rarer arguments of [Confine].
type ConfineOptions struct {
	SHA256    string        // what the file is known by, in hexadecimal
	Processes int           // children, each of which computes one call at a time; default: 1
	Threads   int           // of each child; default: 1
	Memory    int64         // bytes that a child may take; default: 2 GiB and four times the file
	Output    int64         // bytes that a call may return; default: 256 MiB
	Timeout   time.Duration // of a call; loading has a minute at least; default: a minute
	CPU       time.Duration // of the processors that a child may take in all, after which another takes its place; default: no limit
	Command   []string      // a program that calls [InspectChild] first; default: this one
}

// Confined is a module of unknown origin that child processes load and run. Several goroutines may call it.
type Confined struct {
	path string
	o    ConfineOptions
	info *Info
	free chan *child // with nil for one that has not begun

	mu     sync.Mutex
	closed bool
	alive  map[*child]bool
}

// ConfinedError is the error for a call that the module or its process failed in.
type ConfinedError struct {
	Err    error  // what TorchScript raised, an [Exception]; or how the process ended; or nil
	Reason string // what was said
}

// Error says what the module raised, or how its process ended.
func (e *ConfinedError) Error() string {
	if e.Err == nil {
		return "jit: confined: " + e.Reason
	}
	if _, raised := e.Err.(*Exception); raised || e.Reason == "" {
		return "jit: confined: " + e.Err.Error()
	}
	return fmt.Sprintf("jit: confined: %v: %s", e.Err, e.Reason)
}

// Unwrap is an [Exception], or how the process ended.
func (e *ConfinedError) Unwrap() error { return e.Err }

var errConfinedClosed = errors.New("jit: the confined module was closed")

// Confine has a module of unknown origin loaded and run by child processes:
//
//	m, err := jit.Confine("model.pt")
//	defer m.Close()
//	out, err := m.Forward(ctx, x)
//
// A child may compute, and nothing else: the kernel refuses it files, the network, other processes and all else but memory and threads
// of its own (seccomp, which needs no privileges; Linux on x86-64). Its environment is empty, its memory limited. Arguments and
// results are tensors and go through pipes as bytes, which are checked when they come back. A child that passes Timeout is killed, and
// another takes its place in the next call.
//
// The child is this program, which has to call [InspectChild] at the beginning of its main.
func Confine(path string, opts ...ConfineOptions) (*Confined, error) {
	o := option.One(opts)
	if err := o.fill(path); err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	c := &Confined{path: path, o: o, free: make(chan *child, o.Processes), alive: map[*child]bool{}}
	for range o.Processes - 1 {
		c.free <- nil
	}
	first, err := c.begin()
	if err != nil {
		return nil, err
	}
	c.info = first.info
	c.free <- first
	return c, nil
}

// fill puts in what is not given.
func (o *ConfineOptions) fill(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if o.Processes < 0 || o.Threads < 0 || o.Memory < 0 || o.Output < 0 || o.Timeout < 0 || o.CPU < 0 {
		return fmt.Errorf("ConfineOptions has a negative number: %+v", *o)
	}
	o.Processes, o.Threads = max(o.Processes, 1), max(o.Threads, 1)
	if o.Memory == 0 {
		o.Memory = 2<<30 + 4*info.Size()
	}
	if o.Output == 0 {
		o.Output = 256 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Command == nil {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		o.Command = []string{own}
	}
	return nil
}

// Info is what the child says of the file.
func (c *Confined) Info() Info { return *c.info }

// Name is the name of the module's class.
func (c *Confined) Name() string { return c.info.Name }

// Method is the method of that name.
func (c *Confined) Method(name string) (Method, bool) { return find(c.info.Methods, name) }

// Stateful tells whether methods may change the module: then its answers depend on those before, in the same child.
func (c *Confined) Stateful() bool { return c.info.Stateful }

// Forward calls forward in a child, in torch.Inference and in evaluation mode. Arguments are tensors, positional ones and then those
// named by torch.Arg; the result is a torch.Tensor, a map[string]torch.Tensor of a dict, or a []torch.Tensor of what else holds tensors.
func (c *Confined) Forward(ctx context.Context, args ...any) (any, error) {
	return c.call(ctx, args, 1)
}

// Warm calls forward a few times in each child, so that no later call is slow: see [Module.Warm].
func (c *Confined) Warm(ctx context.Context, args ...any) error {
	var all sync.WaitGroup
	failed := make([]error, c.o.Processes)
	for i := range failed {
		all.Go(func() {
			var v any
			v, failed[i] = c.call(ctx, args, runsToWarm)
			closeAll(v)
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// call has forward called in a child. The child is not killed when ctx ends: the answer is for nobody then.
func (c *Confined) call(ctx context.Context, args []any, times int) (any, error) {
	names, list, err := tensorsOf(args)
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	question, err := encode(message{Times: times}, names, list)
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	own, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	type reply struct {
		m    message
		data [][]byte
		err  error
	}
	answer := make(chan reply, 1)
	go func() {
		var r reply
		r.m, r.data, r.err = own.ask(question, c.o.Output)
		c.free <- own
		answer <- r
	}()
	select {
	case r := <-answer:
		if r.err != nil {
			return nil, r.err
		}
		return r.m.result(r.data)
	case <-ctx.Done():
		return nil, &ConfinedError{Err: context.Cause(ctx), Reason: "nobody waits for the answer"}
	}
}

// take waits for a child that is free, and starts one in the place of one that has ended.
func (c *Confined) take(ctx context.Context) (*child, error) {
	var own *child
	select {
	case own = <-c.free:
	case <-ctx.Done():
		return nil, &ConfinedError{Err: context.Cause(ctx), Reason: "no child was free"}
	}
	if own != nil && !own.ended() {
		return own, nil
	}
	own, err := c.begin()
	if err != nil {
		c.free <- nil
	}
	return own, err
}

// begin starts a child and has it load the module.
func (c *Confined) begin() (*child, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, errConfinedClosed
	}
	own, err := c.start()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		own.end()
		return nil, errConfinedClosed
	}
	for old := range c.alive {
		if old.ended() {
			delete(c.alive, old)
		}
	}
	c.alive[own] = true
	return own, nil
}

// Close ends the children, also those that are in a call.
func (c *Confined) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for own := range c.alive {
		own.end()
	}
}

// find is the method of that name among others.
func find(methods []Method, name string) (Method, bool) {
	for _, own := range methods {
		if own.Name == name {
			return own, true
		}
	}
	return Method{}, false
}

// tensorsOf are the tensors among the arguments of a call, with their names.
func tensorsOf(args []any) (names []string, list []torch.Tensor, err error) {
	for _, v := range args {
		name := ""
		if n, ok := v.(torch.Named); ok {
			name, v = n.Name, n.Value
		} else if len(names) > 0 && names[len(names)-1] != "" {
			return nil, nil, fmt.Errorf("a positional argument follows the named one %q", names[len(names)-1])
		}
		x, ok := v.(torch.Tensor)
		if !ok || !x.Defined() {
			return nil, nil, fmt.Errorf("a confined module takes tensors alone, got %s", describe(v))
		}
		names, list = append(names, name), append(list, x)
	}
	return names, list, nil
}
