package parity

import "github.com/libtorch-go/libtorch/torch"

// arguments are those of a function that Python composes, by their names there.
type arguments struct {
	named   map[string]*value
	tensors []torch.Tensor
}

// composed are Go's forms of functions that Python composes of operators and that have
// wrong inputs in the database.
var composed = map[string]func(a arguments){}
