// The second shim: what needs libtorch_cuda itself rather than the interfaces that
// libtorch_cpu offers to it (graphs, memory pools, device properties, NCCL). It is opened
// only where there is a driver, before the first call into libtorch, because libtorch
// decides then whether CUDA exists. Its table grows by fields; so far it says only what
// it was built for.
#include <c10/cuda/CUDAMacros.h>

#include "torchgo.h"

extern "C" __attribute__((visibility("default"))) const tg_cuda_api* tg_cuda_open() {
	static const tg_cuda_api api{TG_ABI, TG_TORCH_VERSION};
	return &api;
}
