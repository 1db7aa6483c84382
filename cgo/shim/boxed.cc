// The side door: any operator of the dispatcher by name, also those of other libraries.
// Slower than the generated entries, open to everything.
#include "boxed.h"

#include "entries.h"
#include "library.h"
#include "rules/boxed.h"

#include <sstream>

namespace tg {
namespace {

// Tags of a boxed value on the wire; cgo/boxed.go has the same.
enum class Box : uint64_t { none, tensor, integer, number, boolean, complex, string, list, dtype, device, layout, format, generator, tuple, dict };

using c10::TypeKind;
using c10::TypePtr;

TypePtr unwrap(TypePtr type) {
	while (type->kind() == TypeKind::OptionalType) {
		type = type->castRaw<c10::OptionalType>()->getElementType();
	}
	return type;
}

c10::IValue read(Args& a, const TypePtr& declared) { return read_value(a, declared); }

// A truth value is a number to Python and to at::Scalar, but not to libtorch's schemas.
bool fits(const c10::IValue& v, const c10::Type& type) {
	return (type.kind() == TypeKind::NumberType && v.isBool()) || v.type()->isSubtypeOf(type);
}

// What a value of that kind is read as where a slot takes any, or one of several types.
TypePtr choose(const TypePtr& type, TypeKind kind) {
	if (type->kind() == TypeKind::UnionType) {
		for (const auto& one : type->containedTypes()) {
			if (one->kind() == kind) {
				return one;
			}
		}
	}
	return type;
}

bool takes_any(const TypePtr& type) { return type->kind() == TypeKind::AnyType || type->kind() == TypeKind::UnionType; }

// The type of them all, or the one that takes any.
TypePtr common_type(const std::vector<c10::IValue>& values, const TypePtr& of_none) {
	if (values.empty()) {
		return of_none;
	}
	std::vector<TypePtr> types;
	for (const auto& v : values) {
		types.push_back(v.type());
	}
	std::ostringstream why;
	return c10::unifyTypeList(types, why).value_or(c10::AnyType::get());
}

std::vector<c10::IValue> read_each(Args& a, uint64_t n, const TypePtr& element) {
	std::vector<c10::IValue> values;
	for (uint64_t i = 0; i < n; i++) {
		values.push_back(read(a, element));
	}
	return values;
}

void check_element(const c10::IValue& v, const TypePtr& element, uint64_t i, const char* of) {
	TORCH_CHECK_TYPE(fits(v, *element), "expected ", element->repr_str(), " as element ", i, " of a ", of, ", got ", v.type()->repr_str());
}

c10::IValue read_tuple(Args& a, const TypePtr& declared) {
	uint64_t n = a.next();
	auto type = choose(declared, TypeKind::TupleType);
	if (takes_any(type)) {
		return c10::ivalue::Tuple::create(read_each(a, n, c10::AnyType::get()));
	}
	TORCH_CHECK_TYPE(type->kind() == TypeKind::TupleType, "a tuple was given where ", type->repr_str(), " is expected");
	auto tuple = type->cast<c10::TupleType>();
	TORCH_CHECK_TYPE(tuple->elements().size() == n, "a tuple of ", n, " values was given where ", type->repr_str(), " is expected");
	std::vector<c10::IValue> values;
	for (const auto& element : tuple->elements()) {
		values.push_back(read(a, element));
		check_element(values.back(), element, values.size() - 1, "tuple");
	}
	return tuple->name() ? c10::ivalue::Tuple::createNamed(std::move(values), tuple) : c10::ivalue::Tuple::create(std::move(values));
}

// Lists are typed in libtorch: the schema, not the elements, says of what. Where a tuple is expected, the list is one.
c10::IValue read_list(Args& a, const TypePtr& declared) {
	auto type = choose(declared, TypeKind::ListType);
	if (type->kind() == TypeKind::TupleType) {
		return read_tuple(a, type);
	}
	uint64_t n = a.next();
	bool any = takes_any(type);
	TORCH_CHECK_TYPE(any || type->kind() == TypeKind::ListType, "a list was given where ", type->repr_str(), " is expected");
	TypePtr element = any ? c10::AnyType::get() : type->castRaw<c10::ListType>()->getElementType();
	auto values = read_each(a, n, element);
	c10::impl::GenericList list(any ? common_type(values, c10::TensorType::get()) : element);
	list.reserve(n);
	for (uint64_t i = 0; i < n; i++) {
		check_element(values[i], element, i, "list");
		list.push_back(std::move(values[i]));
	}
	return list;
}

c10::IValue read_dict(Args& a, const TypePtr& declared) {
	uint64_t n = a.next();
	auto type = choose(declared, TypeKind::DictType);
	bool any = takes_any(type);
	TORCH_CHECK_TYPE(any || type->kind() == TypeKind::DictType, "a dict was given where ", type->repr_str(), " is expected");
	TypePtr key = c10::AnyType::get(), value = key;
	if (!any) {
		auto dict = type->castRaw<c10::DictType>();
		key = dict->getKeyType();
		value = dict->getValueType();
	}
	std::vector<c10::IValue> keys, values;
	for (uint64_t i = 0; i < n; i++) {
		keys.push_back(read(a, key));
		check_element(keys.back(), key, i, "dict's keys");
		values.push_back(read(a, value));
		check_element(values.back(), value, i, "dict");
	}
	if (any) {
		key = common_type(keys, c10::StringType::get());
		value = common_type(values, c10::TensorType::get());
		TORCH_CHECK_TYPE(key->kind() != TypeKind::AnyType, "the keys of a dict must be of one type");
	}
	c10::impl::GenericDict dict(key, value);
	for (uint64_t i = 0; i < n; i++) {
		dict.insert(std::move(keys[i]), std::move(values[i]));
	}
	return dict;
}

c10::IValue read_integer(int64_t v, const TypePtr& type) {
	switch (type->kind()) {
		case TypeKind::FloatType: return static_cast<double>(v);
		case TypeKind::ComplexType: return c10::complex<double>(static_cast<double>(v), 0);
		default: return v;
	}
}

void tagged(std::vector<uint64_t>& out, Box tag, uint64_t v) {
	out.push_back(static_cast<uint64_t>(tag));
	out.push_back(v);
}

// What lists and dicts are of, for whoever wants to know: the tag of a tensor, a number or a text, none for all else.
uint64_t tag_of(const TypePtr& type) {
	switch (type->kind()) {
		case TypeKind::TensorType: return static_cast<uint64_t>(Box::tensor);
		case TypeKind::IntType: return static_cast<uint64_t>(Box::integer);
		case TypeKind::FloatType: return static_cast<uint64_t>(Box::number);
		case TypeKind::BoolType: return static_cast<uint64_t>(Box::boolean);
		case TypeKind::StringType: return static_cast<uint64_t>(Box::string);
		default: return static_cast<uint64_t>(Box::none);
	}
}

// Refuses what cannot be written, before any tensor is given away: objects, and values that go on without end because
// a list is an element of itself.
void check_writable(const c10::IValue& v, size_t depth, size_t& left) {
	constexpr size_t kDeepest = 32;
	TORCH_CHECK_TYPE(depth < kDeepest && left > 0, "a result that nests more than ", kDeepest, " deep, or has too many values, cannot be returned to Go");
	left--;
	auto each = [&](const auto& list) {
		for (const c10::IValue& element : list) {
			check_writable(element, depth + 1, left);
		}
	};
	if (v.isList()) {
		each(v.toListRef());
	} else if (v.isTuple()) {
		each(v.toTupleRef().elements());
	} else if (v.isGenericDict()) {
		for (const auto& entry : v.toGenericDict()) {
			check_writable(entry.key(), depth + 1, left);
			check_writable(entry.value(), depth + 1, left);
		}
	} else {
		TORCH_CHECK_TYPE(v.isTensor() || v.isInt() || v.isDouble() || v.isBool() || v.isComplexDouble() || v.isDevice() || v.isString() || v.isNone(), "a result of type ", v.type()->annotation_str(),
		                 " cannot be returned to Go");
	}
}

void write(std::vector<uint64_t>& out, const c10::IValue& v);

template <class List>
void write_all(std::vector<uint64_t>& out, const List& list) {
	for (const c10::IValue& v : list) {
		write(out, v);
	}
}

void write_text(std::vector<uint64_t>& out, const std::string& s) {
	tagged(out, Box::string, s.size());
	size_t at = out.size();
	out.resize(at + (s.size() + 7) / 8);
	std::memcpy(out.data() + at, s.data(), s.size());
}

void write_dict(std::vector<uint64_t>& out, const c10::impl::GenericDict& dict) {
	tagged(out, Box::dict, dict.size());
	out.push_back(tag_of(dict.keyType()));
	out.push_back(tag_of(dict.valueType()));
	for (const auto& entry : dict) {
		write(out, entry.key());
		write(out, entry.value());
	}
}

// A value that check_writable has seen.
void write(std::vector<uint64_t>& out, const c10::IValue& v) {
	if (v.isTensor()) {
		tagged(out, Box::tensor, release(at::Tensor(v.toTensor())));
	} else if (v.isInt()) {
		tagged(out, Box::integer, word(v.toInt()));
	} else if (v.isDouble()) {
		tagged(out, Box::number, word(v.toDouble()));
	} else if (v.isBool()) {
		tagged(out, Box::boolean, v.toBool() ? 1 : 0);
	} else if (v.isComplexDouble()) {
		tagged(out, Box::complex, word(v.toComplexDouble().real()));
		out.push_back(word(v.toComplexDouble().imag()));
	} else if (v.isDevice()) {
		tagged(out, Box::device, device_word(v.toDevice()));
	} else if (v.isList()) {
		tagged(out, Box::list, v.toListRef().size());
		out.push_back(tag_of(v.toList().elementType()));
		write_all(out, v.toListRef());
	} else if (v.isTuple()) {
		tagged(out, Box::tuple, v.toTupleRef().elements().size());
		write_all(out, v.toTupleRef().elements());
	} else if (v.isGenericDict()) {
		write_dict(out, v.toGenericDict());
	} else if (v.isString()) {
		write_text(out, v.toStringRef());
	} else {
		out.push_back(static_cast<uint64_t>(Box::none));
	}
}

size_t find_argument(const c10::FunctionSchema& schema, std::string_view name) {
	auto i = schema.argumentIndexWithName(name);
	TORCH_CHECK_TYPE(i.has_value(), schema.name(), " has no argument ", name, ": ", schema);
	return static_cast<size_t>(*i);
}

// What is undefined is none where the schema takes none, and refused where it does not.
void define(torch::jit::Stack& stack, const c10::FunctionSchema& schema) {
	const auto& declared = schema.arguments();
	for (size_t i = 0; i < stack.size(); i++) {
		if (stack[i].isTensor() && !stack[i].toTensor().defined()) {
			TORCH_CHECK_TYPE(declared[i].type()->kind() == TypeKind::OptionalType, "argument ", declared[i].name(),
			                 " must be a tensor, but got one that is undefined");
			stack[i] = {};
		}
	}
}

// A dtype, a layout or a memory format crosses as its number, also where a program says the number.
void check_number(const c10::Argument& slot, const c10::IValue& v) {
	if (!v.isInt()) {
		return;
	}
	auto within = [&](const char* what, auto end) {
		auto number = static_cast<uint64_t>(v.toInt());
		if (number >= static_cast<uint64_t>(end)) {
			wild(what, number);
		}
	};
	switch (unwrap(slot.real_type())->kind()) {
		case TypeKind::ScalarTypeType: return within("dtype", at::ScalarType::Undefined);
		case TypeKind::LayoutType: return within("layout", at::Layout::NumOptions);
		case TypeKind::MemoryFormatType: return within("memory format", at::MemoryFormat::NumOptions);
		default: return;
	}
}

// Compares arguments with a schema. Truth values that stand for numbers are whole numbers meanwhile.
void check(torch::jit::Stack& stack, const c10::FunctionSchema& schema) {
	std::vector<size_t> truths;
	for (size_t i = 0; i < stack.size(); i++) {
		if (stack[i].isBool() && unwrap(schema.arguments()[i].type())->kind() == TypeKind::NumberType) {
			truths.push_back(i);
			stack[i] = static_cast<int64_t>(stack[i].toBool());
		}
	}
	try {
		schema.checkAndNormalizeInputs(stack);
	} catch (const c10::Error& e) {
		// To libtorch a value of the wrong type is an error like any other; Python has its own.
		TORCH_CHECK_TYPE(false, e.what_without_backtrace());
	}
	for (size_t i : truths) {
		stack[i] = stack[i].toInt() != 0;
	}
}

}  // namespace

torch::jit::Stack read_arguments(Args& a, const c10::FunctionSchema& schema, std::optional<c10::IValue> self) {
	const auto& declared = schema.arguments();
	std::vector<std::optional<c10::IValue>> given(declared.size());
	size_t first = self.has_value() ? 1 : 0;
	if (self) {
		given[0] = std::move(self);
	}
	uint64_t positional = a.next();
	TORCH_CHECK_TYPE(positional <= declared.size() - first, "too many arguments: ", positional, " given, expected ", schema);
	for (size_t i = first; i < first + positional; i++) {
		given[i] = read(a, declared[i].type());
	}
	for (uint64_t n = a.next(); n > 0; n--) {
		auto i = find_argument(schema, a.string());
		TORCH_CHECK_TYPE(!given[i], "argument ", declared[i].name(), " was given twice");
		given[i] = read(a, declared[i].type());
	}
	torch::jit::Stack stack;
	for (size_t i = 0; i < declared.size(); i++) {
		if (!given[i]) {
			TORCH_CHECK_TYPE(declared[i].default_value(), "argument ", declared[i].name(), " is missing: ", schema);
			given[i] = *declared[i].default_value();
		}
		check_number(declared[i], *given[i]);
		stack.push_back(std::move(*given[i]));
	}
	define(stack, schema);
	check(stack, schema);
	return stack;
}

c10::IValue read_value(Args& a, const TypePtr& declared) {
	auto type = unwrap(declared);
	switch (static_cast<Box>(a.next())) {
		case Box::none: return {};
		case Box::tensor: return a.tensor();
		case Box::integer: return read_integer(a.integer(), type);
		case Box::number: return a.number();
		case Box::boolean: return a.boolean();
		case Box::complex: {
			double re = a.number();
			return c10::complex<double>(re, a.number());
		}
		case Box::string: return std::string(a.string());
		case Box::list: return read_list(a, type);
		case Box::dtype: return a.dtype();
		case Box::device: return a.device();
		case Box::layout: return a.layout();
		case Box::format: return a.format();
		case Box::generator: return *a.opt_generator();
		case Box::tuple: return read_tuple(a, type);
		case Box::dict: return read_dict(a, type);
	}
	TORCH_CHECK_TYPE(false, "a value of this kind cannot be passed to an operator");
}

Operation::Operation(const c10::OperatorHandle& op) : op_(op), guard_(find_guard(op.schema())) {
	const auto& declared = op.schema().arguments();
	if (declared.empty()) {
		return;
	}
	outs_ = declared.back().is_out() && !op.hasTag(at::Tag::pointwise);
	in_place_ = writes(declared[0]);
	writes_ = std::any_of(declared.begin(), declared.end(), writes);
}

// As typed calls in place do it.
void Operation::set_apart(torch::jit::Stack& stack) const {
	const auto& declared = op_.schema().arguments();
	bool in_place = stack[0].isTensor();
	bool learned = in_place && std::any_of(stack.begin(), stack.end(), [](const c10::IValue& v) { return v.isTensor() && learns(v.toTensor()); });
	for (size_t i = 1; in_place && i < stack.size(); i++) {
		at::Tensor copy;
		if (stack[i].isTensor() && declared[i].alias_info() == nullptr) {
			stack[i] = apart(stack[0].toTensor(), stack[i].toTensor(), copy, learned);
		}
	}
}

// Who writes to an "out" may resize it first and read it afterwards, where it is an argument, too.
// Operators that go from element to element do not.
void Operation::refuse_aliased_out(const torch::jit::Stack& stack) const {
	const auto& declared = op_.schema().arguments();
	for (size_t w = 0; w < stack.size(); w++) {
		for (size_t i = 0; i < stack.size(); i++) {
			bool same = declared[w].is_out() && !declared[i].is_out() && stack[w].isTensor() && stack[i].isTensor() &&
			            stack[w].toTensor().is_same(stack[i].toTensor());
			TORCH_CHECK(!same, "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
			                   "Please clone() the tensor before performing the operation.");
		}
	}
}

// An argument on the meta device decides that nothing is computed: what is to be written would be left as it is, or unset.
void Operation::refuse_meta(const torch::jit::Stack& stack) const {
	const auto& declared = op_.schema().arguments();
	std::optional<at::Device> memory;
	bool meta = false;
	for (size_t i = 0; i < stack.size(); i++) {
		bool written = writes(declared[i]);
		each_tensor(stack[i], [&](const at::Tensor& t) {
			if (t.is_meta()) {
				meta = true;
			} else if (written) {
				memory = t.device();
			}
		});
	}
	TORCH_CHECK(!meta || !memory, "Tensor on device meta is not on the expected device ", *memory, "!");
}

void Operation::run(torch::jit::Stack& stack) const {
	if (guard_ != nullptr) {
		guard_->check(stack.data());
	}
	if (writes_) {
		refuse_meta(stack);
	}
	if (outs_) {
		refuse_aliased_out(stack);
	}
	if (in_place_) {
		set_apart(stack);
	}
	op_.callBoxed(stack);
}

c10::OperatorHandle read_operator(Args& a) {
	std::string name(a.string());
	std::string overload(a.string());
	auto op = c10::Dispatcher::singleton().findSchema({name, overload});
	TORCH_CHECK_NOT_IMPLEMENTED(op.has_value(), "there is no operator ", name, overload.empty() ? "" : ".", overload);
	return *op;
}

torch::jit::Stack read_values(Args& a, const std::vector<c10::Argument>& declared) {
	uint64_t n = a.next();
	TORCH_CHECK(n == declared.size(), "expected ", declared.size(), " values, got ", n);
	torch::jit::Stack stack;
	for (const auto& slot : declared) {
		stack.push_back(read(a, slot.type()));
		TORCH_CHECK_TYPE(stack.back().type()->isSubtypeOf(*slot.type()), "expected ", slot.type()->repr_str(), " as value ",
		                 stack.size() - 1, ", got ", stack.back().type()->repr_str());
	}
	return stack;
}

void put_boxed(Results& r, at::ArrayRef<c10::IValue> values) {
	size_t left = size_t{1} << 27;
	for (const auto& v : values) {
		check_writable(v, 0, left);
	}
	std::vector<uint64_t> out;
	write_all(out, values);
	r.put(values.size());
	r.last(out);
}

// boxed(name, overload, positional values, named values) -> results as boxed values
void entry::boxed(Args& a, Results& r) {
	Calling calling;
	auto op = read_operator(a);
	refuse_inner(op.schema().name());
	auto stack = read_arguments(a, op.schema());
	Operation(op).run(stack);
	put_boxed(r, stack);
}

}  // namespace tg
