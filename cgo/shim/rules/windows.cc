// Windows that slide over a tensor, and borders around one.
#include "rules.h"

namespace tg::rule {

constexpr int64_t most = std::numeric_limits<int32_t>::max();

// Kernels compute with these in 32 bits, or step through them one by one.
void lengths(const char* name, OptionalIntArrayRef list) {
	for (auto n : list.value_or(IntArrayRef())) {
		TORCH_CHECK(n <= most && n >= -most, "expected ", name, " to be at most ", most, ", but got ", list.value());
	}
}

}  // namespace tg::rule
