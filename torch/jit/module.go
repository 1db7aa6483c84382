package jit

import (
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// A Module is a TorchScript module: tensors and other attributes, and methods that libtorch compiled. Several goroutines may call
// it at the same time; see the page of the package.
type Module struct {
	h       *cgo.Handle
	name    string // of its class
	methods []Method
	slots   []Attribute
	guard   *guard
}

// guard is what a module and those in it or made of it have in common.
type guard struct {
	mu      sync.RWMutex
	changes bool // methods change attributes, so that only one may run at a time
}

// Method is a method of a module.
type Method struct {
	Name    string
	Schema  string     // as TorchScript writes it: "forward(__torch__.Net self, Tensor x) -> Tensor"
	Args    []Argument // without self
	Results []string   // their types
}

// Argument is an argument of a method.
type Argument struct {
	Name, Type string // such as "x" and "Optional[List[int]]"
	HasDefault bool   // it may be left out
	Default    string // as TorchScript writes it
}

// Attribute is an attribute of a module, of which exactly one kind is true, or none.
type Attribute struct {
	Name, Type string
	Parameter  bool // a tensor that is trained
	Buffer     bool // a tensor that is kept
	Module     bool // another module: see [Module.Submodule]
	Constant   bool // it belongs to the code and cannot be set
}

// adopt makes a module of the first result of a call.
func adopt(c *cgo.Call, g *guard) (*Module, error) {
	m := &Module{h: c.Owned(0, cgo.ProgramKind), guard: g}
	if err := m.describe(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// describe asks for what is known of the module beforehand.
func (m *Module) describe() (err error) {
	defer torch.Recover(&err)
	changes := false
	for _, line := range m.lines(cgo.OpScriptDescribe) {
		words := strings.Split(line, "\t")
		switch words[0] {
		case "class":
			m.name = className(words[1])
		case "changes":
			changes = true
		case "method":
			m.methods = append(m.methods, Method{Name: words[1], Schema: words[2]})
		case "argument":
			last := &m.methods[len(m.methods)-1]
			last.Args = append(last.Args, Argument{Name: words[1], Type: words[2], HasDefault: words[3] != "", Default: words[4]})
		case "result":
			last := &m.methods[len(m.methods)-1]
			last.Results = append(last.Results, words[2])
		default:
			m.slots = append(m.slots, Attribute{Name: words[1], Type: words[2], Parameter: words[0] == "parameter",
				Buffer: words[0] == "buffer", Module: words[0] == "module", Constant: words[0] == "constant"})
		}
	}
	if m.guard == nil {
		m.guard = &guard{changes: changes}
	}
	return nil
}

// className is a class as its author calls it: "Net" for "__torch__.models.___torch_mangle_3.Net".
func className(qualified string) string { return qualified[strings.LastIndexByte(qualified, '.')+1:] }

// lines runs a call that returns lines of text. It panics with *torch.Error.
func (m *Module) lines(op cgo.Op) []string {
	var c cgo.Call
	c.Begin(op)
	c.Object(m.h)
	bridge.Done(&c)
	text := c.Text(0)
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Name is the name of the module's class.
func (m *Module) Name() string { return m.name }

// Methods are the module's methods, forward mostly among them.
func (m *Module) Methods() []Method { return append([]Method(nil), m.methods...) }

// Method is the method of that name.
func (m *Module) Method(name string) (Method, bool) { return find(m.methods, name) }

// Attributes are the module's own attributes, in the order of their declaration.
func (m *Module) Attributes() []Attribute { return append([]Attribute(nil), m.slots...) }

// String shows the module and those in it with their classes, as Python prints them.
func (m *Module) String() string {
	var b strings.Builder
	err := torch.Try(func() {
		for _, line := range m.lines(cgo.OpScriptTree) {
			_, rest, _ := strings.Cut(line, "\t")
			path, class, _ := strings.Cut(rest, "\t")
			if path == "" {
				b.WriteString(className(class))
				continue
			}
			name := path[strings.LastIndexByte(path, '.')+1:]
			b.WriteString("\n" + strings.Repeat("  ", 1+strings.Count(path, ".")) + "(" + name + "): " + className(class))
		}
	})
	if err != nil {
		return "a module that was closed"
	}
	return b.String()
}

// Code is the source of a method in TorchScript's language.
func (m *Module) Code(method string) (string, error) { return m.text(cgo.OpScriptCode, method) }

// Graph lists the operators that a method runs, those of the methods that it calls included.
func (m *Module) Graph(method string) (string, error) { return m.text(cgo.OpScriptGraph, method) }

func (m *Module) text(op cgo.Op, method string) (text string, err error) {
	defer torch.Recover(&err)
	var c cgo.Call
	c.Begin(op)
	c.Object(m.h)
	c.Str(method)
	bridge.Done(&c)
	return c.Text(0), nil
}

// Stateful tells whether methods may change the module's attributes, or lists and dicts in them, so that one call runs at a time.
func (m *Module) Stateful() bool { return m.guard.changes }

// Submodule is the module at a path of names with dots between them: "layer1.0". It is the same object, not a copy; closing
// it leaves m as it is, and the other way around.
func (m *Module) Submodule(path string) (sub *Module, err error) {
	defer torch.Recover(&err)
	var c cgo.Call
	c.Begin(cgo.OpScriptModule)
	c.Object(m.h)
	putNames(&c, strings.Split(path, "."))
	m.guard.mu.RLock()
	defer m.guard.mu.RUnlock()
	bridge.Done(&c)
	return adopt(&c, m.guard)
}

// Close frees the module once nothing uses it any more. What it returned lives on.
func (m *Module) Close() { m.h.Close() }

func putNames(c *cgo.Call, names []string) {
	c.List(len(names))
	for _, name := range names {
		c.Str(name)
	}
}
