// What the files of this folder share: libtorch's c10d, and what handles of Go's hold of it.
#pragma once

#define USE_C10D_GLOO

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <pthread.h>

#include <csignal>

#include "entries.h"

namespace tg {

using Store = c10::intrusive_ptr<c10d::Store>;
using Work = c10::intrusive_ptr<c10d::Work>;
using Backend = c10::intrusive_ptr<c10d::Backend>;

// A group that lets go of its connections when its handle is closed: whoever waits for this rank
// learns of it at once.
class Group {
 public:
	Group(c10::intrusive_ptr<c10d::ProcessGroup> group, Backend cards) : group_(std::move(group)), cards_(std::move(cards)) {}
	~Group();
	Group(const Group&) = delete;
	Group& operator=(const Group&) = delete;
	const c10::intrusive_ptr<c10d::ProcessGroup>& operator*() const { return group_; }
	c10d::ProcessGroup* operator->() const { return group_.get(); }
	const Backend& cards() const { return cards_; }

 private:
	c10::intrusive_ptr<c10d::ProcessGroup> group_;
	Backend cards_;  // NCCL, if the group has it
};

// Unpiped keeps SIGPIPE from the threads that are made while it lasts. They write to ranks that may be gone, which the write says as well;
// but Go's runtime ends the process over a signal to a thread that is not its own.
class Unpiped {
 public:
	Unpiped() {
		sigset_t pipe;
		sigemptyset(&pipe);
		sigaddset(&pipe, SIGPIPE);
		pthread_sigmask(SIG_BLOCK, &pipe, &before_);
	}
	Unpiped(const Unpiped&) = delete;
	Unpiped& operator=(const Unpiped&) = delete;
	~Unpiped() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
	sigset_t before_;
};

inline Group& group(Args& a) { return a.object<Group>("process group"); }
inline std::chrono::milliseconds milliseconds(Args& a) { return std::chrono::milliseconds(a.integer()); }

// gloo throws on its own thread, where nobody catches, when a rank sends more than the receiver expects, and NCCL's watchdog
// does when a card fails; libtorch's process would end. watch_threads has such a thread stop for good instead; from
// then on refuse_broken throws what it had to say.
void watch_threads();
bool broken();
void refuse_broken();

// refuse_failed throws that, too, and what operations on cards have failed with since they were begun. cards may be none.
void refuse_failed(const Backend& cards);

}  // namespace tg
