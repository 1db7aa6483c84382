package torch_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/fft"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/special"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

const far = math.MaxInt

func mkldnn(size ...int) torch.Tensor {
	return torch.Call("aten::to_mkldnn", torch.Ones(size...))[0].(torch.Tensor)
}

// badRules are the mistakes that the rules of cgo/shim/rules refuse for typed calls and for
// those by name.
var badRules = []badInput{
	{"LSTM of a flat input", func() { lstm(torch.Ones(2, 3), 1, twice(1, 1, 4), gated(4, 3, 4, 1, 1)) }, broken,
		"Expected an input of 3 dimensions, but got 2"},
	{"LSTM of negative layers", func() { lstm(torch.Ones(2, 1, 3), -1, twice(1, 1, 4), gated(4, 3, 4, 1, 1)) }, misused,
		"expected num_layers to be positive, but got -1"},
	{"LSTM of cells of another size", func() {
		lstm(torch.Ones(2, 1, 3), 1, []torch.Tensor{torch.Ones(1, 1, 4), torch.Ones(1, 1, 9)}, gated(4, 3, 4, 1, 1))
	}, broken, "incorrect number of RNN parameters: expected 5, got 4"},
	{"LSTM by name", func() {
		torch.Call("lstm.input", torch.Ones(2, 1, 30), twice(1, 1, 4), gated(4, 3, 4, 1, 1), true, 1, 0.0, false, false, false)
	}, broken, "Expected parameter of size [16, 30], but got [16, 3]"},
	{"packed sequences of a cube", func() {
		aten.LSTMPacked(torch.Ones(3, 3, 1), long(2, 1), twice(1, 2, 4), gated(4, 3, 4, 1, 1), true, 1, 0, false, false)
	}, broken, "Expected packed data of 2 dimensions, but got 3"},
	{"bags of offsets in rows", func() { aten.EmbeddingBag(torch.Ones(4, 3), long(0, 1), long(0, 1).Reshape(1, 2)) }, broken,
		"offsets has to be a 1D Tensor"},
	{"bags of no rows", func() { aten.EmbeddingBag(torch.Ones(0, 3), long(0, 1), long(0)) }, broken, "no index into a weight of no rows"},
	{"the least common multiple of the least", func() { least(torch.Int64, 1).LCM(long(far)) }, misused,
		"the least common multiple of -9223372036854775808"},
	{"the least common multiple of the least, by name", func() {
		torch.Call("lcm.out", least(torch.Int32, 3), torch.Tensor.To(long(math.MaxInt32), torch.Int32), torch.Arg("out", short(0, 0, 0)))
	}, misused, "integer overflow"},
	{"a half step in integers", func() { torch.TensorOptions{DType: torch.Int64}.ArangeStep(0, 4, 0.5) }, broken,
		"step must be nonzero, but 0.5 is 0"},
	{"a half step in integers to a range", func() { torch.TensorOptions{DType: torch.Uint8}.RangeStep(0, 4, 0.5) }, broken,
		"step must be nonzero"},
	{"a half step to integers", func() { torch.Call("arange.start_out", 0, 4, 0.5, torch.Arg("out", long(1))) }, broken,
		"step must be nonzero"},
	{"pivots that are too few", func() { torch.LUUnpack(torch.Ones(2, 5, 5), short(1, 2, 3, 4, 5)) }, broken,
		"Expected pivots of size [2, 5], but got [5]"},
	{"replication to past all numbers", func() { aten.ReplicationPad2d(torch.Ones(1, 1, 3, 3), far, far, far, far) }, broken,
		"expected padding to be at most"},
	{"replication to 2^40", func() { aten.ReplicationPad2d(torch.Ones(0, 1, 3, 3), 1<<30, 0, 1<<30, 0) }, misused, "is too large"},
	{"pooling in a window past all numbers", func() { aten.MaxPool1d(torch.Ones(1, 4), []int{far}) }, broken,
		"expected kernel_size to be at most"},
	{"pooling through borders of 2^29", func() {
		aten.MaxPool1d(torch.Ones(64, 4), []int{1 << 30}, aten.MaxPool1dOptions{Padding: []int{1 << 29}, Stride: []int{1}})
	}, misused, "536870912 steps for each takes too long"},
	{"a negative view of a quantized tensor", func() {
		aten.NegView(aten.QuantizePerTensor(torch.Ones(3), 1, 0, torch.QInt8))
	}, lacking, "there are no conjugate and negative views of quantized tensors"},
	{"ones in compressed rows", func() { torch.TensorOptions{Layout: torch.SparseCSR}.Ones(3, 3) }, lacking, "cannot be filled"},
	{"a reduction that is not there, by name", func() { torch.Call("mse_loss", torch.Ones(1), torch.Ones(1), 77) }, misused,
		"reduction has to be 0 (none), 1 (mean) or 2 (sum), but got 77"},
	{"an interpolation that is not there", func() { aten.GridSampler(torch.Ones(1, 1, 2, 2), torch.Ones(1, 1, 1, 2), 7, 0, false) },
		misused, "but got 7"},
	{"norms that are not one for each slice", func() { aten.WeightNorm(torch.Ones(3, 2), torch.Ones(2)) }, broken,
		"expected g to have 3 elements"},
	{"an operator of libtorch's own runtimes", func() { torch.Call("prepacked::linear_clamp_run", torch.Ones(1)) }, lacking,
		"torch.Unsafe permits it"},
	{"adaptive pooling to 2^40 of nothing", func() { aten.AdaptiveMaxPool2d(torch.Ones(0, 1, 4, 4), 1<<20, 1<<20) }, misused,
		"an output without elements that has 1099511627776 of nothing is too large"},
	{"adaptive pooling to 2^53", func() { aten.AdaptiveMaxPool3d(torch.Ones(1, 4, 4, 4), 1<<18, 1<<18, 1<<17) }, misused, "is too large"},
	{"upsampling to 2^40", func() { aten.UpsampleNearest2d(torch.Ones(1, 1, 2, 2), []int{1 << 20, 1 << 20}) }, misused, "is too large"},
	{"an expanded tensor in another format", func() {
		torch.Ones(1, 1, 1, 1).Expand(2, 3, 4, 4).ResizeAsInPlace(torch.Ones(2, 3, 4, 4), torch.ChannelsLast)
	}, broken, "has room for 1 elements; make it contiguous first"},
	{"strides past all numbers, of nothing", func() { torch.Zeros(0).AsStridedInPlace([]int{0, 3}, []int{far, far}) }, broken,
		"Storage size calculation overflowed"},
	{"strides that wrap around", func() { torch.Ones(3).AsStrided([]int{2}, []int{far}) }, broken, "Storage size calculation overflowed"},
	{"scattering from oneDNN", func() { torch.Ones(1, 3).ScatterInPlace(0, long(0, 0, 0).Reshape(1, 3), mkldnn(1, 3)) }, lacking,
		"expected a strided tensor, but got one of layout Mkldnn"},
	{"copies at indices from oneDNN", func() { torch.Ones(3, 3).IndexCopyInPlace(0, long(0), mkldnn(1, 3)) }, lacking, "layout Mkldnn"},
	{"random numbers from the last", func() { torch.Ones(3).RandomRangeInPlace(far, far) }, broken,
		"random_ expects 'from' to be less than 'to', but got from=9223372036854775807 >= to=9223372036854775807"},
	{"a polynomial of many degrees over many elements", func() { special.LaguerrePolynomialLScalar(torch.Zeros(1000000), 1<<23) },
		misused, "takes more than"},
	{"a shifted polynomial of huge degree", func() { special.ShiftedChebyshevPolynomialT(torch.Zeros(3), filled(1e9, 3)) }, misused,
		"the degree n is at most 16777216"},
	{"2^24 pieces", func() { torch.Ones(3).TensorSplit(1 << 24) }, misused, "a tensor in 16777216 pieces is too many"},
	{"2^24 columns", func() { torch.Ones(3).HSplit(1 << 24) }, misused, "too many"},
	{"unbinding 2^30 rows", func() { torch.Ones(1).Expand(1 << 30).Unbind() }, misused, "too many"},
	{"statistics of nothing with a gradient", func() {
		aten.NativeBatchNorm(weight(0, 3, 2), none, none, torch.Ones(3), torch.Ones(3), false, 0.1, 1e-5)
	}, broken, "input tensor must have at least one element"},
	{"strides that wrap around for one element", func() { torch.Zeros(0).AsStridedInPlace([]int{1, 2}, []int{1, far}) }, broken,
		"Storage size calculation overflowed"},
	{"a stack of nothing by name", func() { torch.Unsafe(func() { torch.Call("_stack", []torch.Tensor{}) }) }, misused,
		"non-empty list of Tensors"},
	{"more values than keys", func() {
		torch.Call("scaled_dot_product_attention", torch.Ones(1, 2, 1, 8), torch.Ones(1, 2, 1, 8), torch.Ones(1, 2, 2, 8))
	}, broken, "Expected as many values as keys, but got 2 and 1"},
	{"bounds for other tensors", func() { torch.Call("_foreach_clamp_max_.ScalarList", twice(2), []float64{}) }, broken,
		"same number of elements as scalar list, got 2 and 0"},
	{"a view as gradient", func() { x := weight(3); x.SetGrad(x.Narrow(0, 0, 3)) }, broken, "Clone it"},
	{"a scale that makes no such output", func() {
		aten.UpsampleBilinear2dAA(torch.Ones(1, 1, 1, 1), []int{3, 100}, false, aten.UpsampleBilinear2dAAOptions{ScalesW: new(1.0)})
	}, misused, "a scale of 1 makes no 100 of 1"},
	{"the layout of oneDNN, filled", func() { torch.TensorOptions{Layout: torch.MKLDNN}.Zeros(3) }, lacking, "cannot be filled"},
	{"nothing for oneDNN", func() { aten.ToMKLDNN(torch.Ones(0, 3)) }, broken, "no tensors without elements"},
	{"a copy between layouts", func() { aten.Copy(torch.Ones(2, 2).ToSparseCSR(), torch.Ones(2)) }, lacking,
		"cannot copy between tensors of layouts"},
	{"batch sizes of other data", func() { aten.PadPackedSequence(torch.Ones(6, 3), long(2, 3), false, 0, 2) }, misused, "not to ascend"},
	{"a matrix without memory", func() { torch.Ones(2, 3).To(torch.Meta).MV(torch.Ones(3)) }, broken, "not on the expected device meta"},
	{"dropout of what is sparse", func() { aten.FeatureDropoutInPlace(torch.Ones(2).ToSparse(), 1, true) }, lacking, "there is no dropout"},
	{"bytes for oneDNN to fill", func() { aten.ToMKLDNN(torch.TensorOptions{DType: torch.Int8}.Ones(2)).ZeroInPlace() }, lacking,
		"dtype float only"},
	{"pooling to 2^31 of nothing", func() { aten.AdaptiveMaxPool3d(torch.Ones(1, 3, 8, 8), 1<<31-1, 0, 1) }, misused, "without elements"},
	{"a gradient of another size", func() { aten.GELUBackward(torch.Ones(10), torch.Ones(1, 10)) }, broken,
		"expected a gradient of size [1, 10]"},
	{"nothing to dequantize", func() { aten.Dequantize(weight(3)) }, broken, "expected a quantized tensor, but got one of dtype Float"},
	{"statistics of other channels, by name", func() {
		torch.Call("_native_batch_norm_legit_functional", torch.Ones(1, 2), none, none, torch.Ones(17), torch.Ones(1), true, 0.1, 1e-5)
	}, lacking, "torch.Unsafe permits it"},
	{"the gradient of powers in steps", func() { torch.Call("vander", weight(3)) }, broken, "vander has no gradient"},
	{"a variant that libtorch makes", func() {
		torch.Call("_pdist_backward.out", torch.Ones(3), torch.Ones(3, 2), 2.0, torch.Ones(3), torch.Arg("out", torch.Ones(3, 2)))
	}, lacking, "torch.Unsafe permits it"},
	{"an undefined tensor by name", func() { torch.Call("aten::add.Tensor", torch.Ones(1), none) }, mixedUp,
		"argument other must be a tensor, but got one that is undefined"},
	{"an undefined tensor to an inner operator", func() { aten.TanhBackward(torch.Ones(1), none) }, mixedUp,
		"argument output must be a tensor"},
	{"an argument to write to", func() {
		x := torch.Ones(3, 3, 3, 3)
		torch.Call("reflection_pad3d.out", x, []int{1, 1, 1, 1, 1, 1}, torch.Arg("out", x))
	}, broken, "refer to a single memory location"},
	{"an inner operator", func() { aten.FFTC2C(torch.Ones(3), []int{0}, 0, true) }, lacking, "torch.Unsafe permits it"},
	{"an inner operator by name", func() { torch.Call("_fft_c2c", torch.Ones(3), []int{0}, 0, true) }, lacking, "torch.Unsafe permits it"},
	{"an inner operator by name, to a tensor", func() {
		torch.Call("_fft_c2c.out", torch.Ones(3), []int{0}, 0, true, torch.Arg("out", torch.Ones(3)))
	}, lacking, "torch.Unsafe permits it"},
}

