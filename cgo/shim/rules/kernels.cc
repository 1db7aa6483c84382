// Kernels in the place of libtorch's, where a right result can be had another way, or the same one sooner. They stand
// below autograd, so operators that are composed of these, and gradients, come by them too.
#include <ATen/TensorUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_fft_c2c.h>
#include <ATen/ops/_fft_c2c_cpu_dispatch.h>
#include <ATen/ops/_fft_c2r_cpu_dispatch.h>
#include <ATen/ops/_pdist_backward_cpu_dispatch.h>
#include <ATen/ops/_sparse_csr_prod_native.h>
#include <ATen/ops/_sparse_csr_sum_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/median_cpu_dispatch.h>
#include <ATen/ops/mkldnn_linear_native.h>
#include <ATen/ops/mul_native.h>
#include <ATen/ops/multi_margin_loss_cpu_dispatch.h>
#include <ATen/ops/multilabel_margin_loss_forward_cpu_dispatch.h>
#include <ATen/ops/nanmedian_cpu_dispatch.h>
#include <ATen/ops/narrow_native.h>
#include <ATen/ops/reflection_pad3d_backward_cpu_dispatch.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/sparse_mask_native.h>
#include <ATen/ops/special_chebyshev_polynomial_t_cpu_dispatch.h>
#include <ATen/ops/special_chebyshev_polynomial_u_cpu_dispatch.h>
#include <ATen/ops/special_chebyshev_polynomial_v_cpu_dispatch.h>
#include <ATen/ops/special_chebyshev_polynomial_w_cpu_dispatch.h>
#include <ATen/ops/special_hermite_polynomial_h_cpu_dispatch.h>
#include <ATen/ops/special_hermite_polynomial_he_cpu_dispatch.h>
#include <ATen/ops/special_laguerre_polynomial_l_cpu_dispatch.h>
#include <ATen/ops/special_legendre_polynomial_p_cpu_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_t_cpu_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_u_cpu_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_v_cpu_dispatch.h>
#include <ATen/ops/special_shifted_chebyshev_polynomial_w_cpu_dispatch.h>
#include <ATen/ops/zero_native.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "boxed.h"
#include "core.h"
#include "kernels.h"
#include "kernels/matrices.h"
#include "kernels/optimizers.h"
#include "kernels/softmax.h"
#include "kernels/sums.h"
#include "kernels/weights.h"
#include "rules.h"

