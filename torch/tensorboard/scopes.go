package tensorboard

import (
	"strings"

	"github.com/libtorch-go/libtorch/torch/export"
)

// scopes are the boxes of a graph: those of its nodes, and of modules by their paths.
type scopes struct {
	nodes   []string
	root    string
	modules map[string]string // "Net/Sequential[features]/Conv2d[0]" by "features.0"
}

// scopesOf finds the boxes of a program.
func scopesOf(p *export.Program) *scopes {
	s := &scopes{nodes: make([]string, len(p.Graph.Nodes)), modules: map[string]string{}}
	said := make([]bool, len(p.Graph.Nodes))
	for i, n := range p.Graph.Nodes {
		s.nodes[i], said[i] = s.stack(n.Metadata["nn_module_stack"])
	}
	owners := map[string]string{} // of the parameters and buffers, by the names of their values
	for _, in := range p.Signature.Inputs {
		if at := strings.LastIndexByte(in.Target, '.'); at >= 0 {
			owners[valueName(in.Arg)] = in.Target[:at]
		}
	}
	for i := range p.Graph.Nodes {
		if owner, ok := ownerOf(&p.Graph.Nodes[i], owners); ok && !said[i] {
			s.nodes[i], said[i] = s.module(owner), true
		}
	}
	between(s.nodes, said)
	return s
}

// stack reads the modules that Python was in when it made a node: their keys, paths and types, "L__self__,,__main__.Net;…". It
// returns the box, and remembers those of the modules.
func (s *scopes) stack(text string) (scope string, ok bool) {
	for entry := range strings.SplitSeq(text, ";") {
		parts := strings.Split(entry, ",")
		if len(parts) != 3 {
			return "", false
		}
		path, typ := parts[1], parts[2][strings.LastIndexByte(parts[2], '.')+1:]
		if path == "" {
			s.root, scope = typ, typ
			continue
		}
		scope = join(scope, typ+"["+path[strings.LastIndexByte(path, '.')+1:]+"]")
		s.modules[path] = scope
	}
	return scope, true
}

// module is the box of a module; its path where the program does not say the types.
func (s *scopes) module(path string) string {
	if scope, ok := s.modules[path]; ok || path == "" {
		return scope
	}
	at := strings.LastIndexByte(path, '.')
	if at < 0 {
		return join(s.root, path)
	}
	return join(s.module(path[:at]), path[at+1:])
}

// of is the name of a parameter, buffer or constant in the box of its module.
func (s *scopes) of(target string) string {
	at := strings.LastIndexByte(target, '.')
	if at < 0 {
		return join(s.root, target)
	}
	return join(s.module(target[:at]), target[at+1:])
}

// ownerOf is the module whose parameters a node reads.
func ownerOf(n *export.Node, owners map[string]string) (path string, ok bool) {
	for _, in := range n.Inputs {
		for _, name := range names([]export.Argument{in.Value}) {
			if path, ok = owners[name]; ok {
				return path, true
			}
		}
	}
	return "", false
}

// between gives nodes that nothing is said of the box that the nodes before and behind have in common.
func between(nodes []string, said []bool) {
	behind := make([]string, len(nodes)) // the box of the next node that is known
	next := ""
	for i := len(nodes) - 1; i >= 0; i-- {
		if said[i] {
			next = nodes[i]
		}
		behind[i] = next
	}
	before := ""
	for i := range nodes {
		if said[i] {
			before = nodes[i]
			continue
		}
		nodes[i] = common(before, behind[i])
	}
}

// common is the innermost box that has both.
func common(a, b string) string {
	var same []string
	bs := strings.Split(b, "/")
	for i, part := range strings.Split(a, "/") {
		if i >= len(bs) || bs[i] != part {
			break
		}
		same = append(same, part)
	}
	return strings.Join(same, "/")
}

func join(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "/" + name
}
