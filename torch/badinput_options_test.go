package torch_test

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/fft"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

var badOptions = []badInput{
	{"two options", func() { torch.Ones(2).Add(torch.Ones(2), torch.AddOptions{}, torch.AddOptions{}) }, misused, "at most 1"},
	{"a fraction of an integer sum", func() { long(1).Add(long(1), torch.AddOptions{Alpha: 0.5}) }, broken, "For integral input tensors, argument alpha must not be a floating point number"},
	{"a bool for alpha", func() { torch.Ones(1).Add(torch.Ones(1), torch.AddOptions{Alpha: true}) }, broken, "Boolean alpha only supported for Boolean results"},
	{"a text for alpha", func() { torch.Ones(1).Add(torch.Ones(1), torch.AddOptions{Alpha: "1"}) }, mixedUp, "got string"},
	{"neither bound of a clamp", func() { torch.Ones(2).Clamp(nil, 1) }, mixedUp, "expected two numbers, got nil: ClampMin and ClampMax bound on one side alone"},
	{"a mode of rounding that is not there", func() { torch.Ones(2).DivMode(torch.Ones(2), "up") }, broken, "found 'up'"},
	{"einsum with digits", func() { torch.Einsum("i1->i", torch.Ones(2, 2)) }, broken, "subscripts must be in [a-zA-Z]"},
	{"einsum with half an ellipsis", func() { torch.Einsum("..i->i", torch.Ones(2, 2)) }, broken, "not part of any ellipsis"},
	{"einsum with an unknown output", func() { torch.Einsum("ij->iz", torch.Ones(2, 2)) }, broken, "output subscript z does not appear"},
	{"einsum with an output twice", func() { torch.Einsum("ij->ii", torch.Ones(2, 2)) }, broken, "appears more than once in the output"},
	{"einsum with half an arrow", func() { torch.Einsum("ij-ij", torch.Ones(2, 2)) }, broken, "invalid subscript"},
	{"einsum of nothing", func() { torch.Einsum("i->i") }, broken, "must provide at least one operand"},
	{"einsum with a zero byte", func() { torch.Einsum("i\x00j", torch.Ones(2, 2)) }, broken, "invalid subscript"},
	{"meshgrid in another order", func() { torch.MeshgridIndexing([]torch.Tensor{torch.Ones(2)}, "yx") }, broken, "must be one of \"xy\" or \"ij\""},
	{"another side", func() { torch.SearchSorted(torch.Arange(3), long(1), torch.SearchSortedOptions{Side: "middle"}) }, broken, "side can only be 'left' or 'right' but got middle"},
	{"opposite sides", func() {
		torch.SearchSorted(torch.Arange(3), long(1), torch.SearchSortedOptions{Side: "left", Right: true})
	}, broken, "can't be set to opposites"},
	{"a sorter that points outside", func() { torch.SearchSorted(torch.Arange(3), long(1), torch.SearchSortedOptions{Sorter: long(0, 1, 9)}) }, broken, "sorter index out of range"},
	{"sequences of another batch", func() { torch.SearchSorted(torch.Ones(2, 3), torch.Ones(3, 3)) }, broken, "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions"},
	{"boundaries in two dimensions", func() { torch.Bucketize(torch.Ones(2), torch.Ones(2, 2)) }, broken, "boundaries tensor must be 1 dimension"},
	{"a histogram of no bins", func() { torch.Ones(2).Histc(torch.HistcOptions{Bins: new(0)}) }, broken, "bins must be > 0"},
	{"a histogram of a range backwards", func() { torch.Ones(2).Histc(torch.HistcOptions{Min: 2, Max: 1}) }, broken, "max must be larger than min"},
	{"a histogram up to infinity", func() { torch.Ones(2).Histc(torch.HistcOptions{Max: math.Inf(1)}) }, broken, "range of [0, inf] is not finite"},
	{"a histogram of NaN", func() { filled(math.NaN(), 2).Histc() }, broken, "is not finite"},
	{"a histogram of integers", func() { long(1).Histc() }, lacking, "not implemented for 'Long'"},
	{"a quantile past 1", func() { torch.Ones(2).QuantileScalar(1.5) }, broken, "q must be in the range [0, 1] but got 1.5"},
	{"quantiles past 1", func() { torch.Ones(2).Quantile(filled(2, 1)) }, broken, "q values must be in the range [0, 1]"},
	{"quantiles of another dtype", func() { torch.Ones(2).Quantile(of(torch.Float64, 1)) }, broken, "same dtype as the input"},
	{"a quantile interpolated by that name", func() { torch.Ones(2).QuantileScalar(0.5, torch.QuantileOptions{Interpolation: "cubic"}) }, broken, "interpolation must be one of"},
	{"a quantile of nothing", func() { torch.Zeros(0).QuantileScalar(0.5) }, broken, "input tensor must be non-empty"},
	{"the largest of nothing", func() { torch.Zeros(0).Max() }, broken, "Expected reduction dim to be specified for input.numel() == 0"},
	{"the largest along nothing", func() { torch.Zeros(2, 0).MaxDim(1) }, outside, "Expected reduction dim 1 to have non-zero size"},
	{"the place of the largest of nothing", func() { torch.Zeros(0).ArgMax() }, outside, "Expected reduction dim to be specified for input.numel() == 0"},
	{"the infinity norm of nothing", func() { linalg.VectorNorm(torch.Zeros(0), linalg.VectorNormOptions{Ord: math.Inf(1)}) }, broken, "does not have an identity"},
	{"a norm of that name", func() { linalg.NormStr(torch.Ones(2, 2), "magic") }, broken, "Order magic not supported"},
	{"a norm of order text", func() { linalg.VectorNorm(torch.Ones(2), linalg.VectorNormOptions{Ord: "two"}) }, mixedUp, "got string"},
	{"a matrix norm of order 7", func() { linalg.MatrixNorm(torch.Ones(2, 2), 7) }, broken, "Order 7 not supported"},
	{"a norm of integers", func() { long(1).Norm() }, broken, "input dtype should be either floating point or complex"},
	{"negative distances", func() { torch.CDist(torch.Ones(2, 2), torch.Ones(2, 2), torch.CDistOptions{P: new(-1.0)}) }, broken, "cdist only supports non-negative p values"},
	{"a negative tolerance", func() { torch.Ones(2).AllClose(torch.Ones(2), torch.AllCloseOptions{ATol: new(-1.0)}) }, broken, "atol must be greater than or equal to zero"},
	{"closeness of different dtypes", func() { torch.Ones(2).IsClose(of(torch.Float64, 2)) }, broken, "Float did not match Double"},
	{"draws without weight", func() { torch.Zeros(3).Multinomial(1) }, broken, "sum of probabilities <= 0"},
	{"draws by negative weights", func() { filled(-1, 3).Multinomial(1) }, broken, "element < 0"},
	{"more draws than there is", func() { torch.Ones(3).Multinomial(4) }, broken, "n_sample > prob_dist.size(-1)"},
	{"a coin of probability 2", func() { torch.Ones(3).BernoulliP(2) }, broken, "expects p to be in [0, 1], but got p=2"},
	{"coins of probability 2", func() { filled(2, 3).Bernoulli() }, broken, "p_in >= 0 && p_in <= 1"},
	{"a negative deviation", func() { torch.Normal(0, -1, 3) }, broken, "std >= 0.0"},
	{"a deviation of NaN", func() { torch.Ones(3).NormalInPlace(0, math.NaN()) }, broken, "found std nan"},
	{"a uniform range backwards", func() { torch.Ones(3).UniformInPlace(2, 1) }, broken, "found from=2 > to=1"},
	{"a negative rate", func() { torch.Poisson(filled(-1, 2)) }, broken, "expected rate to be non-negative"},
	{"a Fourier transform of 0 points", func() { fft.FFT(torch.Ones(4), fft.FFTOptions{N: new(0)}) }, broken, "Invalid number of data points (0) specified"},
	{"a Fourier transform of that norm", func() { fft.FFT(torch.Ones(4), fft.FFTOptions{Norm: "unitary"}) }, broken, "Invalid normalization mode"},
	{"a Fourier transform along a dimension twice", func() { fft.FFTN(torch.Ones(4, 4), fft.FFTNOptions{Dim: []int{0, 0}}) }, broken, "FFT dims must be unique"},
	{"a spectrogram without frequencies", func() { torch.Ones(16).STFT(0, torch.STFTOptions{Window: torch.Ones(4), ReturnComplex: new(true)}) }, broken, "n_fft"},
	{"a spectrogram in hops of 0", func() {
		torch.Ones(16).STFT(4, torch.STFTOptions{HopLength: new(0), Window: torch.Ones(4), ReturnComplex: new(true)})
	}, broken, "hop_length > 0"},
	{"a spectrogram with another window", func() {
		torch.Ones(16).STFT(4, torch.STFTOptions{Window: torch.Ones(3), ReturnComplex: new(true)})
	}, broken, "but got window with size [3]"},
	{"a spectrogram that does not say of what", func() { torch.Ones(16).STFT(4, torch.STFTOptions{Window: torch.Ones(4)}) }, broken, "return_complex"},
	{"the signal of a real spectrogram", func() { torch.Ones(3, 4).ISTFT(4, torch.ISTFTOptions{Window: torch.Ones(4)}) }, broken, "complex-valued"},
	{"the signal of other frequencies", func() { of(torch.Complex64, 2, 4).ISTFT(4, torch.ISTFTOptions{Window: torch.Ones(4)}) }, broken, "frequency dimension"},
	{"a quarter turn in one dimension", func() { torch.Ones(2, 2).Rot90(torch.Rot90Options{Dims: []int{0}}) }, broken, "expected total rotation dims == 2"},
	{"combinations of a matrix", func() { torch.Combinations(torch.Ones(2, 2)) }, broken, "Expect a 1D vector"},
	{"a cumulative sum along no dimension", func() { torch.Ones(2).CumSum(1) }, outside, "Dimension out of range"},
}

