// What the steps of programs compute with: values in slots, and arguments that are filled from these.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <unordered_set>

#include "wire.h"

namespace tg {

// What a value in a slot is.
enum class Kind : uint64_t { tensor, integer, number, boolean };

// A result of libtorch's as the program has it.
c10::IValue as(Kind kind, c10::IValue v);

using Slots = std::vector<c10::IValue>;

// Template is an argument: a value that is the same in each run, a slot, or a list of such.
class Template {
 public:
	// read takes a template for an argument of that type.
	static Template read(Args& a, const c10::TypePtr& declared);
	static Template constant(c10::IValue v) {
		Template t;
		t.value_ = std::move(v);
		return t;
	}

	// fill makes the argument for a run. A value that nothing reads later leaves its slot.
	c10::IValue fill(Slots& slots) const;

	// reads adds the slots that it is made of.
	void reads(std::unordered_set<uint32_t>& to) const {
		if (form_ == Form::slot || form_ == Form::last) {
			to.insert(slot_);
		}
		for (const auto& e : elements_) {
			e.reads(to);
		}
	}

	// constants adds the tensors that are the same in each run.
	void constants(std::vector<at::Tensor>& to) const {
		if (form_ == Form::value && value_.isTensor()) {
			to.push_back(value_.toTensor());
		} else if (form_ == Form::value && value_.isTensorList()) {
			const auto list = value_.toTensorVector();
			to.insert(to.end(), list.begin(), list.end());
		}
		for (const auto& e : elements_) {
			e.constants(to);
		}
	}

 private:
	void settle();

	enum class Form : uint64_t { value, slot, last, list };

	// What is undefined is none where the operator takes none, and a whole number is a number where it wants one.
	c10::IValue checked(c10::IValue&& v) const {
		if (v.isTensor()) {
			if (C10_UNLIKELY(!v.toTensor().defined())) {
				TORCH_CHECK_TYPE(optional_, "an argument must be a tensor, but got one that is undefined");
				return {};
			}
		} else if (C10_UNLIKELY(number_ && v.isInt())) {
			return static_cast<double>(v.toInt());
		}
		return std::move(v);
	}

	Form form_ = Form::value;
	bool optional_ = false;  // for slots: none will do
	bool number_ = false;    // and a whole number will not
	uint32_t slot_ = 0;
	c10::IValue value_;
	c10::TypePtr element_;  // of lists
	std::vector<Template> elements_;
};

}  // namespace tg
