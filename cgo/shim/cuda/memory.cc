// The inside of the allocator: its limit, a picture of all its blocks, pools.
#include <ATen/Context.h>
#include <ATen/cuda/MemPool.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <thread>

#include "entries.h"

namespace tg {
namespace {

using namespace c10::CachingDeviceAllocator;

// The allocator, brought up.
c10::cuda::CUDACachingAllocator::CUDAAllocator* allocator() {
	at::globalContext().lazyInitDevice(at::kCUDA);
	return c10::cuda::CUDACachingAllocator::get();
}

// A Picture is written as the reader in torch/cuda/snapshot.go reads it: words of 8 bytes, texts
// as their length and their bytes, lists as their length and their elements.
class Picture {
 public:
	template <class T>
	void add(T v) {
		uint64_t w = static_cast<uint64_t>(v);
		text_.append(reinterpret_cast<const char*>(&w), sizeof w);
	}
	void add(const void* p) { add(reinterpret_cast<uint64_t>(p)); }
	void add(double v) { add(word(v)); }
	void add(const std::string& s) {
		add(s.size());
		text_ += s;
	}
	void add(c10::MempoolId_t id) {
		add(id.first);
		add(id.second);
	}
	void add(const BlockInfo& b) {
		add(b.size);
		add(b.requested_size);
		add(b.allocated);
		add(b.active);
	}
	void add(const SegmentInfo& s) {
		add(s.device);
		add(s.address);
		add(s.total_size);
		add(s.requested_size);
		add(s.allocated_size);
		add(s.active_size);
		add(static_cast<const void*>(s.stream));
		add(s.is_large);
		add(s.is_expandable);
		add(s.owner_private_pool_id);
		list(s.blocks);
	}
	void add(const TraceEntry& e) {
		add(static_cast<int>(e.action_));
		add(e.addr_);
		add(e.size_);
		add(static_cast<const void*>(e.stream_));
		add(e.time_.t_);
		add(e.compile_context_);
		add(e.user_metadata_);
	}
	template <class T>
	void list(const std::vector<T>& items) {
		add(items.size());
		for (const auto& item : items) {
			add(item);
		}
	}
	const std::string& text() const { return text_; }

 private:
	std::string text_;
};

}  // namespace

namespace entry {

void memory_fraction(Args& a, Results& r) {
	r.number(allocator()->getMemoryFraction(a.device().index()));
}

// set_memory_fraction(device, fraction)
void set_memory_fraction(Args& a, Results&) {
	auto device = a.device();
	allocator()->setMemoryFraction(a.number(), device.index());
}

// memory_snapshot() -> a Picture: segments, traces of each device, settings
void memory_snapshot(Args&, Results& r) {
	auto info = allocator()->snapshot();
	Picture p;
	p.list(info.segments);
	p.add(info.device_traces.size());
	for (const auto& trace : info.device_traces) {
		p.list(trace);
	}
	const auto& c = info.config_metadata;
	p.add(c.last_allocator_settings);
	p.add(c.max_split_size);
	p.add(c.garbage_collection_threshold);
	p.add(c.expandable_segments);
	p.add(c.pinned_num_register_threads);
	p.add(c.release_lock_on_malloc);
	p.add(c.pinned_use_host_register);
	r.string(p.text());
}

// record_memory_history(on, at most so many entries, forget those there are)
void record_memory_history(Args& a, Results&) {
	bool on = a.boolean();
	auto most = static_cast<size_t>(a.integer());
	allocator()->recordHistory(on, nullptr, most, RecordContext::NEVER, a.boolean(), {});
}

// new_pool_id() -> a name for a pool that graphs share
void new_pool_id(Args&, Results& r) {
	auto id = at::cuda::MemPool::graph_pool_handle();
	r.put(id.first);
	r.put(id.second);
}

void new_mem_pool(Args&, Results& r) {
	allocator();
	r.object<at::cuda::MemPool>();
}

// mem_pool_id(pool) -> two words, the device
void mem_pool_id(Args& a, Results& r) {
	auto& pool = a.object<at::cuda::MemPool>("pool");
	auto id = pool.id();
	r.put(id.first);
	r.put(id.second);
	r.device({at::kCUDA, pool.device()});
}

// enter_mem_pool(device, id): what this thread allocates comes from the pool
void enter_mem_pool(Args& a, Results&) {
	auto device = a.device().index();
	c10::MempoolId_t id{a.next(), 0};
	id.second = a.next();
	allocator()->beginAllocateToPool(device, id, [owner = std::this_thread::get_id()](cudaStream_t) { return std::this_thread::get_id() == owner; });
}

void leave_mem_pool(Args& a, Results&) {
	auto device = a.device().index();
	c10::MempoolId_t id{a.next(), 0};
	id.second = a.next();
	allocator()->endAllocateToPool(device, id);
	allocator()->releasePool(device, id);
}

}  // namespace entry
}  // namespace tg
