// Large blocks of host memory that were freed wait for the next tensor of their size, on whichever thread: each thread has
// memory of glibc's own, and a goroutine is now on this one, now on that, where what it needs would be asked from the
// kernel anew, page by page.
#pragma once

#include <cstddef>

namespace tg {

// A block that fits n bytes and was kept; null if there is none.
void* take_large(size_t n);

// False if the block, which has so many usable bytes, has to go back to the heap. It may push out others, which go there.
bool keep_large(void* block, size_t usable);

// All blocks go back to the heap.
void drop_large();

}  // namespace tg
