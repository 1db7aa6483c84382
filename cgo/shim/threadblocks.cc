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

constinit Keepers keepers;

// There is little room for variables of threads in a library that is opened late: the bins are elsewhere.
class ThreadBlocks : public Keeper {
 public:
	~ThreadBlocks() {
		if (bins_ != nullptr) {
			keepers.remove(*this);
			bins_->empty();
			delete std::exchange(bins_, nullptr);
		}
		over_ = true;
	}

	void* take(size_t i) { return bins_ != nullptr ? bins_->take(i, *this, keepers) : nullptr; }

	// False if it has to go back to where it came from.
	bool keep(size_t i, void* block) {
#ifdef __SANITIZE_ADDRESS__
		return false;  // it shall see who reads what was freed
#endif
		return (bins_ != nullptr || begin()) && bins_->keep(i, block, *this, keepers);
	}

	void empty() { bins_->empty(); }

 private:
	bool begin() {
		if (!over_ && (bins_ = new (std::nothrow) Bins<Sizes>) != nullptr) {
			keepers.add(*this);
		}
		return bins_ != nullptr;
	}

	Bins<Sizes>* bins_ = nullptr;
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
	return block != nullptr ? block : fresh(Sizes::size(i));
}

void give_block(void* block) {
	size_t usable = block_size(block);
	if (usable < kShort || usable >= kLargest + kLong || !own.keep(index_below(usable), block)) {
		Sizes::free(block);
	}
}

size_t block_size(void* block) { return is_pooled(block) ? pool_size(block) : malloc_usable_size(block); }

void empty_threads() {
	keepers.each([](Keeper& k) { static_cast<ThreadBlocks&>(k).empty(); });
}

}  // namespace tg
