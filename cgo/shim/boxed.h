// Boxed values: whatever an operator may take and return, with a tag each.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "wire.h"

namespace tg {

struct GuardRow;

// writes tells of an argument that the operator changes.
inline bool writes(const c10::Argument& x) { return x.alias_info() != nullptr && x.alias_info()->isWrite(); }

// each_tensor calls visit with the defined tensors of a value.
template <typename Visit>
void each_tensor(const c10::IValue& v, Visit visit) {
	if (v.isTensor() && v.toTensor().defined()) {
		visit(v.toTensor());
	} else if (v.isTensorList()) {
		for (const at::Tensor& t : v.toTensorVector()) {
			if (t.defined()) {
				visit(t);
			}
		}
	}
}

// Operation is an operator with what its calls by name pass before libtorch sees the arguments: the rules of typed calls.
class Operation {
 public:
	explicit Operation(const c10::OperatorHandle& op);
	const c10::OperatorHandle& op() const { return op_; }
	void run(torch::jit::Stack& stack) const;

 private:
	void set_apart(torch::jit::Stack& stack) const;
	void refuse_aliased_out(const torch::jit::Stack& stack) const;
	void refuse_meta(const torch::jit::Stack& stack) const;

	c10::OperatorHandle op_;
	const GuardRow* guard_;
	bool outs_ = false;      // it writes to tensors given for that
	bool in_place_ = false;  // it writes to its first argument
	bool writes_ = false;    // it writes to any
};

// The operator whose name and overload come next.
c10::OperatorHandle read_operator(Args& a);

// A value for a slot of that type.
c10::IValue read_value(Args& a, const c10::TypePtr& declared);

// A list of values for the slots of a schema, which says of what type they are to be: the
// arguments of a call below the dispatcher, or the results of a kernel.
torch::jit::Stack read_values(Args& a, const std::vector<c10::Argument>& declared);

// The arguments of a call of that schema: positional values, then named ones, then the schema's defaults. Of a method the
// first is self, which is not among the values.
torch::jit::Stack read_arguments(Args& a, const c10::FunctionSchema& schema, std::optional<c10::IValue> self = std::nullopt);

// The values as results: their number, then a list for cgo.Call.Boxed.
void put_boxed(Results& r, at::ArrayRef<c10::IValue> values);

}  // namespace tg
