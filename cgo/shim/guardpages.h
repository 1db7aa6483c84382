// Blocks of host memory that end, or begin, at a page nobody may touch: for ./build.sh fuzz.
#pragma once

#include <cstddef>

namespace tg {

// Where a block lies in its pages.
enum class Placement : int {
	none,   // blocks come from the heap, as in any program
	end,    // a block ends at the page, as closely as libtorch's alignment of 64 bytes allows
	begin,  // a block begins after the page
	close,  // a block ends at the page as closely as an alignment of 16 bytes allows
};

// guarded_copy is a copy that ends right before a page nobody may touch, for as long as a call takes: the oldest of some
// hundred is freed for it.
const void* guarded_copy(const void* first, size_t bytes);

void* guarded_take(size_t n, Placement at);  // nullptr where there is no room among the pages
bool is_guarded(const void* block);
size_t guarded_size(const void* block);  // as it was asked for
void guarded_give(void* block);          // ends the process where the block's margin was written to

}  // namespace tg
