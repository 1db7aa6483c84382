// Calls by name: the same rules, with arguments from a stack of boxed values. The table is
// generated; boxed.cc asks it.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <iterator>

#include "wire.h"

namespace tg {

// GuardRow is what stands before an operator.
struct GuardRow {
	const char* name;
	const char* overload;
	void (*check)(const c10::IValue*);
};

extern const GuardRow guard_rows[];
extern const size_t guard_count;

extern const char* const unlisted[];
extern const size_t unlisted_count;

// The row of an operator, or nullptr. Forms that libtorch makes of others, to write to an "out"
// or not to write to an argument, have the row of the form they are made of.
const GuardRow* find_guard(const c10::FunctionSchema& schema);

// Refuses the operators that libtorch has beside aten, whose callers are libtorch's own
// compilers and runtimes, and those of aten that are not in its list, outside of torch.Unsafe.
void refuse_inner(const std::string& name);
void know_inner_namespaces();  // before others are loaded

namespace boxed {

using c10::IValue;

// Optional lists that own their elements for the call.
struct OptNumbers {
	std::vector<double> list;
	bool given;
	operator std::optional<at::ArrayRef<double>>() const { return given ? std::optional(at::ArrayRef<double>(list)) : std::nullopt; }
};

struct OptInts {
	std::vector<int64_t> list;
	bool given;
	operator at::OptionalIntArrayRef() const { return given ? at::OptionalIntArrayRef(list) : at::OptionalIntArrayRef(); }
};

// What a value is, in unboxed.cc: hundreds of rules ask.
const at::Tensor& tensor(const IValue& v);
std::vector<at::Tensor> tensors(const IValue& v);
int64_t integer(const IValue& v);
std::optional<int64_t> opt_integer(const IValue& v);
std::vector<int64_t> ints(const IValue& v);
OptInts opt_ints(const IValue& v);
double number(const IValue& v);
std::optional<double> opt_number(const IValue& v);
std::vector<double> numbers(const IValue& v);
OptNumbers opt_numbers(const IValue& v);
bool boolean(const IValue& v);
std::optional<bool> opt_boolean(const IValue& v);
at::Scalar scalar(const IValue& v);
std::optional<at::Scalar> opt_scalar(const IValue& v);
std::vector<at::Scalar> scalars(const IValue& v);
std::string_view string(const IValue& v);
std::optional<std::string_view> opt_string(const IValue& v);
std::optional<at::Layout> opt_layout(const IValue& v);
std::optional<at::MemoryFormat> opt_format(const IValue& v);
at::ScalarType dtype(const IValue& v);
std::optional<at::ScalarType> opt_dtype(const IValue& v);

}  // namespace boxed
}  // namespace tg
