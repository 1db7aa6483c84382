package phrasebook

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/fft"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/special"
)

var products = chapter{
	title: "Products and linear algebra",
	python: `a = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
b = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
v = torch.tensor([1.0, 2.0])
x = torch.arange(12.0).reshape(2, 2, 3)
y = torch.arange(12.0).reshape(2, 3, 2)`,
	setup: func() {
		a = torch.FromNested([][]float32{{4, 1}, {1, 3}})
		b = torch.FromNested([][]float32{{1, 2}, {3, 4}})
		v = torch.FromSlice([]float32{1, 2})
		x = torch.Arange(12.0).Reshape(2, 2, 3)
		y = torch.Arange(12.0).Reshape(2, 3, 2)
	},
	phrases: []phrase{
		{"a @ b", func() any { return a.MatMul(b) }},
		{"torch.matmul(x, y)", func() any { return x.MatMul(y) }},
		{"torch.mm(a, b)", func() any { return a.MM(b) }},
		{"torch.bmm(x, y)", func() any { return x.BMM(y) }},
		{"torch.mv(a, v)", func() any { return a.MV(v) }},
		{"torch.dot(v, v)", func() any { return v.Dot(v) }},
		{"torch.outer(v, v)", func() any { return v.Outer(v) }},
		{"torch.addmm(b, a, b)", func() any { return b.AddMM(a, b) }},
		{"torch.baddbmm(a, x, y, beta=0.5)", func() any { return a.BAddBMM(x, y, torch.BAddBMMOptions{Beta: 0.5}) }},
		{"torch.einsum('bij,bjk->bik', x, y)", func() any { return torch.Einsum("bij,bjk->bik", x, y) }},
		{"torch.einsum('ij->j', a)", func() any { return torch.Einsum("ij->j", a) }},
		{"torch.tensordot(a, b, dims=1)", func() any { return torch.TensorDotN(a, b, 1) }},
		{"torch.kron(a, b)", func() any { return a.Kron(b) }},
		{"x @ x.transpose(-2, -1) / 3 ** 0.5", func() any { return x.MatMul(x.Transpose(-2, -1)).DivScalar(math.Sqrt(3)) }},
		{"torch.trace(a)", func() any { return a.Trace() }},
		{"torch.inverse(a)", func() any { return a.Inverse() }},
		{"torch.det(a)", func() any { return a.Det() }},
		{"torch.linalg.inv(a)", func() any { return linalg.Inv(a) }},
		{"torch.linalg.det(b)", func() any { return linalg.Det(b) }},
		{"torch.linalg.slogdet(a)", func() any { return all(linalg.SLogDet(a)) }},
		{"torch.linalg.solve(a, v)", func() any { return linalg.Solve(a, v) }},
		{"u, s, vh = torch.linalg.svd(b, full_matrices=False)", func() any {
			u, s, vh := linalg.SVD(b, linalg.SVDOptions{Reduced: true})
			return all(u, s, vh)
		}},
		{"torch.linalg.svdvals(b)", func() any { return linalg.SVDVals(b) }},
		{"q, r = torch.linalg.qr(b)", func() any { q, r := linalg.QR(b); return all(q, r) }},
		{"torch.linalg.cholesky(a)", func() any { return linalg.Cholesky(a) }},
		{"values, vectors = torch.linalg.eigh(a)", func() any { values, vectors := linalg.Eigh(a); return all(values, vectors) }},
		{"torch.linalg.eigvals(b)", func() any { return linalg.Eigvals(b) }},
		{"torch.linalg.norm(b)", func() any { return linalg.Norm(b) }},
		{"torch.linalg.vector_norm(b, dim=1)", func() any { return linalg.VectorNorm(b, linalg.VectorNormOptions{Dim: []int{1}}) }},
		{"torch.linalg.matrix_rank(a)", func() any { return linalg.MatrixRank(a) }},
		{"torch.linalg.pinv(b)", func() any { return linalg.Pinv(b) }},
		{"torch.linalg.lstsq(a, b, driver=\"gelsd\").solution", func() any { // gelsy, the default, begins with pivots that are not set
			solution, _, _, _ := linalg.Lstsq(a, b, linalg.LstsqOptions{Driver: "gelsd"})
			return solution
		}},
		{"torch.linalg.matrix_power(a, 3)", func() any { return linalg.MatrixPower(a, 3) }},
		{"torch.linalg.multi_dot([a, b, a])", func() any { return linalg.MultiDot(a, b, a) }},
		{"torch.linalg.cross(x, x + 1)", func() any { return linalg.Cross(x, x.AddScalar(1)) }},
		{"torch.cdist(a, b)", func() any { return torch.CDist(a, b) }},
	},
}

