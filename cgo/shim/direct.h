// Operators that programs compute without the dispatcher: those that only look at memory in another way, or are one number or few. They take
// less time than it takes to find their kernels.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace tg {

// Direct computes what is on the stack, or leaves it as it is for the operator itself; then it returns false.
using Direct = bool (*)(torch::jit::Stack& stack);

// The direct way of an operator; null if there is none.
Direct find_direct(const c10::FunctionSchema& schema);

// Whether nothing else is to see the calls of this thread: no profiler and none of libtorch's modes.
bool goes_direct();

}  // namespace tg
