// Thread-local modes. Each is a guard object on the heap: making it sets the mode on
// this OS thread, deleting it (entry leave) restores what was there. Go locks the
// goroutine to its thread in between.
#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <map>
#include <mutex>

#include "core.h"
#include "entries.h"
#include "guard.h"
#include "profiler.h"

namespace tg {
namespace {

// libtorch keeps the casts that autocast makes of weights in one map for the whole
// process, keyed by the weight alone. Two regions that cast to different dtypes must
// not both use it, nor may a region without gradients fill it for one with: the cast
// it left there carries no history. CastCache lends the map to regions that agree.
class CastCache {
 public:
	bool join(at::DeviceType device, at::ScalarType dtype) {
		std::lock_guard<std::mutex> lock(mutex_);
		auto& user = users_[device];
		if (user.regions > 0 && user.dtype != dtype) {
			return false;
		}
		user.dtype = dtype;
		user.regions++;
		total_++;
		return true;
	}
	void leave(at::DeviceType device) {
		std::lock_guard<std::mutex> lock(mutex_);
		users_[device].regions--;
		if (--total_ == 0) {
			at::autocast::clear_cache();
		}
	}

 private:
	struct User {
		int regions = 0;
		at::ScalarType dtype = at::ScalarType::Undefined;
	};
	std::mutex mutex_;
	std::map<at::DeviceType, User> users_;
	int total_ = 0;
};

CastCache& cast_cache() {
	static CastCache cache;
	return cache;
}

class Autocast final : public Guard {
 public:
	Autocast(at::DeviceType device, bool enabled, at::ScalarType dtype, bool cache)
	    : device_(device),
	      enabled_(at::autocast::is_autocast_enabled(device)),
	      dtype_(at::autocast::get_autocast_dtype(device)),
	      cache_(at::autocast::is_autocast_cache_enabled()) {
		joined_ = enabled && cache && c10::GradMode::is_enabled() && cast_cache().join(device, dtype);
		at::autocast::set_autocast_enabled(device, enabled);
		at::autocast::set_autocast_dtype(device, dtype);
		at::autocast::set_autocast_cache_enabled(joined_);
	}
	~Autocast() override {
		at::autocast::set_autocast_enabled(device_, enabled_);
		at::autocast::set_autocast_dtype(device_, dtype_);
		at::autocast::set_autocast_cache_enabled(cache_);
		if (joined_) {
			cast_cache().leave(device_);
		}
	}

 private:
	at::DeviceType device_;
	bool enabled_;
	at::ScalarType dtype_;
	bool cache_;
	bool joined_;
};

// All modes of a thread, for a goroutine that inherits them. The cast cache is left
// off there: the region that lent it may end first. The profiler is none of them: it finds
// every thread by itself.
struct Modes {
	at::ThreadLocalState state;
};

class Inherited final : public Guard {
 public:
	explicit Inherited(const Modes& m) : guard_(m.state), cache_(at::autocast::is_autocast_cache_enabled()) {
		at::autocast::set_autocast_cache_enabled(false);
	}
	~Inherited() override {
		unwatch(thread);
		at::autocast::set_autocast_cache_enabled(cache_);
	}

 private:
	at::ThreadLocalStateGuard guard_;
	bool cache_;
};

}  // namespace

std::unique_ptr<Guard> autocast(at::DeviceType device, bool enabled, at::ScalarType dtype, bool cache) {
	return std::make_unique<Autocast>(device, enabled, dtype, cache);
}

namespace entry {

// leave(guard): restores what the guard found.
void leave(Args& a, Results&) {
	delete reinterpret_cast<Guard*>(a.next());
}

void enter_grad(Args& a, Results& r) {
	enter<Holding<c10::AutoGradMode>>(r, a.boolean());
}

void enter_inference(Args& a, Results& r) {
	enter<Holding<c10::InferenceMode>>(r, a.boolean());
}

// enter_autocast(device, enabled, dtype, cache) -> guard
void enter_autocast(Args& a, Results& r) {
	auto device = a.device();
	bool enabled = a.boolean();
	auto dtype = a.opt_dtype().value_or(at::autocast::get_autocast_dtype(device.type()));
	enter<Autocast>(r, device.type(), enabled, dtype, a.boolean());
}

void enter_device(Args& a, Results& r) {
	enter<Holding<c10::DeviceGuard>>(r, a.device());
}

// enter_stream(stream) -> guard: it is the current one of its device, which is the current device
void enter_stream(Args& a, Results& r) {
	enter<Holding<c10::StreamGuard>>(r, a.stream());
}

// capture_modes() -> modes; enter_modes(modes) -> guard; free_modes(modes)
void capture_modes(Args&, Results& r) {
	Unwatched unwatched(thread);
	r.put(reinterpret_cast<uint64_t>(new Modes));
}

void enter_modes(Args& a, Results& r) {
	Unwatched unwatched(thread);
	enter<Inherited>(r, *reinterpret_cast<const Modes*>(a.next()));
}

void free_modes(Args& a, Results&) {
	delete reinterpret_cast<Modes*>(a.next());
}

void is_grad_enabled(Args&, Results& r) {
	r.boolean(c10::GradMode::is_enabled());
}

void is_inference(Args&, Results& r) {
	r.boolean(c10::InferenceMode::is_enabled());
}

// autocast_state(device) -> enabled, dtype, cache enabled
void autocast_state(Args& a, Results& r) {
	auto type = a.device().type();
	r.boolean(at::autocast::is_autocast_enabled(type));
	r.integer(static_cast<int64_t>(at::autocast::get_autocast_dtype(type)));
	r.boolean(at::autocast::is_autocast_cache_enabled());
}

}  // namespace entry
}  // namespace tg