var spectra = chapter{
	title:  "Fourier transforms and special functions",
	python: "x = torch.tensor([1.0, 2.0, 4.0, 3.0])",
	setup: func() {
		x = torch.FromSlice([]float32{1, 2, 4, 3})
	},
	phrases: []phrase{
		{"torch.fft.fft(x)", func() any { return fft.FFT(x) }},
		{"torch.fft.ifft(torch.fft.fft(x)).real", func() any { return fft.IFFT(fft.FFT(x)).Real() }},
		{"torch.fft.rfft(x, norm='ortho')", func() any { return fft.RFFT(x, fft.RFFTOptions{Norm: "ortho"}) }},
		{"torch.fft.irfft(torch.fft.rfft(x), n=4)", func() any { return fft.IRFFT(fft.RFFT(x), fft.IRFFTOptions{N: new(4)}) }},
		{"torch.fft.fft2(x.reshape(2, 2))", func() any { return fft.FFT2(x.Reshape(2, 2)) }},
		{"torch.fft.fftshift(x)", func() any { return fft.FFTShift(x) }},
		{"torch.fft.fftfreq(4, d=0.5)", func() any { return fft.FFTFreq(4, 0.5) }},
		{"torch.erf(x)", func() any { return x.Erf() }},
		{"torch.lgamma(x)", func() any { return x.Lgamma() }},
		{"torch.digamma(x)", func() any { return x.Digamma() }},
		{"torch.special.expit(x)", func() any { return special.Expit(x) }},
		{"torch.special.log_ndtr(x)", func() any { return special.LogNdtr(x) }},
		{"torch.special.xlogy(x, x)", func() any { return special.XLogY(x, x) }},
	},
}

var chance = chapter{
	title: "Random numbers",
	python: `torch.manual_seed(42)
x = torch.zeros(2, 3)
p = torch.tensor([0.1, 0.2, 0.7])`,
	setup: func() {
		torch.ManualSeed(42)
		x = torch.Zeros(2, 3)
		p = torch.FromSlice([]float32{0.1, 0.2, 0.7})
	},
	phrases: []phrase{
		{"torch.rand(2, 3)", func() any { return torch.Rand(2, 3) }},
		{"torch.randn(2, 3)", func() any { return torch.RandN(2, 3) }},
		{"torch.randn(3, requires_grad=True)", func() any { return torch.TensorOptions{RequiresGrad: true}.RandN(3) }},
		{"torch.randn(8, dtype=torch.float64)", func() any { return torch.TensorOptions{DType: torch.Float64}.RandN(8) }},
		{"torch.randint(10, (5,))", func() any { return torch.RandIntN(10, 5) }},
		{"torch.randint(3, 10, (2, 2))", func() any { return torch.RandInt(3, 10, []int{2, 2}) }},
		{"torch.randperm(6)", func() any { return torch.RandPerm(6) }},
		{"torch.rand_like(x)", func() any { return torch.RandLike(x) }},
		{"torch.randn_like(x)", func() any { return torch.RandNLike(x) }},
		{"x + 0.1 * torch.randn_like(x)", func() any { return x.Add(torch.RandNLike(x).MulScalar(0.1)) }},
		{"torch.normal(0.0, 2.0, (3,))", func() any { return torch.Normal(0, 2, 3) }},
		{"torch.normal(x, 1.0)", func() any { return torch.NormalTensorFloat(x, 1) }},
		{"torch.bernoulli(p)", func() any { return p.Bernoulli() }},
		{"torch.multinomial(p, 2)", func() any { return p.Multinomial(2) }},
		{"torch.multinomial(p, 5, replacement=True)", func() any { return p.Multinomial(5, torch.MultinomialOptions{Replacement: true}) }},
		{"torch.poisson(p * 10)", func() any { return torch.Poisson(p.MulScalar(10)) }},
		{"x.normal_(0, 0.02)", func() any { return x.NormalInPlace(0, 0.02) }},
		{"x.uniform_(-1, 1)", func() any { return x.UniformInPlace(-1, 1) }},
		{"x.bernoulli_(0.5)", func() any { return x.BernoulliInPlace(0.5) }},
		{"x.exponential_()", func() any { return x.ExponentialInPlace(1) }},
		{`g = torch.Generator().manual_seed(7)
y = torch.randn(3, generator=g)`, func() any {
			g := torch.NewGenerator(torch.CPU).ManualSeed(7)
			y = torch.TensorOptions{Generator: g}.RandN(3)
			return y
		}},
		{"torch.initial_seed()", func() any { return torch.DefaultGenerator(torch.CPU).InitialSeed() }},
		{`state = torch.get_rng_state()
a = torch.rand(2)
torch.set_rng_state(state)
b = torch.rand(2)`, func() any {
			state := torch.DefaultGenerator(torch.CPU).State()
			a := torch.Rand(2)
			torch.DefaultGenerator(torch.CPU).SetState(state)
			b := torch.Rand(2)
			return all(a, b)[1]
		}},
	},
}

