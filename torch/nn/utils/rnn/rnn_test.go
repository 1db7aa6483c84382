package rnn_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// parts are the tensors of a packed sequence under their names in Python.
func parts(p *rnn.PackedSequence) peer.Tensors {
	all := peer.Tensors{"data": p.Data, "batch_sizes": p.BatchSizes, "sorted_indices": p.SortedIndices, "unsorted_indices": p.UnsortedIndices}
	maps.DeleteFunc(all, func(_ string, t torch.Tensor) bool { return !t.Defined() })
	return all
}

// roundTrip does what the loop of testdata/rnn.py does.
func roundTrip(inputs peer.Tensors, first, unsorted bool) peer.Tensors {
	got, name := peer.Tensors{}, fmt.Sprintf("%v %v ", first, unsorted)
	sequences := []torch.Tensor{inputs["a"], inputs["b"], inputs["c"]}
	if !unsorted {
		sequences[0], sequences[1] = sequences[1], sequences[0]
	}
	var lengths []int
	for _, s := range sequences {
		lengths = append(lengths, s.Size(0))
	}
	padded := rnn.PadSequence(sequences, rnn.PadSequenceOptions{BatchFirst: first, PaddingValue: 0.5})
	packed := rnn.PackPaddedSequence(padded, lengths, rnn.PackOptions{BatchFirst: first, Unsorted: unsorted})
	for k, t := range parts(packed) {
		got[name+k] = t
	}
	again, n := rnn.PadPackedSequence(packed, rnn.PadPackedOptions{BatchFirst: first, PaddingValue: -1, TotalLength: 7})
	got[name+"padded"], got[name+"again"], got[name+"lengths"] = padded, again, torch.FromSlice(n)
	for i, t := range rnn.UnpadSequence(padded, lengths, first) {
		got[fmt.Sprint(name, "unpadded", i)] = t
	}
	again.Mul(again).Sum().Backward()
	for k, x := range inputs {
		got[name+"grad "+k] = x.Grad()
		x.SetGrad(torch.Tensor{})
	}
	return got
}

func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(3)
		inputs := peer.Tensors{"a": torch.RandN(3, 2), "b": torch.RandN(5, 2), "c": torch.RandN(2, 2)}
		want := peer.Run(t, "testdata/rnn.py", inputs)
		for _, x := range inputs {
			x.SetRequiresGrad(true)
		}
		got := peer.Tensors{}
		for i := range 4 {
			maps.Copy(got, roundTrip(inputs, i&1 != 0, i&2 != 0))
		}
		sequences := []torch.Tensor{inputs["a"], inputs["b"], inputs["c"]}
		packed := rnn.PackSequence(sequences, rnn.PackOptions{Unsorted: true})
		for k, p := range parts(packed) {
			got["packed "+k] = p
		}
		for i, s := range rnn.UnpackSequence(packed) {
			got[fmt.Sprint("unpacked", i)] = s
		}
		got["left"] = rnn.PadSequence(sequences, rnn.PadSequenceOptions{PaddingSide: "left"})
		got["inverse"] = rnn.InvertPermutation(torch.FromSlice([]int{2, 0, 3, 1}))
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name, value := range got {
			t.Log(name)
			torchtest.Equal(t, value, want[name])
		}
	})
}

func TestComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(4, 2, 3)
		packed := rnn.PackPaddedSequence(x, []int{4, 2})
		for _, c := range []struct {
			name string
			fn   func()
			want string
		}{
			{"order", func() { rnn.PackPaddedSequence(x, []int{2, 4}) }, "decreasing order"},
			{"length 0", func() { rnn.PackPaddedSequence(x, []int{4, 0}) }, "greater than 0"},
			{"batch size", func() { rnn.PackPaddedSequence(x, []int{4}) }, "Expected `len(lengths)` to be equal to batch_size"},
			{"beyond the padding", func() { rnn.PackPaddedSequence(x, []int{5, 2}) },
				"Expected lengths of at most 4, that of the padded sequences, but lengths[0] is 5"},
			{"far beyond", func() { rnn.PackPaddedSequence(x, []int{2, math.MaxInt}, rnn.PackOptions{Unsorted: true}) },
				"but lengths[1] is 9223372036854775807"},
			{"beyond, batch first", func() { rnn.PackPaddedSequence(x, []int{3, 3, 2, 1}, rnn.PackOptions{BatchFirst: true}) },
				"Expected lengths of at most 2"},
			{"negative", func() { rnn.PackPaddedSequence(x, []int{4, -1}) }, "greater than 0"},
			{"batch size, unsorted", func() { rnn.PackPaddedSequence(x, []int{4, 3, 2}, rnn.PackOptions{Unsorted: true}) },
				"but got 3 (batch_size=2)"},
			{"no batch", func() { rnn.PackPaddedSequence(torch.Ones(4), []int{4}) }, "at least 2 dimensions"},
			{"no sequences", func() { rnn.PackPaddedSequence(torch.Ones(4, 0), nil) }, ""},
			{"unpad beyond", func() { rnn.UnpadSequence(x, []int{4, 5}, false) }, "narrow"},
			{"total length", func() { rnn.PadPackedSequence(packed, rnn.PadPackedOptions{TotalLength: 3}) },
				"got total_length=3 and max sequence length being 4"},
		} {
			t.Run(c.name, func(t *testing.T) {
				require.ErrorContains(t, torch.Try(c.fn), c.want)
			})
		}
	})
}

// What fails leaves nothing behind, outside of scopes too.
func TestFailuresAreFreed(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(4, 2, 3)
	defer x.Close()
	before := torch.Stats().Live()
	for _, fn := range []func(){
		func() { rnn.PackPaddedSequence(x, []int{2, 0}, rnn.PackOptions{Unsorted: true}) },
		func() { rnn.PackPaddedSequence(x, []int{2, 5}, rnn.PackOptions{Unsorted: true}) },
		func() { rnn.UnpadSequence(x, []int{4, 5}, false) },
		func() { rnn.PackSequence([]torch.Tensor{x, {}}) },
	} {
		require.Error(t, torch.Try(fn))
		require.Equal(t, before, torch.Stats().Live())
	}
}

func TestPackedSequencesAreFreed(t *testing.T) {
	torchtest.NoLeaks(t)
	a, b := torch.Ones(2, 3), torch.Ones(4, 3)
	packed := rnn.PackSequence([]torch.Tensor{a, b}, rnn.PackOptions{Unsorted: true})
	other := packed.With(torch.Zeros(6, 5))
	packed.Close()
	list := rnn.UnpackSequence(other)
	require.Equal(t, []int{2, 5}, list[0].Shape())
	other.Close()
	torch.Close(append(list, a, b)...)
}
