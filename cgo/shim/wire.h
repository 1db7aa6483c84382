// The wire format between Go and libtorch: Args reads a call's words in schema
// order, Results writes what comes back. Reading never copies what it can borrow:
// a handle word *is* the single pointer that an at::Tensor consists of.
#pragma once

#include <algorithm>
#include <ATen/core/Generator.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/Stream.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/intrusive_ptr.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "torchgo.h"

namespace tg {

static_assert(sizeof(at::Tensor) == sizeof(uint64_t), "a handle word must be an at::Tensor");
static_assert(sizeof(at::Generator) == sizeof(uint64_t), "a handle word must be an at::Generator");

constexpr uint64_t kNone = ~uint64_t{0};

template <class T>
T bits(uint64_t word) {
	static_assert(sizeof(T) == sizeof word);
	T v;
	std::memcpy(&v, &word, sizeof v);
	return v;
}

template <class T>
uint64_t word(T v) {
	static_assert(sizeof(T) == sizeof(uint64_t));
	uint64_t w;
	std::memcpy(&w, &v, sizeof w);
	return w;
}

inline const at::Tensor undefined;

[[noreturn]] void wild(const char* what, uint64_t w);  // throws: w is no such enumerator

// A handle word is a TensorImpl* whose reference Go holds; 0 is the undefined tensor.
inline const at::Tensor& borrow(const uint64_t& handle) {
	return handle == 0 ? undefined : reinterpret_cast<const at::Tensor&>(handle);
}

// materialised is t with memory for its zeros. Autograd has tensors without any, and libtorch's
// kernels read outside of memory where such a one comes to them as an argument: no program gets one.
at::Tensor materialised(at::Tensor&& t);

inline uint64_t release(at::Tensor&& t) {
	if (t.defined() && C10_UNLIKELY(t._is_zerotensor())) {
		t = materialised(std::move(t));
	}
	return t.defined() ? reinterpret_cast<uint64_t>(t.unsafeReleaseTensorImpl()) : 0;
}

// learns tells whether a gradient goes through a tensor, or one of a list.
inline bool learns(const at::Tensor& t) { return t.defined() && t.requires_grad(); }
inline bool learns(const std::optional<at::Tensor>& t) { return t && learns(*t); }
inline bool learns(at::TensorList list) {
	return std::any_of(list.begin(), list.end(), [](const at::Tensor& t) { return learns(t); });
}

// apart is t, or its copy where t lies in memory that is written to and autograd records that: the
// graph may keep t for the gradient, what is written keeps the graph, and neither would ever be
// freed. The copy is kept in copy. Others tells that another argument is recorded.
const at::Tensor& apart_recorded(const at::Tensor& written, const at::Tensor& t, at::Tensor& copy);

inline const at::Tensor& apart(const at::Tensor& written, const at::Tensor& t, at::Tensor& copy, bool others = false) {
	const bool recorded = others || (t.unsafeGetTensorImpl()->autograd_meta() != nullptr && t.requires_grad());
	return C10_UNLIKELY(t.defined() && recorded) ? apart_recorded(written, t, copy) : t;
}

at::TensorList apart(at::TensorList written, at::TensorList list, std::vector<at::Tensor>& copies, bool others = false);

inline std::optional<at::Tensor> apart(const at::Tensor& written, const std::optional<at::Tensor>& t, at::Tensor& copy, bool others = false) {
	return t ? std::optional<at::Tensor>(apart(written, *t, copy, others)) : std::nullopt;
}

inline uint64_t device_word(at::Device d) {
	return static_cast<uint64_t>(d.type()) << 8 | static_cast<uint8_t>(d.index());
}

// An object of the shim's own that a handle in Go owns: an event, a graph. It is counted
// like a tensor, so that a handle need not know what it holds.
template <class T>
struct Object final : c10::intrusive_ptr_target {
	T value;
	template <class... A>
	explicit Object(A&&... a) : value(std::forward<A>(a)...) {}
};

// Tags of a Scalar on the wire.
enum class Tag : uint64_t { none = 0, number = 1, integer = 2, boolean = 3, complex = 4, natural = 5 };

// Tensors is a list that stays here between calls, so that a step with hundreds of tensors need not
// bring them each time. On the wire one of these two words stands for the length, and the list's address
// for the tensors.
using Tensors = std::vector<at::Tensor>;

constexpr uint64_t kKept = uint64_t{1} << 63;
constexpr uint64_t kKeptGradients = kKept | 1;  // not the tensors are meant but their gradients

// fence gives a copy of a list, or of a string, that ends at a page nobody may touch. It is set while ./build.sh fuzz makes
// a call between guard pages: some kernels read as many numbers as they need from a list of any length.
using Fence = const void* (*)(const void* first, size_t bytes);
extern std::atomic<Fence> fence;

// What is read for each call is inline; the rest is not, since thousands of entries read it: its code would be most of theirs.
struct Args {
	const uint64_t* p;
	void* data = nullptr;  // bulk data, for the few entries that take it
	std::unique_ptr<Tensors> gradients{};  // of a list that is kept, for this call

	uint64_t next() { return *p++; }

