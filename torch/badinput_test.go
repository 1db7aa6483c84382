package torch_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/versions"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// badInput is a mistake that people make, and the error they get for it.
type badInput struct {
	name string
	call func()
	kind torch.Kind
	text string // part of the message
}

var (
	broken  = torch.KindGeneric
	misused = torch.KindValue
	outside = torch.KindIndex
	mixedUp = torch.KindType
	lacking = torch.KindNotImplemented
	noRoom  = torch.KindOutOfMemory
	closed  = torch.KindClosed
	noCard  = torch.KindNoCUDA
	linAlg  = torch.KindLinAlg
)

// long makes a vector of int64, filled one of float32.
func long(v ...int) torch.Tensor                     { return torch.FromSlice(v) }
func filled(value float64, size ...int) torch.Tensor { return torch.Full(size, value) }
func of(d torch.DType, size ...int) torch.Tensor     { return torch.TensorOptions{DType: d}.Ones(size...) }
func on(d torch.Device, size ...int) torch.Tensor {
	return torch.TensorOptions{Device: d}.Ones(size...)
}
func weight(size ...int) torch.Tensor { return torch.TensorOptions{RequiresGrad: true}.Ones(size...) }
func gone(size ...int) torch.Tensor   { x := torch.Ones(size...); x.Close(); return x }

func badInputs() []badInput {
	list := slices.Concat(badShapes, badLayers, badIndices, badTypes, badSizes, badOptions, badMatrices, badTensors, badGradients,
		badCalls, badChecked)
	if torch.DeviceCount(torch.DeviceCUDA) == 0 {
		list = append(list, badDevices...)
	}
	return list
}

// spoil makes one mistake and compares the error with the expected one.
func (b badInput) spoil(t testing.TB) {
	var err error
	torch.Scope(func() { err = torch.Try(b.call) })
	var e *torch.Error
	if assert.ErrorAs(t, err, &e, b.name) {
		kind, text := versions.WordsOf(b.name, b.kind, b.text)
		assert.Equal(t, kind, e.Kind, "%s: %v", b.name, err)
		words := strings.Join(strings.Fields(e.Msg), " ") // libtorch's: what is printed gives its advice in Go
		assert.Contains(t, words+err.Error(), text, b.name)
	}
}

func TestBadInput(t *testing.T) {
	torchtest.NoLeaks(t)
	list := badInputs()
	require.GreaterOrEqual(t, len(list), 150)
	names := map[string]bool{}
	for _, b := range list {
		require.False(t, names[b.name], "two are called %s", b.name)
		require.NotEmpty(t, b.text, b.name)
		names[b.name] = true
		before := torch.Stats()
		b.spoil(t)
		after := torch.Stats()
		before.HostPeak, before.Collections, before.Exhausted = after.HostPeak, after.Collections, after.Exhausted
		assert.Equal(t, before, after, "%s leaves tensors behind", b.name)
		torch.Scope(func() { // the goroutine and its thread still work, in the same modes
			x := weight(2, 2)
			x.MatMul(x).Sum().Backward()
			assert.Equal(t, []float32{4, 4, 4, 4}, torch.Values[float32](x.Grad()), "after %s", b.name)
		})
	}
}

func TestOtherWordsAreOfBadInputs(t *testing.T) {
	names := map[string]bool{}
	for _, b := range badInputs() {
		names[b.name] = true
	}
	for _, w := range versions.Words {
		require.True(t, names[w.Case], w.Case)
	}
}

func TestBadInputOnManyGoroutines(t *testing.T) {
	torchtest.NoLeaks(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			list := badInputs()
			for j := range list { // each begins elsewhere
				list[(i*len(list)/8+j)%len(list)].spoil(t)
			}
		})
	}
	group.Wait()
}

