// What the wire format does out of line. Both shims have it.
#include "wire.h"

#include <ATen/MemoryOverlap.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tg {

std::atomic<Fence> fence{nullptr};

void missing(Args&, Results&) {
	TORCH_CHECK_NOT_IMPLEMENTED(false, "this operator does not exist in libtorch ", TG_TORCH_VERSION / 10000, ".",
	                            TG_TORCH_VERSION / 100 % 100);
}

void wild(const char* what, uint64_t w) {
	TORCH_CHECK_VALUE(false, "there is no ", what, " number ", w);
}

at::Tensor materialised(at::Tensor&& t) {
	return t.clone();
}

// viewed is what a tensor is a view of, or itself.
static const c10::TensorImpl* viewed(const at::Tensor& t) {
	return t.is_view() ? t._base().unsafeGetTensorImpl() : t.unsafeGetTensorImpl();
}

const at::Tensor& apart_recorded(const at::Tensor& written, const at::Tensor& t, at::Tensor& copy) {
	if (!c10::GradMode::is_enabled() || !written.defined()) {
		return t;
	}
	// Memory that overlaps in part is left to libtorch, which has words for it. Sparse tensors have none of their own:
	// the graph knows what is a view of what.
	bool stored = t.has_storage() && written.has_storage();
	bool shared = t.is_same(written) || (!stored && viewed(t) == viewed(written)) ||
	              (stored && t.is_alias_of(written) && at::get_overlap_status(written, t) != at::MemOverlapStatus::Partial);
	if (!shared) {
		return t;
	}
	copy = t.clone();
	return copy;
}

at::TensorList apart(at::TensorList written, at::TensorList list, std::vector<at::Tensor>& copies, bool others) {
	for (size_t i = 0; i < std::min(written.size(), list.size()); i++) {
		at::Tensor copy;
		if (!apart(written[i], list[i], copy, others).is_same(list[i])) {
			copies.resize(list.size());
			copies[i] = std::move(copy);
		}
	}
	for (size_t i = 0; i < copies.size(); i++) {
		if (!copies[i].defined()) {
			copies[i] = list[i];
		}
	}
	return copies.empty() ? list : at::TensorList(copies);
}

void Results::tensor(at::Tensor&& t) {
	put(release(std::move(t)));
}

// Word 0 stands for the list's length, the handles travel on the heap.
void Results::tensors(std::vector<at::Tensor>&& list) {
	std::vector<uint64_t> handles;
	handles.reserve(list.size());
	for (auto& t : list) {
		handles.push_back(release(std::move(t)));
	}
	words(handles);
}

void Results::ints(at::IntArrayRef list) {
	last({list.begin(), list.end()});
}

// The frame's last word is left to entries that say there how far they came.
void Results::last(const std::vector<uint64_t>& list) {
	if (f->count + 1 + list.size() >= TG_OUT) {
		words(list);
		return;
	}
	put(list.size());
	std::for_each(list.begin(), list.end(), [this](uint64_t w) { put(w); });
}

void Results::words(const std::vector<uint64_t>& list) {
	put(list.size());
	auto heap = static_cast<uint64_t*>(std::malloc(list.size() * sizeof(uint64_t) + 1));
	if (heap == nullptr) {
		throw std::bad_alloc();
	}
	std::copy(list.begin(), list.end(), heap); // not memcpy, to which an empty list would hand nullptr
	f->more = reinterpret_cast<uint64_t>(heap);
}

void Results::string(std::string_view s) {
	put(s.size());
	auto heap = static_cast<char*>(std::malloc(s.size() + 1));
	if (heap == nullptr) {
		throw std::bad_alloc();
	}
	std::copy(s.begin(), s.end(), heap);
	f->more = reinterpret_cast<uint64_t>(heap);
}

void Results::scalar(const at::Scalar& s) {
	if (s.isComplex()) {
		put(static_cast<uint64_t>(Tag::complex));
		number(s.toComplexDouble().real());
		number(s.toComplexDouble().imag());
		return;
	}
	if (s.isBoolean()) {
		put(static_cast<uint64_t>(Tag::boolean));
		boolean(s.toBool());
	} else if (s.isFloatingPoint()) {
		put(static_cast<uint64_t>(Tag::number));
		number(s.toDouble());
	} else if (s.type() == at::kUInt64) {  // past what an int64 can hold
		put(static_cast<uint64_t>(Tag::natural));
		put(s.toUInt64());
	} else {
		put(static_cast<uint64_t>(Tag::integer));
		integer(s.toLong());
	}
	put(0);
}

}  // namespace tg