	const at::Tensor& tensor() { return borrow(*p++); }
	const at::Tensor& needed(const char* name) {
		const at::Tensor& t = tensor();
		if (C10_UNLIKELY(!t.defined())) {
			no_tensor(name);
		}
		return t;
	}
	std::optional<at::Tensor> opt_tensor();
	at::TensorList tensors();  // the words themselves as an array of at::Tensor: no copy, no refcount
	std::vector<at::Tensor> variables();  // a list of its own, in which tensors may be undefined
	c10::List<std::optional<at::Tensor>> opt_tensors();

	int64_t integer() { return bits<int64_t>(next()); }
	std::optional<int64_t> opt_integer() {
		bool given = next() != 0;
		int64_t v = integer();
		return given ? std::optional<int64_t>(v) : std::nullopt;
	}
	std::optional<c10::SymInt> opt_symint() {
		auto v = opt_integer();
		return v ? std::optional<c10::SymInt>(*v) : std::nullopt;
	}
	double number() { return bits<double>(next()); }
	std::optional<double> opt_number() {
		bool given = next() != 0;
		double v = number();
		return given ? std::optional<double>(v) : std::nullopt;
	}
	bool boolean() { return next() != 0; }
	std::optional<bool> opt_boolean() {
		uint64_t w = next();
		return w == kNone ? std::nullopt : std::optional<bool>(w != 0);
	}

	at::Scalar scalar() {
		if (static_cast<Tag>(*p) == Tag::integer) {  // a factor of one, nearly always
			p++;
			return at::Scalar(integer());
		}
		return some_scalar();
	}
	std::optional<at::Scalar> opt_scalar();
	std::vector<at::Scalar> scalars();

	at::IntArrayRef ints();
	at::OptionalIntArrayRef opt_ints();
	c10::SymIntArrayRef symints();
	at::OptionalSymIntArrayRef opt_symints();
	at::ArrayRef<double> numbers();
	std::optional<at::ArrayRef<double>> opt_numbers();
	template <size_t N>
	std::array<bool, N> booleans() {
		std::array<bool, N> list{};
		uint64_t n = next();
		if (n != N) {
			not_as_many(N, n);
		}
		for (auto& b : list) {
			b = boolean();
		}
		return list;
	}

	std::string_view string();
	std::optional<std::string_view> opt_string();

	at::ScalarType dtype();
	std::optional<at::ScalarType> opt_dtype();
	at::Layout layout();
	std::optional<at::Layout> opt_layout();
	at::MemoryFormat format();
	std::optional<at::MemoryFormat> opt_format();
	at::Device device();
	std::optional<at::Device> opt_device();
	at::Stream stream();
	// Another type than the handle was made with cannot come here: Go has a type for each.
	template <class T>
	T& object(const char* what) {
		uint64_t w = next();
		if (w == 0) {
			no_object(what);
		}
		return static_cast<Object<T>*>(reinterpret_cast<c10::intrusive_ptr_target*>(w))->value;
	}
	std::optional<at::Generator> opt_generator() {
		const uint64_t& w = *p++;
		return w == 0 ? std::nullopt : std::optional<at::Generator>(reinterpret_cast<const at::Generator&>(w));
	}

 private:
	at::TensorList kept(uint64_t what);
	at::Scalar some_scalar();
	template <class T>
	at::ArrayRef<T> span(uint64_t n);
	std::string_view text(uint64_t n);
	template <class T>
	const T* fenced(uint64_t n) const;
	template <class E>
	std::optional<E> optional(const char* what);
	template <class E>
	E given(const char* what);

	[[noreturn]] static void no_tensor(const char* name);
	[[noreturn]] static void no_object(const char* what);
	[[noreturn]] static void not_as_many(uint64_t want, uint64_t n);
};

// Results fills the caller's frame. Words go into out; lists whose length only the
// call knows go to the heap, where Go picks them up and frees them, but for short ones behind everything else.
struct Results {
	tg_frame* f;

	void put(uint64_t w) { f->out[f->count++] = w; }
	void tensor(at::Tensor&& t);
	void tensor(const at::Tensor& t) { tensor(at::Tensor(t)); }
	void integer(int64_t v) { put(word(v)); }
	void number(double v) { put(word(v)); }
	void boolean(bool v) { put(v ? 1 : 0); }
	void device(at::Device d) { put(device_word(d)); }
	void stream(const at::Stream& s) {
		device(s.device());
		integer(s.id());
	}
	template <class T, class... A>
	T& object(A&&... a) {
		auto made = c10::make_intrusive<Object<T>>(std::forward<A>(a)...);
		T& value = made->value;
		put(reinterpret_cast<uint64_t>(static_cast<c10::intrusive_ptr_target*>(made.release())));
		return value;
	}
	void scalar(const at::Scalar& s);
	void tensors(std::vector<at::Tensor>&& list);
	void ints(at::IntArrayRef list);  // the last result
	void string(std::string_view s);
	void words(const std::vector<uint64_t>& list);
	void last(const std::vector<uint64_t>& list);  // words behind which nothing comes: few have room in the frame
};

using Entry = void (*)(Args&, Results&);

// The entry of operators that the libtorch we were compiled with does not have.
void missing(Args&, Results&);

}  // namespace tg
