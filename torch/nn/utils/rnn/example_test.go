package rnn_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
)

func ExamplePadSequence() {
	torch.Scope(func() {
		words := []torch.Tensor{torch.FromSlice([]int{1, 2, 3}), torch.FromSlice([]int{4})}
		fmt.Println(rnn.PadSequence(words, rnn.PadSequenceOptions{BatchFirst: true, PaddingValue: -1}))
	})
	// Output:
	// tensor([[ 1,  2,  3],
	//         [ 4, -1, -1]])
}

// Step by step: the first elements of all sequences, then the second ones.
func ExamplePackSequence() {
	torch.Scope(func() {
		short, long := torch.FromSlice([]int{1, 2}), torch.FromSlice([]int{10, 20, 30})
		p := rnn.PackSequence([]torch.Tensor{short, long}, rnn.PackOptions{Unsorted: true})
		fmt.Println(p.Data, p.BatchSizes)
		padded, lengths := rnn.PadPackedSequence(p, rnn.PadPackedOptions{BatchFirst: true})
		fmt.Println(padded, lengths)
	})
	// Output:
	// tensor([10,  1, 20,  2, 30]) tensor([2, 2, 1])
	// tensor([[ 1,  2,  0],
	//         [10, 20, 30]]) [2 3]
}

func ExamplePackPaddedSequence() {
	torch.Scope(func() {
		padded := torch.FromSlice([]int{1, 2, 3, 4, 0, 0}, 2, 3)
		p := rnn.PackPaddedSequence(padded, []int{3, 1}, rnn.PackOptions{BatchFirst: true})
		for _, sequence := range rnn.UnpackSequence(p) {
			fmt.Println(sequence)
		}
	})
	// Output:
	// tensor([1, 2, 3])
	// tensor([4])
}

// The same work on all elements, without the padding.
func ExamplePackedSequence_With() {
	torch.Scope(func() {
		p := rnn.PackSequence([]torch.Tensor{torch.FromSlice([]int{1, 2}), torch.FromSlice([]int{3})})
		fmt.Println(rnn.UnpackSequence(p.With(p.Data.MulScalar(10))))
	})
	// Output: [tensor([10, 20]) tensor([30])]
}