// Unsafe permits what trusts its arguments, on this goroutine, for the time of the function.
func TestUnsafe(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Complex(torch.RandN(4), torch.RandN(4))
		call := func() torch.Tensor { return aten.FFTC2C(x, []int{0}, 0, true) }
		torch.Unsafe(func() {
			torch.Unsafe(func() { torchtest.Equal(t, call(), fft.FFT(x)) })
			torchtest.Equal(t, torch.Call("_fft_c2c", x, []int{0}, 0, true)[0].(torch.Tensor), fft.FFT(x))
			other := make(chan error)
			go func() { other <- torch.Try(func() { call() }) }()
			require.ErrorIs(t, <-other, torch.ErrNotImplemented)
		})
		require.ErrorIs(t, torch.Try(func() { call() }), torch.ErrNotImplemented)
	})
}

// What libtorch breaks over is computed another way where there is one.
func TestComputedAnotherWay(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(50)
		values, indices := x.Reshape(1, 50).Expand(30, 50).MedianDim(1)
		torchtest.Equal(t, values, x.Median().Expand(30))
		torchtest.Equal(t, x.IndexSelect(0, indices), values)
		values, _ = x.Reshape(50, 1).Expand(50, 30).NaNMedianDim(1)
		torchtest.Equal(t, values, x)
		empty := weight(0, 3)
		aten.PDist(empty).Sum().Backward()
		require.Equal(t, []int{0, 3}, empty.Grad().Shape())
		empty.SetGrad(none)
		empty.Close()
	})
}