namespace tg {
namespace {

using at::IntArrayRef;
using at::Tensor;

// MKL transforms several dimensions at once, and what the others have as a batch. Where elements of a batch lie closer together
// than a signal's, and a dimension of the signal is several times as long as another one, it writes past its buffers
// (with AVX-512; seen from nine times on).
bool overruns(const Tensor& x, IntArrayRef dim) {
	if (dim.size() < 2 || x.numel() == 0) {
		return false;
	}
	int64_t shortest = x.size(dim[0]), longest = 0, apart = 0;
	auto rest = at::dim_list_to_bitset(dim, x.dim()).flip();
	for (auto d : dim) {
		shortest = std::min(shortest, x.size(d));
		longest = std::max(longest, x.size(d));
		apart = std::max(apart, x.stride(d));
	}
	bool inside = false;
	for (int64_t d = 0; d < x.dim(); d++) {
		inside |= rest[d] && x.size(d) > 1 && x.stride(d) < apart;
	}
	return inside && longest >= 4 * shortest;
}

// The transform where each batch lies behind the other in between: of three dimensions at once, which is how many libtorch takes.
Tensor fft_in_batches(Tensor x, IntArrayRef dim, int64_t normalization, bool forward) {
	for (size_t end = dim.size(), begin = 0; end > 0; end = begin) {
		begin = end - std::min<size_t>(end, 3);
		at::DimVector order, place(x.dim()), last;
		auto group = at::dim_list_to_bitset(dim.slice(begin, end - begin), x.dim());
		for (bool signal : {false, true}) {
			for (int64_t d = 0; d < x.dim(); d++) {
				if (group[d] == signal) {
					place[d] = static_cast<int64_t>(order.size());
					order.push_back(d);
				}
			}
		}
		for (auto d = x.dim() - static_cast<int64_t>(end - begin); d < x.dim(); d++) {
			last.push_back(d);
		}
		x = at::cpu::_fft_c2c(x.permute(order).contiguous(), last, normalization, forward).permute(place);
	}
	return x;
}

Tensor fft_c2c(const Tensor& x, c10::SymIntArrayRef dim, int64_t normalization, bool forward) {
	auto dims = C10_AS_INTARRAYREF_SLOW(dim);
	return overruns(x, dims) ? fft_in_batches(x, dims, normalization, forward) : at::cpu::_fft_c2c(x, dims, normalization, forward);
}

Tensor& fft_c2c_out(const Tensor& x, c10::SymIntArrayRef dim, int64_t normalization, bool forward, Tensor& out) {
	auto dims = C10_AS_INTARRAYREF_SLOW(dim);
	if (!overruns(x, dims)) {
		return at::cpu::_fft_c2c_out(out, x, dims, normalization, forward);
	}
	auto result = fft_in_batches(x, dims, normalization, forward);
	at::native::resize_output(out, result.sizes());
	return out.copy_(result);
}

// libtorch transforms all dimensions but the last from complex to complex and hands what comes
// out to MKL, as rows in the order that the other dimensions have in memory. If their elements lie further apart than
// the rows, MKL writes past its buffers: then the last dimension is made the innermost in between.
Tensor in_rows(const Tensor& x, int64_t dim) {
	at::DimVector order(x.dim()), place(x.dim());
	std::iota(order.begin(), order.end(), 0);
	auto batch = std::partition(order.begin(), order.end(), [&](int64_t d) { return d != dim; });
	std::sort(order.begin(), batch, [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); });
	for (int64_t i = 0; i < x.dim(); i++) {
		place[order[i]] = i;
	}
	auto permuted = x.permute(order);
	int64_t length = x.size(dim), rows = x.numel() / std::max<int64_t>(length, 1);
	auto strides = at::detail::computeStride(permuted.sizes(), permuted.strides(), at::DimVector{rows, length});
	if (!strides || (*strides)[1] < (*strides)[0]) {
		return x;
	}
	return permuted.contiguous().permute(place);
}

Tensor fft_c2r(const Tensor& x, IntArrayRef dim, int64_t normalization, c10::SymInt last) {
	if (dim.size() < 2) {
		return at::cpu::_fft_c2r_symint(x, dim, normalization, last);
	}
	auto half = at::_fft_c2c(x, dim.slice(0, dim.size() - 1), normalization, /*forward=*/false);
	return at::cpu::_fft_c2r_symint(in_rows(half, dim.back()), dim.back(), normalization, last);
}

Tensor& fft_c2r_out(const Tensor& x, IntArrayRef dim, int64_t normalization, c10::SymInt last, Tensor& out) {
	if (dim.size() < 2) {
		return at::cpu::_fft_c2r_symint_out(out, x, dim, normalization, last);
	}
	auto half = at::_fft_c2c(x, dim.slice(0, dim.size() - 1), normalization, /*forward=*/false);
	return at::cpu::_fft_c2r_symint_out(out, in_rows(half, dim.back()), dim.back(), normalization, last);
}

// libtorch walks a row by the strides of the tensor it was given, in a copy that has its own.
std::tuple<Tensor&, Tensor&> median_out(const Tensor& x, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
	return at::cpu::median_out(values, indices, x.contiguous(), dim, keepdim);
}

std::tuple<Tensor&, Tensor&> nanmedian_out(const Tensor& x, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
	return at::cpu::nanmedian_out(values, indices, x.contiguous(), dim, keepdim);
}

// Where there are no rows, there is nothing to add to.
Tensor pdist_backward(const Tensor& gradient, const Tensor& x, double p, const Tensor& distances) {
	return x.numel() == 0 ? at::zeros_like(x, at::MemoryFormat::Contiguous) : at::cpu::_pdist_backward(gradient, x, p, distances);
}

// An output without elements has no part in the gradient, which libtorch leaves unset.
Tensor reflection_pad3d_backward(const Tensor& gradient, const Tensor& x, c10::SymIntArrayRef padding) {
	return gradient.numel() == 0 ? at::zeros_like(x) : at::cpu::reflection_pad3d_backward_symint(gradient, x, padding);
}

// libtorch leaves the indices of a new compressed tensor unset.
Tensor empty_compressed(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout, std::optional<at::Device> device,
                        std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
	auto x = at::native::empty_sparse_compressed(C10_AS_INTARRAYREF_SLOW(size), dtype, layout, device, pin, format);
	bool rows = x.layout() == at::kSparseCsr || x.layout() == at::kSparseBsr;
	(rows ? x.crow_indices() : x.ccol_indices()).zero_();
	return x;
}

// Compressed tensors that grow by batches would have the indices of these unset.
const Tensor& resize_compressed(const Tensor& x, c10::SymIntArrayRef sizes, std::optional<at::MemoryFormat> format) {
	auto size = C10_AS_INTARRAYREF_SLOW(sizes);
	auto batches = [](IntArrayRef s) { return s.slice(0, s.size() - 2); };
	TORCH_CHECK_NOT_IMPLEMENTED(size.size() < 2 || batches(size) == batches(x.sizes()), "cannot resize a tensor of layout ", x.layout(), " and size ", x.sizes(), " to ", size,
	                            ": its batches have to stay");
	return at::native::resize_sparse_csr_(x, size, format);
}

// Where nothing is added up over both dimensions, libtorch's result has a value that was never set.
template <Tensor (*reduce)(const Tensor&, IntArrayRef, bool, std::optional<at::ScalarType>)>
Tensor reduced(const Tensor& x, IntArrayRef dim, bool keepdim, std::optional<at::ScalarType> dtype) {
	auto result = reduce(x, dim, keepdim, dtype);
	return dim.size() == 2 && x._nnz() == 0 ? at::zeros(result.sizes(), result.options()) : result;
}

// Margin losses over no samples are what other losses are, 0 as a sum and NaN as a mean; libtorch leaves them unset.
Tensor& over_nothing(Tensor& loss, const Tensor& x, int64_t reduction) {
	if (x.numel() == 0 && reduction != at::Reduction::None) {
		loss.fill_(reduction == at::Reduction::Mean ? std::numeric_limits<double>::quiet_NaN() : 0.0);
	}
	return loss;
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const at::Scalar& p, const at::Scalar& margin, const std::optional<Tensor>& weight,
                         int64_t reduction) {
	auto loss = at::cpu::multi_margin_loss(x, target, p, margin, weight, reduction);
	return over_nothing(loss, x, reduction);
}

Tensor& multi_margin_loss_out(const Tensor& x, const Tensor& target, const at::Scalar& p, const at::Scalar& margin, const std::optional<Tensor>& weight,
                              int64_t reduction, Tensor& out) {
	return over_nothing(at::cpu::multi_margin_loss_outf(x, target, p, margin, weight, reduction, out), x, reduction);
}

std::tuple<Tensor, Tensor> multilabel_margin_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
	auto result = at::cpu::multilabel_margin_loss_forward(x, target, reduction);
	over_nothing(std::get<0>(result), x, reduction);
	return result;
}

