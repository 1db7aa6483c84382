// What a program expects of its inputs.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "slots.h"
#include "wire.h"

namespace tg {

// Expected are the kinds of a program's inputs, the dtypes of its tensors, and their sizes, which are numbers or symbols with ranges.
class Expected {
 public:
	// reads the inputs and the ranges of symbols
	explicit Expected(Args& a);

	size_t inputs() const { return inputs_.size(); }

	// admits tells whether the program is for inputs of these sizes.
	bool admits(const std::vector<c10::IValue>& given) const;

 private:
	// Size is what is expected of a number: it is fixed, or that of a symbol.
	struct Size {
		bool fixed;
		int64_t n;  // the number, or that of the symbol
	};
	struct Input {
		Kind kind;
		at::ScalarType dtype = at::ScalarType::Undefined;
		std::vector<Size> sizes;
	};
	struct Range {
		int64_t least, most;
	};
	class Symbols;

	static bool admits(const Input& in, const c10::IValue& given, Symbols& symbols);

	std::vector<Input> inputs_;
	std::vector<Range> symbols_;
};

}  // namespace tg
