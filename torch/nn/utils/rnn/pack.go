package rnn

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// PackedSequence is a batch of sequences step by step: the first elements of all, then the
// second of all that have one, and so on, the longest sequence first.
type PackedSequence struct {
	Data            torch.Tensor // [sum of the lengths, ...]
	BatchSizes      torch.Tensor // [longest] int64 on the CPU: how many sequences reach each step
	SortedIndices   torch.Tensor // [N]: where each sequence came from; undefined if they were sorted
	UnsortedIndices torch.Tensor // [N]: where each sequence went
}

// With is p with other data, which it takes over; its other tensors are p's, under handles of
// their own.
func (p *PackedSequence) With(data torch.Tensor) *PackedSequence {
	list := outOfScope(func() []torch.Tensor {
		return []torch.Tensor{p.BatchSizes.Alias(), p.SortedIndices.Alias(), p.UnsortedIndices.Alias()}
	})
	return &PackedSequence{data, list[0], list[1], list[2]}
}

// outOfScope runs fn in a scope and moves its results out of it: all of them or, where fn
// panics, none.
func outOfScope(fn func() []torch.Tensor) (list []torch.Tensor) {
	torch.Scope(func() {
		list = fn()
		for i, t := range list {
			list[i] = t.MoveOut()
		}
	})
	return list
}

// Close frees the tensors of p.
func (p *PackedSequence) Close() {
	torch.Close(p.Data, p.BatchSizes, p.SortedIndices, p.UnsortedIndices)
}

// PackOptions are the rarer arguments of [PackPaddedSequence] and [PackSequence].
type PackOptions struct {
	BatchFirst bool // the padded sequences are [N, L, ...]; default: [L, N, ...]; not for PackSequence
	Unsorted   bool // the sequences may have any order; default: the longest comes first
}

// PackPaddedSequence packs padded sequences x [L, N, ...] of those lengths, from 1 to L each. It
// panics where they do not come in the order of falling lengths and the options do not allow
// for it.
func PackPaddedSequence(x torch.Tensor, lengths []int, opts ...PackOptions) *PackedSequence {
	v := option.One(opts)
	checkLengths(x, lengths, v.BatchFirst)
	list := outOfScope(func() []torch.Tensor {
		var sorted, unsorted torch.Tensor
		sizes := torch.FromSlice(lengths)
		if v.Unsorted {
			sizes, sorted = sizes.Sort(torch.SortOptions{Descending: true})
			sorted = sorted.To(x.Device())
			unsorted = InvertPermutation(sorted)
			x = x.IndexSelect(batchDim(v.BatchFirst), sorted)
		}
		data, batchSizes := aten.PackPaddedSequence(x, sizes, v.BatchFirst)
		return []torch.Tensor{data, batchSizes, sorted, unsorted}
	})
	return &PackedSequence{list[0], list[1], list[2], list[3]}
}

// checkLengths refuses lengths that do not belong to x. libtorch takes those beyond the padding,
// and makes a packed sequence of fewer elements than its batch sizes say.
func checkLengths(x torch.Tensor, lengths []int, batchFirst bool) {
	const op = "pack_padded_sequence"
	if x.Dim() < 2 {
		torch.Throw(op, torch.KindValue, "Expected padded sequences of at least 2 dimensions, length and batch, but got shape %v", x.Shape())
	}
	batch := batchDim(batchFirst)
	if n := x.Size(batch); len(lengths) != n {
		torch.Throw(op, torch.KindValue, "Expected `len(lengths)` to be equal to batch_size, but got %d (batch_size=%d)", len(lengths), n)
	}
	longest := x.Size(1 - batch)
	for i, n := range lengths {
		if n > longest {
			torch.Throw(op, torch.KindValue, "Expected lengths of at most %d, that of the padded sequences, but lengths[%d] is %d", longest, i, n)
		}
	}
}

// PackSequence packs sequences [L, ...] of different lengths L.
func PackSequence(sequences []torch.Tensor, opts ...PackOptions) *PackedSequence {
	o := option.One(opts)
	lengths := make([]int, len(sequences))
	for i, s := range sequences {
		lengths[i] = s.Size(0)
	}
	padded := aten.PadSequence(sequences)
	defer padded.Close()
	return PackPaddedSequence(padded, lengths, PackOptions{Unsorted: o.Unsorted})
}

// PadPackedOptions are the rarer arguments of [PadPackedSequence].
type PadPackedOptions struct {
	BatchFirst   bool    // the result is [N, L, ...]; default: [L, N, ...]
	PaddingValue float64 // default 0
	TotalLength  int     // L; default: that of the longest sequence
}

// PadPackedSequence reverses [PackPaddedSequence]: it returns padded sequences [L, N, ...] in
// their first order, and their lengths.
func PadPackedSequence(p *PackedSequence, opts ...PadPackedOptions) (padded torch.Tensor, lengths []int) {
	v := option.One(opts)
	longest := p.BatchSizes.Size(0)
	if v.TotalLength != 0 && v.TotalLength < longest {
		torch.Throw("pad_packed_sequence", torch.KindValue,
			"Expected total_length to be at least the length of the longest sequence in input, but got total_length=%d and max "+
				"sequence length being %d", v.TotalLength, longest)
	}
	torch.Scope(func() {
		t, sizes := aten.PadPackedSequence(p.Data, p.BatchSizes, v.BatchFirst, v.PaddingValue, max(v.TotalLength, longest))
		if p.UnsortedIndices.Defined() {
			t = t.IndexSelect(batchDim(v.BatchFirst), p.UnsortedIndices)
			sizes = sizes.IndexSelect(0, p.UnsortedIndices.To(torch.CPU))
		}
		padded, lengths = t.MoveOut(), torch.Values[int](sizes)
	})
	return padded, lengths
}

// UnpackSequence reverses [PackSequence].
func UnpackSequence(p *PackedSequence) []torch.Tensor {
	padded, lengths := PadPackedSequence(p, PadPackedOptions{BatchFirst: true})
	defer padded.Close()
	return UnpadSequence(padded, lengths, true)
}

// PadSequenceOptions are the rarer arguments of [PadSequence]: BatchFirst, for a result
// [N, L, ...]; PaddingValue, by default 0; PaddingSide, "right" (default) or "left".
type PadSequenceOptions = aten.PadSequenceOptions

// PadSequence stacks sequences [L, ...] of different lengths in a tensor [longest, N, ...].
func PadSequence(sequences []torch.Tensor, opts ...PadSequenceOptions) torch.Tensor {
	o := option.One(opts)
	return aten.PadSequence(sequences, o)
}

// UnpadSequence reverses [PadSequence]: it returns the first elements, as many as the lengths
// say, of each sequence of x [L, N, ...], or [N, L, ...] for batchFirst. They are views of x.
func UnpadSequence(x torch.Tensor, lengths []int, batchFirst bool) []torch.Tensor {
	return outOfScope(func() []torch.Tensor {
		list := make([]torch.Tensor, len(lengths))
		for i, n := range lengths {
			list[i] = x.Select(batchDim(batchFirst), i).Narrow(0, 0, n)
		}
		return list
	})
}

// InvertPermutation is the permutation [N] that reverses another. Where that is none, places
// that it does not name are 0.
func InvertPermutation(permutation torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		n := torch.TensorOptions{DType: permutation.DType(), Device: permutation.Device()}
		return torch.ZerosLike(permutation).ScatterInPlace(0, permutation, n.Arange(permutation.NumEl()))
	})
}

func batchDim(first bool) int {
	if first {
		return 0
	}
	return 1
}
