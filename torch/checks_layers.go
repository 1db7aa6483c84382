package torch

import "github.com/libtorch-go/libtorch/cgo"

// checkBag refuses bags outside the indices, and modes that are not there.
func checkBag(op cgo.Op, indices, offsets Tensor, mode int, includeLast bool) {
	if mode < 0 || mode > 2 {
		throw(op.String(), KindValue, "mode has to be 0 (sum), 1 (mean) or 2 (max), but got %d", mode)
	}
	if !there(indices) || indices.Dim() == 0 || !onHost(offsets) || offsets.Dim() != 1 || offsets.IsFloatingPoint() || offsets.IsComplex() {
		return
	}
	starts, n := Values[int](offsets), indices.NumEl()
	bags := len(starts)
	if includeLast {
		bags--
	}
	if bags < 1 && n > 0 {
		throw(op.String(), KindGeneric, "offsets of %d elements leave no bag for %d indices", len(starts), n)
	}
	before := 0
	for i, start := range starts {
		switch {
		case i == 0 && start != 0:
			throw(op.String(), KindGeneric, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got %d", start)
		case start > n:
			throw(op.String(), KindGeneric, "offsets[%d] can not be greater than input's length %d but got %d", i, n, start)
		case start < before:
			throw(op.String(), KindGeneric, "offsets have to ascend, but offsets[%d] is %d after %d", i, start, before)
		}
		before = start
	}
	if includeLast && before != n { // the maximum and the gradients count what comes after as one more bag
		throw(op.String(), KindGeneric, "with include_last_offset offsets[-1] has to be input's length %d but got %d", n, before)
	}
}

// checkLabels refuses labels that are no class: the CTC loss looks them up unasked.
func checkLabels(op cgo.Op, logProbs, targets Tensor, lengths []int) {
	if !there(logProbs) || !onHost(targets) || logProbs.Dim() < 2 || targets.IsComplex() {
		return
	}
	shape, classes := targets.Shape(), logProbs.Size(-1)
	row, used := 0, 0
	switch len(shape) {
	case 1:
		for _, n := range lengths {
			used += max(n, 0)
		}
		row, lengths = shape[0], []int{used}
	case 2:
		row = shape[1]
	default:
		return
	}
	labels := Values[int](targets)
	for i, n := range lengths {
		if i*row >= len(labels) {
			return
		}
		for _, label := range labels[i*row : i*row+min(max(n, 0), row)] {
			if label < 0 || label >= classes {
				throw(op.String(), KindIndex, "Expected targets to be in the range [0, %d), but got label %d", classes, label)
			}
		}
	}
}

// checkLabelsOf is checkLabels for lengths in a tensor. For probabilities on the CPU libtorch
// fetches the lengths too, wherever they are.
func checkLabelsOf(op cgo.Op, logProbs, targets, lengths Tensor) {
	if there(logProbs, lengths) && (onHost(lengths) || onHost(logProbs)) && lengths.Device() != Meta && !lengths.IsComplex() {
		checkLabels(op, logProbs, targets, Values[int](lengths))
	}
}

// checkBatchNorm refuses statistics and weights that are not one for each channel.
func checkBatchNorm(op cgo.Op, input, weight, bias, mean, variance Tensor, training bool) {
	if !there(input) || input.Dim() < 2 {
		return
	}
	channels := input.Size(1)
	for _, a := range []struct {
		name   string
		t      Tensor
		needed bool
	}{{"weight", weight, false}, {"bias", bias, false}, {"running_mean", mean, !training}, {"running_var", variance, !training}} {
		switch {
		case !a.t.Defined() && a.needed:
			throw(op.String(), KindGeneric, "%s must be defined in evaluation mode", a.name)
		case there(a.t) && a.t.NumEl() != channels:
			throw(op.String(), KindGeneric, "%s should contain %d elements not %d", a.name, channels, a.t.NumEl())
		}
	}
}

// checkSegments refuses segments outside the data. libtorch looks at lengths alone, and not
// at those that it is told are safe.
func checkSegments(op cgo.Op, data, lengths, offsets Tensor, axis int) {
	if !there(data) {
		return
	}
	shape := data.Shape()
	if axis < 0 {
		axis += len(shape)
	}
	segments := lengths
	if offsets.Defined() {
		segments = offsets
	}
	if !onHost(segments) || segments.IsFloatingPoint() || segments.IsComplex() || axis < 0 || axis >= len(shape) || segments.Dim() != axis+1 {
		return
	}
	outer := segments.Shape()
	for i := range axis {
		if outer[i] != shape[i] {
			throw(op.String(), KindGeneric, "Expected segments of size %d at dimension %d, as in data, but got %d", shape[i], i, outer[i])
		}
	}
	row := outer[axis]
	if row == 0 {
		return
	}
	values := Values[int](segments)
	for i := 0; i < len(values); i += row {
		if offsets.Defined() {
			checkOffsets(op, values[i:i+row], shape[axis])
		} else {
			checkLengths(op, values[i:i+row], shape[axis])
		}
	}
}

func checkOffsets(op cgo.Op, offsets []int, size int) {
	before := 0
	for _, at := range offsets {
		if at < before || at > size {
			throw(op.String(), KindIndex, "offsets have to ascend from 0 to at most %d, but got %d after %d", size, at, before)
		}
		before = at
	}
}

func checkLengths(op cgo.Op, lengths []int, size int) {
	left := size
	for _, n := range lengths {
		switch {
		case n < 0:
			throw(op.String(), KindGeneric, "lengths contains negative value!")
		case n > left:
			throw(op.String(), KindGeneric, "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1), %d, but got more", size)
		}
		left -= n
	}
}

// checkHeads refuses a grouped query of no groups: libtorch divides by their number.
func checkHeads(op cgo.Op, key, value Tensor, grouped bool) {
	if !grouped || !there(key, value) || key.Dim() < 3 || value.Dim() < 3 {
		return
	}
	if key.Size(-3) == 0 || value.Size(-3) == 0 {
		throw(op.String(), KindGeneric, "Expected key and value to have at least one head with enable_gqa, but got %d and %d", key.Size(-3), value.Size(-3))
	}
}