var kinds = chapter{
	title:  "Dtypes and devices",
	python: "x = torch.tensor([[1.5, -2.5], [3.5, 0.0]])",
	setup: func() {
		x = torch.FromNested([][]float32{{1.5, -2.5}, {3.5, 0}})
	},
	phrases: []phrase{
		{"x.to(torch.float64)", func() any { return x.To(torch.Float64) }},
		{"x.double()", func() any { return x.To(torch.Float64) }},
		{"x.half()", func() any { return x.To(torch.Float16) }},
		{"x.bfloat16()", func() any { return x.To(torch.BFloat16) }},
		{"x.long()", func() any { return x.To(torch.Int64) }},
		{"x.int()", func() any { return x.To(torch.Int32) }},
		{"x.bool()", func() any { return x.To(torch.Bool) }},
		{"x.type(torch.int32)", func() any { return x.To(torch.Int32) }},
		{"x.to(torch.uint8).dtype", func() any { return x.To(torch.Uint8).DType() }},
		{"x.long().type_as(x)", func() any { return x.To(torch.Int64).TypeAs(x) }},
		{"x.to('cpu')", func() any { return x.To(torch.CPU) }},
		{"x.cpu()", func() any { return x.CPU() }},
		{"device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", func() any { device := torch.DefaultDevice(); return device }},
		{"torch.device('cuda', 1)", func() any { return torch.CUDA(1) }},
		{"torch.cuda.is_available()", func() any { return cuda.IsAvailable() }},
		{"torch.cuda.device_count()", func() any { return cuda.DeviceCount() }},
		{"x.to(device=torch.device('cpu'), dtype=torch.bfloat16, non_blocking=True)", func() any {
			return x.To(torch.CPU, torch.BFloat16, torch.NonBlocking)
		}},
		{"torch.rand(1, 2, 3, 3).to(memory_format=torch.channels_last)", func() any {
			return torch.Rand(1, 2, 3, 3).To(torch.ChannelsLast)
		}},
		{"torch.result_type(x, torch.tensor(2, dtype=torch.float64))", func() any { return torch.ResultType(x, torch.FromValue(2.0)) }},
		{"torch.promote_types(torch.int32, torch.float16)", func() any { return torch.PromoteTypes(torch.Int32, torch.Float16) }},
		{"torch.can_cast(torch.float32, torch.int64)", func() any { return torch.CanCast(torch.Float32, torch.Int64) }},
		{"x.view(torch.int32)", func() any { return x.ViewDType(torch.Int32) }},
		{"x.to_sparse().to_dense()", func() any { return x.ToSparse().ToDense() }},
		{"torch.get_num_threads()", func() any { return torch.NumThreads() }},
	},
}
