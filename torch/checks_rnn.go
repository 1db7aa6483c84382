package torch

import (
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
)

// recurrent is what the recurrent layers are given. oneDNN and the loops over packed
// sequences trust in the shapes.
type recurrent struct {
	op            cgo.Op
	gates         int
	width         int // of the input
	batch         int
	hidden        []Tensor
	params        []Tensor
	biases        bool
	layers        int
	bidirectional bool
}

func checkLSTM(op cgo.Op, input Tensor, hidden, params []Tensor, biases bool, layers int, bidirectional, batchFirst bool) {
	checkSequence(recurrent{op: op, gates: 4, hidden: hidden, params: params, biases: biases, layers: layers, bidirectional: bidirectional}, input, batchFirst)
}

func checkGRU(op cgo.Op, input, hidden Tensor, params []Tensor, biases bool, layers int, bidirectional, batchFirst bool) {
	checkSequence(recurrent{op: op, gates: 3, hidden: []Tensor{hidden}, params: params, biases: biases, layers: layers, bidirectional: bidirectional}, input, batchFirst)
}

func checkRNN(op cgo.Op, input, hidden Tensor, params []Tensor, biases bool, layers int, bidirectional, batchFirst bool) {
	checkSequence(recurrent{op: op, gates: 1, hidden: []Tensor{hidden}, params: params, biases: biases, layers: layers, bidirectional: bidirectional}, input, batchFirst)
}

func checkPackedLSTM(op cgo.Op, data, sizes Tensor, hidden, params []Tensor, biases bool, layers int, bidirectional bool) {
	checkPacked(recurrent{op: op, gates: 4, hidden: hidden, params: params, biases: biases, layers: layers, bidirectional: bidirectional}, data, sizes)
}

func checkPackedGRU(op cgo.Op, data, sizes, hidden Tensor, params []Tensor, biases bool, layers int, bidirectional bool) {
	checkPacked(recurrent{op: op, gates: 3, hidden: []Tensor{hidden}, params: params, biases: biases, layers: layers, bidirectional: bidirectional}, data, sizes)
}

func checkPackedRNN(op cgo.Op, data, sizes, hidden Tensor, params []Tensor, biases bool, layers int, bidirectional bool) {
	checkPacked(recurrent{op: op, gates: 1, hidden: []Tensor{hidden}, params: params, biases: biases, layers: layers, bidirectional: bidirectional}, data, sizes)
}

func checkSequence(r recurrent, input Tensor, batchFirst bool) {
	if !there(input) || input.Dim() != 3 {
		return
	}
	shape := input.Shape()
	r.width, r.batch = shape[2], shape[1]
	if batchFirst {
		r.batch = shape[0]
	}
	r.check()
}

// checkPacked also looks at the batch sizes, which libtorch reads on the CPU: they descend,
// and add up to the rows of data.
func checkPacked(r recurrent, data, sizes Tensor) {
	if !there(data, sizes) || data.Dim() != 2 {
		return
	}
	if !onHost(sizes) || sizes.Dim() != 1 || sizes.DType() != Int64 || sizes.NumEl() == 0 {
		throw(r.op.String(), KindValue, "batch_sizes has to be a non-empty vector of int64 on the CPU")
	}
	list := Values[int](sizes)
	r.width, r.batch = data.Size(1), list[0]
	sum, before := 0, list[0]
	for _, n := range list {
		if n < 1 || n > before {
			throw(r.op.String(), KindValue, "batch_sizes have to be positive and not to ascend, but got %d after %d", n, before)
		}
		sum, before = sum+n, n
	}
	if rows := data.Size(0); sum != rows {
		throw(r.op.String(), KindValue, "batch_sizes have to sum to the %d rows of data, but got %d", rows, sum)
	}
	r.check()
}

// check holds hidden states and weights against each other and against the input.
func (r *recurrent) check() {
	if r.layers < 1 {
		throw(r.op.String(), KindValue, "expected num_layers to be positive, but got %d", r.layers)
	}
	if r.gates == 4 && len(r.hidden) != 2 || !there(r.hidden...) || !there(r.params...) {
		return
	}
	directions := 1
	if r.bidirectional {
		directions = 2
	}
	states := make([][]int, len(r.hidden))
	for i, h := range r.hidden {
		states[i] = h.Shape()
		if len(states[i]) != 3 {
			throw(r.op.String(), KindGeneric, "Expected hidden states of 3 dimensions, but got %v", states[i])
		}
	}
	out, size := states[0][2], states[len(states)-1][2] // they differ where the output is projected
	for i, state := range states {
		r.expect("hidden state", state, r.layers*directions, r.batch, []int{out, size}[i])
	}
	sizes := [][]int{{r.gates * size, r.width}, {r.gates * size, out}}
	if r.biases {
		sizes = append(sizes, []int{r.gates * size}, []int{r.gates * size})
	}
	if out != size {
		sizes = append(sizes, []int{out, size})
	}
	if want := len(sizes) * r.layers * directions; len(r.params) != want {
		throw(r.op.String(), KindGeneric, "got an incorrect number of RNN parameters: expected %d, got %d", want, len(r.params))
	}
	for i, p := range r.params {
		if i == len(sizes)*directions {
			sizes[0] = []int{r.gates * size, out * directions}
		}
		r.expect("parameter", p.Shape(), sizes[i%len(sizes)]...)
	}
}

func (r *recurrent) expect(what string, got []int, want ...int) {
	if !slices.Equal(got, want) {
		throw(r.op.String(), KindGeneric, "Expected %s of size %v, but got %v", what, slices.Clone(want), got)
	}
}
