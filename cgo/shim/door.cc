// The door: one function for every operator. It runs an entry behind the error fence
// and sends everything the caller needs to know back in the caller's frame.
#include "callback.h"
#include "ops_gen.h"
#include "pool.h"
#include "profiler.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <tuple>

namespace tg {

thread_local Thread thread __attribute__((tls_model("initial-exec")));

namespace {

template <Door kDoor>
void run(uint32_t op, const uint64_t* words, void* data, tg_frame* f) noexcept {
	Thread& t = thread;
	Door outer = t.door;
	t.door = kDoor;
	f->count = 0;
	try {
		if (t.epoch != epoch.load(std::memory_order_relaxed)) {
			catch_up(t);
		}
		Watched watched(t);
		Args args{words, data};
		Results results{f};
		ops_table[op](args, results);
		f->kind = TG_OK;
	} catch (...) {
		fail(f);
	}
	f->scope = t.scope;
	f->flags = t.flags;
	t.flags = 0;
	t.door = outer;
	if (host_bytes.load(std::memory_order_relaxed) > host_limit.load(std::memory_order_relaxed)) {
		f->flags |= TG_PRESSURE;
	}
}

void call(uint32_t op, const uint64_t* words, tg_frame* f) {
	run<Door::plain>(op, words, nullptr, f);
}

void call_back(uint32_t op, const uint64_t* words, const uint64_t* stack, uint32_t depth, tg_frame* f) {
	Thread& t = thread;
	auto outer = std::pair(t.stack, t.depth);
	t.stack = stack;
	t.depth = depth;
	run<Door::back>(op, words, nullptr, f);
	std::tie(t.stack, t.depth) = outer;
	if (any_dropped()) {
		f->flags |= TG_DROPPED;
	}
}

// libtorch frees and allocates large blocks on every step; glibc's defaults give them
// back to the kernel each time and fault them in again. Keeping them makes CPU training
// steps 3-10 % faster. The third setting is for threads but the first, whose memory comes
// in pieces of 64 MB: one that is free altogether would be given back, and asked for again
// in the next step (MobileNet: 7.7 or 10.8 ms, as it happened to lie). Large tensors come from a pool that all threads
// share. LIBTORCH_GO_MALLOC=default leaves the defaults alone, and has no pool.
void keep_large_blocks() {
	const char* choice = std::getenv("LIBTORCH_GO_MALLOC");
	if (choice != nullptr && std::strcmp(choice, "default") == 0) {
		return;
	}
	constexpr int kGiB = 1 << 30;
	mallopt(M_MMAP_THRESHOLD, kGiB);
	mallopt(M_TRIM_THRESHOLD, kGiB);
	mallopt(M_TOP_PAD, 64 << 20);
	open_pool();
}

// libtorch writes down the last 2,000 collectives, for reports that are not read here, in a map that all groups share and
// no lock guards: two groups in one process end it. Whoever wants the reports says so, by either name.
void record_no_collectives() {
	if (std::getenv("TORCH_NCCL_TRACE_BUFFER_SIZE") == nullptr) {
		setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);
	}
}

}  // namespace

}  // namespace tg

extern "C" __attribute__((visibility("default"))) const tg_api* tg_open(tg_callback callback) {
	static const tg_api api{TG_ABI, TG_TORCH_VERSION, tg::ops_hash, tg::call, tg::run<tg::Door::plain>, tg::call_back};
	tg::enter_go = callback;
	tg::use_own_engine();
	tg::keep_large_blocks();
	tg::record_no_collectives();
	tg::count_host_memory();
	tg::replace_kernels();
	if (std::getenv("TORCH_SHOW_CPP_STACKTRACES") == nullptr) {
		// Symbolising a C++ stack for each error costs more than the throw itself.
		c10::SetStackTraceFetcher([] { return std::string(); });
	}
	return &api;
}
