package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// Node is a recorded operation, as [Tensor.GradFn] finds it: a step of the way back from a result
// to the leaves. The zero Node is Python's None: nothing was recorded. A Node keeps the operations
// that it leads to alive until it is collected.
type Node struct {
	h  *cgo.Handle
	id uint64
}

// Edge leads from a [Node] to the one that made an input of its operation.
type Edge struct {
	Node    Node // the zero Node for an input that needs no gradient
	InputNr int  // which of the Node's outputs the input is
}

// GradFn is the recorded operation that made x, or the zero [Node] for a leaf.
//
//	y.GradFn().Name()                             // "AddBackward0"
//	y.GradFn().NextFunctions()[0].Node.Name()     // "MulBackward0"
func (x Tensor) GradFn() Node {
	var c cgo.Call
	c.Begin(cgo.OpGradFn)
	putTensor(&c, x)
	done(&c)
	return Node{c.Owned(0, cgo.NodeKind), c.WordResult(1)}
}

// Defined tells whether n is an operation at all: false for the zero Node.
func (n Node) Defined() bool { return n.h != nil }

// Is tells whether both are the same operation.
func (n Node) Is(other Node) bool { return n.id == other.id }

// ID is a number that no other operation has while n is in use, and 0 for the zero Node: a key for
// the Nodes that a walk has seen.
func (n Node) ID() uint64 { return n.id }

// Name is libtorch's name of the operation, "AddBackward0", and "" for the zero Node. Where the way
// ends at a leaf, it is that of the step that adds to its gradient,
// "torch::autograd::AccumulateGrad".
func (n Node) Name() string {
	if !n.Defined() {
		return ""
	}
	var c cgo.Call
	c.Begin(cgo.OpNodeName)
	c.Object(n.h)
	done(&c)
	return c.Text(0)
}

// String is Name between angle brackets, or "<none>".
func (n Node) String() string {
	if !n.Defined() {
		return "<none>"
	}
	return "<" + n.Name() + ">"
}

// NextFunctions are the operations that made the inputs of n's, in their order.
func (n Node) NextFunctions() []Edge {
	if !n.Defined() {
		return nil
	}
	var c cgo.Call
	c.Begin(cgo.OpNextNodes)
	c.Object(n.h)
	done(&c)
	words := c.Words(0)
	list := make([]Edge, len(words)/3)
	for i := range list {
		w := words[3*i:]
		list[i] = Edge{Node{cgo.Own(w[0], cgo.NodeKind), w[1]}, int(w[2])}
	}
	return list
}

// gradName is GradFn().Name() without a Node of its own.
func (x Tensor) gradName() string {
	var c cgo.Call
	c.Begin(cgo.OpGradName)
	putTensor(&c, x)
	done(&c)
	return c.Text(0)
}

// IsView tells whether x shows the memory of another tensor, to which autograd follows changes in
// place: what Index with numbers, View or Transpose return. Detach's results share memory, too,
// but autograd does not follow.
func (x Tensor) IsView() bool {
	base := x.Base()
	base.Close()
	return base.Defined()
}

// Base is the tensor that x is a view of, never a view itself, or the undefined tensor where x is
// not a view.
func (x Tensor) Base() Tensor {
	var c cgo.Call
	c.Begin(cgo.OpBase)
	putTensor(&c, x)
	return result1(&c)
}
