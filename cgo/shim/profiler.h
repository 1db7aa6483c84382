// What the door and the modes know of the profiler. libtorch has its profiler per thread,
// and a goroutine's calls come on any: while one runs, each call first sees to it that
// its thread takes part, and is waited for when the profiler ends.
#pragma once

#include "core.h"

namespace tg {

extern std::atomic<bool> profiling;

bool watch(Thread& t);    // whether the profiler takes the call; end_watch is its end
void unwatch(Thread& t);  // this thread leaves the profiler, until its next call
void end_watch(Thread& t);

// Watched is a call, as long as it lasts. Without a profiler it costs two loads.
class Watched {
 public:
	explicit Watched(Thread& t) : t_(t), counted_((profiling.load(std::memory_order_acquire) || t.session != 0) && watch(t)) {}
	~Watched() {
		if (counted_) {
			end_watch(t_);
		}
	}
	Watched(const Watched&) = delete;
	Watched& operator=(const Watched&) = delete;

 private:
	Thread& t_;
	bool counted_;
};

// Unwatched hides the profiler from code that saves or replaces all of a thread's state.
class Unwatched {
 public:
	explicit Unwatched(Thread& t);
	~Unwatched();
	Unwatched(const Unwatched&) = delete;
	Unwatched& operator=(const Unwatched&) = delete;

 private:
	Thread& t_;
	bool before_;
};

}  // namespace tg
