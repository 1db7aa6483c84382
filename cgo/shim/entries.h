// Prototypes of the hand-written entries; entries.def is their list and numbering.
#pragma once

#include "wire.h"

namespace tg::entry {
#define ENTRY(name) void name(Args& a, Results& r);
#define CUDA_ENTRY(name) ENTRY(name)
#include "entries.def"
#undef CUDA_ENTRY
#undef ENTRY
}  // namespace tg::entry
