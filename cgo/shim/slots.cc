#include "slots.h"

#include <algorithm>

#include "boxed.h"
#include "calculation.h"

namespace tg {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

// A result of libtorch's as the program has it.
IValue as(Kind kind, IValue v) {
	switch (kind) {
		case Kind::tensor:
			TORCH_CHECK_TYPE(v.isTensor(), "a result is ", v.tagKind(), ", expected a tensor");
			if (C10_UNLIKELY(v.toTensor().defined() && v.toTensor()._is_zerotensor())) {
				return materialised(std::move(v).toTensor());
			}
			return v;
		case Kind::integer: return v.isInt() ? v : IValue(whole(v));
		case Kind::number: return v.isDouble() ? v : IValue(number(v));
		case Kind::boolean: TORCH_CHECK_TYPE(v.isBool(), "a result is ", v.tagKind(), ", expected a condition"); return v;
	}
	TORCH_CHECK(false, "no kind of values: ", static_cast<uint64_t>(kind));
}

IValue Template::fill(Slots& slots) const {
	switch (form_) {
		case Form::value: return value_;
		case Form::slot: return checked(IValue(slots[slot_]));
		case Form::last: return checked(std::move(slots[slot_]));
		case Form::list: break;
	}
	c10::impl::GenericList list(element_);
	list.reserve(elements_.size());
	for (const auto& e : elements_) {
		list.push_back(e.fill(slots));
	}
	return list;
}

// A list of tensors that are the same in each run is such a value itself: operators change its tensors, but not the list.
void Template::settle() {
	auto same = [](const Template& e) { return e.form_ == Form::value; };
	if (element_->kind() == TypeKind::TensorType && std::all_of(elements_.begin(), elements_.end(), same)) {
		Slots none;
		value_ = fill(none);
		form_ = Form::value;
		elements_.clear();
	}
}

Template Template::read(Args& a, const TypePtr& declared) {
	TypePtr type = declared;
	Template t;
	while (type->kind() == TypeKind::OptionalType) {
		type = type->castRaw<c10::OptionalType>()->getElementType();
		t.optional_ = true;
	}
	t.form_ = static_cast<Form>(a.next());
	switch (t.form_) {
		case Form::value: {
			t.value_ = read_value(a, declared);
			bool fits = t.value_.type()->isSubtypeOf(*declared) || (type->kind() == TypeKind::NumberType && t.value_.isBool());
			TORCH_CHECK_TYPE(fits, "expected ", declared->repr_str(), ", got ", t.value_.type()->repr_str());
			return t;
		}
		case Form::slot:
		case Form::last:
			t.slot_ = static_cast<uint32_t>(a.next());
			t.number_ = type->kind() == TypeKind::FloatType;
			return t;
		case Form::list: {
			TORCH_CHECK_TYPE(type->kind() == TypeKind::ListType, "a list was given where ", type->repr_str(), " is expected");
			t.element_ = type->castRaw<c10::ListType>()->getElementType();
			for (uint64_t n = a.next(); n > 0; n--) {
				t.elements_.push_back(read(a, t.element_));
			}
			t.settle();
			return t;
		}
	}
	TORCH_CHECK(false, "no form of arguments: ", static_cast<uint64_t>(t.form_));
}

}  // namespace tg