std::tuple<Tensor&, Tensor&> multilabel_margin_loss_out(const Tensor& x, const Tensor& target, int64_t reduction, Tensor& out, Tensor& is_target) {
	at::cpu::multilabel_margin_loss_forward_outf(x, target, reduction, out, is_target);
	return {over_nothing(out, x, reduction), is_target};
}

// A tensor masked by itself comes back as it went in, and the graph would name it as made of itself, for good.
Tensor sparse_mask(const Tensor& x, const Tensor& mask) {
	return x.is_same(mask) ? x.clone() : at::native::sparse_mask(x, mask);
}

Tensor sparse_mask_compressed(const Tensor& x, const Tensor& mask) {
	return x.is_same(mask) ? x.clone() : at::native::sparse_mask_sparse_compressed(x, mask);
}

// libtorch walks the indices of both as if they had as many rows.
Tensor& product_of_sparse(const Tensor& a, const Tensor& b, Tensor& out) {
	TORCH_CHECK(a.layout() != at::kSparse || b.layout() != at::kSparse || a.dim() != b.dim() || a.sparse_dim() == b.sparse_dim(),
	            "mul: expected 'self' and 'other' to have same density, but 'self' has ", a.sparse_dim(), " sparse dimensions while 'other' has ",
	            b.sparse_dim(), " sparse dimensions");
	return at::native::mul_out_sparse_cpu(a, b, out);
}

