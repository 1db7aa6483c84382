package phrasebook

import (
	"github.com/libtorch-go/libtorch/torch"
)

var arithmetic = chapter{
	title: "Arithmetic",
	python: `x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -0.25]])
y = torch.tensor([[2.0, 3.0, 0.5], [1.0, 1.5, 4.0]])
v = torch.tensor([7, -7, 3])
w = torch.tensor([2, 2, -2])`,
	setup: func() {
		x = torch.FromNested([][]float32{{1, -2, 3}, {0.5, 4, -0.25}})
		y = torch.FromNested([][]float32{{2, 3, 0.5}, {1, 1.5, 4}})
		v = torch.FromSlice([]int{7, -7, 3})
		w = torch.FromSlice([]int{2, 2, -2})
	},
	phrases: []phrase{
		{"x + y", func() any { return x.Add(y) }},
		{"x + 1", func() any { return x.AddScalar(1) }},
		{"x - y", func() any { return x.Sub(y) }},
		{"x - 0.5", func() any { return x.SubScalar(0.5) }},
		{"1 - x", func() any { return torch.RSubScalar(x, 1) }},
		{"x * y", func() any { return x.Mul(y) }},
		{"x * 2", func() any { return x.MulScalar(2) }},
		{"x / y", func() any { return x.Div(y) }},
		{"x / 3", func() any { return x.DivScalar(3) }},
		{"1 / y", func() any { return y.Reciprocal() }},
		{"2 / y", func() any { return torch.DivScalarTensor(2, y) }},
		{"v / w", func() any { return v.Div(w) }},
		{"v // w", func() any { return v.FloorDivide(w) }},
		{"v // 2", func() any { return v.FloorDivideScalar(2) }},
		{"v % w", func() any { return v.Remainder(w) }},
		{"v % 4", func() any { return v.RemainderScalar(4) }},
		{"torch.div(v, w, rounding_mode='trunc')", func() any { return v.DivMode(w, "trunc") }},
		{"torch.fmod(x, y)", func() any { return x.FMod(y) }},
		{"x ** 2", func() any { return x.PowScalar(2) }},
		{"y ** x", func() any { return y.Pow(x) }},
		{"2 ** y", func() any { return torch.PowScalarTensor(2, y) }},
		{"torch.pow(y, 0.5)", func() any { return y.PowScalar(0.5) }},
		{"-x", func() any { return x.Neg() }},
		{"abs(x)", func() any { return x.Abs() }},
		{"torch.add(x, y, alpha=10)", func() any { return x.Add(y, torch.AddOptions{Alpha: 10}) }},
		{"x + v", func() any { return x.Add(v) }},
		{"x * (1 - y) + y", func() any { return x.Mul(torch.RSubScalar(y, 1)).Add(y) }},
		{"torch.exp(x)", func() any { return x.Exp() }},
		{"torch.expm1(x)", func() any { return x.Expm1() }},
		{"torch.log(y)", func() any { return y.Log() }},
		{"torch.log(y + 1e-8)", func() any { return y.AddScalar(1e-8).Log() }},
		{"torch.log1p(y)", func() any { return y.Log1p() }},
		{"torch.log2(y)", func() any { return y.Log2() }},
		{"torch.log10(y)", func() any { return y.Log10() }},
		{"torch.sqrt(y)", func() any { return y.Sqrt() }},
		{"torch.rsqrt(y)", func() any { return y.Rsqrt() }},
		{"torch.square(x)", func() any { return x.Square() }},
		{"torch.sin(x)", func() any { return x.Sin() }},
		{"torch.cos(x)", func() any { return x.Cos() }},
		{"torch.tan(x)", func() any { return x.Tan() }},
		{"torch.atan2(x, y)", func() any { return x.Atan2(y) }},
		{"torch.tanh(x)", func() any { return x.Tanh() }},
		{"torch.sigmoid(x)", func() any { return x.Sigmoid() }},
		{"x.relu()", func() any { return x.ReLU() }},
		{"torch.softmax(x, dim=-1)", func() any { return x.Softmax(-1) }},
		{"x.log_softmax(dim=1)", func() any { return x.LogSoftmax(1) }},
		{"torch.sign(x)", func() any { return x.Sign() }},
		{"torch.floor(x)", func() any { return x.Floor() }},
		{"torch.ceil(x)", func() any { return x.Ceil() }},
		{"torch.round(x)", func() any { return x.Round() }},
		{"torch.round(x / 3, decimals=2)", func() any { return x.DivScalar(3).RoundDecimals(2) }},
		{"torch.trunc(x)", func() any { return x.Trunc() }},
		{"torch.frac(x)", func() any { return x.Frac() }},
		{"torch.clamp(x, -1, 1)", func() any { return x.Clamp(-1, 1) }},
		{"x.clamp(min=0)", func() any { return x.ClampMin(0) }},
		{"x.clamp(max=1)", func() any { return x.ClampMax(1) }},
		{"torch.maximum(x, y)", func() any { return x.Maximum(y) }},
		{"torch.minimum(x, y)", func() any { return x.Minimum(y) }},
		{"torch.max(x, y)", func() any { return x.MaxOther(y) }},
		{"torch.lerp(x, y, 0.25)", func() any { return x.LerpScalar(y, 0.25) }},
		{"torch.addcmul(x, x, y, value=0.5)", func() any { return x.AddCMul(x, y, torch.AddCMulOptions{Value: 0.5}) }},
		{"torch.addcdiv(x, x, y)", func() any { return x.AddCDiv(x, y) }},
		{"torch.logaddexp(x, y)", func() any { return x.LogAddExp(y) }},
		{"torch.cumsum(x, dim=1)", func() any { return x.CumSum(1) }},
		{"torch.cumprod(x, dim=0)", func() any { return x.CumProd(0) }},
		{"torch.diff(x)", func() any { return x.Diff() }},
		{"torch.nan_to_num(x / 0)", func() any { return x.DivScalar(0).NaNToNum() }},
		{"torch.deg2rad(x)", func() any { return x.Deg2Rad() }},
		{"torch.real(torch.complex(x, y))", func() any { return torch.Complex(x, y).Real() }},
		{"torch.polar(y, x)", func() any { return torch.Polar(y, x) }},
		{"torch.view_as_real(torch.complex(x, y))", func() any { return torch.ViewAsReal(torch.Complex(x, y)) }},
	},
}

