// CUDA graphs: work that is recorded once and then submitted as a whole.
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>

#include "entries.h"

namespace tg {
namespace {

class Graph : public at::cuda::CUDAGraph {
 public:
	// keep leaves the recorded graph in place beside the one that runs, to be looked at.
	explicit Graph(bool keep) : CUDAGraph(keep), keep_(keep) {}

	void begin(c10::MempoolId_t pool, cudaStreamCaptureMode mode) {
		open_ = true;
		capture_dev_ = UNDEFINED_DEVICE;
		try {
			capture_begin(pool, mode);
		} catch (...) {
			abandon(*this);
			throw;
		}
	}
	void end() {
		try {
			capture_end();
			if (keep_) {
				instantiate();
			}
		} catch (...) {
			abandon(*this);
			throw;
		}
		open_ = false;
	}
	void dump(const std::string& path) {
		TORCH_CHECK_VALUE(keep_, "the graph was not made to be looked at: set Debug in GraphOptions");
		C10_CUDA_CHECK(cudaGraphDebugDotPrint(raw_cuda_graph(), path.c_str(), cudaGraphDebugDotFlagsVerbose));
	}

 private:
	bool keep_;
	bool open_ = false;  // the allocator may be handing out memory of the graph's pool

	// attempt does what is refused where the capture did not come as far as beginning it, or
	// libtorch as far as ending it.
	template <class F>
	static void attempt(F f) {
		try {
			f();
		} catch (const std::exception&) {
		}
	}

	// abandon ends what a capture that failed has begun. Before libtorch did so by itself, the
	// allocator went on thinking that a capture was under way, and so did the random generators.
	template <class G>
	static void abandon(G& g) {
		if (!g.open_ || g.capture_ended_ || g.capture_dev_ == UNDEFINED_DEVICE) {
			return;
		}
		g.open_ = false;
		if constexpr (!requires { g.capturing_to_pool_; }) {
			auto* card = c10::cuda::CUDACachingAllocator::get();
			auto* host = at::getHostAllocator(at::kCUDA);  // of pinned memory
			attempt([&] { card->endAllocateToPool(g.capture_dev_, g.mempool_id_); });
			attempt([&] { card->releasePool(g.capture_dev_, g.mempool_id_); });
			attempt([&] { host->end_allocate_to_pool(g.mempool_id_); });
			attempt([&] { host->release_pool(g.mempool_id_); });
		}
		for (auto& [state, increment] : g.captured_generator_states_) {
			if constexpr (requires { state->capturing_; }) {
				state->capturing_ = false;
			}
		}
	}
};

Graph& graph(Args& a) {
	return a.object<Graph>("graph");
}

template <class G>
void register_generator(G& g, const at::Generator& generator) {
	if constexpr (requires { g.register_generator_state(generator); }) {
		g.register_generator_state(generator);
	}  // else libtorch does so when the generator is first used
}

}  // namespace

namespace entry {

// new_graph(keep) -> graph
void new_graph(Args& a, Results& r) {
	at::globalContext().lazyInitDevice(at::kCUDA);
	r.object<Graph>(a.boolean());
}

// graph_capture_begin(graph, pool, mode): what is submitted to the current stream from here on is recorded
void graph_capture_begin(Args& a, Results&) {
	auto& g = graph(a);
	c10::MempoolId_t pool{a.next(), 0};
	pool.second = a.next();
	g.begin(pool, static_cast<cudaStreamCaptureMode>(a.integer()));
}

void graph_capture_end(Args& a, Results&) {
	graph(a).end();
}

void graph_replay(Args& a, Results&) {
	graph(a).replay();
}

void graph_reset(Args& a, Results&) {
	graph(a).reset();
}

// graph_pool(graph) -> the name of its pool
void graph_pool(Args& a, Results& r) {
	auto id = graph(a).pool();
	r.put(id.first);
	r.put(id.second);
}

// graph_register_generator(graph, generator): its numbers differ from replay to replay
void graph_register_generator(Args& a, Results&) {
	auto& g = graph(a);
	auto generator = a.opt_generator();
	TORCH_CHECK_VALUE(generator.has_value(), "the generator is nil");
	register_generator(g, *generator);
}

// graph_debug_dump(graph, path)
void graph_debug_dump(Args& a, Results&) {
	auto& g = graph(a);
	g.dump(std::string(a.string()));
}

// is_capturing() -> whether the current stream is being recorded
void is_capturing(Args&, Results& r) {
	r.boolean(c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None);
}

}  // namespace entry
}  // namespace tg