// oneDNN reads a bias as it lies in memory.
Tensor mkldnn_linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
	bool strided = bias && bias->defined() && bias->layout() == at::kStrided;
	return at::native::mkldnn_linear(x, weight, strided ? std::optional<Tensor>(bias->contiguous()) : bias);
}

// libtorch writes floats, whatever the dtype is, also where an operator makes a tensor of its arguments' layout and begins with zeros.
Tensor& zero_mkldnn(Tensor& x) {
	rule::float_mkldnn(x);
	return at::native::mkldnn_zero_(x);
}

// The form that changes nothing looks at a storage, which these do not have.
Tensor copy_of_sparse(const Tensor& x, const Tensor& source, bool non_blocking) {
	auto copied = x.clone();
	return copied.copy_(source, non_blocking);
}

// libtorch makes a nested tensor of no tensors, reading offsets where there are none, and ends the process where it is used.
Tensor narrow_nested(const Tensor& x, int64_t dim, c10::SymInt start, c10::SymInt length) {
	TORCH_CHECK(length != 0, "narrow(): a nested tensor needs one tensor or more, but got length 0");
	return at::native::narrow_nested_symint(x, dim, start, length);
}

// Where x is not a number, no term of degree 2 or more is computed, and libtorch returns one that was never set.
Tensor& not_numbers(Tensor& result, const Tensor& nan, const Tensor& n) {
	if (nan.any().item<bool>()) {
		result.masked_fill_(nan.logical_and(at::ge(n, 2)), std::numeric_limits<double>::quiet_NaN());
	}
	return result;
}

template <Tensor (*compute)(const Tensor&, const Tensor&)>
Tensor polynomial(const Tensor& x, const Tensor& n) {
	auto result = compute(x, n);
	return not_numbers(result, x.isnan(), n);
}

template <Tensor& (*compute)(const Tensor&, const Tensor&, Tensor&)>
Tensor& polynomial_out(const Tensor& x, const Tensor& n, Tensor& out) {
	auto nan = x.isnan();  // before out, which may be x, is written
	return not_numbers(compute(x, n, out), nan, n);
}

