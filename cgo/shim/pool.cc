// A heap in one range of addresses, which grows at its end. Free blocks lie in lists by size, thirty-two to a power of two, with a bit
// for each that is not empty, and neighbours that are free are one (two-level segregated fit: Masmano et al., "TLSF", ECRTS 2004).
#include "pool.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace tg {
namespace {

constexpr size_t kAlign = 64;                 // libtorch's; the header is as long, so that neighbours of 2^n bytes begin at other places of a page
constexpr size_t kLargest = size_t{1} << 30;  // what is larger goes back to the kernel at once
constexpr size_t kGrowth = size_t{64} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSplit = 4 << 10;  // what is left of a block is one of its own from here on
constexpr size_t kNear = 2 << 20;   // a cache has what was freed, until so much more is taken
constexpr int kFine = 5;            // bits of a size below the highest that choose its list
constexpr int kRows = 64, kColumns = 1 << kFine, kLists = kRows * kColumns;

struct Block {
	size_t size;    // with this header
	size_t asked;   // 0: it is free
	Block* before;  // its neighbour, or null for the first
	Block* next;    // in the list of free blocks
	Block* last;
	size_t wet;    // of a free block: the bytes, at most, that have memory behind them
	size_t freed;  // of a free block: what had been taken when it was freed
	char padding[kAlign - 7 * sizeof(size_t)];

	char* data() { return reinterpret_cast<char*>(this) + kAlign; }
	Block* after() { return reinterpret_cast<Block*>(reinterpret_cast<char*>(this) + size); }
};
static_assert(sizeof(Block) == kAlign);

// A lock for a few hundred instructions. Whoever finds it taken for longer lets others run: its holder may have lost its processor.
class Brief {
 public:
	void lock() {
		for (int n = 0; taken_.test_and_set(std::memory_order_acquire); n++) {
			if (n % 64 == 63) {
				std::this_thread::yield();
			}
#ifdef __x86_64__
			__builtin_ia32_pause();
#endif
		}
	}
	void unlock() { taken_.clear(std::memory_order_release); }

 private:
	std::atomic_flag taken_;
};

class Pool {
 public:
	// Takes addresses, without memory behind them: as many as the machine could ever fill.
	void open() {
#ifdef __SANITIZE_ADDRESS__
		return;  // it shall see who reads what was freed
#endif
		size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
		size_t room = std::bit_ceil(memory) * 2;
		void* at = unlimited() ? mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
		if (at == MAP_FAILED) {
			return;
		}
		begin_ = (reinterpret_cast<uintptr_t>(at) + kHugePage - 1) / kHugePage * kHugePage;
		top_ = mapped_ = begin_;
		room_ = reinterpret_cast<uintptr_t>(at) + room - begin_;
		madvise(reinterpret_cast<void*>(begin_), room_, MADV_HUGEPAGE);  // a fault for two megabytes, not for four kilobytes
	}

	bool has(const void* p) const { return reinterpret_cast<uintptr_t>(p) - begin_ < room_; }

	void* take(size_t n) {
		size_t size = (n + 2 * kAlign - 1) / kAlign * kAlign;
		std::lock_guard<Brief> lock(lock_);
		Block* b = find(size);
		if (b == nullptr && !grow(size)) {
			return nullptr;
		}
		b = b != nullptr ? b : find(size);
		remove(b);
		if (b->size - size >= kSplit) {
			Block* rest = reinterpret_cast<Block*>(reinterpret_cast<char*>(b) + size);
			rest->size = b->size - size;
			b->size = size;
			place(rest, b, b->wet - std::min(b->wet, size), b->freed);
		}
		b->asked = n;
		taken_ += size;
		return b->data();
	}

	static Block* of(const void* data) { return reinterpret_cast<Block*>(reinterpret_cast<uintptr_t>(data) - kAlign); }

	void give(void* data) {
		Block* b = of(data);
		std::lock_guard<Brief> lock(lock_);
		size_t wet = b->size;
		if (Block* after = b->after(); !is_end(after) && after->asked == 0) {
			remove(after);
			b->size += after->size;
			wet += after->wet;
		}
		if (Block* before = b->before; before != nullptr && before->asked == 0) {
			remove(before);
			before->size += b->size;
			wet += before->wet;
			b = before;
		}
		place(b, b->before, wet, taken_);
	}

	size_t spare() {
		std::lock_guard<Brief> lock(lock_);
		return spare_;
	}

	void trim() {
		const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
		std::lock_guard<Brief> lock(lock_);
		for (Block* b : lists_) {
			for (; b != nullptr; b = b->next) {
				if (std::exchange(b->wet, 0) == 0) {
					continue;
				}
				auto from = (reinterpret_cast<uintptr_t>(b->data()) + page - 1) / page * page;
				auto to = (reinterpret_cast<uintptr_t>(b) + b->size) / page * page;
				if (to > from) {
					madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
				}
			}
		}
		spare_ = 0;
	}

 private:
	// The number of the list for a size.
	static int of_size(size_t size) {
		int row = 63 - std::countl_zero(size);
		return row << kFine | (static_cast<int>(size >> (row - kFine)) & (kColumns - 1));
	}

