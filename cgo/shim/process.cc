// What holds for the whole process: seeds and generators, thread counts, library
// settings, warnings, devices and versions.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Config.h>
#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/version.h>

#include <cstring>
#include <mutex>

#include "core.h"
#include "entries.h"

namespace tg {

std::atomic<uint32_t> epoch{1};

namespace {

std::atomic<int> intra_op_threads{0};  // 0 = libtorch's own choice

std::mutex warnings_mutex;
std::vector<std::string> warnings_queue;

// A handler may not call into Go from here: Go fetches the texts after the call.
struct Collector final : c10::WarningHandler {
	void process(const c10::Warning& w) override {
		std::lock_guard<std::mutex> lock(warnings_mutex);
		warnings_queue.push_back(w.msg());
		thread.flags |= TG_WARNED;
	}
};

at::Generator& as_generator(const uint64_t& handle) {
	TORCH_CHECK_VALUE(handle != 0, "the generator is nil");
	return const_cast<at::Generator&>(reinterpret_cast<const at::Generator&>(handle));
}

// libtorch looks at the two places in the state of a Mersenne twister one by one; numbers are
// drawn from the table of 624 as far as their sum says.
void check_generator_state(const at::Generator& g, const at::Tensor& state) {
	if (!g.device().is_cpu() || !state.defined()) {
		return;
	}
	if (state.scalar_type() != at::kByte || !state.device().is_cpu() || state.layout() != at::kStrided || !state.is_contiguous()) {
		return;  // libtorch says what is wrong
	}
	constexpr int64_t table = 624, left_at = 8, next_at = 16;
	if (state.numel() < next_at + 8) {
		return;  // libtorch refuses the size
	}
	const auto* bytes = state.const_data_ptr<uint8_t>();
	int32_t left = 0;
	uint64_t next = 0;
	std::memcpy(&left, bytes + left_at, sizeof left);
	std::memcpy(&next, bytes + next_at, sizeof next);
	TORCH_CHECK(left > 0 && next <= table && static_cast<int64_t>(next) + left <= table + 1, "Invalid mt19937 state");
}

void put_generator(Results& r, at::Generator g) {
	r.put(reinterpret_cast<uint64_t>(g.unsafeReleaseGeneratorImpl()));
}

}  // namespace

void catch_up(Thread& t) {
	static Collector collector;
	if (t.epoch == 0) {
		c10::WarningUtils::set_warning_handler(&collector);
	}
	// libtorch looks up a thread's number when the thread first asks, and finds what was set
	// last, on whichever thread: a lane's. It asks here, before there may be one. So does the loop that libtorch's headers make for us, which
	// knows by itself whether the thread has asked: a lane's first convolution would have had the threads of all.
	at::get_num_threads();
	at::internal::lazy_init_num_threads();
	t.epoch = epoch.load();
	int n = t.threads > 0 ? t.threads : intra_op_threads.load();
	if (n > 0 && at::get_num_threads() != n) {
		at::set_num_threads(n);
	}
}

namespace entry {

void warnings(Args&, Results& r) {
	std::vector<std::string> taken;
	{
		std::lock_guard<std::mutex> lock(warnings_mutex);
		taken.swap(warnings_queue);
	}
	std::string joined;
	for (auto& text : taken) {
		joined += text;
		joined += '\0';
	}
	r.string(joined);
}

// set_threads(n): of the intra-op pool. libtorch keeps the number per OS thread, so every thread takes it over on its
// next call; unless it has one of its own.
void set_threads(Args& a, Results&) {
	auto n = a.integer();
	TORCH_CHECK_VALUE(n > 0, "expected a positive number of threads, got ", n);
	intra_op_threads.store(static_cast<int>(n));
	epoch.fetch_add(1);
	catch_up(thread);
}

// lane(scope, entered, n) -> the scope and the number before: what scope() does, and this thread gets a number of threads of its
// own, or gives it back with 0.
void lane(Args& a, Results& r) {
	r.put(thread.scope);
	r.integer(thread.threads);
	thread.scope = a.next();
	thread.held += static_cast<int32_t>(a.integer());
	// A new thread starts with the number that was set last, on whichever thread.
	int unset = 0;
	intra_op_threads.compare_exchange_strong(unset, at::get_num_threads());
	thread.threads = static_cast<int>(a.integer());
	catch_up(thread);
}

void get_threads(Args&, Results& r) {
	r.integer(at::get_num_threads());
}

void set_interop_threads(Args& a, Results&) {
	at::set_num_interop_threads(static_cast<int>(a.integer()));
}

void get_interop_threads(Args&, Results& r) {
	r.integer(static_cast<int64_t>(at::get_num_interop_threads()));
}

void manual_seed(Args& a, Results&) {
	at::manual_seed(a.next());
}

// new_generator(device) -> generator; default_generator(device) -> the device's own
void new_generator(Args& a, Results& r) {
	auto device = a.device();
	put_generator(r, device.is_cpu() ? at::detail::createCPUGenerator()
	                                 : at::globalContext().getAcceleratorHooksInterface(device.type()).getNewGenerator(device.index()));
}

void default_generator(Args& a, Results& r) {
	put_generator(r, at::globalContext().defaultGenerator(a.device()));
}

void seed_generator(Args& a, Results&) {
	auto& g = as_generator(*a.p++);
	std::lock_guard<std::mutex> lock(g.mutex());
	g.set_current_seed(a.next());
}

void generator_seed(Args& a, Results& r) {
	auto& g = as_generator(*a.p++);
	std::lock_guard<std::mutex> lock(g.mutex());
	r.put(g.current_seed());
}

void generator_state(Args& a, Results& r) {
	auto& g = as_generator(*a.p++);
	std::lock_guard<std::mutex> lock(g.mutex());
	r.tensor(g.get_state());
}

void set_generator_state(Args& a, Results&) {
	auto& g = as_generator(*a.p++);
	std::lock_guard<std::mutex> lock(g.mutex());
	auto state = a.tensor();
	check_generator_state(g, state);
	g.set_state(state);
}

void generator_device(Args& a, Results& r) {
	auto device = as_generator(*a.p++).device();
	r.put(static_cast<uint64_t>(device.type()) << 8 | static_cast<uint8_t>(device.index()));
}

void torch_version(Args&, Results& r) {
	r.string(TORCH_VERSION);
}

void show_config(Args&, Results& r) {
	r.string(at::show_config() + at::get_parallel_info());
}

// device_count(device type) -> how many there are; 0 for a backend that is not there
void device_count(Args& a, Results& r) {
	auto type = a.device().type();
	if (type == at::kCPU) {
		r.integer(1);
		return;
	}
	auto accelerator = at::accelerator::getAccelerator();
	r.integer(accelerator == type ? at::accelerator::deviceCount() : 0);
}

void synchronize(Args& a, Results&) {
	auto device = a.device();
	if (!device.is_cpu()) {
		at::accelerator::synchronizeDevice(device.has_index() ? device.index() : at::accelerator::getDeviceIndex());
	}
}

void current_device(Args&, Results& r) {
	r.integer(at::accelerator::getDeviceIndex());
}

void list_operators(Args&, Results& r) {
	std::string joined;
	for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
		joined += name.name;
		if (!name.overload_name.empty()) {
			joined += '.' + name.overload_name;
		}
		joined += '\n';
	}
	r.string(joined);
}

}  // namespace entry
}  // namespace tg
