// Kernels that walk over several tensors at once as if each were one run of memory.
#pragma once

#include "wire.h"

namespace tg {

// flat tells whether such a kernel may have these tensors: all have the same elements in the
// same order of memory, with no gaps, and no two share a byte.
bool flat(const at::Tensor* const* tensors, size_t n);

// want_flat throws unless the tensors at each place of the lists are flat. Lists but the first
// may be empty.
void want_flat(std::initializer_list<at::TensorList> lists);

// want_numbers throws unless each of n tensors is one float32.
void want_numbers(at::TensorList list, size_t n);

}  // namespace tg