// libtorch writes the gradient of an input whose channels come last also where nobody asks for it, to no memory, and Python with it.
func TestGradientsOfGroupNorm(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct {
		shape  []int
		format torch.MemoryFormat
	}{
		{[]int{1, 4, 1, 1}, torch.ChannelsLast}, {[]int{2, 4, 3, 5}, torch.ChannelsLast}, {[]int{2, 4, 2, 3, 2}, torch.ChannelsLast3d},
	} {
		for mask := range 8 {
			torch.Scope(func() {
				x, dy, w := torch.RandN(c.shape...), torch.RandN(c.shape...), torch.RandN(4)
				positions := x.NumEl() / c.shape[0] / 4
				_, mean, rstd := aten.NativeGroupNorm(x, w, w, c.shape[0], 4, positions, 2, 1e-5)
				of := func(x, dy torch.Tensor) (grads [3]torch.Tensor) {
					wanted := []bool{mask&1 > 0, mask&2 > 0, mask&4 > 0}
					torch.Unsafe(func() {
						grads[0], grads[1], grads[2] = aten.NativeGroupNormBackward(dy, x, mean, rstd, w, c.shape[0], 4, positions, 2, wanted)
					})
					return grads
				}
				want, got := of(x, dy), of(x.Contiguous(c.format), dy.Contiguous(c.format))
				for i := range want {
					require.Equal(t, want[i].Defined(), got[i].Defined())
					if want[i].Defined() {
						torchtest.AllClose(t, got[i], want[i], torchtest.Tolerance{Absolute: 1e-4, Relative: 1e-5})
					}
				}
			})
		}
	}
}

