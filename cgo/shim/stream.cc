// Streams and events, by way of the interface that libtorch_cpu offers to every kind of
// device. A stream is a value: a device and a number. Only the entries for the current
// stream depend on the thread; modes.cc has the one that changes it.
#include <ATen/Context.h>
#include <ATen/ops/record_stream_ops.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <mutex>

#include "entries.h"

namespace tg {
namespace {

// guard is the interface of the device's kind. Its first use brings the device up.
c10::impl::VirtualGuardImpl guard(at::DeviceType type) {
	at::globalContext().lazyInitDevice(type);
	return {type};
}

// An event that may be recorded, asked and waited for on any thread. The device makes it when it
// is recorded for the first time, unless it was made before: as one that a waiting thread
// sleeps for.
class Event {
 public:
	Event(bool timing, void* made, at::Device device)
	    : timing_(timing), event_(made), device_(made == nullptr ? -1 : device.index()) {}
	~Event() {
		if (void* event = event_.load()) {
			c10::impl::VirtualGuardImpl(at::kCUDA).destroyEvent(event, device_.load());
		}
	}
	void record(const at::Stream& s) {
		std::lock_guard<std::mutex> lock(recording_);
		void* event = event_.load();
		auto device = device_.load();
		TORCH_CHECK_VALUE(event == nullptr || device == s.device_index(), "the event belongs to device ", static_cast<int>(device),
		                  ", the stream to device ", static_cast<int>(s.device_index()));
		auto flag = timing_ ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT;
		guard(s.device_type()).record(&event, s, s.device_index(), flag);
		device_.store(s.device_index());
		event_.store(event);
		recorded_.store(true);
	}
	void block(const at::Stream& s) const {
		if (recorded_.load()) {
			guard(s.device_type()).block(event_.load(), s);
		}
	}
	bool query() const { return !recorded_.load() || guard(at::kCUDA).queryEvent(event_.load()); }
	void synchronize() const {
		if (recorded_.load()) {
			guard(at::kCUDA).synchronizeEvent(event_.load());
		}
	}
	double elapsed(const Event& end) const {
		TORCH_CHECK_VALUE(timing_ && end.timing_, "the events were made without timing");
		TORCH_CHECK_VALUE(recorded_.load() && end.recorded_.load(), "both events have to be recorded first");
		TORCH_CHECK_VALUE(device_.load() == end.device_.load(), "the events are of different devices");
		return guard(at::kCUDA).elapsedTime(event_.load(), end.event_.load(), device_.load());
	}

 private:
	const bool timing_;
	std::mutex recording_;
	std::atomic<void*> event_;
	std::atomic<at::DeviceIndex> device_;
	std::atomic<bool> recorded_{false};
};

Event& event(Args& a) {
	return a.object<Event>("event");
}

}  // namespace

namespace entry {

// default_stream(device), current_stream(device), new_stream(device, priority) -> stream
void default_stream(Args& a, Results& r) {
	auto d = a.device();
	r.stream(guard(d.type()).getDefaultStream(d));
}

void current_stream(Args& a, Results& r) {
	auto d = a.device();
	r.stream(guard(d.type()).getStream(d));
}

void new_stream(Args& a, Results& r) {
	auto d = a.device();
	auto g = guard(d.type());
	r.stream(g.getNewStream(d, static_cast<int>(a.integer())));
}

void stream_query(Args& a, Results& r) {
	auto s = a.stream();
	r.boolean(guard(s.device_type()).queryStream(s));
}

void stream_synchronize(Args& a, Results&) {
	auto s = a.stream();
	guard(s.device_type()).synchronizeStream(s);
}

void stream_wait_event(Args& a, Results&) {
	auto s = a.stream();
	event(a).block(s);
}

// stream_wait_stream(stream, other): work submitted to stream from now on waits for all that
// was submitted to other. CUDA keeps the event for as long as somebody waits for it.
void stream_wait_stream(Args& a, Results&) {
	auto s = a.stream();
	Event passed(false, nullptr, s.device());
	passed.record(a.stream());
	passed.block(s);
}

// stream_pointer(stream) -> the device runtime's own handle: a cudaStream_t
void stream_pointer(Args& a, Results& r) {
	auto s = a.stream();
	r.put(reinterpret_cast<uint64_t>(guard(s.device_type()).getStreamNativeHandle(s)));
}

// record_stream(tensor, stream): its memory is not used again before the stream has come here
void record_stream(Args& a, Results&) {
	const auto& t = a.tensor();
	at::_ops::record_stream::call(const_cast<at::Tensor&>(t), a.stream());
}

// new_event(timing, made, device) -> event. made is what blocking_event made, or 0.
void new_event(Args& a, Results& r) {
	bool timing = a.boolean();
	auto made = reinterpret_cast<void*>(a.next());
	r.object<Event>(timing, made, a.device());
}

void event_record(Args& a, Results&) {
	auto& e = event(a);
	e.record(a.stream());
}

void event_query(Args& a, Results& r) {
	r.boolean(event(a).query());
}

void event_synchronize(Args& a, Results&) {
	event(a).synchronize();
}

// event_elapsed(start, end) -> milliseconds
void event_elapsed(Args& a, Results& r) {
	auto& start = event(a);
	r.number(start.elapsed(event(a)));
}

}  // namespace entry
}  // namespace tg
