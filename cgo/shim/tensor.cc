// What a tensor is, and its bytes in and out of Go.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/Operators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <unistd.h>

#include <cerrno>

#include "entries.h"
#include "record.h"
#include "rules/rules.h"

namespace tg::entry {

namespace {

const at::Tensor& defined(Args& a) {
	const auto& t = a.tensor();
	TORCH_CHECK_VALUE(t.defined(), "the tensor is undefined");
	return t;
}

void check_layout(const at::Tensor& t) {
	TORCH_CHECK_TYPE(t.layout() == at::kStrided, "the elements of a tensor of layout ", t.layout(),
	                 " do not lie in a row; ToDense makes a tensor whose elements do");
}

// The elements of a strided tensor lie where its shape and strides say, but there may be none.
void check_memory(const at::Tensor& t) {
	bool covered = t.numel() == 0 ||
	    (t.has_storage() && t.storage().data() != nullptr &&
	     at::detail::computeStorageNbytes(t.sizes(), t.strides(), t.dtype().itemsize(), t.storage_offset()) <= t.storage().nbytes());
	TORCH_CHECK_VALUE(covered, "the tensor has no memory for its elements");
}

// lies_as_read tells of most tensors that their elements are on the host as they read, in row-major order.
bool lies_as_read(const at::Tensor& t) {
	using c10::DispatchKey;
	static const c10::DispatchKeySet marks{DispatchKey::Conjugate, DispatchKey::Negative, DispatchKey::ZeroTensor, DispatchKey::Functionalize,
	                                       DispatchKey::FuncTorchBatched, DispatchKey::FuncTorchGradWrapper, DispatchKey::Python};
	return t.layout() == at::kStrided && t.device().is_cpu() && t.has_storage() && !t.key_set().has_any(marks) && t.is_contiguous();
}

// in_memory is t on the host with all elements as they read, in row-major order. Views may be
// conjugate or negative by a mark alone.
at::Tensor in_memory(const at::Tensor& t) {
	if (t.is_nested()) {
		return in_memory(t.contiguous().values());
	}
	if (lies_as_read(t)) {
		check_memory(t);
		return t;
	}
	check_layout(t);
	auto dense = t.detach().resolve_conj().resolve_neg();
	dense = dense.to(at::kCPU).contiguous();
	check_memory(dense);
	return dense;
}

// written is where the bytes of t lie, a contiguous CPU tensor of so many that is about to be filled.
void* written(const at::Tensor& t, uint64_t bytes) {
	check_layout(t);
	TORCH_CHECK_VALUE(t.device().is_cpu() && t.is_contiguous(), "only a contiguous CPU tensor can be filled from bytes");
	check_memory(t);
	TORCH_CHECK_VALUE(t.nbytes() == bytes, "the tensor has ", t.nbytes(), " bytes, got ", bytes);
	t.unsafeGetTensorImpl()->bump_version();  // what autograd saved of t is gone
	return bytes == 0 ? nullptr : t.mutable_data_ptr();
}

}  // namespace

void sizes(Args& a, Results& r) {
	r.ints(defined(a).sizes());
}

void strides(Args& a, Results& r) {
	r.ints(defined(a).strides());
}

// describe(t) -> dtype, device, layout, dim, numel, element size, bits of flags, offset into the storage
void describe(Args& a, Results& r) {
	const auto& t = defined(a);
	r.integer(static_cast<int64_t>(t.scalar_type()));
	r.put(device_word(t.device()));
	r.integer(static_cast<int64_t>(t.layout()));
	r.integer(t.dim());
	r.integer(t.numel());
	r.integer(static_cast<int64_t>(t.element_size()));
	uint64_t flags = 0;
	int bit = 0;
	for (bool b : {t.requires_grad(), t.is_leaf(), t.is_inference(), t.is_conj(), t.is_neg()}) {
		flags |= static_cast<uint64_t>(b) << bit++;
	}
	r.put(flags);
	r.integer(t.layout() == at::kStrided ? t.storage_offset() : 0);
}

// layouts(tensors) -> words, the same for tensors that lie alike: of each its dtype, device, layout, number of dimensions, and sizes, and strides
// where it has them
void layouts(Args& a, Results& r) {
	std::vector<uint64_t> words;
	for (const auto& t : a.tensors()) {
		words.insert(words.end(), {static_cast<uint64_t>(t.scalar_type()), device_word(t.device()), static_cast<uint64_t>(t.layout()),
		                           static_cast<uint64_t>(t.dim())});
		words.insert(words.end(), t.sizes().begin(), t.sizes().end());
		if (t.layout() == at::kStrided) {
			words.insert(words.end(), t.strides().begin(), t.strides().end());
		}
	}
	r.words(words);
}

void dim(Args& a, Results& r) {
	r.integer(defined(a).dim());
}

void is_contiguous(Args& a, Results& r) {
	const auto& t = defined(a);
	r.boolean(t.is_contiguous(a.format()));
}

void version(Args& a, Results& r) {
	r.integer(defined(a)._version());
}

// base(t) -> the tensor that t is a view of, undefined where it is none
void base(Args& a, Results& r) {
	const auto& t = defined(a);
	r.tensor(t.is_view() ? at::Tensor(t._base()) : undefined);
}

// storage(t) -> identity of the storage, its bytes, references to it
void storage(Args& a, Results& r) {
	const auto& t = defined(a);
	if (!t.has_storage()) {
		r.put(0), r.put(0), r.put(0);
		return;
	}
	r.put(reinterpret_cast<uint64_t>(t.storage().unsafeGetStorageImpl()));
	r.integer(static_cast<int64_t>(t.storage().nbytes()));
	r.integer(static_cast<int64_t>(t.storage().use_count()));
}

// memory(t) -> identity of the storage, its bytes, the bytes before t's first element, the bytes of an
// element, and t's sizes and then its strides; all 0 for a tensor whose elements lie in no storage
void memory(Args& a, Results& r) {
	const auto& t = defined(a);
	if (!t.has_storage() || t.layout() != at::kStrided) {
		r.put(0), r.put(0), r.put(0), r.put(0);
		r.ints({});
		return;
	}
	auto item = static_cast<int64_t>(t.element_size());
	r.put(reinterpret_cast<uint64_t>(t.storage().unsafeGetStorageImpl()));
	r.integer(static_cast<int64_t>(t.storage().nbytes()));
	r.integer(t.storage_offset() * item);
	r.integer(item);
	auto list = t.sizes().vec();
	list.insert(list.end(), t.strides().begin(), t.strides().end());
	r.ints(list);
}

// elements(t) -> the address of the first element and the bytes of all, of a tensor on the CPU that is contiguous
void elements(Args& a, Results& r) {
	const auto& t = defined(a);
	TORCH_CHECK_VALUE(t.device().is_cpu() && t.layout() == at::kStrided && t.is_contiguous() && !t.is_conj() && !t.is_neg(),
	                  "expected a contiguous tensor on the CPU");
	r.put(reinterpret_cast<uint64_t>(t.mutable_data_ptr()));
	r.integer(static_cast<int64_t>(t.nbytes()));
}

// from_bytes(dtype, sizes, byte count) + data -> a CPU tensor with a copy of the bytes
void from_bytes(Args& a, Results& r) {
	auto dtype = a.dtype();
	auto sizes = a.ints();
	auto bytes = a.next();
	Unrecorded unrecorded;
	auto t = at::empty(sizes, at::TensorOptions().dtype(dtype));
	TORCH_CHECK_VALUE(t.nbytes() == bytes, "a tensor of shape ", sizes, " and dtype ", dtype, " has ", t.nbytes(), " bytes, got ", bytes);
	if (bytes > 0) {
		std::memcpy(t.mutable_data_ptr(), a.data, bytes);
	}
	r.tensor(std::move(t));
}

// to_bytes(t, byte count) + data: writes t's elements, in row-major order, to data
void to_bytes(Args& a, Results&) {
	refuse_recorded("the values of a tensor are read");
	at::NoGradGuard no_grad;
	auto t = in_memory(defined(a));
	auto bytes = a.next();
	TORCH_CHECK_VALUE(t.nbytes() == bytes, "the tensor has ", t.nbytes(), " bytes, room for ", bytes, " was given");
	if (bytes > 0) {
		std::memcpy(a.data, t.const_data_ptr(), bytes);
	}
}

// overwrite(t, byte count) + data: fills t, a contiguous CPU tensor, with the bytes. Where they are
// not what the tensor reads as, libtorch writes them.
void overwrite(Args& a, Results&) {
	refuse_recorded("the values of a tensor are set");
	const auto& t = defined(a);
	auto bytes = a.next();
	auto* to = written(t, bytes);
	if (bytes == 0) {
		return;
	}
	if (t.is_conj() || t.is_neg()) {
		at::AutoDispatchBelowADInplaceOrView guard;
		t.copy_(at::from_blob(a.data, t.sizes(), at::TensorOptions().dtype(t.scalar_type())));
		return;
	}
	std::memcpy(to, a.data, bytes);
}

// read_file(t, descriptor, offset) -> errno, whether all bytes came: fills t, a contiguous CPU tensor, with the bytes of a file
// from the offset on. The kernel writes them into the tensor's memory; there is no copy in between.
void read_file(Args& a, Results& r) {
	refuse_recorded("a tensor is read from a file");
	const auto& t = defined(a);
	auto file = static_cast<int>(a.integer());
	auto offset = a.integer();
	TORCH_CHECK_VALUE(!t.is_conj() && !t.is_neg(), "only a tensor that is its memory can be filled from a file");
	auto bytes = t.nbytes();
	auto* to = static_cast<char*>(written(t, bytes));
	size_t done = 0;
	int failure = 0;
	while (done < bytes) {
		auto n = pread(file, to + done, bytes - done, offset + static_cast<off_t>(done));
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			failure = n < 0 ? errno : 0;
			break;
		}
		done += static_cast<size_t>(n);
	}
	r.integer(failure);
	r.boolean(done == bytes);
}

void item(Args& a, Results& r) {
	r.scalar(defined(a).item());
}

// to(t, device?, dtype?, layout?, non_blocking, copy, format?)
void to(Args& a, Results& r) {
	const auto& t = defined(a);
	auto device = a.opt_device();
	auto dtype = a.opt_dtype();
	auto layout = a.opt_layout();
	bool non_blocking = a.boolean();
	bool copy = a.boolean();
	rule::quantizable(t, dtype);
	r.tensor(at::_ops::to_dtype_layout::call(t, dtype, layout, device, std::nullopt, non_blocking, copy, a.opt_format()));
}

}  // namespace tg::entry
