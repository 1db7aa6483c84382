// What becomes of errors that no call waits for, on threads of gloo's and NCCL's, and on cards.
#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <mutex>

#include "c10d.h"

namespace tg {

namespace {

std::terminate_handler before;
std::atomic<bool> stopped{false};
std::mutex mutex;
std::string& reason() {
	static auto& text = *new std::string;
	return text;
}

// is_gloo tells whether the exception that nobody catches is one of gloo's.
bool is_gloo() {
	auto type = abi::__cxa_current_exception_type();
	return type != nullptr && std::strncmp(type->name(), "N4gloo", 6) == 0;
}

// is_nccl tells whether this is one of the threads that libtorch has for each of NCCL's groups.
bool is_nccl() {
	char name[16] = "";
	return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && std::strncmp(name, "pt_nccl_", 8) == 0;
}

// The thread keeps the locks that it holds, so it must not end, and the group is of no use any more.
[[noreturn]] void stop_thread() {
	const char* what = is_gloo()   ? "ranks disagree about the size of what they exchange, so that the connections of this process cannot be "
	                                 "used any more"
	                   : is_nccl() ? "NCCL, or a card, failed beyond repair"
	                               : nullptr;
	if (what == nullptr) {
		before();
		std::abort();
	}
	try {
		throw;
	} catch (const std::exception& e) {
		std::lock_guard lock(mutex);
		reason() = c10::str(what, " (", e.what(), ")");
	} catch (...) {
		std::lock_guard lock(mutex);
		reason() = what;
	}
	stopped.store(true);
	for (;;) {
		pause();
	}
}

}  // namespace

void watch_threads() {
	static std::once_flag once;
	std::call_once(once, [] { before = std::set_terminate(stop_thread); });
}

bool broken() { return stopped.load(); }

void refuse_broken() {
	if (stopped.load()) {
		std::lock_guard lock(mutex);
		C10_THROW_ERROR(DistBackendError, reason());
	}
}

void refuse_failed(const Backend& cards) {
	refuse_broken();
	switch (cards ? cards->getError() : c10d::ErrorType::SUCCESS) {
		case c10d::ErrorType::SUCCESS:
			return;
		case c10d::ErrorType::TIMEOUT:
			C10_THROW_ERROR(DistBackendError, "an operation on cards that was begun before timed out, and what it had to write is of no use");
		default:
			C10_THROW_ERROR(DistBackendError, "an operation on cards that was begun before failed, and what it had to write is of no use; "
			                                  "the reason is on standard error");
	}
}

}  // namespace tg
