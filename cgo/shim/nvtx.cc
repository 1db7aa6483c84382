// Names for the timelines of NVIDIA's tools, by way of libtorch's profiler.
#include <torch/csrc/profiler/stubs/base.h>

#include "entries.h"

namespace tg::entry {

// nvtx_mark(name), nvtx_push(name), nvtx_pop(): ranges are the thread's own
void nvtx_mark(Args& a, Results&) {
	torch::profiler::impl::cudaStubs()->mark(std::string(a.string()).c_str());
}

void nvtx_push(Args& a, Results&) {
	torch::profiler::impl::cudaStubs()->rangePush(std::string(a.string()).c_str());
}

void nvtx_pop(Args&, Results&) {
	torch::profiler::impl::cudaStubs()->rangePop();
}

}  // namespace tg::entry
