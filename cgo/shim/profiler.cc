// The profiler: libtorch's own, over kineto. It keeps its state in two thread-local places,
// which libtorch itself carries over to the threads of a backward pass: the debug
// information, where allocators find it, too, and the callbacks of operators. Here they
// are carried to every thread that a call comes on.
//
// Its end hands out what was recorded and frees the rest, so that no call may be recording
// then. Calls count themselves in; the end waits until they are out.
#include "profiler.h"

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <c10/util/Type.h>
#include <kineto/libkineto.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <optional>
#include <utility>

#include "entries.h"
#include "guard.h"

namespace torch::autograd::profiler {
// Its own header, kineto_shim.h, wants kineto's where compilers do not look.
TORCH_API void addMetadataJson(const std::string& key, const std::string& value);
}  // namespace torch::autograd::profiler

namespace tg {

std::atomic<bool> profiling{false};

namespace {

namespace kineto = torch::autograd::profiler;
namespace impl = torch::profiler::impl;

std::atomic<int> watched_calls{0};  // on all threads; of calls one inside the other, the outermost

// The part of a thread's state that the profiler lives in.
struct State {
	std::shared_ptr<c10::ThreadLocalDebugInfo> info;
	at::RecordFunctionTLS callbacks;

	static State current() { return {c10::ThreadLocalDebugInfo::current(), at::get_record_function_tls_()}; }
	void apply() const {
		c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(info);
		at::set_record_function_tls_(callbacks);
	}
};

// The running profiler: what a thread's state is with it, and its number. It is written while
// profiling is false and no call is counted.
State session;
uint64_t session_number = 0;

thread_local std::optional<State> without;  // what this thread's state was before it joined

void join(Thread& t) {
	if (t.session != session_number) {
		unwatch(t);
		without = State::current();
		session.apply();
		t.session = session_number;
	}
}

void count_out() {
	watched_calls.fetch_sub(1);
	if (!profiling.load()) {
		watched_calls.notify_all();
	}
}

}  // namespace

bool watch(Thread& t) {
	if (t.watched == 0) {
		if (t.turns > 0) {
			return false;  // a hook's call: the operation around it decides
		}
		watched_calls.fetch_add(1);
		if (!profiling.load()) {  // or its end would not see this call
			count_out();
			unwatch(t);
			return false;
		}
	}
	t.watched++;
	join(t);
	return true;
}

void end_watch(Thread& t) {
	if (--t.watched == 0) {
		count_out();
	}
}

void unwatch(Thread& t) {
	if (t.session != 0) {
		std::exchange(without, std::nullopt)->apply();
		t.session = 0;
	}
}

Unwatched::Unwatched(Thread& t) : t_(t), before_(t.session != 0) {
	unwatch(t);
}

Unwatched::~Unwatched() {
	if (before_ && t_.watched > 0) {
		join(t_);
	}
}

namespace {

// A range that the program names. The profiler that it began in may end before, and a
// second one would take its end for that of an event of its own.
class Range final : public Guard {
 public:
	explicit Range(std::string name) : session_(thread.session), record_(at::RecordScope::USER_SCOPE) {
		if (record_.isActive()) {
			record_.before(std::move(name));
		}
	}
	~Range() override {
		if (thread.session != session_) {
			Unwatched unwatched(thread);
			record_.end();
		}
	}