var inPlace = chapter{
	title: "Changing a tensor in place",
	python: `x = torch.tensor([1.0, -2.0, 3.0])
y = torch.tensor([4.0, 5.0, 6.0])`,
	setup: func() {
		x = torch.FromSlice([]float32{1, -2, 3})
		y = torch.FromSlice([]float32{4, 5, 6})
	},
	phrases: []phrase{
		{"x.add_(y)", func() any { return x.AddInPlace(y) }},
		{"x += y", func() any { x.AddInPlace(y); return x }},
		{"x -= 1", func() any { x.SubScalarInPlace(1); return x }},
		{"x *= 2", func() any { x.MulScalarInPlace(2); return x }},
		{"x /= y", func() any { x.DivInPlace(y); return x }},
		{"x.sub_(y, alpha=0.1)", func() any { return x.SubInPlace(y, torch.SubOptions{Alpha: 0.1}) }},
		{"x.zero_()", func() any { return x.ZeroInPlace() }},
		{"x.fill_(3)", func() any { return x.FillInPlace(3) }},
		{"x.copy_(y)", func() any { return x.CopyInPlace(y) }},
		{"x.clamp_(min=0)", func() any { return x.ClampMinInPlace(0) }},
		{"x.relu_()", func() any { return x.ReLUInPlace() }},
		{"x.masked_fill_(x < 0, 0)", func() any { return x.MaskedFillInPlace(x.LtScalar(0), 0) }},
		{"x.lerp_(y, 0.1)", func() any { return x.LerpScalarInPlace(y, 0.1) }},
		{"x.unsqueeze_(0)", func() any { return x.UnsqueezeInPlace(0) }},
		{"x.data.mul_(2)", func() any { x.Detach().MulScalarInPlace(2); return x }},
	},
}

