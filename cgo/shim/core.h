// What the shim's own files share: the state of each OS thread, the error fence
// and the counters. Nothing here is seen by Go.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "wire.h"

namespace tg {

// Which door the call that a thread is in came through.
enum class Door : uint8_t { none, plain, back };

// What an OS thread knows of itself. Small and initial-exec, so that a call reads it
// with one instruction.
struct Thread {
	uint64_t scope = 0;  // the innermost torch.Scope of the goroutine locked to this thread
	uint32_t epoch = 0;  // of the process settings this thread has taken over
	uint32_t flags = 0;  // tg_flag, until the frame that carries them home
	int threads = 0;     // of an operation on this thread; 0 = as many as on the others
	Door door = Door::none;
	uint32_t depth = 0;               // of the stack
	const uint64_t* stack = nullptr;  // the Go callers of this call, in anomaly mode
	uint32_t turns = 0;     // calls into Go that this thread is in
	uint32_t watched = 0;   // calls, one inside the other, that the profiler waits for
	uint64_t session = 0;   // of the profiler that libtorch knows of on this thread, 0 = none
	uint32_t permits = 0;   // of operators that no rule makes safe, one inside the other
	uint32_t held = 0;      // scopes and modes of the goroutine that is locked to this thread
};
extern thread_local Thread thread __attribute__((tls_model("initial-exec")));

// Process-wide settings that libtorch keeps per thread. Threads compare their epoch
// with this one on every call and catch up when it has moved.
extern std::atomic<uint32_t> epoch;
void catch_up(Thread& t);

// Live bytes of host memory handed out by libtorch's CPU allocator, and the mark past
// which calls report TG_PRESSURE.
extern std::atomic<int64_t> host_bytes;
extern std::atomic<int64_t> host_limit;
void count_host_memory();

// put_text adds a text to words: its length in bytes, then these, eight to a word.
inline void put_text(std::vector<uint64_t>& words, std::string_view text) {
	words.push_back(text.size());
	size_t start = words.size();
	words.resize(start + (text.size() + 7) / 8);
	std::memcpy(words.data() + start, text.data(), text.size());
}

// Puts kernels in the place of libtorch's (rules/kernels.cc).
void replace_kernels();

void fail(tg_frame* f) noexcept;  // turns the exception in flight into the frame's error

}  // namespace tg
