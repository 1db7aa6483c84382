// Rows of a table, as libtorch's embedding has them, without what that does for each call.
#include <ATen/Parallel.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

#include "plain.h"

namespace tg::embedding {
namespace {

using at::Tensor;

template <class Index>
void copy_rows(const Tensor& table, const Tensor& indices, Tensor& to) {
	constexpr int64_t bytes_of_a_thread = 1 << 16;
	const int64_t rows = table.size(0), size = table.size(1) * static_cast<int64_t>(table.element_size());
	const auto* from = static_cast<const char*>(table.const_data_ptr());
	const auto own = indices.dim() == 1 ? indices : indices.contiguous();
	const int64_t step = own.dim() == 1 ? own.stride(0) : 1;
	const auto* which = own.const_data_ptr<Index>();
	auto* out = static_cast<char*>(to.mutable_data_ptr());
	at::parallel_for(0, indices.numel(), std::max<int64_t>(1, bytes_of_a_thread / size), [&](int64_t first, int64_t last) {
		for (; first < last; first++) {
			const int64_t row = which[first * step];
			TORCH_CHECK_INDEX(row >= 0 && row < rows, "row ", row, " was asked for, of a table of ", rows);
			memcpy(out + first * size, from + row * size, size);
		}
	});
}

Tensor embedding(const Tensor& table, const Tensor& indices) {
	const auto kind = indices.scalar_type();
	bool plain = is_as_it_lies(table) && table.is_contiguous() && is_as_it_lies(indices) && (kind == at::kLong || kind == at::kInt);
	if (!plain || table.dim() != 2 || table.size(1) == 0) {
		return at::embedding(table, indices);
	}
	auto sizes = indices.sizes().vec();
	sizes.push_back(table.size(1));
	auto to = at::empty(sizes, table.options());
	kind == at::kLong ? copy_rows<int64_t>(table, indices, to) : copy_rows<int32_t>(table, indices, to);
	return to;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) { m.def("embedding(Tensor table, Tensor indices) -> Tensor"); }

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("embedding", embedding); }

}  // namespace
}  // namespace tg::embedding
