// What the files of this folder share: libtorch's c10d, and what handles of Go's hold of it.
#pragma once

#define USE_C10D_GLOO

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "entries.h"

namespace tg {

using Store = c10::intrusive_ptr<c10d::Store>;
using Work = c10::intrusive_ptr<c10d::Work>;

// A group that lets go of its connections when its handle is closed: whoever waits for this rank
// learns of it at once.
class Group {
 public:
	explicit Group(c10::intrusive_ptr<c10d::ProcessGroup> group) : group_(std::move(group)) {}
	~Group();
	Group(const Group&) = delete;
	Group& operator=(const Group&) = delete;
	const c10::intrusive_ptr<c10d::ProcessGroup>& operator*() const { return group_; }
	c10d::ProcessGroup* operator->() const { return group_.get(); }

 private:
	c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

inline Group& group(Args& a) { return a.object<Group>("process group"); }
inline std::chrono::milliseconds milliseconds(Args& a) { return std::chrono::milliseconds(a.integer()); }

// gloo throws on its own thread, where nobody catches, when a rank sends more than the receiver expects,
// and libtorch's process would end. watch_gloo has such a thread stop for good instead; from
// then on refuse_broken throws what it had to say.
void watch_gloo();
bool gloo_broken();
void refuse_broken();

}  // namespace tg