 private:
	uint64_t session_;
	at::RecordFunction record_;
};

struct Plan {
	impl::ProfilerConfig config;
	std::set<impl::ActivityType> activities;
};

// plan(cpu, cuda, shapes, memory, flops)
Plan plan(Args& a) {
	std::set<impl::ActivityType> activities;
	if (a.boolean()) {
		activities.insert(impl::ActivityType::CPU);
	}
	if (a.boolean()) {
		activities.insert(impl::ActivityType::CUDA);
	}
	bool shapes = a.boolean();
	bool memory = a.boolean();
	bool flops = a.boolean();
	return {impl::ProfilerConfig(impl::ProfilerState::KINETO, shapes || flops, memory, false, flops), activities};
}

// kineto wants its first use on the thread that its client was registered on: the one that
// loaded libtorch. Which that was means nothing here.
void register_client() {
	auto& api = libkineto::api();
	if (!api.isProfilerRegistered()) {
		api.registerClient(api.client());
	}
}

void refuse_in_hook(const char* what) {
	TORCH_CHECK(thread.turns == 0, "the profiler cannot be ", what,
	            " inside of a hook or a custom function: the operation that runs it is recorded as a whole or not at all");
}

// What Python's profiler writes into a trace about itself.
void describe_session(const impl::ProfilerConfig& config) {
	auto note = [](const char* what, bool on) {
		if (on) {
			kineto::addMetadataJson(what, "1");
		}
	};
	note("profile_memory", config.profile_memory);
	note("record_shapes", config.report_input_shapes);
	note("with_flops", config.with_flops);
}

bool is_annotation(const kineto::KinetoEvent& e) {
	auto type = static_cast<libkineto::ActivityType>(e.activityType());
	return type == libkineto::ActivityType::USER_ANNOTATION || type == libkineto::ActivityType::GPU_USER_ANNOTATION;
}

// put_event: the order is that of decode in torch/profiler/decode.go.
void put_event(std::vector<uint64_t>& words, const kineto::KinetoEvent& e) {
	std::string name = e.name();
	put_text(words, name.starts_with("_Z") ? c10::demangle(name.c_str()) : name);
	for (uint64_t w : {
	         e.correlationId(),
	         e.linkedCorrelationId(),
	         e.startNs(),
	         e.endNs(),
	         e.startThreadId(),
	         e.endThreadId(),
	         e.fwdThreadId(),
	         word(e.sequenceNr()),
	         static_cast<uint64_t>(e.scope()),
	         static_cast<uint64_t>(e.deviceType()) << 8 | static_cast<uint8_t>(e.deviceIndex()),
	         word(e.deviceResourceId()),
	         word(e.nBytes()),
	         e.flops(),
	         static_cast<uint64_t>(e.isAsync()),
	         static_cast<uint64_t>(is_annotation(e)),
	     }) {
		words.push_back(w);
	}
	words.push_back(e.shapes().size());
	for (const auto& shape : e.shapes()) {
		words.push_back(shape.size());
		words.insert(words.end(), shape.begin(), shape.end());
	}
	words.push_back(e.dtypes().size());
	for (const auto& dtype : e.dtypes()) {
		put_text(words, dtype);
	}
}

kineto::ProfilerResult* as_profile(Args& a) {
	return reinterpret_cast<kineto::ProfilerResult*>(a.next());
}

}  // namespace

namespace entry {

// prepare_profiler(plan): what is slow about a start, the card's tracing above all.
void prepare_profiler(Args& a, Results&) {
	register_client();
	auto p = plan(a);
	kineto::prepareProfiler(p.config, p.activities);
}

// start_profiler(plan): of all threads. This one joins like any other, with its next call.
void start_profiler(Args& a, Results&) {
	TORCH_CHECK(!profiling.load(), "a profiler is running");
	refuse_in_hook("started");
	auto p = plan(a);
	struct Restored {
		State before = State::current();
		~Restored() { before.apply(); }
	} restored;
	kineto::enableProfiler(p.config, p.activities);
	describe_session(p.config);
	session = State::current();
	session_number++;
	profiling.store(true);
}

// stop_profiler() -> what it recorded. It waits for the operations that run.
void stop_profiler(Args&, Results& r) {
	TORCH_CHECK(thread.watched > 0, "no profiler is running");
	refuse_in_hook("stopped");
	profiling.store(false);
	for (int n = watched_calls.load(); n > 1; n = watched_calls.load()) {
		watched_calls.wait(n);
	}
	struct Ended {
		~Ended() {
			unwatch(thread);
			session = {};
		}
	} ended;
	r.put(reinterpret_cast<uint64_t>(kineto::disableProfiler().release()));
}

// profiler_events(profile) -> when it began, in nanoseconds, and the events
void profiler_events(Args& a, Results& r) {
	auto profile = as_profile(a);
	std::vector<uint64_t> words;
	for (const auto& e : profile->events()) {
		if (!e.isHiddenEvent()) {
			put_event(words, e);
		}
	}
	r.words(words);
	r.put(profile->trace_start_ns());
}

// save_profile(profile, path): as a Chrome trace. kineto does so once.
void save_profile(Args& a, Results&) {
	auto profile = as_profile(a);
	profile->save(std::string(a.string()));
}

void free_profile(Args& a, Results&) {
	delete as_profile(a);
}

// enter_range(name) -> guard
void enter_range(Args& a, Results& r) {
	enter<Range>(r, std::string(a.string()));
}

// thread_number() -> libtorch's number of this thread
void thread_number(Args&, Results& r) {
	r.put(at::RecordFunction::currentThreadId());
}

}  // namespace entry
}  // namespace tg
