// Package rnn packs sequences of different lengths into one batch without padding, as
// recurrent networks take them: PyTorch's torch.nn.utils.rnn.
//
//	packed := rnn.PackSequence(sentences, rnn.PackOptions{Unsorted: true})
//	output, h, c := lstm.ForwardPacked(packed)
//	padded, lengths := rnn.PadPackedSequence(output)
package rnn
