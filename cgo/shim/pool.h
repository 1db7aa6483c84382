// Large blocks of host memory, which all threads share: what one frees the next tensor takes, on whichever thread.
// glibc gives a thread an arena of its own, and Go's goroutines change threads: each arena came to hold what a
// step takes at most. And where a collection of garbage freed much, the kernel got it back, page by page.
#pragma once

#include <cstddef>

namespace tg {

constexpr size_t kSmallestPooled = 4 << 10;  // what is smaller would leave holes of no use

void open_pool();                       // without it there is none
void* pool_take(size_t n);              // nullptr where it has no room: n is too small or too large, or the system refuses memory
bool is_pooled(const void* block);
size_t pool_size(const void* block);    // as it was asked for
void pool_give(void* block);
size_t pool_spare();                    // bytes that are free and yet have memory behind them
void pool_trim();                       // gives the pages of what is free back to the kernel

}  // namespace tg
