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
#include <new>

namespace tg {

// A free block is a link to the next one of its size.
struct Link {
	Link* next;
};

// A Bin is the free blocks of a size, the latest first.
struct Bin {
	Link* head = nullptr;
	unsigned depth = 0;

	void push(void* block) {
		head = new (block) Link{head};
		depth++;
	}

	// Null if there is none.
	void* pop() {
		Link* link = head;
		if (link != nullptr) {
			head = link->next;
			depth--;
		}
		return link;
	}

	// Cuts off all but so many, the older ones.
	Link* cut(unsigned left) {
		Link** end = &head;
		for (unsigned n = 0; n < left; n++) {
			end = &(*end)->next;
		}
		Link* older = *end;
		*end = nullptr;
		depth = left;
		return older;
	}
};

// Calls free for each block of a chain.
template <class Free>
void free_all(Link* link, Free&& free) {
	while (link != nullptr) {
		Link* next = link->next;
		free(link);
		link = next;
	}
}

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

}  // namespace tg