var badMatrices = []badInput{
	{"the inverse of a singular matrix", func() { linalg.Inv(torch.Ones(2, 2)) }, linAlg, "singular"},
	{"the inverse of a tall matrix", func() { linalg.Inv(torch.Ones(3, 2)) }, broken, "must be batches of square matrices, but they are 3 by 2"},
	{"the inverse of a vector", func() { linalg.Inv(torch.Ones(3)) }, broken, "must have at least 2 dimensions"},
	{"the inverse of integers", func() { linalg.Inv(of(torch.Int64, 2, 2)) }, broken, "Expected a floating point or complex tensor as input. Got Long"},
	{"the determinant of a tall matrix", func() { linalg.Det(torch.Ones(3, 2)) }, broken, "must be batches of square matrices"},
	{"a solution of singular equations", func() { linalg.Solve(torch.Ones(2, 2), torch.Ones(2)) }, linAlg, "singular"},
	{"a solution of other sizes", func() { linalg.Solve(torch.Eye(3), torch.Ones(4, 1)) }, broken, "Incompatible shapes of A and B"},
	{"the root of a matrix that is not positive", func() { linalg.Cholesky(torch.Eye(2).Neg()) }, linAlg, "not positive-definite"},
	{"the root of NaN", func() { linalg.Cholesky(filled(math.NaN(), 2, 2)) }, linAlg, "could not be completed"},
	{"eigenvalues of NaN", func() { linalg.Eig(filled(math.NaN(), 2, 2)) }, broken, "should not contain infs or NaNs"},
	{"symmetric eigenvalues of NaN", func() { linalg.Eigh(filled(math.NaN(), 3, 3)) }, linAlg, "should not contain infs or NaNs"},
	{"the eigenvalues of another triangle", func() { linalg.Eigh(torch.Eye(2), linalg.EighOptions{UPLO: "X"}) }, broken, "Expected UPLO argument to be 'L' or 'U'"},
	{"singular values of NaN", func() { linalg.SVD(filled(math.NaN(), 2, 2)) }, linAlg, "non-finite values"},
	{"the rank of NaN", func() { linalg.MatrixRank(filled(math.NaN(), 2, 2)) }, linAlg, "non-finite values"},
	{"factors of another mode", func() { linalg.QR(torch.Eye(2), linalg.QROptions{Mode: "full"}) }, broken, "unrecognized mode 'full'"},
	{"least squares by another driver", func() { linalg.Lstsq(torch.Eye(2), torch.Ones(2, 1), linalg.LstsqOptions{Driver: "magic"}) }, broken, "should be one of (gels, gelsy, gelsd, gelss)"},
	{"negative powers of a singular matrix", func() { linalg.MatrixPower(torch.Ones(2, 2), -1) }, linAlg, "singular"},
	{"a cross product in four dimensions", func() { linalg.Cross(torch.Ones(4), torch.Ones(4)) }, broken, "must have length 3"},
	{"a product of one matrix", func() { linalg.MultiDot(torch.Ones(2, 2)) }, broken, "expected at least 2 tensors but got 1"},
	{"pivots past the matrix", func() { linalg.LUSolve(torch.Eye(2), long(1, 9).To(torch.Int32), torch.Ones(2, 1)) }, broken, "must all be smaller or equal to LU.size(-2)"},
	{"pivots of another dtype", func() { torch.LUUnpack(torch.Eye(2), long(1, 2)) }, broken, "torch.int32"},
	{"the trace of a vector", func() { torch.Ones(3).Trace() }, broken, "expected a matrix"},
}
