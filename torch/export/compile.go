package export

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Compiled is a program that runs in one call: libtorch goes from operator to operator without Go or Python between them.
// Any number of goroutines may run it at once, each on values of its own, unless it changes its buffers.
type Compiled struct {
	plain *engine // the program as it is, for where autograd records
	quick *engine // after the passes
}

// CompileOptions say how a program is compiled.
type CompileOptions struct {
	// Exact keeps the bits of [Program.Run], and what is written into parameters and buffers later is seen.
	Exact bool

	// DType is what float32 is computed in: BFloat16, or Float32, the default. Inputs and results keep their dtypes. It is an error
	// with Exact.
	DType torch.DType
}

// Compile makes a program ready to run in one call. It keeps the program's tensors, so that the program may be closed
// before. Close frees it, and so does Go's garbage collector.
//
// Without options it is made fast, and its results differ from those of [Program.Run] by rounding, about one in a million:
// weights are taken as they are now, batch norms are multiplied into the weights before them, and convolutions, large linear layers and
// the activations and sums behind them are oneDNN's, with weights that lie as they are read (on the CPU). [CompileOptions].Exact keeps
// the bits; what is computed once, twice alike or never read is left out in either case, and memory is written to again where nothing reads
// it any more.
//
// Where autograd records, outside of torch.NoGrad and torch.Inference, a run computes the program as it is, with
// its gradients.
func Compile(p *Program, opts ...CompileOptions) (*Compiled, error) {
	o := option.One(opts)
	c := &Compiled{}
	err := c.compile(p, o)
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Compiled) compile(p *Program, o CompileOptions) (err error) {
	if c.plain, err = newEngine(p); err != nil { // here, outside of torch.Unsafe, inner operators are refused
		return err
	}
	if o.Exact && !o.DType.IsZero() && o.DType != torch.Float32 {
		return fmt.Errorf("export: CompileOptions: Exact keeps the bits, which %v cannot", o.DType)
	}
	r, err := rewritten(p, o)
	if err != nil {
		return fmt.Errorf("export: the program cannot be compiled: %w", err)
	}
	defer r.close()
	torch.Unsafe(func() { c.quick, err = newEngine(r.p) })
	return err
}

// String prints the program that runs where autograd does not record: the graph after all passes.
func (c *Compiled) String() string {
	if c.quick == nil {
		return "export.Compiled{}"
	}
	return c.quick.module.program.String()
}

// Close frees what the compiled program holds; runs that go on end as if it had not been called.
func (c *Compiled) Close() {
	for _, e := range []*engine{c.plain, c.quick} {
		if e != nil {
			e.h.Close()
		}
	}
}

// engine is what runs here. The zero value runs nothing.
func (c *Compiled) engine() (*engine, error) {
	switch {
	case c.plain == nil:
		return nil, errors.New("export: the zero Compiled has no program; export.Compile makes one")
	case torch.IsGradEnabled():
		return c.plain, nil
	}
	return c.quick, nil
}

// Run computes the program as [Module.Run] does.
func (c *Compiled) Run(inputs ...any) ([]torch.Tensor, error) {
	e, err := c.engine()
	if err != nil {
		return nil, err
	}
	return e.Run(inputs...)
}

// Call computes the program as [Module.Call] does.
func (c *Compiled) Call(inputs ...any) (any, error) {
	e, err := c.engine()
	if err != nil {
		return nil, err
	}
	return e.Call(inputs...)
}
