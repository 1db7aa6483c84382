// The error fence: whatever libtorch throws becomes a kind and a text in the frame.
#include "callback.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tg {

namespace {

void set(tg_frame* f, tg_kind kind, const char* what) noexcept {
	f->kind = kind;
	f->msg = reinterpret_cast<uint64_t>(strdup(what));
}

// libtorch's CPU allocator reports exhaustion as a plain c10::Error.
bool is_host_oom(const char* what) noexcept {
	return std::strstr(what, "DefaultCPUAllocator: can't allocate memory") != nullptr ||
	       std::strstr(what, "DefaultCPUAllocator: not enough memory") != nullptr;
}

// of_gloo knows gloo's exceptions, whose classes are hidden, by the place that they name first. Those of a backward pass come as they are.
bool of_gloo(const char* what) noexcept { return std::strstr(what, "/gloo/transport/") != nullptr; }

// A frame with an error holds no results: the trail takes their place.
void attach(tg_frame* f, const std::vector<uint64_t>& trail) noexcept {
	auto heap = static_cast<uint64_t*>(std::malloc(trail.size() * sizeof(uint64_t)));
	if (heap != nullptr) {
		std::copy(trail.begin(), trail.end(), heap);
		f->more = reinterpret_cast<uint64_t>(heap);
		f->out[1] = trail.size();
		thread.flags |= TG_TRAIL;
	}
}

}  // namespace

// Most derived classes first: a catch clause takes all that derives from it.
void fail(tg_frame* f) noexcept {
	f->code = 0;
	f->msg = 0;
	try {
		throw;
	} catch (const Anomaly& e) {
		try {
			std::rethrow_exception(e.cause);
		} catch (...) {
			fail(f);
		}
		attach(f, e.trail);
	} catch (const GoFailure& e) {
		set(f, TG_CALLBACK, e.what());
		f->out[0] = e.failure->give_back();
	} catch (const c10::OutOfMemoryError& e) {
		set(f, TG_OUT_OF_MEMORY, e.what_without_backtrace());
	} catch (const c10::AcceleratorError& e) {
		set(f, TG_ACCELERATOR, e.what_without_backtrace());
		f->code = e.get_error_code();
	} catch (const c10::IndexError& e) {
		set(f, TG_INDEX, e.what_without_backtrace());
	} catch (const c10::ValueError& e) {
		set(f, TG_VALUE, e.what_without_backtrace());
	} catch (const c10::TypeError& e) {
		set(f, TG_TYPE, e.what_without_backtrace());
	} catch (const c10::NotImplementedError& e) {
		set(f, TG_NOT_IMPLEMENTED, e.what_without_backtrace());
	} catch (const c10::LinAlgError& e) {
		set(f, TG_LINALG, e.what_without_backtrace());
	} catch (const c10::DistError& e) {
		set(f, TG_DIST, e.what_without_backtrace());
	} catch (const c10::Error& e) {
		set(f, is_host_oom(e.what_without_backtrace()) ? TG_OUT_OF_MEMORY : TG_ERROR, e.what_without_backtrace());
	} catch (const std::bad_alloc&) {
		set(f, TG_OUT_OF_MEMORY, "out of host memory");
	} catch (const torch::jit::JITException& e) {
		set(f, TG_ERROR, e.what());
	} catch (const std::exception& e) {
		auto what = e.what();  // once: some make their text anew each time
		set(f, of_gloo(what) ? TG_DIST : TG_STD, what);
	} catch (...) {
		set(f, TG_UNKNOWN, "an exception of unknown type");
	}
}

}  // namespace tg