// oneDNN sums planes from beyond the input up for the weights of these, and Python with it.
func TestGradientsOfNarrowConvolutions(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct{ depth, kernel, stride, padding int }{
		{3, 4, 2, 3}, {4, 4, 2, 3}, {4, 5, 2, 3}, {5, 5, 2, 3}, {4, 5, 3, 4}, {6, 5, 3, 4}, {8, 4, 2, 3}, {4, 4, 2, 1},
	} {
		torch.Scope(func() {
			x := torch.RandN(3, 1, 2, c.depth, 4, 4).Select(0, 1) // has neighbours
			w := torch.RandN(2, 2, c.kernel, 4, 4)
			gradient := func(dtype torch.DType) torch.Tensor {
				leaf := w.To(dtype, torch.Copy).SetRequiresGrad(true)
				o := aten.Conv3dOptions{Stride: []int{c.stride, 2, 2}, Padding: []int{c.padding, 0, 0}}
				y := aten.Conv3d(x.To(dtype), leaf, o)
				return torch.Grad([]torch.Tensor{y.Square().Sum()}, []torch.Tensor{leaf})[0]
			}
			want := gradient(torch.Float64).To(torch.Float32)
			torchtest.AllClose(t, gradient(torch.Float32), want, torchtest.Tolerance{Relative: 1e-4, Absolute: 1e-3})
		})
	}
}