var badShapes = []badInput{
	{"mm of shapes that do not fit", func() { torch.Ones(2, 3).MM(torch.Ones(2, 3)) }, broken,
		"mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"},
	{"mm of a vector", func() { torch.Ones(2, 3).MM(torch.Ones(3)) }, broken, "mat2 must be a matrix"},
	{"matmul of vectors of different length", func() { torch.Ones(3).MatMul(torch.Ones(4)) }, broken, "inconsistent tensor size"},
	{"matmul of a number", func() { torch.Ones(3).MatMul(torch.FromValue[float32](2)) }, broken,
		"both arguments to matmul need to be at least 1D"},
	{"matmul of batches that do not fit", func() { torch.Ones(2, 3, 4).MatMul(torch.Ones(3, 4, 5)) }, broken, "must match"},
	{"bmm of matrices", func() { torch.Ones(2, 3).BMM(torch.Ones(3, 2)) }, broken, "must be a 3D tensor"},
	{"bmm of other batches", func() { torch.Ones(2, 3, 4).BMM(torch.Ones(3, 4, 5)) }, broken, "[2, 4] but got: [3, 4]"},
	{"mv of matrices", func() { torch.Ones(2, 3).MV(torch.Ones(3, 2)) }, broken, "vector + matrix @ vector expected"},
	{"dot of matrices", func() { torch.Ones(2, 3).Dot(torch.Ones(2, 3)) }, broken, "1D tensors expected"},
	{"outer product of matrices", func() { torch.Ones(2, 3).Outer(torch.Ones(2)) }, broken, "Expected 1-D argument"},
	{"addmm with another bias", func() { torch.Ones(5).AddMM(torch.Ones(2, 3), torch.Ones(3, 4)) }, broken, "must match the existing size"},
	{"linear of another width", func() { aten.Linear(torch.Ones(2, 3), torch.Ones(5, 4)) }, broken, "cannot be multiplied (2x3 and 4x5)"},
	{"linear with another bias", func() { aten.Linear(torch.Ones(2, 3), torch.Ones(5, 3), torch.Ones(4)) }, broken, "must match"},
	{"add of shapes that do not broadcast", func() { torch.Ones(2, 3).Add(torch.Ones(2)) }, broken,
		"The size of tensor a (3) must match the size of tensor b (2)"},
	{"addition into a smaller tensor", func() { torch.Ones(3).AddInPlace(torch.Ones(2, 3)) }, broken,
		"output with shape [3] doesn't match the broadcast shape [2, 3]"},
	{"copy of a larger tensor", func() { torch.Ones(3).CopyInPlace(torch.Ones(4)) }, broken, "must match"},
	{"copy into overlapping elements", func() { torch.Ones(1).Expand(4).AddScalarInPlace(1) }, broken,
		"more than one element of the written-to tensor refers to a single memory location"},
	{"cat of nothing", func() { torch.Cat(nil) }, misused, "expected a non-empty list of Tensors"},
	{"cat of numbers", func() { torch.Cat([]torch.Tensor{torch.FromValue(1), torch.FromValue(2)}) }, broken, "zero-dimensional tensor"},
	{"cat of other sizes", func() { torch.Cat([]torch.Tensor{torch.Ones(2, 3), torch.Ones(2, 4)}) }, broken,
		"Sizes of tensors must match except in dimension 0"},
	{"cat along no dimension", func() { torch.Cat([]torch.Tensor{torch.Ones(2)}, 1) }, outside, "Dimension out of range"},
	{"stack of nothing", func() { torch.Stack(nil) }, broken, "stack expects a non-empty TensorList"},
	{"stack of other shapes", func() { torch.Stack([]torch.Tensor{torch.Ones(2), torch.Ones(3)}) }, broken,
		"stack expects each tensor to be equal size"},
	{"hstack of nothing", func() { torch.HStack() }, broken, "non-empty TensorList"},
	{"vstack of other widths", func() { torch.VStack(torch.Ones(2), torch.Ones(3)) }, broken, "Sizes of tensors must match"},
	{"view of another number of elements", func() { torch.Ones(2, 3).View(4) }, broken, "shape '[4]' is invalid for input of size 6"},
	{"view of a transposed tensor", func() { torch.Ones(2, 3).T().View(6) }, broken,
		"view size is not compatible with input tensor's size and stride"},
	{"view with two unknown sizes", func() { torch.Ones(6).View(-1, -1) }, broken, "only one dimension can be inferred"},
	{"view with an unknown size of nothing", func() { torch.Zeros(0).View(0, -1) }, broken, "cannot reshape tensor of 0 elements"},
	{"view as a dtype that does not divide", func() { torch.Ones(3).ViewDType(torch.Float64) }, broken, "must be divisible by 2"},
	{"reshape to a size that does not divide", func() { torch.Ones(6).Reshape(4, -1) }, broken, "shape '[4, -1]' is invalid"},
	{"reshape to a negative size", func() { torch.Ones(6).Reshape(-2, 3) }, broken, "invalid shape dimension -2"},
	{"expand of a size other than 1", func() { torch.Ones(3).Expand(4) }, broken, "must match the existing size (3)"},
	{"expand to fewer dimensions", func() { torch.Ones(2, 3).Expand(3) }, broken, "must be greater or equal to the number of dimensions"},
	{"expand of a new dimension by -1", func() { torch.Ones(3).Expand(-1, 3) }, broken, "isn't allowed in a leading, non-existing dimension"},
	{"broadcast of shapes that do not fit", func() { torch.BroadcastTensors(torch.Ones(2), torch.Ones(3)) }, broken, "must match"},
	{"permutation of too few dimensions", func() { torch.Ones(2, 3).Permute(0) }, broken,
		"number of dimensions in the tensor input does not match"},
	{"permutation that repeats a dimension", func() { torch.Ones(2, 3).Permute(0, 0) }, broken, "duplicate dims are not allowed"},
	{"transpose of a dimension that is not there", func() { torch.Ones(2, 3).Transpose(0, 2) }, outside, "Dimension out of range"},
	{"repeat with too few counts", func() { torch.Ones(2, 3).Repeat(2) }, broken, "can not be smaller than number of dimensions"},
	{"unflatten that does not fit", func() { torch.Ones(6).Unflatten(0, 4, 2) }, broken, "don't multiply up to the size of dim 0"},
	{"flatten backwards", func() { torch.Ones(2, 3, 4).Flatten(2, 1) }, broken, "start_dim cannot come after end_dim"},
	{"split of size 0", func() { torch.Ones(4).Split(0) }, broken, "split_size can only be 0 if dimension size is 0"},
	{"split into sizes that do not add up", func() { torch.Ones(4).SplitSizes([]int{1, 2}) }, broken,
		"split_with_sizes expects split_sizes to sum exactly to 4"},
	{"no chunks", func() { torch.Ones(4).Chunk(0) }, broken, "chunk expects `chunks` to be greater than 0"},
	{"strides past the storage", func() { torch.Ones(4).AsStrided([]int{4}, []int{1000}) }, broken, "out of bounds for storage of size 16"},
	{"negative strides", func() { torch.Ones(4).AsStrided([]int{4}, []int{-1}) }, broken, "Negative strides are not supported"},
	{"a flip twice", func() { torch.Ones(2, 2).Flip(0, 0) }, broken, "dim 0 appears multiple times"},
	{"einsum of too few operands", func() { torch.Einsum("ij,jk->ik", torch.Ones(2, 2)) }, broken,
		"fewer operands were provided than specified"},
	{"einsum with other dimensions", func() { torch.Einsum("ijk->i", torch.Ones(2, 2)) }, broken,
		"does not match the number of dimensions (2)"},
	{"einsum of sizes that do not fit", func() { torch.Einsum("ij,jk->ik", torch.Ones(2, 3), torch.Ones(2, 3)) }, broken,
		"does not broadcast with previously seen size 3"},
	{"tensordot over other sizes", func() { torch.TensorDot(torch.Ones(2, 3), torch.Ones(2, 3), []int{1}, []int{0}) }, broken,
		"contracted dimensions need to match"},
	{"cdist of other widths", func() { torch.CDist(torch.Ones(2, 3), torch.Ones(2, 4)) }, broken, "must have the same number of columns"},
	{"block_diag of a batch", func() { torch.BlockDiag(torch.Ones(2, 2, 2)) }, broken, "must have 2 or fewer dimensions"},
	{"meshgrid of matrices", func() { torch.MeshgridIndexing([]torch.Tensor{torch.Ones(2, 2)}, "ij") }, broken, "Expected 0D or 1D tensor"},
	{"cartesian product of nothing", func() { torch.CartesianProd() }, broken, "non-empty TensorList"},
	{"real view of a last size other than 2", func() { torch.ViewAsComplex(torch.Ones(3)) }, broken, "last dimension of size 2"},
}
