package export

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// elementwiseTarget computes a chain of operators on numbers in one go.
const elementwiseTarget = "torch.ops.libtorchgo.elementwise.default"

// elementwiseCodes are the operators that a chain may have, by their numbers in C++: those that round as one instruction does, or not at
// all, whatever computes them.
var elementwiseCodes = map[string]int64{"add": 0, "sub": 1, "rsub": 1, "mul": 2, "div": 3, "neg": 4, "abs": 5, "relu": 6}

const (
	mostSlots = 16  // that a chain has
	mostSteps = 512 // as long as that, no call is worth mentioning
)

// elementwise makes one operator of those that follow upon each other and compute each number by itself, so that memory is read and written
// once, with the same bits.
func elementwise(r *rewriter) {
	f := r.flow()
	gone, chained := map[int]bool{}, false
	for i := len(r.p.Graph.Nodes) - 1; i >= 0; i-- {
		if gone[i] || !r.chains(f, i) {
			continue
		}
		group := r.chain(f, i, gone)
		to, ok := Node{}, false
		for ; len(group) > 1 && !ok; group = group[1:] { // the first one depends on none of the others
			if to, ok = r.chained(group); ok {
				for _, at := range group[:len(group)-1] {
					gone[at] = true
				}
			}
		}
		if ok {
			r.p.Graph.Nodes[i], chained = to, true
		}
	}
	if chained {
		r.calls(&Node{Target: elementwiseTarget})
	}
	r.remove(gone)
}

// chains tells whether a node can be part of a chain: numbers in float32 on the CPU, of its result's sizes or single ones, which nothing
// writes to.
func (r *rewriter) chains(f *flow, i int) bool {
	n := &r.p.Graph.Nodes[i]
	name, ok := n.result()
	_, known := elementwiseCodes[n.op()]
	to := r.p.Graph.Tensors[name]
	if !ok || !known || to.DType != torch.Float32 || !to.Device.IsCPU() || to.Layout != torch.Strided || len(to.Sizes) == 0 {
		return false
	}
	if !n.unscaled() || n.arg("rounding_mode") != nil {
		return false
	}
	for _, in := range n.Inputs {
		if name, kind := kindOf(in.Value); kind == "Tensor" {
			m := r.p.Graph.Tensors[name]
			if m.DType != torch.Float32 || !m.Device.IsCPU() || m.Layout != torch.Strided || f.written[f.root(name)] ||
				len(m.Sizes) > 0 && !sameSizes(m.Sizes, to.Sizes) {
				return false
			}
		} else if _, ok := singleNumber(in.Value); !ok {
			return false
		}
	}
	return true
}

// singleNumber is a number in a graph, if float32 has it as float64 does or rounds it once.
func singleNumber(a Argument) (float64, bool) {
	switch v := a.(type) {
	case int64:
		return float64(v), v >= -1<<24 && v <= 1<<24
	case float64:
		return v, !(math.Abs(v) > math.MaxFloat32) || math.IsInf(v, 0)
	}
	return 0, false
}

// chain are the nodes, in order, that compute what only the last of them and each other read. Who reads a value stands behind who makes it.
func (r *rewriter) chain(f *flow, last int, gone map[int]bool) []int {
	group, list := map[int]bool{last: true}, []int{last}
	inside := func(reader int) bool { return group[reader] }
	for next := r.makers(f, last); len(next) > 0 && len(list) < mostSteps; {
		i := slices.Max(next)
		next = slices.DeleteFunc(next, func(k int) bool { return k == i })
		name, ok := r.p.Graph.Nodes[i].result()
		if ok && !gone[i] && all(f.readers[name], inside) && r.chains(f, i) {
			group[i], list, next = true, append(list, i), append(next, r.makers(f, i)...)
		}
	}
	slices.Reverse(list)
	return list
}

// makers are the nodes that make what a node reads.
func (r *rewriter) makers(f *flow, i int) (nodes []int) {
	for _, in := range r.p.Graph.Nodes[i].Inputs {
		namesIn(in.Value, func(name string) {
			if made, ok := f.maker[name]; ok {
				nodes = append(nodes, made)
			}
		})
	}
	return nodes
}

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !is(v) })
}

// chained is the node that computes a chain; ok is false where it takes too many slots.
func (r *rewriter) chained(group []int) (to Node, ok bool) {
	c := assembler{numbers: []float64{}, at: map[string]int64{}, left: map[string]int{}}
	for _, i := range group {
		name, _ := r.p.Graph.Nodes[i].result()
		c.at[name] = noSlot
	}
	for _, i := range group {
		for _, a := range operandsOf(&r.p.Graph.Nodes[i]) {
			c.see(a)
		}
	}
	for i := range c.used {
		c.used[i] = i < len(c.numbers)
	}
	ok = len(c.numbers) < mostSlots
	for _, i := range group {
		ok = ok && c.step(&r.p.Graph.Nodes[i])
	}
	n := &r.p.Graph.Nodes[group[len(group)-1]]
	return n.with(elementwiseTarget, given("inputs", c.inputs), given("numbers", c.numbers), given("steps", c.steps)), ok
}

// operandsOf are the two values that a step reads, twice the same where the operator has one.
func operandsOf(n *Node) [2]Argument {
	self, other := n.arg("self"), n.arg("other")
	switch {
	case other == nil:
		return [2]Argument{self, self}
	case n.op() == "rsub":
		return [2]Argument{other, self}
	}
	return [2]Argument{self, other}
}

const noSlot = -1

// assembler writes the steps of a chain: four integers each, which are an operator, two values and a slot. Values are inputs and, counted
// on, slots, the first of which have the numbers.
type assembler struct {
	inputs  []TensorArgument
	numbers []float64
	steps   []int64
	at      map[string]int64 // the slots of what the chain computes
	left    map[string]int   // how often that is still read
	used    [mostSlots]bool
}

// see counts an operand.
func (c *assembler) see(a Argument) {
	v, number := singleNumber(a)
	if number {
		if c.number(v) < 0 {
			c.numbers = append(c.numbers, v)
		}
		return
	}
	name := a.(TensorArgument)
	if _, own := c.at[string(name)]; own {
		c.left[string(name)]++
	} else if !slices.Contains(c.inputs, name) {
		c.inputs = append(c.inputs, name)
	}
}

// number is the place of a number among those of the chain: 0 is not -0.
func (c *assembler) number(v float64) int {
	return slices.IndexFunc(c.numbers, func(own float64) bool { return math.Float64bits(own) == math.Float64bits(v) })
}

// step writes one; false says that no slot is free.
func (c *assembler) step(n *Node) bool {
	c.steps = append(c.steps, elementwiseCodes[n.op()])
	for _, a := range operandsOf(n) {
		if v, number := singleNumber(a); number {
			c.steps = append(c.steps, int64(len(c.inputs)+c.number(v)))
			continue
		}
		name := a.(TensorArgument)
		if at, own := c.at[string(name)]; !own {
			c.steps = append(c.steps, int64(slices.Index(c.inputs, name)))
		} else {
			c.steps = append(c.steps, int64(len(c.inputs))+at)
			if c.left[string(name)]--; c.left[string(name)] == 0 {
				c.used[at] = false // after this step, which may write where it has read
			}
		}
	}
	to := slices.Index(c.used[:], false)
	if to < 0 {
		return false
	}
	name, _ := n.result()
	c.used[to], c.at[name] = true, int64(to)
	c.steps = append(c.steps, int64(to))
	return true
}
