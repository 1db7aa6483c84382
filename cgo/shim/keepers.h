// What a thread keeps for itself it takes without a lock, and another may yet take it all away, from threads that sleep, too:
// a thread says that it is busy before it looks whether its blocks are barred, and who bars them looks afterwards who is busy. In between
// the kernel has all threads pass a barrier, so that they need none of their own.
// It needs nothing but the C library, for heap/.
#pragma once

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tg {

// A Keeper is a thread's place among all who keep blocks of a kind.
struct Keeper {
	std::atomic<bool> busy{false};
	Keeper* next = nullptr;
	Keeper* previous = nullptr;
};

class Keepers {
 public:
	void add(Keeper& k) {
		pthread_mutex_lock(&guard_);
		k.previous = nullptr;
		k.next = first_;
		if (first_ != nullptr) {
			first_->previous = &k;
		}
		first_ = &k;
		pthread_mutex_unlock(&guard_);
	}

	void remove(Keeper& k) {
		pthread_mutex_lock(&guard_);
		(k.previous != nullptr ? k.previous->next : first_) = k.next;
		if (k.next != nullptr) {
			k.next->previous = k.previous;
		}
		pthread_mutex_unlock(&guard_);
	}

	// Calls empty for each keeper while its blocks are barred. A kernel without such barriers leaves them where they are.
	template <class Empty>
	void each(Empty&& empty) {
		pthread_mutex_lock(&guard_);
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {
			barred_.store(true, std::memory_order_seq_cst);
			if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) {
				for (Keeper* k = first_; k != nullptr; k = k->next) {
					while (k->busy.load(std::memory_order_acquire)) {  // for a few instructions
						sched_yield();
					}
					empty(*k);
				}
			}
			barred_.store(false, std::memory_order_release);
		}
		pthread_mutex_unlock(&guard_);
	}

 private:
	friend class Turn;
	pthread_mutex_t guard_ = PTHREAD_MUTEX_INITIALIZER;
	std::atomic<bool> barred_{false};
	Keeper* first_ = nullptr;
};

// A thread's turn at what it keeps, for as long as the Turn lasts; it is none while the blocks are barred. There are no calls of Keepers
// within a turn.
class Turn {
 public:
	Turn(Keeper& keeper, const Keepers& all) : keeper_(keeper) {
		keeper_.busy.store(true, std::memory_order_relaxed);
		std::atomic_signal_fence(std::memory_order_seq_cst);
		mine_ = !all.barred_.load(std::memory_order_acquire);
	}
	Turn(const Turn&) = delete;
	Turn& operator=(const Turn&) = delete;
	~Turn() { keeper_.busy.store(false, std::memory_order_release); }

	explicit operator bool() const { return __builtin_expect(mine_, true); }

 private:
	Keeper& keeper_;
	bool mine_;
};

// A free block is a link to the next one of its size.
struct Link {
	Link* next;
};

// Bins are the free blocks that a thread keeps of some sizes. Of tells kSizes, the size of each in bytes, and how a block is freed.
template <class Of>
class Bins {
 public:
	// Those that are full have no room, and nothing in them.
	explicit constexpr Bins(bool full = false) {
		for (auto& bin : bins_) {
			bin.depth = full ? kDepth : 0;
		}
	}

	// The latest block of a size; null if there is none.
	void* take(size_t i, Keeper& own, const Keepers& all) {
		Turn turn(own, all);
		Link* link = turn ? bins_[i].head : nullptr;
		if (link != nullptr) {
			bins_[i].head = link->next;
			near(link->next);
			bins_[i].depth--;
			kept_ -= Of::size(i);
		}
		return link;
	}

	// False if the block has to go back to where it came from.
	bool keep(size_t i, void* block, Keeper& own, const Keepers& all) {
		{
			Turn turn(own, all);
			if (!turn || bins_[i].depth == kDepth) {
				return false;
			}
			bins_[i].head = new (block) Link{bins_[i].head};
			bins_[i].depth++;
			if (kept_ += Of::size(i); __builtin_expect(kept_ <= kRoom, true)) {
				return true;
			}
		}
		thin(own, all);
		return true;
	}

