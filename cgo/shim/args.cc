// How the words of a call are read, but for what wire.h has inline. Both shims have it.
#include "wire.h"

namespace tg {

void Args::no_tensor(const char* name) {
	TORCH_CHECK_TYPE(false, "argument ", name, " must be a tensor, but got one that is undefined");
}

void Args::no_object(const char* what) {
	TORCH_CHECK_VALUE(false, "the ", what, " is nil");
}

void Args::not_as_many(uint64_t want, uint64_t n) {
	TORCH_CHECK_VALUE(false, "expected ", want, " booleans, got ", n);
}

std::optional<at::Tensor> Args::opt_tensor() {
	uint64_t h = *p;
	const at::Tensor& t = tensor();
	return h == 0 ? std::nullopt : std::optional<at::Tensor>(t);
}

at::TensorList Args::tensors() {
	uint64_t n = next();
	if (C10_UNLIKELY(n >= kKept)) {
		return kept(n);
	}
	const uint64_t* first = p;
	p += n;
	for (uint64_t i = 0; i < n; i++) {
		TORCH_CHECK_VALUE(first[i] != 0, "element ", i, " of the tensor list is undefined");
	}
	return {reinterpret_cast<const at::Tensor*>(first), n};
}

at::TensorList Args::kept(uint64_t what) {
	const auto& list = object<Tensors>("list of tensors");
	if (what == kKept) {
		return list;
	}
	gradients = std::make_unique<Tensors>();
	gradients->reserve(list.size());
	for (const auto& t : list) {
		const auto& g = t.unsafeGetTensorImpl()->grad();
		TORCH_CHECK_VALUE(g.defined() && !g._is_zerotensor(), "a tensor of the list has no gradient with memory");
		gradients->push_back(g);
	}
	return *gradients;
}

std::vector<at::Tensor> Args::variables() {
	std::vector<at::Tensor> list(next());
	for (auto& t : list) {
		t = tensor();
	}
	return list;
}

c10::List<std::optional<at::Tensor>> Args::opt_tensors() {
	c10::List<std::optional<at::Tensor>> list;
	uint64_t n = next();
	list.reserve(n);
	for (uint64_t i = 0; i < n; i++) {
		list.push_back(opt_tensor());
	}
	return list;
}

at::Scalar Args::some_scalar() {
	auto v = opt_scalar();
	TORCH_CHECK_TYPE(v.has_value(), "expected a number, got none");
	return *v;
}

std::optional<at::Scalar> Args::opt_scalar() {
	switch (static_cast<Tag>(next())) {
		case Tag::none: return std::nullopt;
		case Tag::number: return at::Scalar(number());
		case Tag::integer: return at::Scalar(integer());
		case Tag::boolean: return at::Scalar(boolean());
		case Tag::natural: return at::Scalar(next());
		case Tag::complex: {
			double re = number();
			return at::Scalar(c10::complex<double>(re, number()));
		}
	}
	TORCH_CHECK_TYPE(false, "not a number");
}

std::vector<at::Scalar> Args::scalars() {
	std::vector<at::Scalar> list(next());
	for (auto& s : list) {
		s = scalar();
	}
	return list;
}

template <class T>
const T* Args::fenced(uint64_t n) const {
	auto copy = fence.load(std::memory_order_relaxed);
	return static_cast<const T*>(C10_UNLIKELY(copy != nullptr) ? copy(p, n * sizeof(T)) : p);
}

template <class T>
at::ArrayRef<T> Args::span(uint64_t n) {
	static_assert(sizeof(T) == sizeof(uint64_t));
	auto first = fenced<T>(n);
	p += n;
	return {first, n};
}

at::IntArrayRef Args::ints() {
	return span<int64_t>(next());
}

at::OptionalIntArrayRef Args::opt_ints() {
	uint64_t n = next();
	return n == kNone ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(span<int64_t>(n));
}

c10::SymIntArrayRef Args::symints() {
	return c10::fromIntArrayRefSlow(ints());
}

at::OptionalSymIntArrayRef Args::opt_symints() {
	auto v = opt_ints();
	return v ? at::OptionalSymIntArrayRef(c10::fromIntArrayRefSlow(*v)) : at::OptionalSymIntArrayRef();
}

at::ArrayRef<double> Args::numbers() {
	return span<double>(next());
}

std::optional<at::ArrayRef<double>> Args::opt_numbers() {
	uint64_t n = next();
	return n == kNone ? std::nullopt : std::optional<at::ArrayRef<double>>(span<double>(n));
}

std::string_view Args::text(uint64_t n) {
	auto first = fenced<char>(n);
	p += (n + 7) / 8;
	return {first, n};
}

std::string_view Args::string() {
	return text(next());
}

std::optional<std::string_view> Args::opt_string() {
	uint64_t n = next();
	return n == kNone ? std::nullopt : std::optional<std::string_view>(text(n));
}

template <class E>
std::optional<E> Args::optional(const char* what) {
	uint64_t w = next();
	if (w == kNone) {
		return std::nullopt;
	}
	if (w >= static_cast<uint64_t>(E::NumOptions)) {
		wild(what, w);
	}
	return static_cast<E>(w);
}

template <class E>
E Args::given(const char* what) {
	auto v = optional<E>(what);
	TORCH_CHECK_VALUE(v.has_value(), "a ", what, " is needed");
	return *v;
}

// Undefined has a number among the dtypes, but its elements have no size to divide by.
static void refuse_undefined(std::optional<at::ScalarType> d) {
	if (d == at::ScalarType::Undefined) {
		wild("dtype", static_cast<uint64_t>(*d));
	}
}

at::ScalarType Args::dtype() {
	auto d = given<at::ScalarType>("dtype");
	refuse_undefined(d);
	return d;
}

std::optional<at::ScalarType> Args::opt_dtype() {
	auto d = optional<at::ScalarType>("dtype");
	refuse_undefined(d);
	return d;
}

at::Layout Args::layout() {
	return given<at::Layout>("layout");
}

std::optional<at::Layout> Args::opt_layout() {
	return optional<at::Layout>("layout");
}

at::MemoryFormat Args::format() {
	return given<at::MemoryFormat>("memory format");
}

std::optional<at::MemoryFormat> Args::opt_format() {
	return optional<at::MemoryFormat>("memory format");
}

at::Device Args::device() {
	auto d = opt_device();
	TORCH_CHECK_VALUE(d.has_value(), "a device is needed");
	return *d;
}

std::optional<at::Device> Args::opt_device() {
	uint64_t w = next();
	if (w == kNone) {
		return std::nullopt;
	}
	auto index = static_cast<at::DeviceIndex>(w & 0xff);
	if (w >> 8 >= at::COMPILE_TIME_MAX_DEVICE_TYPES || index < -1) {
		wild("device", w);
	}
	return at::Device(static_cast<at::DeviceType>(w >> 8), index);
}

at::Stream Args::stream() {
	auto d = device();
	return at::Stream(at::Stream::UNSAFE, d, integer());
}

}  // namespace tg
