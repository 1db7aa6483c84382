// Host memory: every byte that libtorch's CPU allocator hands out is counted, whoever
// holds it (a handle in Go, the autograd graph, a cache), so that Go can feel memory
// that its collector cannot see.
#include "core.h"

#include <ATen/Context.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "entries.h"
#include "guardpages.h"
#include "pool.h"
#include "threadblocks.h"

namespace tg {

std::atomic<int64_t> host_bytes{0};
std::atomic<int64_t> host_limit{std::numeric_limits<int64_t>::max()};

namespace {

constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> host_bound{kNoBound};  // an allocation that would pass it is refused
std::atomic<int64_t> host_peak{0};
std::atomic<Placement> placement{Placement::none};  // of blocks between guard pages
std::atomic<bool> has_guards{false};

// Adds to the live bytes. Two threads may both find the peak too low: the higher one wins.
void count(int64_t bytes) {
	int64_t live = host_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
	int64_t peak = host_peak.load(std::memory_order_relaxed);
	while (live > peak && !host_peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
	}
}

// Gives what is free in glibc's arenas back to the kernel, and before it to them what threads keep, of tensors and of our operator new,
// where that is in use: a block that is kept holds the whole page that it is in.
void trim_glibc() {
	static const auto empty_heap = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "tg_heap_empty"));
	empty_threads();
	if (empty_heap != nullptr) {
		empty_heap();
	}
	malloc_trim(0);
}

// A Claim is an allocation's room below the bound, from before it is made until it is counted:
// of two threads that would pass the bound together one is refused.
class Claim {
 public:
	explicit Claim(size_t n) {
		int64_t bound = host_bound.load(std::memory_order_relaxed);
		if (bound == kNoBound) {
			return;
		}
		int64_t live = host_bytes.load(std::memory_order_relaxed);
		do {
			TORCH_CHECK_WITH(OutOfMemoryError, n <= static_cast<uint64_t>(std::max<int64_t>(0, bound - live)), "allocating ", n,
			                 " bytes of host memory would pass the limit of ", bound, " bytes: ", live, " are in use");
		} while (!host_bytes.compare_exchange_weak(live, live + static_cast<int64_t>(n), std::memory_order_relaxed));
		bytes_ = static_cast<int64_t>(n);
	}
	Claim(const Claim&) = delete;
	Claim& operator=(const Claim&) = delete;
	~Claim() {
		if (bytes_ != 0) {  // nearly never: every allocation comes by here
			host_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
		}
	}

	// The bytes that are counted as live already; whoever takes them counts them from now on.
	int64_t take() { return std::exchange(bytes_, 0); }

 private:
	int64_t bytes_ = 0;
};

// libtorch's default allocator with a counter around it: the same alignment, the same
// reports to the profiler. glibc and the pool know each block's size, so nothing is stored.
struct CountingAllocator final : c10::Allocator {
	c10::DataPtr allocate(size_t n) override {
		Claim claim(n);
		auto [data, bytes] = n == 0 ? Taken{} : take_block(n);
		if (data != nullptr) {
			count(static_cast<int64_t>(bytes) - claim.take());
			c10::profiledCPUMemoryReporter().New(data, n);
		}
		return {data, data, &release, at::Device(at::DeviceType::CPU)};
	}
	static void release(void* data) {
		if (data == nullptr) {
			return;
		}
		const size_t bytes = block_bytes(data);
		host_bytes.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
		c10::profiledCPUMemoryReporter().Delete(data);
		give_block(data, bytes);
	}
	c10::DeleterFnPtr raw_deleter() const override { return &release; }
	void copy_data(void* dest, const void* src, std::size_t n) const override { default_copy_data(dest, src, n); }
};

// The allocator of ./build.sh fuzz: the same books, and blocks between guard pages while it
// is told where to put them.
struct GuardedAllocator final : c10::Allocator {
	c10::DataPtr allocate(size_t n) override {
		auto at = placement.load(std::memory_order_relaxed);
		void* data = nullptr;
		if (n > 0 && at != Placement::none) {
			Claim claim(n);
			if (data = guarded_take(n, at); data != nullptr) {
				count(steps(n) - claim.take());
			}
		}
		return data == nullptr ? heap_.allocate(n) : c10::DataPtr{data, data, &release, at::Device(at::DeviceType::CPU)};
	}
	static void release(void* data) {
		if (!is_guarded(data)) {
			CountingAllocator::release(data);
			return;
		}
		host_bytes.fetch_sub(steps(guarded_size(data)), std::memory_order_relaxed);
		guarded_give(data);
	}
	c10::DeleterFnPtr raw_deleter() const override { return &release; }
	void copy_data(void* dest, const void* src, std::size_t n) const override { default_copy_data(dest, src, n); }

 private:
	static int64_t steps(size_t n) { return static_cast<int64_t>((n + c10::gAlignment - 1) / c10::gAlignment * c10::gAlignment); }
	CountingAllocator heap_;
};

// The allocator of a kind of device. Counters of one that was never used are zero: asking
// must not bring a device up.
at::DeviceAllocator* device_allocator(at::Device d) {
	return at::getDeviceAllocator(d.type());
}

c10::CachingDeviceAllocator::DeviceStats stats_of(at::Device d) {
	auto* allocator = device_allocator(d);
	return allocator->initialized() ? allocator->getDeviceStats(d.index()) : c10::CachingDeviceAllocator::DeviceStats{};
}

}  // namespace