	void empty() {
		for (size_t i = 0; i < Of::kSizes; i++) {
			give(cut(i, 0));
		}
	}

 private:
	// What a thread keeps: so many of a size, which is what Go's collector frees at once, and so many bytes, which are near its processor.
	static constexpr unsigned kDepth = 4096;
	static constexpr size_t kRoom = size_t{2} << 20;

	struct Bin {
		Link* head = nullptr;
		unsigned depth = 0;
	};

	// Brings the block that will be taken next near the processor: as much of it as a tensor needs.
	static void near(const Link* next) {
		const char* line = reinterpret_cast<const char*>(next);
		__builtin_prefetch(line, 1);
		__builtin_prefetch(line + 64, 1);
		__builtin_prefetch(line + 128, 1);
	}

	// Gives back the older half of each size: what is needed no more becomes nothing, in time.
	[[gnu::noinline]] void thin(Keeper& own, const Keepers& all) {
		for (size_t i = 0; i < Of::kSizes; i++) {
			Link* older = nullptr;
			if (Turn turn(own, all); turn) {
				older = cut(i, bins_[i].depth / 2);
			}
			give(older);
		}
	}

	// Cuts off all of a size but so many, the older ones.
	Link* cut(size_t i, unsigned left) {
		Bin& bin = bins_[i];
		Link** end = &bin.head;
		for (unsigned n = 0; n < left; n++) {
			end = &(*end)->next;
		}
		Link* older = *end;
		*end = nullptr;
		kept_ -= (bin.depth - left) * Of::size(i);
		bin.depth = left;
		return older;
	}

	static void give(Link* link) {
		while (link != nullptr) {
			Link* next = link->next;
			Of::free(link);
			link = next;
		}
	}

	Bin bins_[Of::kSizes];
	size_t kept_ = 0;
};

// What each thread keeps of a kind, in bins of its own, from the first block that it frees until it ends. They are reached through a
// pointer: a library that is opened late has little room for variables of threads that are found without a call.
template <class Of>
class Kept {
 public:
	// A block of a size; null if the thread has none.
	static void* take(size_t i) { return own_.bins()->take(i, own_, keepers_); }

	// False if the block has to go back to where it came from.
	static bool keep(size_t i, void* block) {
		return __builtin_expect(own_.bins()->keep(i, block, own_, keepers_), true) || keep_first(i, block);
	}

	// Gives back what all threads keep.
	static void empty() {
		keepers_.each([](Keeper& k) { static_cast<Own&>(k).bins()->empty(); });
	}

 private:
	// Begins as zeros: a thread that starts while a library is opened may not get what else its variables begin with (glibc fills in the
	// threads that are on its list, and this one comes to it later).
	struct Own : Keeper {
		Bins<Of>* bins() { return reinterpret_cast<Bins<Of>*>(reinterpret_cast<uintptr_t>(&before_) + distance); }
		void set(Bins<Of>* to) { distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(&before_); }

		uintptr_t distance = 0;  // from before_
	};

	// Makes the thread's bins, if it is their absence that left no room.
	[[gnu::noinline]] static bool keep_first(size_t i, void* block) {
		void* room = own_.bins() == &before_ && has_key_ ? std::malloc(sizeof(Bins<Of>)) : nullptr;
		if (room == nullptr || pthread_setspecific(key_, &own_) != 0) {
			std::free(room);
			return false;
		}
		own_.set(new (room) Bins<Of>);
		keepers_.add(own_);
		return own_.bins()->keep(i, block, own_, keepers_);
	}

	// What C++ still frees on a thread that ends, it does before this.
	static void end(void* thread) {
		auto& own = *static_cast<Own*>(thread);
		Bins<Of>* bins = own.bins();
		keepers_.remove(own);
		own.set(&after_);
		bins->empty();
		std::free(bins);
	}

	// A thread has one of these two before its first block and after its last: they hold nothing and take nothing.
	static inline constinit Bins<Of> before_{true}, after_{true};
	static inline constinit thread_local Own own_ __attribute__((tls_model("initial-exec")));
	static inline constinit Keepers keepers_;
	static inline pthread_key_t key_;
	static inline const bool has_key_ = pthread_key_create(&key_, end) == 0;
};

}  // namespace tg
