#include "large.h"

#include <c10/core/impl/alloc_cpu.h>

#include <list>
#include <map>
#include <mutex>
#include <vector>

namespace tg {
namespace {

constexpr size_t kSmallest = 128 << 10;  // what is smaller is made of few pages
constexpr size_t kAll = 64 << 20;        // that wait at the same time
constexpr size_t kSlack = 8;             // a block may be larger than asked for by this part

class LargeBlocks {
 public:
	void* take(size_t n) {
		std::lock_guard<std::mutex> lock(mutex_);
		auto found = sizes_.lower_bound(n);
		if (found == sizes_.end() || found->first > n + n / kSlack) {
			return nullptr;
		}
		found = std::prev(sizes_.upper_bound(found->first));  // of those of a size, that of which the caches know most
		return remove(found);
	}

	// The blocks that had to make room.
	std::vector<void*> keep(void* block, size_t usable) {
		std::vector<void*> gone;
		std::lock_guard<std::mutex> lock(mutex_);
		auto at = sizes_.emplace(usable, blocks_.end());
		blocks_.push_back({block, at});
		at->second = std::prev(blocks_.end());
		bytes_ += usable;
		while (bytes_ > kAll) {
			gone.push_back(remove(blocks_.front().size));
		}
		return gone;
	}

	std::vector<void*> drop() {
		std::vector<void*> gone;
		std::lock_guard<std::mutex> lock(mutex_);
		while (!blocks_.empty()) {
			gone.push_back(remove(blocks_.front().size));
		}
		return gone;
	}

 private:
	struct Kept;
	using Sizes = std::multimap<size_t, std::list<Kept>::iterator>;
	struct Kept {
		void* block;
		Sizes::iterator size;
	};

	void* remove(Sizes::iterator at) {
		void* block = at->second->block;
		bytes_ -= at->first;
		blocks_.erase(at->second);
		sizes_.erase(at);
		return block;
	}

	std::mutex mutex_;
	std::list<Kept> blocks_;  // those that have waited longest come first
	Sizes sizes_;
	size_t bytes_ = 0;
};

LargeBlocks& large_blocks() {
	static auto& all = *new LargeBlocks;  // until the process ends: threads may still free theirs
	return all;
}

void give(const std::vector<void*>& blocks) {
	for (void* block : blocks) {
		c10::free_cpu(block);
	}
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__  // which shall see who reads what was freed
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

void* take_large(size_t n) { return kKeeps && n >= kSmallest && n <= kAll ? large_blocks().take(n) : nullptr; }

bool keep_large(void* block, size_t usable) {
	if (!kKeeps || usable < kSmallest || usable > kAll / 4) {
		return false;
	}
	give(large_blocks().keep(block, usable));
	return true;
}

void drop_large() { give(large_blocks().drop()); }

}  // namespace tg
