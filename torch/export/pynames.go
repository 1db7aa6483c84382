package export

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// notNames are the names that Python's printer of graphs gives to no value: they mean something else.
var notNames = setOf(`ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
	BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
	ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
	ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError
	ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
	KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NoneType NotADirectoryError
	NotImplemented NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError
	ProcessLookupError PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError
	RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError
	TimeoutError True TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
	UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError abs aiter all and anext
	any as ascii assert async await bin bool break breakpoint bytearray bytes callable chr class classmethod
	compile complex continue copyright credits def del delattr device dict dir divmod elif else enumerate eval
	except exec exit filter finally float for format from frozenset fx_pytree getattr global globals hasattr hash
	help hex id if import in inf input int is isinstance issubclass iter lambda len license list locals map max
	memoryview min nan next nonlocal not object oct open or ord pass pow print property pytree quit raise range
	repr return reversed round set setattr slice sorted staticmethod str sum super torch try tuple type vars while
	with yield zip`)

// namespace gives values names as Python's printer does.
type namespace struct {
	used  map[string]bool
	count map[string]int // by what comes before a name's number
}

var numbered = regexp.MustCompile(`^(.+?)(?:_(\d+))?$`)

// name is a name like the candidate that no value has yet.
func (n *namespace) name(candidate string) string {
	parts := numbered.FindStringSubmatch(candidate)
	if parts == nil {
		return candidate
	}
	base := parts[1]
	count, err := strconv.Atoi(parts[2])
	if err != nil || n.used[candidate] {
		count = n.count[candidate]
		if notNames[candidate] {
			count++
			candidate = fmt.Sprint(base, "_", count)
		}
	}
	for n.used[candidate] {
		count++
		candidate = fmt.Sprint(base, "_", count)
	}
	n.used[candidate], n.count[base] = true, count
	return candidate
}

// named is a graph with the names that Python prints, and those of inputs that are others, in their order.
func (g *Graph) named() (to *Graph, inputs [][2]string) {
	if !slices.ContainsFunc(g.Inputs, func(a Argument) bool { name, _ := kindOf(a); return notNames[name] }) {
		return g, nil
	}
	space, names := &namespace{map[string]bool{}, map[string]int{}}, map[string]string{}
	give := func(name string) {
		if _, known := names[name]; !known && name != "" {
			names[name] = space.name(name)
		}
	}
	for _, in := range g.Inputs {
		name, _ := kindOf(in)
		if give(name); names[name] != name {
			inputs = append(inputs, [2]string{name, names[name]})
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		give(n.valueName())
		for _, out := range n.Outputs {
			namesIn(out, give)
		}
	}
	own := *g
	rename := func(a Argument) Argument { return mapped(a, func(name string) string { return names[name] }) }
	own.Nodes, own.Outputs = slices.Clone(g.Nodes), each(g.Outputs, rename)
	for i := range own.Nodes {
		n := &own.Nodes[i]
		n.Name, n.Inputs, n.Outputs = names[n.valueName()], slices.Clone(n.Inputs), each(n.Outputs, rename)
		for k := range n.Inputs {
			n.Inputs[k].Value = rename(n.Inputs[k].Value)
		}
	}
	own.Tensors, own.SymInts = renamedKeys(g.Tensors, names), renamedKeys(g.SymInts, names)
	own.SymFloats, own.SymBools = renamedKeys(g.SymFloats, names), renamedKeys(g.SymBools, names)
	return &own, inputs
}

// renamedKeys is what is known of values by their old names and by their new ones.
func renamedKeys[V any](old map[string]V, names map[string]string) map[string]V {
	all := maps.Clone(old)
	for name, v := range old {
		if to, ok := names[name]; ok {
			all[to] = v
		}
	}
	return all
}
