package cgo

// What stands for the length of a list where the list itself is kept in C++.
const (
	keptList      = 1 << 63
	keptGradients = keptList | 1
)

// Kept adds a list of tensors that stays in C++; nil is a list of none.
func (c *Call) Kept(list *Handle) { c.kept(keptList, list) }

// KeptGradients adds the gradients of the tensors of such a list.
func (c *Call) KeptGradients(list *Handle) { c.kept(keptGradients, list) }

func (c *Call) kept(what uint64, list *Handle) {
	if list == nil {
		c.put(0)
		return
	}
	c.put(what)
	c.Object(list)
}
