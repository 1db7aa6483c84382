// The second shim: what needs libtorch_cuda itself rather than the interfaces that
// libtorch_cpu offers to it (device properties, the allocator's inside, graphs, pools). It
// is opened only where there is a driver, before the first call into libtorch, because
// libtorch decides then whether CUDA exists. Its entries are the CUDA_ENTRY lines of
// entries.def; calls reach them through the first shim's door, with its error fence.
#include <cuda_runtime_api.h>

#include "entries.h"

namespace tg {
namespace {

const Entry entries[] = {
#define ENTRY(name)
#define CUDA_ENTRY(name) entry::name,
#include "entries.def"
#undef CUDA_ENTRY
#undef ENTRY
};

uint32_t runtime_version() {
	int version = 0;
	return cudaRuntimeGetVersion(&version) == cudaSuccess ? static_cast<uint32_t>(version) : 0;
}

}  // namespace
}  // namespace tg

extern "C" __attribute__((visibility("default"))) const tg_cuda_api* tg_cuda_open() {
	static const tg_cuda_api api{TG_ABI, TG_TORCH_VERSION, CUDART_VERSION, tg::runtime_version(), tg::entries};
	return &api;
}
