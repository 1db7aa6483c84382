// The threads that compute together with one that calls.
#pragma once

#include <atomic>
#include <chrono>

namespace tg {

// Gathered sees to it that the threads which share this one's work run beside it, while it exists. Where they did nothing for some time they
// sleep, and Linux may have one wake up on the very processor of the thread that waits for it, where it stays behind that for milliseconds.
// That happens where threads wake each other, as Go's do: a network that takes two threads 6 ms took them 17 after each pause.
class Gathered {
public:
	using Clock = std::chrono::steady_clock;

	static constexpr int kNever = -(1 << 30);

	// For what is to be done, threads are worth to be gathered so many times: since it took long, as it does for want of them, too. Very little
	// needs no other threads, and gathering them takes as long; what a card does needs none.
	explicit Gathered(std::atomic<int>& times);
	~Gathered();
	Gathered(const Gathered&) = delete;
	Gathered& operator=(const Gathered&) = delete;

private:
	std::atomic<int>* times_ = nullptr;  // none where this thread computes alone
	Clock::time_point began_;
};

}  // namespace tg