void count_host_memory() {
	static CountingAllocator counting;
	static GuardedAllocator guarded;
	const char* guard = std::getenv("LIBTORCH_GO_GUARD");
	has_guards = guard != nullptr && *guard != '\0';
	constexpr uint8_t kPriority = 1;  // above the default's 0
	c10::SetCPUAllocator(has_guards ? static_cast<c10::Allocator*>(&guarded) : &counting, kPriority);
}

namespace entry {

// free(handles...): drops Go's reference to each.
void free(Args& a, Results&) {
	for (uint64_t n = a.next(); n > 0; n--) {
		c10::raw::intrusive_ptr::decref(reinterpret_cast<c10::intrusive_ptr_target*>(a.next()));
	}
}

// dup(t): another reference to the same tensor.
void dup(Args& a, Results& r) {
	r.tensor(a.tensor());
}

// scope(id, entered) -> the id before. Everything made on this thread belongs to scope id;
// entered is 1 where a goroutine comes to hold the thread by it, -1 where it no longer does.
void scope(Args& a, Results& r) {
	r.put(thread.scope);
	thread.scope = a.next();
	thread.held += static_cast<int32_t>(a.integer());
}

// thread_held() -> whether the calling goroutine is locked to this thread by a scope or a mode
void thread_held(Args&, Results& r) {
	r.boolean(thread.held > 0);
}

// host_memory() -> live bytes, the most there were since reset_peak_memory, and bytes that wait for the next tensors
void host_memory(Args&, Results& r) {
	r.integer(host_bytes.load());
	r.integer(host_peak.load());
	r.integer(static_cast<int64_t>(pool_spare()));
}

// limit(mark): calls report TG_PRESSURE while more host bytes than this are live.
void limit(Args& a, Results&) {
	host_limit.store(a.integer());
}

// bound(bytes): no allocation on the host may make more than this live; 0 = any may.
void bound(Args& a, Results&) {
	int64_t bytes = a.integer();
	host_bound.store(bytes == 0 ? kNoBound : bytes);
}

// place_blocks(placement): where new blocks lie between guard pages, from now on and in all threads.
void place_blocks(Args& a, Results&) {
	auto at = a.integer();
	TORCH_CHECK_VALUE(at >= 0 && at <= static_cast<int64_t>(Placement::close), "there is no placement ", at);
	TORCH_CHECK(has_guards || at == 0, "guard pages take LIBTORCH_GO_GUARD=1 in the environment before libtorch is loaded");
	placement.store(static_cast<Placement>(at));
	fence.store(at == 0 ? nullptr : &guarded_copy);
}

// device_memory(device) -> allocated, peak allocated, reserved, peak reserved,
// allocation retries, out-of-memory events.
void device_memory(Args& a, Results& r) {
	auto stats = stats_of(a.device());
	constexpr auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
	r.integer(stats.allocated_bytes[all].current);
	r.integer(stats.allocated_bytes[all].peak);
	r.integer(stats.reserved_bytes[all].current);
	r.integer(stats.reserved_bytes[all].peak);
	r.integer(stats.num_alloc_retries);
	r.integer(stats.num_ooms);
}

void reset_peak_memory(Args& a, Results&) {
	auto device = a.device();
	if (device.is_cpu()) {
		host_peak.store(host_bytes.load());
		return;
	}
	if (auto* allocator = device_allocator(device); allocator->initialized()) {
		allocator->resetPeakStats(device.index());
	}
}

void reset_accumulated_memory(Args& a, Results&) {
	auto device = a.device();
	if (auto* allocator = device_allocator(device); allocator->initialized()) {
		allocator->resetAccumulatedStats(device.index());
	}
}

// device_stats(device) -> all counters, in the order of statNames in torch/cuda/stats.go
void device_stats(Args& a, Results& r) {
	auto s = stats_of(a.device());
	std::vector<int64_t> list;
	auto add = [&](const c10::CachingAllocator::Stat& stat) { list.insert(list.end(), {stat.current, stat.peak, stat.allocated, stat.freed}); };
	for (const auto* pools : {&s.allocation, &s.segment, &s.active, &s.inactive_split, &s.allocated_bytes, &s.reserved_bytes, &s.active_bytes,
	                          &s.inactive_split_bytes, &s.requested_bytes}) {
		std::for_each(pools->begin(), pools->end(), add);
	}
	add(s.oversize_allocations);
	add(s.oversize_segments);
	list.insert(list.end(), {s.num_alloc_retries, s.num_ooms, s.num_sync_all_streams, s.num_device_alloc, s.num_device_free, s.max_split_size});
	r.ints(list);
}

// empty_cache(device): gives free memory back to the device, or to the kernel. Every thread
// has an arena of glibc's, and keeps what was once allocated there.
void empty_cache(Args& a, Results&) {
	auto device = a.device();
	if (device.is_cpu()) {
		trim_glibc();
		pool_trim();
	} else {
		if (auto* allocator = device_allocator(device); allocator->initialized()) {
			allocator->emptyCache();
		}
	}
}

// trim_heaps(): gives what is free in glibc's arenas back to the kernel.
void trim_heaps(Args&, Results&) {
	trim_glibc();
}

// memory_info(device) -> free, total bytes on the card.
void memory_info(Args& a, Results& r) {
	auto device = a.device();
	at::globalContext().lazyInitDevice(device.type());
	auto [free_bytes, total_bytes] = device_allocator(device)->getMemoryInfo(device.index());
	r.integer(static_cast<int64_t>(free_bytes));
	r.integer(static_cast<int64_t>(total_bytes));
}

}  // namespace entry
}  // namespace tg
