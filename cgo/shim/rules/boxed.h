// Calls by name: the same rules, with arguments from a stack of boxed values. The table is
// generated; boxed.cc asks it.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <iterator>
#include <tuple>

#include "wire.h"

namespace tg {

// GuardRow is what stands before an operator. Both functions may be missing.
struct GuardRow {
	const char* name;
	const char* overload;
	void (*check)(const c10::IValue*);       // refuses arguments
	void (*instead)(torch::jit::Stack&);     // computes it
};

extern const GuardRow guard_rows[];
extern const size_t guard_count;

// The row of an operator, or nullptr.
const GuardRow* find_guard(const std::string& name, const std::string& overload);

namespace boxed {

using c10::IValue;

inline const at::Tensor& tensor(const IValue& v) { return v.isNone() ? undefined : v.toTensor(); }
inline std::vector<at::Tensor> tensors(const IValue& v) { return v.toTensorVector(); }
inline int64_t integer(const IValue& v) { return v.toInt(); }
inline std::optional<int64_t> opt_integer(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toInt()); }
inline std::vector<int64_t> ints(const IValue& v) { return v.toIntVector(); }
inline std::vector<double> numbers(const IValue& v) { return v.toDoubleVector(); }
inline double number(const IValue& v) { return v.toDouble(); }
inline std::optional<double> opt_number(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toDouble()); }
inline bool boolean(const IValue& v) { return v.toBool(); }
inline std::optional<bool> opt_boolean(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toBool()); }
inline at::Scalar scalar(const IValue& v) { return v.toScalar(); }
inline std::optional<at::Scalar> opt_scalar(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toScalar()); }
inline std::string_view string(const IValue& v) { return v.toStringView(); }
inline std::optional<std::string_view> opt_string(const IValue& v) {
	return v.isNone() ? std::nullopt : std::optional(v.toStringView());
}
inline std::optional<at::Layout> opt_layout(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toLayout()); }
inline at::ScalarType dtype(const IValue& v) { return v.toScalarType(); }
inline std::optional<at::ScalarType> opt_dtype(const IValue& v) {
	return v.isNone() ? std::nullopt : std::optional(v.toScalarType());
}

// An optional list of ints that owns them for the call.
struct OptInts {
	std::vector<int64_t> list;
	bool given;
	operator at::OptionalIntArrayRef() const { return given ? at::OptionalIntArrayRef(list) : at::OptionalIntArrayRef(); }
};
inline OptInts opt_ints(const IValue& v) { return v.isNone() ? OptInts{{}, false} : OptInts{v.toIntVector(), true}; }

// finish leaves results on the stack: as they are, or in the tensors that were given for them.
void finish(torch::jit::Stack& s, size_t outs, std::vector<at::Tensor> results);

template <class... T>
void finish(torch::jit::Stack& s, size_t outs, std::tuple<T...> results) {
	finish(s, outs, std::apply([](auto&... t) { return std::vector<at::Tensor>{t...}; }, results));
}

inline void finish(torch::jit::Stack& s, size_t outs, at::Tensor result) {
	finish(s, outs, std::vector<at::Tensor>{std::move(result)});
}

}  // namespace boxed
}  // namespace tg
