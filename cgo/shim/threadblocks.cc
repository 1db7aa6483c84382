#include "threadblocks.h"

#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

#include <algorithm>
#include <new>
#include <utility>

#include "keepers.h"
#include "pool.h"

namespace tg {
namespace {

// Blocks are as long as one of these sizes: in short steps, and then in long ones.
constexpr size_t kShort = 64, kShorts = 16, kEdge = kShort * kShorts;
constexpr size_t kLong = 512, kLargest = size_t{64} << 10;
constexpr size_t kSizes = kShorts + (kLargest - kEdge) / kLong;

constexpr size_t size_at(size_t i) { return i < kShorts ? (i + 1) * kShort : kEdge + (i + 1 - kShorts) * kLong; }

// The last size that is not larger.
constexpr size_t index_below(size_t n) { return n < kEdge + kLong ? std::min(n / kShort, kShorts) - 1 : kShorts - 1 + (n - kEdge) / kLong; }

// The first size that is not smaller.
constexpr size_t index_of(size_t n) { return n <= kEdge ? (n - 1) / kShort : kShorts + (n - kEdge - 1) / kLong; }

static_assert(size_at(kSizes - 1) == kLargest && index_of(kLargest) == kSizes - 1 && index_below(kLargest + kLong - 1) == kSizes - 1);
static_assert(index_of(kEdge) == kShorts - 1 && index_below(kEdge + kLong - 1) == kShorts - 1 && index_of(kEdge + 1) == kShorts);

// What a thread keeps: so many of a size, which is what a scope frees at once, and so many bytes, which are near its processor.
constexpr unsigned kDepth = 128;
constexpr size_t kRoom = size_t{1} << 20;

void give(void* block) {
	if (is_pooled(block)) {
		pool_give(block);
	} else {
		c10::free_cpu(block);
	}
}

constinit Keepers keepers;

// There is little room for variables of threads in a library that is opened late: the bins are elsewhere.
class ThreadBlocks : public Keeper {
 public:
	~ThreadBlocks() {
		if (bins_ != nullptr) {
			keepers.remove(*this);
			empty();
			delete[] std::exchange(bins_, nullptr);
		}
		over_ = true;
	}

	void* take(size_t i) {
		if (bins_ == nullptr) {
			return nullptr;
		}
		Turn turn(*this, keepers);
		void* block = turn ? bins_[i].pop() : nullptr;
		if (block != nullptr) {
			kept_ -= size_at(i);
		}
		return block;
	}

	// False if it has to go back to where it came from.
	bool keep(size_t i, void* block) {
#ifdef __SANITIZE_ADDRESS__
		return false;  // it shall see who reads what was freed
#endif
		if (bins_ == nullptr && !begin()) {
			return false;
		}
		{
			Turn turn(*this, keepers);
			Bin& bin = bins_[i];
			if (!turn || bin.depth == kDepth) {
				return false;
			}
			bin.push(block);
			if (kept_ += size_at(i); kept_ <= kRoom) {
				return true;
			}
		}
		thin();
		return true;
	}

	void empty() {
		for (size_t i = 0; i < kSizes; i++) {
			free_all(bins_[i].cut(0), give);
		}
		kept_ = 0;
	}

 private:
	bool begin() {
		if (!over_ && (bins_ = new (std::nothrow) Bin[kSizes]) != nullptr) {
			keepers.add(*this);
		}
		return bins_ != nullptr;
	}

	// Gives back the older half of each size: what is needed no more becomes nothing, in time.
	void thin() {
		for (size_t i = 0; i < kSizes; i++) {
			Link* older = nullptr;
			if (Turn turn(*this, keepers); turn) {
				unsigned depth = bins_[i].depth;
				older = bins_[i].cut(depth / 2);
				kept_ -= (depth - depth / 2) * size_at(i);
			}
			free_all(older, give);
		}
	}

	Bin* bins_ = nullptr;
	size_t kept_ = 0;
	bool over_ = false;
};

thread_local ThreadBlocks own;

void* fresh(size_t n) {
	void* pooled = pool_take(n);
	return pooled != nullptr ? pooled : c10::alloc_cpu(n);
}

}  // namespace

void* take_block(size_t n) {
	if (n > kLargest) {
		return fresh(n);
	}
	size_t i = index_of(n);
	void* block = own.take(i);
	return block != nullptr ? block : fresh(size_at(i));
}

void give_block(void* block) {
	size_t usable = block_size(block);
	if (usable < kShort || usable >= kLargest + kLong || !own.keep(index_below(usable), block)) {
		give(block);
	}
}

size_t block_size(void* block) { return is_pooled(block) ? pool_size(block) : malloc_usable_size(block); }

void empty_threads() {
	keepers.each([](Keeper& k) { static_cast<ThreadBlocks&>(k).empty(); });
}

}  // namespace tg
