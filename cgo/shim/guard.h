// Guards: modes that last from the entry that makes one until entry leave.
#pragma once

#include <memory>
#include <utility>

#include "core.h"

namespace tg {

struct Guard {
	Guard() { thread.held++; }
	Guard(const Guard&) = delete;
	Guard& operator=(const Guard&) = delete;
	virtual ~Guard() { thread.held--; }
};

template <class G>
struct Holding final : Guard {
	G guard;
	template <class... A>
	explicit Holding(A&&... a) : guard(std::forward<A>(a)...) {}
};

template <class G, class... A>
void enter(Results& r, A&&... a) {
	Guard* guard = new G(std::forward<A>(a)...);
	r.put(reinterpret_cast<uint64_t>(guard));
}

// A region of autocast.
std::unique_ptr<Guard> autocast(at::DeviceType device, bool enabled, at::ScalarType dtype, bool cache);

}  // namespace tg