var reductions = chapter{
	title: "Sums, means and other reductions",
	python: `x = torch.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
v = torch.tensor([3, 1, 3, 2, 1])`,
	setup: func() {
		x = torch.FromNested([][]float32{{1, 5, 3}, {4, 2, 6}})
		v = torch.FromSlice([]int{3, 1, 3, 2, 1})
	},
	phrases: []phrase{
		{"x.sum()", func() any { return x.Sum() }},
		{"x.sum(1)", func() any { return x.Sum(1) }},
		{"x.sum(dim=(0, 1))", func() any { return x.Sum(0, 1) }},
		{"x.sum(dim=1, keepdim=True)", func() any { return x.SumDim([]int{1}, torch.SumOptions{KeepDim: true}) }},
		{"v.sum(dtype=torch.float32)", func() any { return v.SumAll(torch.SumAllOptions{DType: torch.Float32}) }},
		{"x.mean()", func() any { return x.Mean() }},
		{"x.mean(dim=0)", func() any { return x.Mean(0) }},
		{"x.mean(-1, keepdim=True)", func() any { return x.MeanDim([]int{-1}, torch.MeanOptions{KeepDim: true}) }},
		{"v.float().mean()", func() any { return v.To(torch.Float32).Mean() }},
		{"x.std()", func() any { return x.Std() }},
		{"x.std(dim=1)", func() any { return x.Std(1) }},
		{"x.var(dim=1, unbiased=False)", func() any { return x.VarDim([]int{1}, torch.VarOptions{Correction: 0}) }},
		{"std, mean = torch.std_mean(x)", func() any { std, mean := torch.StdMean(x); return all(std, mean) }},
		{"x.prod()", func() any { return x.Prod() }},
		{"x.prod(dim=0)", func() any { return x.Prod(0) }},
		{"x.max()", func() any { return x.Max() }},
		{"values, indices = x.max(dim=1)", func() any { values, indices := x.MaxDim(1); return all(values, indices) }},
		{"x.max(1, keepdim=True)[0]", func() any {
			values, _ := x.MaxDim(1, torch.MaxDimOptions{KeepDim: true})
			return values
		}},
		{"x.min()", func() any { return x.Min() }},
		{"values, indices = torch.min(x, 0)", func() any { values, indices := x.MinDim(0); return all(values, indices) }},
		{"x.amax(dim=(0, 1))", func() any { return x.AMax(0, 1) }},
		{"x.amin(1)", func() any { return x.AMin(1) }},
		{"torch.aminmax(x)", func() any { return all(x.AMinMax()) }},
		{"x.argmax()", func() any { return x.ArgMax() }},
		{"x.argmax(dim=1)", func() any { return x.ArgMax(1) }},
		{"x.argmin(dim=-1)", func() any { return x.ArgMin(-1) }},
		{"x.median()", func() any { return x.Median() }},
		{"torch.mode(v)", func() any { return all(v.Mode()) }},
		{"torch.quantile(x, 0.25)", func() any { return x.QuantileScalar(0.25) }},
		{"x.norm()", func() any { return x.Norm() }},
		{"x.norm(p=1, dim=1)", func() any { return x.NormDim(1, []int{1}) }},
		{"torch.logsumexp(x, dim=1)", func() any { return x.LogSumExp(1) }},
		{"torch.count_nonzero(x > 2, dim=1)", func() any { return x.GtScalar(2).CountNonzero(1) }},
		{"torch.cummax(x, dim=1)", func() any { return all(x.CumMax(1)) }},
		{"torch.unique(v)", func() any { values, _, _ := v.Unique(); return values }},
		{"values, counts = torch.unique(v, return_counts=True)", func() any {
			values, _, counts := v.Unique(torch.UniqueOptions{ReturnCounts: true})
			return all(values, counts)
		}},
		{"torch.unique_consecutive(v)", func() any { values, _, _ := torch.UniqueConsecutive(v); return values }},
		{"torch.bincount(v, minlength=5)", func() any { return v.BinCount(torch.BinCountOptions{MinLength: 5}) }},
		{"torch.histc(x, bins=3, min=0, max=6)", func() any { return x.Histc(torch.HistcOptions{Bins: new(3), Min: 0, Max: 6}) }},
		{"torch.nanmean(x)", func() any { return x.NaNMean() }},
		{"torch.cov(x)", func() any { return x.Cov() }},
		{"torch.corrcoef(x)", func() any { return x.CorrCoef() }},
	},
}