	// The first list from one on that is not empty; kLists if all are.
	int filled_from(int list) const {
		if (list == kLists) {
			return kLists;
		}
		int row = list >> kFine;
		uint32_t columns = filled_[row] & (~uint32_t{0} << (list & (kColumns - 1)));
		if (columns == 0) {
			uint64_t rows = row == kRows - 1 ? 0 : rows_ & (~uint64_t{0} << (row + 1));
			if (rows == 0) {
				return kLists;
			}
			row = std::countr_zero(rows);
			columns = filled_[row];
		}
		return row << kFine | std::countr_zero(columns);
	}

	// Where the limit of addresses is set, what is taken beyond them has to be refused, as the kernel would: the pool does not grow.
	static bool unlimited() {
		rlimit limit{};
		return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
	}

	bool is_end(const Block* b) const { return reinterpret_cast<uintptr_t>(b) == top_; }

	// A free block of the size: one that was freed a short time ago, and is in the processor's cache still, or else the shortest.
	Block* find(size_t size) {
		Block* b = size <= kNear ? find_near(size) : nullptr;
		return b != nullptr ? b : find_shortest(size);
	}

	// The last that was freed of the first kind of which that is a short time ago. What is behind all others is left: the pool would grow.
	Block* find_near(size_t size) {
		for (int i = filled_from(of_size(size)); i < kLists; i = filled_from(i + 1)) {
			if (Block* b = lists_[i]; taken_ - freed_[i] <= kNear && b->size >= size && b != last_) {
				return b;
			}
		}
		return nullptr;
	}

	// One that is as long as the last of its kind that was freed, or the next longer ones.
	Block* find_shortest(size_t size) {
		const int own = of_size(size);
		int tries = 8;
		for (Block* b = lists_[own]; b != nullptr && tries > 0; b = b->next, tries--) {
			if (b->size >= size) {
				return b;
			}
		}
		const int longer = filled_from(own + 1);
		return longer < kLists ? lists_[longer] : nullptr;
	}

	// Makes room for the size at the end. Behind the last block is as much memory as a header: MKL reads some bytes beyond its arguments.
	bool grow(size_t size) {
		Block* end = last_ != nullptr && last_->asked == 0 ? last_ : nullptr;
		size_t more = (size + kAlign - (end != nullptr ? end->size : 0) + kGrowth - 1) / kGrowth * kGrowth;
		if (more > room_ - (mapped_ - begin_) || !unlimited() || mprotect(reinterpret_cast<void*>(mapped_), more, PROT_READ | PROT_WRITE) != 0) {
			return false;
		}
		mapped_ += more;
		size_t gained = mapped_ - kAlign - top_, wet = 0;
		if (end != nullptr) {
			remove(end);
			end->size += gained;
			wet = end->wet;
		} else {
			end = reinterpret_cast<Block*>(top_);
			end->size = gained;
			end->before = last_;
		}
		top_ += gained;
		place(end, end->before, wet, taken_);
		return true;
	}

	// Puts a block that is free since so much had been taken, and whose neighbour before it is known, into its list.
	void place(Block* b, Block* before, size_t wet, size_t freed) {
		b->asked = 0;
		b->before = before;
		b->wet = wet;
		b->freed = freed;
		spare_ += wet;
		if (Block* after = b->after(); is_end(after)) {
			last_ = b;
		} else {
			after->before = b;
		}
		const int list = of_size(b->size);
		Block*& head = lists_[list];
		b->last = nullptr;
		b->next = head;
		if (head != nullptr) {
			head->last = b;
		}
		head = b;
		freed_[list] = freed;
		filled_[list >> kFine] |= uint32_t{1} << (list & (kColumns - 1));
		rows_ |= uint64_t{1} << (list >> kFine);
	}

	void remove(Block* b) {
		spare_ -= b->wet;
		const int list = of_size(b->size), row = list >> kFine;
		if (b->next != nullptr) {
			b->next->last = b->last;
		}
		if (b->last != nullptr) {
			b->last->next = b->next;
			return;
		}
		lists_[list] = b->next;
		if (b->next != nullptr) {
			freed_[list] = b->next->freed;
			return;
		}
		filled_[row] &= ~(uint32_t{1} << (list & (kColumns - 1)));
		rows_ &= filled_[row] == 0 ? ~(uint64_t{1} << row) : ~uint64_t{0};
	}

	Brief lock_;
	uintptr_t begin_ = 0, top_ = 0, mapped_ = 0;  // where blocks begin and end, and the memory behind them
	size_t room_ = 0;        // of addresses; 0: there is no pool
	Block* last_ = nullptr;  // the block before top_
	Block* lists_[kLists] = {};
	size_t freed_[kLists] = {};  // of the first block of a list
	uint32_t filled_[kRows] = {};
	uint64_t rows_ = 0;
	size_t taken_ = 0;  // the bytes of all blocks that were ever taken
	size_t spare_ = 0;  // the sum of what is wet
};

Pool pool;  // has no destructor to run: threads may still free theirs

}  // namespace

void open_pool() { pool.open(); }
bool is_pooled(const void* block) { return pool.has(block); }
void* pool_take(size_t n) { return n >= kSmallestPooled && n <= kLargest ? pool.take(n) : nullptr; }
size_t pool_size(const void* block) { return Pool::of(block)->asked; }
void pool_give(void* block) { pool.give(block); }
size_t pool_spare() { return pool.spare(); }
void pool_trim() { pool.trim(); }

}  // namespace tg
