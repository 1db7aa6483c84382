package torch

import "slices"

// Functions that PyTorch composes in Python, so that libtorch has no operator for them.
// The steps are Python's, and so the results are equal bit for bit.

// BroadcastShapes is the shape that tensors of these shapes have together after
// [BroadcastTensors]: from the last dimension on, sizes must be equal or 1.
//
//	torch.BroadcastShapes([]int{2}, []int{3, 1}) // [3 2]
func BroadcastShapes(shapes ...[]int) []int {
	longest := 0
	for _, shape := range shapes {
		longest = max(longest, len(shape))
	}
	result := slices.Repeat([]int{1}, longest)
	for _, shape := range shapes {
		for i, size := range shape {
			place := &result[longest-len(shape)+i]
			switch {
			case size < 0:
				throw("broadcast_shapes", KindValue, "shape %v has a negative size", slices.Clone(shape))
			case *place == 1:
				*place = size
			case size != 1 && size != *place:
				throw("broadcast_shapes", KindGeneric, "shape %v does not fit the others: size %d against %d", slices.Clone(shape), size, *place)
			}
		}
	}
	return result
}

// DivScalarTensor returns the number x divided by each element of other; integers become
// floating-point.
func DivScalarTensor(x Scalar, other Tensor) Tensor {
	return Scope1(func() Tensor { return other.Reciprocal().MulScalar(x) })
}

// TensorDotN contracts the last n dimensions of x with the first n of other: for matrices
// and an n of 1 their product, for an n of 0 the outer product.
func TensorDotN(x, other Tensor, n int) Tensor {
	if n < 0 || n > min(x.Dim(), other.Dim()) {
		throw("tensordot", KindIndex, "tensors of %d and %d dimensions cannot be contracted along %d", x.Dim(), other.Dim(), n)
	}
	back, front := make([]int, n), make([]int, n)
	for i := range n {
		back[i], front[i] = i-n, i
	}
	return TensorDot(x, other, back, front)
}

// UnravelIndex turns indices into the flattened elements of a tensor of this shape into
// coordinates: one tensor like indices for each dimension, as [WhereIndices] gives them.
//
//	at := torch.UnravelIndex(x.ArgMax(), x.Shape()...)
func UnravelIndex(indices Tensor, shape ...int) []Tensor {
	if d := indices.DType(); d == Bool || d.IsFloatingPoint() || d.IsComplex() {
		throw("unravel_index", KindType, "indices are integers, got %v", d)
	}
	steps, step := make([]int, len(shape)), 1
	for i, size := range slices.Backward(shape) {
		if size < 0 {
			throw("unravel_index", KindValue, "shape %v has a negative size", slices.Clone(shape))
		}
		steps[i] = step
		step *= size
	}
	coordinates := make([]Tensor, len(shape))
	Scope(func() {
		all := indices.Unsqueeze(-1).FloorDivide(FromSlice(steps).To(indices.Device()))
		for i, c := range all.Remainder(FromSlice(shape).To(indices.Device())).Each(-1) {
			coordinates[i] = c.MoveOut()
		}
	})
	return coordinates
}

// Where is x where condition holds and other elsewhere; the three are broadcast to each other.
func (x Tensor) Where(condition, other Tensor) Tensor { return Where(condition, x, other) }
