// Blocks for tensors up to 64 KB: what is freed on a thread waits there for the thread's next tensor. libtorch wants 64-byte alignment, and
// glibc's aligned allocation skips its own per-thread cache: for a tensor of one element that was an eighth of the cost of an addition.
// In the pool two threads would wait for each other, and for what the other has changed of the blocks' neighbours: an addition of 4,096
// numbers took twice as long as on one thread.
#pragma once

#include <cstddef>

namespace tg {

struct Taken {
	void* data;
	size_t bytes;  // that count: n and some more
};

Taken take_block(size_t n);                 // of n > 0 bytes: the thread's own, the pool's, or glibc's
void give_block(void* block, size_t bytes);
size_t block_bytes(void* block);
void empty_threads();                       // gives the pool and glibc what all threads keep

}  // namespace tg