var comparing = chapter{
	title: "Comparing, logic and sorting",
	python: `x = torch.tensor([3.0, 1.0, 2.0])
y = torch.tensor([3.0, 2.0, 1.0])
a = torch.tensor([True, False, True])
b = torch.tensor([True, True, False])`,
	setup: func() {
		x = torch.FromSlice([]float32{3, 1, 2})
		y = torch.FromSlice([]float32{3, 2, 1})
		a = torch.FromSlice([]bool{true, false, true})
		b = torch.FromSlice([]bool{true, true, false})
	},
	phrases: []phrase{
		{"x == y", func() any { return x.Eq(y) }},
		{"x == 3", func() any { return x.EqScalar(3) }},
		{"x != y", func() any { return x.Ne(y) }},
		{"x < y", func() any { return x.Lt(y) }},
		{"x <= 2", func() any { return x.LeScalar(2) }},
		{"x > y", func() any { return x.Gt(y) }},
		{"x >= 2", func() any { return x.GeScalar(2) }},
		{"(x == y).all()", func() any { return x.Eq(y).All() }},
		{"(x == y).any().item()", func() any { return x.Eq(y).Any().Item() }},
		{"(x == y).float().mean()", func() any { return x.Eq(y).To(torch.Float32).Mean() }},
		{"torch.equal(x, y)", func() any { return x.Equal(y) }},
		{"torch.allclose(x, y, atol=2)", func() any { return x.AllClose(y, torch.AllCloseOptions{ATol: new(2.0)}) }},
		{"torch.isclose(x, y)", func() any { return x.IsClose(y) }},
		{"a & b", func() any { return a.BitwiseAnd(b) }},
		{"a | b", func() any { return a.BitwiseOr(b) }},
		{"a ^ b", func() any { return a.BitwiseXor(b) }},
		{"~a", func() any { return a.BitwiseNot() }},
		{"torch.logical_and(a, b)", func() any { return a.LogicalAnd(b) }},
		{"torch.logical_or(x > 2, y > 2)", func() any { return x.GtScalar(2).LogicalOr(y.GtScalar(2)) }},
		{"torch.logical_not(a)", func() any { return a.LogicalNot() }},
		{"torch.isnan(x / 0)", func() any { return x.DivScalar(0).IsNaN() }},
		{"torch.isinf(x / 0)", func() any { return x.DivScalar(0).IsInf() }},
		{"torch.isfinite(x).all()", func() any { return x.IsFinite().All() }},
		{"torch.isin(x, y[:2])", func() any { return torch.IsIn(x, y.Index(torch.Slice(2))) }},
		{"values, indices = torch.sort(x)", func() any { values, indices := x.Sort(); return all(values, indices) }},
		{"values, indices = x.sort(descending=True)", func() any {
			values, indices := x.Sort(torch.SortOptions{Descending: true})
			return all(values, indices)
		}},
		{"torch.argsort(x)", func() any { return x.ArgSort() }},
		{"values, indices = torch.topk(x, 2)", func() any { values, indices := x.TopK(2); return all(values, indices) }},
		{"x.topk(1, largest=False).values", func() any {
			values, _ := x.TopK(1, torch.TopKOptions{Smallest: true})
			return values
		}},
		{"torch.kthvalue(x, 2)", func() any { return all(x.KthValue(2)) }},
		{"torch.searchsorted(torch.tensor([1.0, 2.0, 3.0]), y)", func() any {
			return torch.SearchSorted(torch.FromSlice([]float32{1, 2, 3}), y)
		}},
		{"torch.bucketize(x, torch.tensor([1.5, 2.5]))", func() any { return torch.Bucketize(x, torch.FromSlice([]float32{1.5, 2.5})) }},
	},
}
