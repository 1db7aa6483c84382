#include "workers.h"

#include <ATen/Parallel.h>
#include <sched.h>

#include <thread>

namespace tg {
namespace {

using Clock = Gathered::Clock;
using namespace std::chrono_literals;

constexpr auto kLong = 1ms;      // what is worth to be gathered for,
constexpr int kTimes = 1000;     // and how often
constexpr auto kAwake = 1ms;     // OpenMP's threads look for work as long, and longer, before they sleep
constexpr auto kWaking = 30us;   // what it takes one that sleeps to arrive
constexpr auto kPatience = 2ms;  // some may have no processor for now
constexpr auto kNap = 1us;       // which takes 50: others run meanwhile

// When this thread's workers did something: a hint, on which no result depends.
thread_local Clock::time_point active;

// Goes to another processor of those that the thread may run on.
void leave_processor() {
	cpu_set_t own, others;
	if (sched_getaffinity(0, sizeof own, &own) != 0) {
		return;
	}
	others = own;
	CPU_CLR(sched_getcpu(), &others);
	if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0) {
		sched_setaffinity(0, sizeof own, &own);
	}
}

// Each worker says that it has arrived, and leaves the processor of the one that waits. That one naps where they take longer than waking does,
// so that one which sits behind it can run.
void gather(int threads) {
	std::atomic<int64_t> missing{threads};
	const int processor = sched_getcpu();
	at::parallel_for(0, threads, 1, [&](int64_t first, int64_t last) {
		missing -= last - first;
		if (first > 0) {
			if (sched_getcpu() == processor) {
				leave_processor();
			}
			return;
		}
		for (const auto began = Clock::now(); missing > 0;) {
			const auto waited = Clock::now() - began;
			if (waited > kPatience) {
				return;
			}
			if (waited > kWaking) {
				std::this_thread::sleep_for(kNap);
			}
		}
	});
}

}  // namespace

Gathered::Gathered(std::atomic<int>& times) {
	const int threads = at::get_num_threads();
	if (threads == 1 || at::in_parallel_region()) {
		return;
	}
	times_ = &times;
	if (times.load(std::memory_order_relaxed) > 0 && Clock::now() - active > kAwake) {
		times.fetch_sub(1, std::memory_order_relaxed);
		gather(threads);
	}
	began_ = Clock::now();
}

Gathered::~Gathered() {
	if (times_ == nullptr) {
		return;
	}
	active = Clock::now();
	const int left = times_->load(std::memory_order_relaxed);
	if (left > kNever / 2 && left < kTimes / 2 && active - began_ > kLong) {  // what many threads share is seldom written
		times_->store(kTimes, std::memory_order_relaxed);
	}
}

}  // namespace tg
