package torch

import "github.com/libtorch-go/libtorch/cgo"

// checkCOO refuses indices outside the size. Python asks the same of libtorch under
// check_sparse_tensor_invariants.
func checkCOO(op cgo.Op, indices, values Tensor, size []int) {
	if !onHost(indices) || !there(values) {
		return
	}
	var c cgo.Call
	c.Begin(cgo.OpAtenValidateSparseCOOTensorArgs)
	putTensor(&c, indices)
	putTensor(&c, values)
	c.Ints(size)
	c.OptBool(nil)
	c.OptBool(nil)
	validated(op, &c)
}

// checkCompressed is checkCOO for the layouts with compressed rows or columns.
func checkCompressed(op cgo.Op, compressed, plain, values Tensor, size []int, o TensorOptions) {
	layout := compressedLayout(op, o)
	if !onHost(compressed) || !onHost(plain) || !there(values) || layout <= Strided {
		return
	}
	var c cgo.Call
	c.Begin(cgo.OpAtenValidateSparseCompressedTensorArgs)
	putTensor(&c, compressed)
	putTensor(&c, plain)
	putTensor(&c, values)
	c.Ints(size)
	c.Code(layout.code())
	c.OptBool(nil)
	validated(op, &c)
}

// checkCompressedAlone is checkCompressed where the size follows from the indices.
func checkCompressedAlone(op cgo.Op, compressed, plain, values Tensor, o TensorOptions) {
	if !onHost(compressed) || !onHost(plain) || !there(values) || plain.NumEl() == 0 || plain.IsFloatingPoint() || plain.IsComplex() {
		return
	}
	layout := compressedLayout(op, o)
	batch, shape := compressed.Shape(), values.Shape()
	if len(batch) == 0 {
		return
	}
	lines, batch := batch[len(batch)-1]-1, batch[:len(batch)-1]
	block := []int{1, 1}
	dense := len(batch) + 1
	if layout == SparseBSR || layout == SparseBSC {
		if len(shape) < dense+2 {
			return
		}
		block, dense = shape[dense:dense+2], dense+2
	}
	if len(shape) < dense {
		return
	}
	rows, columns := lines, extreme(Tensor.Max, plain)+1
	if layout == SparseCSC || layout == SparseBSC {
		rows, columns = columns, rows
	}
	size := append(append([]int{}, batch...), rows*block[0], columns*block[1])
	checkCompressed(op, compressed, plain, values, append(size, shape[dense:]...), o)
}

// compressedLayout is the layout that an operator makes.
func compressedLayout(op cgo.Op, o TensorOptions) Layout {
	switch op {
	case cgo.OpSparseCSRTensorCRowColValue, cgo.OpSparseCSRTensorCRowColValueSize:
		return SparseCSR
	case cgo.OpSparseCSCTensorCColRowValue, cgo.OpSparseCSCTensorCColRowValueSize:
		return SparseCSC
	case cgo.OpSparseBSRTensorCRowColValue, cgo.OpSparseBSRTensorCRowColValueSize:
		return SparseBSR
	case cgo.OpSparseBSCTensorCColRowValue, cgo.OpSparseBSCTensorCColRowValueSize:
		return SparseBSC
	}
	return o.Layout
}

// validated runs one of libtorch's own checks in the name of op.
func validated(op cgo.Op, c *cgo.Call) {
	if err := c.Run(); err != nil {
		e := newError(err)
		e.Op = op.String()
		panic(e)
	}
}
