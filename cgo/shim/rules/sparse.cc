// Sparse tensors from parts. libtorch has the checks, and asks them only where the process-wide
// switch of Python's check_sparse_tensor_invariants is on.
#include "rules.h"

#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_validate_sparse_compressed_tensor_args.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args.h>

namespace tg::rule {

void coo(const Tensor& indices, const Tensor& values, IntArrayRef size) {
	if (on_host(indices) && values.defined()) {
		at::AutoDispatchBelowAutograd guard;
		at::_validate_sparse_coo_tensor_args(indices, values, size);
	}
}

void compressed(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size, Layout layout) {
	if (on_host(compressed) && on_host(plain) && values.defined() && layout && *layout != at::kStrided) {
		at::AutoDispatchBelowAutograd guard;
		at::_validate_sparse_compressed_tensor_args(compressed, plain, values, size, *layout);
	}
}

// Without a size it follows from the indices.
void compressed_alone(const Tensor& rows, const Tensor& plain, const Tensor& values, Layout layout) {
	if (!on_host(rows) || !on_host(plain) || !has(values) || plain.numel() == 0 || !integral(plain) || rows.dim() == 0 || !layout) {
		return;
	}
	auto batch = rows.sizes().slice(0, rows.dim() - 1);
	bool blocks = *layout == at::kSparseBsr || *layout == at::kSparseBsc;
	auto dense = static_cast<int64_t>(batch.size()) + (blocks ? 3 : 1);
	if (values.dim() < dense) {
		return;
	}
	int64_t largest = -1;
	for (auto i : rule::values(plain)) {
		largest = std::max(largest, i);
	}
	if (largest == std::numeric_limits<int64_t>::max()) {
		largest--;  // and is refused all the same
	}
	auto lines = rows.size(-1) - 1, across = largest + 1;
	if (*layout == at::kSparseCsc || *layout == at::kSparseBsc) {
		std::swap(lines, across);
	}
	if (blocks && (overflows(lines, values.size(dense - 2), &lines) || overflows(across, values.size(dense - 1), &across))) {
		TORCH_CHECK(false, "the indices reach up to ", largest, ", past the largest size of a tensor");
	}
	std::vector<int64_t> size(batch.begin(), batch.end());
	size.insert(size.end(), {lines, across});
	size.insert(size.end(), values.sizes().begin() + dense, values.sizes().end());
	compressed(rows, plain, values, size, layout);
}

void csr(const Tensor& c, const Tensor& plain, const Tensor& values, IntArrayRef size) { compressed(c, plain, values, size, at::kSparseCsr); }
void csc(const Tensor& c, const Tensor& plain, const Tensor& values, IntArrayRef size) { compressed(c, plain, values, size, at::kSparseCsc); }
void bsr(const Tensor& c, const Tensor& plain, const Tensor& values, IntArrayRef size) { compressed(c, plain, values, size, at::kSparseBsr); }
void bsc(const Tensor& c, const Tensor& plain, const Tensor& values, IntArrayRef size) { compressed(c, plain, values, size, at::kSparseBsc); }
void csr_alone(const Tensor& c, const Tensor& plain, const Tensor& values) { compressed_alone(c, plain, values, at::kSparseCsr); }
void csc_alone(const Tensor& c, const Tensor& plain, const Tensor& values) { compressed_alone(c, plain, values, at::kSparseCsc); }
void bsr_alone(const Tensor& c, const Tensor& plain, const Tensor& values) { compressed_alone(c, plain, values, at::kSparseBsr); }
void bsc_alone(const Tensor& c, const Tensor& plain, const Tensor& values) { compressed_alone(c, plain, values, at::kSparseBsc); }

// The kernel takes a batch's indices for those of one matrix.
void one_matrix(const Tensor& x) {
	bool compressed = has(x) && at::sparse_csr::is_sparse_compressed(x);
	TORCH_CHECK_NOT_IMPLEMENTED(!compressed || x.dim() == 2, "expected a matrix in a compressed sparse layout, got a batch of them, ", x.sizes(), "; ToDense makes it strided");
}

// Where a sparse tensor is added to or multiplied with, the kernel counts the offset of a view twice.
void no_offset(const Tensor& written, const Tensor& other) {
	bool off = has(written) && other.defined() && other.is_sparse() && written.layout() == at::kStrided && written.storage_offset() != 0;
	TORCH_CHECK_NOT_IMPLEMENTED(!off, "a sparse tensor cannot be added in place to a view that does not begin where its memory does, nor multiplied with it; ToDense makes it strided");
}

void no_offset(TensorList written, TensorList others) {
	for (size_t i = 0; i < std::min(written.size(), others.size()); i++) {
		no_offset(written[i], others[i]);
	}
}

}  // namespace tg::rule
