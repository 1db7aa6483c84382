package nn

import (
	"github.com/libtorch-go/libtorch/torch"
)

// located adds a module to the list of modules that an error came through, and updates the
// path from the outermost of them.
func located(m, failure any) any {
	e, ok := failure.(*torch.Error)
	if !ok {
		return failure
	}
	switch n := len(e.Modules); n {
	case 0:
		e.Module = typeName(m)
	default:
		path := pathIn(m, e.Modules[n-1])
		if path == "" {
			return e // the same module, embedded in this one
		}
		if n > 1 {
			path = join(path, e.Module)
		}
		e.Module = path
	}
	e.Modules = append(e.Modules, m)
	return e
}

// pathIn is the path of a module within another. A module held by value is found if no other
// of its type is there; else, as for one that Forward made, it is the type's name. It is empty
// where both are the same.
func pathIn(m, inner any) string {
	wanted, path, found := identify(inner), "", 0
	for n := range walk(m) {
		if n.path == "" {
			continue
		}
		own := identify(n.module())
		if wanted.address != nil && own.covers(wanted) {
			return n.path
		}
		if wanted.address == nil && own.kind == wanted.kind {
			path, found = n.path, found+1
		}
	}
	switch {
	case identify(m).covers(wanted) && wanted.address != nil:
		return ""
	case found == 1:
		return path
	}
	return typeName(inner)
}
