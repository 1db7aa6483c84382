// What becomes of an exception on a thread of gloo's: see watch_gloo.
#include <cxxabi.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <mutex>

#include "c10d.h"

namespace tg {

namespace {

std::terminate_handler before;
std::atomic<bool> broken{false};
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

// The thread keeps the locks that it holds, so it must not end, and the group is of no use any more.
[[noreturn]] void stop_thread() {
	if (!is_gloo()) {
		before();
		std::abort();
	}
	try {
		throw;
	} catch (const std::exception& e) {
		std::lock_guard lock(mutex);
		reason() = e.what();
	}
	broken.store(true);
	for (;;) {
		pause();
	}
}

}  // namespace

void watch_gloo() {
	static std::once_flag once;
	std::call_once(once, [] { before = std::set_terminate(stop_thread); });
}

bool gloo_broken() { return broken.load(); }

void refuse_broken() {
	if (broken.load()) {
		std::lock_guard lock(mutex);
		C10_THROW_ERROR(DistBackendError, c10::str("ranks disagree about the size of what they exchange, so that the connections of this "
		                                           "process cannot be used any more (", reason(), ")"));
	}
}

}  // namespace tg
