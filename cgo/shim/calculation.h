// Numbers that programs compute from sizes: Python's arithmetic, by the names that exported programs have.
#pragma once

#include <ATen/core/ivalue.h>

#include <string_view>

namespace tg {

// A function of whole numbers, other numbers and conditions.
using Calculation = c10::IValue (*)(const c10::IValue* args);

// The function of that name, "_operator.add" or "torch.sym_max". It throws where there is none.
Calculation find_calculation(std::string_view name);

// Values as Python takes them: a condition is a number, too.
bool is_whole(const c10::IValue& v);
int64_t whole(const c10::IValue& v);
double number(const c10::IValue& v);
bool truth(const c10::IValue& v);

}  // namespace tg
