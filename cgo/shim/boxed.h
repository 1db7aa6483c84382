// Boxed values: whatever an operator may take and return, with a tag each.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "wire.h"

namespace tg {

// The operator whose name and overload come next.
c10::OperatorHandle read_operator(Args& a);

// A list of values for the slots of a schema, which says of what type they are to be: the
// arguments of a call below the dispatcher, or the results of a kernel.
torch::jit::Stack read_values(Args& a, const std::vector<c10::Argument>& declared);

// The values as results: their number, then a list for cgo.Call.Boxed.
void put_boxed(Results& r, at::ArrayRef<c10::IValue> values);

}  // namespace tg
