// What boxed values are to rules, which are called by name with them.
#include "boxed.h"

namespace tg::boxed {

const at::Tensor& tensor(const IValue& v) { return v.isNone() ? undefined : v.toTensor(); }
std::vector<at::Tensor> tensors(const IValue& v) { return v.toTensorVector(); }
int64_t integer(const IValue& v) { return v.toInt(); }
std::optional<int64_t> opt_integer(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toInt()); }
std::vector<int64_t> ints(const IValue& v) { return v.toIntVector(); }
std::vector<double> numbers(const IValue& v) { return v.toDoubleVector(); }
double number(const IValue& v) { return v.toDouble(); }
std::optional<double> opt_number(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toDouble()); }
bool boolean(const IValue& v) { return v.toBool(); }
std::optional<bool> opt_boolean(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toBool()); }
at::Scalar scalar(const IValue& v) { return v.toScalar(); }
std::vector<at::Scalar> scalars(const IValue& v) {
	std::vector<at::Scalar> list;
	for (const IValue& e : v.toListRef()) {
		list.push_back(e.toScalar());
	}
	return list;
}
std::optional<at::Scalar> opt_scalar(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toScalar()); }
std::string_view string(const IValue& v) { return v.toStringView(); }
std::optional<std::string_view> opt_string(const IValue& v) {
	return v.isNone() ? std::nullopt : std::optional(v.toStringView());
}
std::optional<at::Layout> opt_layout(const IValue& v) { return v.isNone() ? std::nullopt : std::optional(v.toLayout()); }
std::optional<at::MemoryFormat> opt_format(const IValue& v) {
	return v.isNone() ? std::nullopt : std::optional(v.toMemoryFormat());
}
at::ScalarType dtype(const IValue& v) { return v.toScalarType(); }
std::optional<at::ScalarType> opt_dtype(const IValue& v) {
	return v.isNone() ? std::nullopt : std::optional(v.toScalarType());
}
OptNumbers opt_numbers(const IValue& v) { return v.isNone() ? OptNumbers{{}, false} : OptNumbers{v.toDoubleVector(), true}; }
OptInts opt_ints(const IValue& v) { return v.isNone() ? OptInts{{}, false} : OptInts{v.toIntVector(), true}; }

}  // namespace tg::boxed