// oneDNN writes to no memory where a weight meets zeros around the images alone, their channels lie last and pixels and outputs apart, and
// Python with it.
func TestConvolutionsOfZerosAround(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct {
		image, kernel             []int
		stride, padding, dilation []int
	}{
		{[]int{8, 1}, []int{2, 1}, []int{2, 2}, []int{1, 1}, []int{2, 2}},
		{[]int{8, 2}, []int{1, 1}, []int{3, 3}, []int{2, 4}, []int{2, 5}},
		{[]int{8, 1}, []int{3, 2}, []int{3, 2}, []int{2, 3}, []int{3, 3}},
		{[]int{1, 9}, []int{1, 3}, []int{2, 1}, []int{1, 2}, []int{3, 2}},
		{[]int{9, 8, 1}, []int{2, 3, 1}, []int{2, 2, 2}, []int{1, 1, 1}, []int{2, 2, 2}},
	} {
		torch.Scope(func() {
			x, w, bias := torch.RandN(append([]int{2, 16}, c.image...)...), torch.RandN(append([]int{64, 16}, c.kernel...)...), torch.RandN(64)
			format, convolve := torch.ChannelsLast, func(x, w, bias torch.Tensor) torch.Tensor {
				return aten.Conv2d(x, w, aten.Conv2dOptions{Bias: bias, Stride: c.stride, Padding: c.padding, Dilation: c.dilation})
			}
			if len(c.image) == 3 {
				format, convolve = torch.ChannelsLast3d, func(x, w, bias torch.Tensor) torch.Tensor {
					return aten.Conv3d(x, w, aten.Conv3dOptions{Bias: bias, Stride: c.stride, Padding: c.padding, Dilation: c.dilation})
				}
			}
			got := convolve(x.Contiguous(format), w.Contiguous(format), bias)
			want := convolve(x.To(torch.Float64), w.To(torch.Float64), bias.To(torch.Float64))
			require.True(t, got.To(torch.Float64).AllClose(want, torch.AllCloseOptions{ATol: new(1e-4)}), "%+v", c)
		})
	}
}

