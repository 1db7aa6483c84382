#include "threadblocks.h"

#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

#include <algorithm>

#include "keepers.h"
#include "pool.h"

namespace tg {
namespace {

// Blocks are as long as one of these sizes: in short steps, and then in long ones.
constexpr size_t kShort = 64, kShorts = 16, kEdge = kShort * kShorts;
constexpr size_t kLong = 512, kLargest = size_t{64} << 10;

struct Sizes {
	static constexpr size_t kSizes = kShorts + (kLargest - kEdge) / kLong;
	static constexpr size_t size(size_t i) { return i < kShorts ? (i + 1) * kShort : kEdge + (i + 1 - kShorts) * kLong; }
	static void free(void* block) { is_pooled(block) ? pool_give(block) : c10::free_cpu(block); }
};

// The last size that is not larger.
constexpr size_t index_below(size_t n) { return n < kEdge + kLong ? std::min(n / kShort, kShorts) - 1 : kShorts - 1 + (n - kEdge) / kLong; }

// The first size that is not smaller.
constexpr size_t index_of(size_t n) { return n <= kEdge ? (n - 1) / kShort : kShorts + (n - kEdge - 1) / kLong; }

static_assert(Sizes::size(Sizes::kSizes - 1) == kLargest && index_of(kLargest) == Sizes::kSizes - 1);
static_assert(index_below(kLargest + kLong - 1) == Sizes::kSizes - 1);
static_assert(index_of(kEdge) == kShorts - 1 && index_below(kEdge + kLong - 1) == kShorts - 1 && index_of(kEdge + 1) == kShorts);

using Blocks = Kept<Sizes>;

void* fresh(size_t n) {
	void* pooled = pool_take(n);
	return pooled != nullptr ? pooled : c10::alloc_cpu(n);
}

}  // namespace

Taken take_block(size_t n) {
	if (n <= kLargest) {
		size_t i = index_of(n);
		n = Sizes::size(i);
		if (void* block = Blocks::take(i)) {
			return {block, n};
		}
	}
	void* block = fresh(n);
	return {block, block_bytes(block)};
}

void give_block(void* block, size_t bytes) {
#ifndef __SANITIZE_ADDRESS__  // it shall see who reads what was freed
	if (bytes <= kLargest && Blocks::keep(index_of(bytes), block)) {
		return;
	}
#endif
	Sizes::free(block);
}

// glibc adds more to one block than to the next: only whole steps count, so that the same tensors are the same bytes every time.
size_t block_bytes(void* block) {
	size_t usable = is_pooled(block) ? pool_size(block) : malloc_usable_size(block);
	return usable < kLargest + kLong ? Sizes::size(index_below(usable)) : usable / kShort * kShort;
}

void empty_threads() { Blocks::empty(); }

}  // namespace tg
