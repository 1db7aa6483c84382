// Kernels that walk over several tensors at once as if each were one run of memory: the fused
// optimizers'.
#include "../entries.h"
#include "rules.h"

namespace tg::rule {

namespace {

constexpr size_t kMost = 5;  // lists of one kernel

// gapless tells whether the elements are values that lie in memory without gaps.
bool gapless(const c10::TensorImpl& t) {
	constexpr c10::DispatchKeySet odd({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
	auto keys = t.key_set();
	return keys.has(c10::DispatchKey::Dense) && (keys & odd).empty() && t.is_non_overlapping_and_dense() && !t.device().is_meta();
}

// ordered tells whether two such tensors have their elements in the same order. The stride
// of a dimension of one element means nothing.
bool ordered(const c10::TensorImpl& a, const c10::TensorImpl& b) {
	auto sizes = a.sizes();
	if (sizes != b.sizes()) {
		return false;
	}
	auto x = a.strides(), y = b.strides();
	for (size_t d = 0; d < sizes.size(); d++) {
		if (x[d] != y[d] && sizes[d] > 1) {
			return false;
		}
	}
	return true;
}

// apart tells whether two such tensors of equal sizes and dtype share no byte.
bool apart(const c10::TensorImpl& a, const c10::TensorImpl& b) {
	if (a.unsafe_storage().unsafeGetStorageImpl() != b.unsafe_storage().unsafeGetStorageImpl()) {
		return true;
	}
	return std::abs(a.storage_offset() - b.storage_offset()) >= a.numel();
}

// flat tells whether such a kernel may have these tensors: all have the same elements in the
// same order of memory, with no gaps, and no two share a byte.
bool flat(const at::Tensor* const* tensors, size_t n) {
	const auto& first = *tensors[0]->unsafeGetTensorImpl();
	if (!gapless(first)) {
		return false;
	}
	for (size_t i = 1; i < n; i++) {
		const auto& t = *tensors[i]->unsafeGetTensorImpl();
		if (!gapless(t) || t.dtype() != first.dtype() || t.device() != first.device() || !ordered(first, t)) {
			return false;
		}
		for (size_t j = 0; j < i; j++) {
			if (!apart(*tensors[j]->unsafeGetTensorImpl(), t)) {
				return false;
			}
		}
	}
	return true;
}

// alike wants the tensors at each place of the lists flat. Lists but the first may be empty.
void alike(std::initializer_list<TensorList> lists) {
	const Tensor* tensors[kMost];
	size_t length = lists.begin()->size();
	for (const auto& list : lists) {
		TORCH_CHECK_VALUE(list.size() == length || list.empty(), "the lists have ", length, " and ", list.size(), " tensors, expected as many in all");
	}
	for (size_t i = 0; i < length; i++) {
		size_t n = 0;
		for (const auto& list : lists) {
			if (!list.empty()) {
				tensors[n++] = &list[i];
			}
		}
		TORCH_CHECK_VALUE(flat(tensors, n), "the tensors at place ", i,
		                  " of the lists do not lie in memory alike: the kernel needs them strided, without gaps or overlaps, of one dtype, device and order");
	}
}

// counts wants one float32 in each of n tensors.
void counts(TensorList list, size_t n) {
	TORCH_CHECK_VALUE(list.size() == n, "there are ", list.size(), " counts of steps for ", n, " tensors");
	for (const auto& t : list) {
		TORCH_CHECK_VALUE(t.defined() && t.scalar_type() == at::kFloat && t.layout() == at::kStrided && t.numel() == 1,
		                  "a count of steps is a tensor of one float32");
	}
}

}  // namespace

void fused_sgd(TensorList params, TensorList grads, TensorList momentum) {
	alike({params, grads, momentum});
}

void fused_adam(TensorList params, TensorList grads, TensorList mean, TensorList square, TensorList largest, TensorList steps) {
	alike({params, grads, mean, square, largest});
	counts(steps, params.size());
}

void fused_adagrad(TensorList params, TensorList grads, TensorList sums, TensorList steps) {
	alike({params, grads, sums});
	counts(steps, params.size());
}

}  // namespace tg::rule

namespace tg::entry {

// likeness(places, tensors at each) -> a word for each place: device and dtype of the first
// tensor, whether the second is sparse, whether a fused optimizer takes all of them.
void likeness(Args& a, Results& r) {
	std::vector<uint64_t> words(a.next());
	for (auto& word : words) {
		const at::Tensor* tensors[rule::kMost];
		size_t n = 0;
		auto list = a.tensors();
		TORCH_CHECK_VALUE(list.size() > 1 && list.size() <= rule::kMost, "there are ", list.size(), " tensors at one place, expected 2 to ", rule::kMost);
		for (const auto& t : list) {
			tensors[n++] = &t;
		}
		auto dtype = list[0].scalar_type();
		bool fusible = at::isFloatingType(dtype) && at::elementSize(dtype) > 1 && rule::flat(tensors, n);
		word = device_word(list[0].device()) | static_cast<uint64_t>(dtype) << 16 | uint64_t{list[1].layout() == at::kSparse} << 32 | uint64_t{fusible} << 33;
	}
	r.words(words);
}

}  // namespace tg::entry