// oneDNN leaves rows unset of what it makes in bfloat16 of images whose channels lie last, in one column, several channels of each one, and
// Python with it.
func TestConvolutionsOfOneColumn(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct{ image, kernel, stride, padding, dilation []int }{
		{[]int{5, 3}, []int{3, 3}, []int{1, 3}, []int{0, 0}, []int{1, 1}},
		{[]int{3, 3}, []int{7, 7}, []int{1, 3}, []int{3, 3}, []int{1, 1}},
		{[]int{30, 4}, []int{1, 3}, []int{1, 2}, []int{0, 0}, []int{1, 1}},
		{[]int{11, 1}, []int{1, 7}, []int{1, 2}, []int{0, 3}, []int{2, 1}},
		{[]int{9, 5}, []int{2, 2}, []int{1, 4}, []int{1, 0}, []int{1, 3}},
	} {
		torch.Scope(func() {
			o := aten.Conv2dOptions{Stride: c.stride, Padding: c.padding, Dilation: c.dilation, Groups: new(32)}
			x := torch.RandN(append([]int{2, 32}, c.image...)...).To(torch.BFloat16).Contiguous(torch.ChannelsLast)
			w, bias := torch.RandN(append([]int{64, 1}, c.kernel...)...).To(torch.BFloat16), torch.RandN(64).To(torch.BFloat16)
			for _, biases := range [][2]torch.Tensor{{}, {bias, bias.To(torch.Float64)}} {
				torch.Full([]int{1 << 18}, 1e20).Close() // what memory holds that results find
				o.Bias = biases[0]
				got := aten.Conv2d(x, w, o).To(torch.Float64)
				o.Bias = biases[1]
				want := aten.Conv2d(x.To(torch.Float64), w.To(torch.Float64), o)
				require.True(t, got.AllClose(want, torch.AllCloseOptions{RTol: new(1e-2), ATol: new(5e-2)}), "%+v", c)
			}
		})
	}
}

// libtorch reads the gradient of a batch norm in another order where it lies channel by channel and, of one image, has strides that do not
// say so, and Python with it.
func TestGradientsOfBatchNormOfOneImage(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, shape := range [][]int{{1, 4, 2, 1}, {1, 4, 1, 2}, {1, 4, 2, 2}, {1, 4, 3, 1, 1}, {2, 4, 2, 1}, {1, 4, 5}} {
		for _, training := range []bool{false, true} {
			torch.Scope(func() {
				x, mean, variance := torch.RandN(shape...), torch.Zeros(4), torch.Ones(4)
				gradient := func(turned bool) torch.Tensor {
					w := x.Detach().SetRequiresGrad(true)
					y := F.BatchNorm(w, F.BatchNormOptions{RunningMean: mean, RunningVar: variance, Training: training}).Flatten(2)
					scale := torch.Arange(y.NumEl()).To(torch.Float32).Reshape(y.Shape()...)
					if turned {
						y, scale = y.Transpose(1, 2), scale.Transpose(1, 2)
					}
					y.Square().Mul(scale).Mean().Backward()
					return w.Grad()
				}
				near := torch.AllCloseOptions{RTol: new(1e-3), ATol: new(1e-3)}
				require.True(t, gradient(true).AllClose(gradient(false), near), "%v, training: %v", shape, training)
			})
		}
	}
}
