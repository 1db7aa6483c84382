package library

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Library is a set of operators and kernels registered from Go. All goroutines can call
// them by name until Close.
type Library struct {
	namespace string
	id        uint64
	closed    atomic.Bool
}

// New makes a library that defines operators in a namespace, which may have others already:
// those of libtorch's own library and of C++ libraries can be given kernels with [Library.Operator].
func New(namespace string) *Library {
	var c cgo.Call
	c.Begin(cgo.OpOpenLibrary)
	c.Str(namespace)
	bridge.Done(&c)
	return &Library{namespace: namespace, id: c.WordResult(0)}
}

// Close unregisters everything that was registered with the library, and waits until running
// calls of operators by name have ended: it must not be called in a kernel. A second Close
// does nothing. Graphs recorded before keep their formulas.
func (l *Library) Close() {
	if l.closed.Swap(true) {
		return
	}
	done := false
	defer func() { l.closed.Store(done) }()
	l.run(cgo.OpCloseLibrary)
	done = true
}

func (l *Library) run(op cgo.Op, text ...string) {
	c := l.call(op, text...)
	bridge.Done(c)
}

func (l *Library) call(op cgo.Op, text ...string) *cgo.Call {
	c := new(cgo.Call)
	c.Begin(op)
	c.Word(l.id)
	for _, s := range text {
		c.Str(s)
	}
	return c
}

// Define defines an operator by its schema, in PyTorch's language:
//
//	lib.Define("scale(Tensor x, float factor=2.0, *, bool invert=False) -> Tensor")
//	lib.Define("clip_(Tensor(a!) x, Scalar limit) -> Tensor(a!)")  // changes x
//	lib.Define("split.sizes(Tensor x, int[] sizes) -> Tensor[]")   // an overload
//
// A schema that libtorch cannot read, or a name that is taken, panics with a *torch.Error.
func (l *Library) Define(schema string) *Operator {
	l.run(cgo.OpDefineOperator, schema)
	name, _, _ := strings.Cut(schema, "(")
	return l.Operator(strings.TrimSpace(name))
}

// Operator is an operator that exists, by its name with or without the namespace.
func (l *Library) Operator(name string) *Operator {
	if !strings.Contains(name, "::") {
		name = l.namespace + "::" + name
	}
	return &Operator{library: l, schema: Lookup(name)}
}

// Operator is one operator of a namespace.
type Operator struct {
	library *Library
	schema  Schema
}

// Name is the operator's full name, by which torch.Call runs it.
func (o *Operator) Name() string { return o.schema.Name }

// Schema is what the operator takes and returns.
func (o *Operator) Schema() Schema { return o.schema }

// Call runs the operator: torch.Call with its name.
func (o *Operator) Call(args ...any) []any { return torch.Call(o.Name(), args...) }

// Call1 runs an operator whose one result is a tensor.
func (o *Operator) Call1(args ...any) torch.Tensor {
	results := o.Call(args...)
	if len(results) == 1 {
		if t, ok := results[0].(torch.Tensor); ok {
			return t
		}
	}
	torch.Throw(o.Name(), torch.KindType, "its result is not a single tensor: %v", o.schema)
	return torch.Tensor{}
}

// Key says which tensors a kernel is for; keys are combined with |.
type Key uint

// The keys. An operator has kernels for devices, or one composite kernel for all.
const (
	CPU               Key = 1 << iota // tensors on the CPU
	CUDA                              // tensors on NVIDIA cards
	Meta                              // tensors without elements: shapes and dtypes only
	CompositeExplicit                 // all devices; the derivative is a formula of its own
	CompositeImplicit                 // all devices; autograd follows the operators inside
	autograd                          // what Autograd registers
)

var keyNames = []string{"CPU", "CUDA", "Meta", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "Autograd"}

// String has libtorch's names: "CPU|CUDA".
func (k Key) String() string { return strings.Join(k.names(), "|") }

func (k Key) names() (list []string) {
	for i, name := range keyNames {
		if k&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// Impl registers a Go function as the operator's kernel. Its parameters and results are those of
// the schema:
//
//	Tensor, Tensor?     torch.Tensor; None is the undefined tensor
//	int, SymInt         int or int64
//	float               float64
//	bool, str, complex  bool, string, complex128
//	Scalar              any: an int64, float64 or complex128
//	ScalarType          torch.DType; the same for Layout, MemoryFormat and Device
//	X[]                 a slice
//	X?                  a pointer, nil for None
//
// It may also return an error, as its last result. Or it is a func([]any) []any, which gets
// the values as torch.Call returns them.
//
// A kernel runs on the goroutine that called the operator, in its own torch.Scope: tensors that it
// makes and does not return are freed. Its operations are recorded for autograd unless the operator
// has its own formula ([Operator.Autograd]). Its error or panic comes back from the call as a
// *torch.Error of KindCallback; errors.Is and errors.As see the error inside. It may be called from
// many goroutines at once, and must not wait for a goroutine that registers operators.
func (o *Operator) Impl(keys Key, fn any) *Operator {
	k := newKernel(o.schema, fn)
	if len(keys.names()) == 0 {
		torch.Throw(o.Name(), torch.KindValue, "a kernel needs a key")
	}
	for _, key := range keys.names() {
		o.register(key, k.serve)
	}
	return o
}

// Fake registers what the operator does with tensors that have no elements, those on torch.Meta:
// it makes results of the right shapes and dtypes.
func (o *Operator) Fake(fn any) *Operator { return o.Impl(Meta, fn) }

func (o *Operator) register(key string, run func(*cgo.Turn)) {
	id := cgo.Lend(&cgo.Callback{Name: fmt.Sprintf("the %s kernel of %s", key, o.Name()), Func: run})
	c := o.library.call(cgo.OpImplementOperator, o.Name(), key)
	c.Word(id)
	bridge.Lending(c, id)
}