void replace_polynomials(torch::Library& library) {
#define POLYNOMIAL(name)                                                              \
	library.impl("special_" #name, polynomial<at::cpu::special_##name>);              \
	library.impl("special_" #name ".out", polynomial_out<at::cpu::special_##name##_outf>)
	POLYNOMIAL(chebyshev_polynomial_t);
	POLYNOMIAL(chebyshev_polynomial_u);
	POLYNOMIAL(chebyshev_polynomial_v);
	POLYNOMIAL(chebyshev_polynomial_w);
	POLYNOMIAL(hermite_polynomial_h);
	POLYNOMIAL(hermite_polynomial_he);
	POLYNOMIAL(laguerre_polynomial_l);
	POLYNOMIAL(legendre_polynomial_p);
	POLYNOMIAL(shifted_chebyshev_polynomial_t);
	POLYNOMIAL(shifted_chebyshev_polynomial_u);
	POLYNOMIAL(shifted_chebyshev_polynomial_v);
	POLYNOMIAL(shifted_chebyshev_polynomial_w);
#undef POLYNOMIAL
}

// libtorch warns of kernels that are replaced.
struct Silent final : c10::WarningHandler {
	void process(const c10::Warning&) override {}
};

}  // namespace

void replace_kernels() {
	Silent silent;
	c10::WarningUtils::WarningHandlerGuard guard(&silent);
	static auto& library = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, "libtorch for Go", 0);
	library.impl("_fft_c2c", fft_c2c);
	library.impl("_fft_c2c.out", fft_c2c_out);
	library.impl("_fft_c2r", fft_c2r);
	library.impl("_fft_c2r.out", fft_c2r_out);
	library.impl("median.dim_values", median_out);
	library.impl("nanmedian.dim_values", nanmedian_out);
	library.impl("_pdist_backward", pdist_backward);
	replace_kernels_of_images(library);
	library.impl("reflection_pad3d_backward", reflection_pad3d_backward);
	library.impl("multi_margin_loss", multi_margin_loss);
	library.impl("multi_margin_loss.out", multi_margin_loss_out);
	library.impl("multilabel_margin_loss_forward", multilabel_margin_loss);
	library.impl("multilabel_margin_loss_forward.output", multilabel_margin_loss_out);
	replace_polynomials(library);
	if (convolution::best_processor() != nullptr) {
		library.impl("mm", matrices::mm);
		library.impl("addmm", matrices::addmm);
		library.impl("_log_softmax", rows::log_softmax);
		library.impl("_log_softmax_backward_data", rows::log_softmax_backward);
		library.impl("sum.dim_IntList", sums::sum);
		library.impl("_fused_sgd_", optimizers::fused_sgd_<double>);
		library.impl("_fused_sgd_.tensor_lr", optimizers::fused_sgd_<const Tensor&>);
		library.impl("_fused_adam_", optimizers::fused_adam_<false, double>);
		library.impl("_fused_adam_.tensor_lr", optimizers::fused_adam_<false, const Tensor&>);
		library.impl("_fused_adamw_", optimizers::fused_adam_<true, double>);
		library.impl("_fused_adamw_.tensor_lr", optimizers::fused_adam_<true, const Tensor&>);
	}
	static auto& compressed = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::SparseCsrCPU, "libtorch for Go", 0);
	compressed.impl("_sparse_csr_prod.dim_dtype", reduced<at::native::_sparse_csr_prod_cpu>);
	compressed.impl("_sparse_csr_sum.dim_dtype", reduced<at::native::_sparse_csr_sum_cpu>);
	compressed.impl("copy", copy_of_sparse);
	compressed.impl("empty.memory_format", empty_compressed);
	compressed.impl("resize_", resize_compressed);
	compressed.impl("sparse_mask", sparse_mask_compressed);
	static auto& sparse = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::SparseCPU, "libtorch for Go", 0);
	sparse.impl("copy", copy_of_sparse);
	sparse.impl("mul.out", product_of_sparse);
	sparse.impl("sparse_mask", sparse_mask);
	static auto& mkldnn = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::MkldnnCPU, "libtorch for Go", 0);
	mkldnn.impl("mkldnn_linear", mkldnn_linear);
	mkldnn.impl("zero_", zero_mkldnn);
	static auto& nested = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::NestedTensorCPU, "libtorch for Go", 0);
	nested.impl("narrow", narrow_nested);
	know_inner_namespaces();
}

}  // namespace tg
