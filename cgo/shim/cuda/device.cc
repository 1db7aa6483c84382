// What a card is, and which streams it can have.
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "entries.h"

// libtorch's header of it includes that of cuBLAS, which nothing else here needs.
namespace torch::cuda::nccl {
TORCH_CUDA_CPP_API std::uint64_t version();
}

namespace tg {
namespace {

int attribute(cudaDeviceAttr which, int device) {
	int value = 0;
	C10_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
	return value;
}

// Bytes as words, for a list that has words in it.
template <size_t N>
void append(std::vector<uint64_t>& list, const char (&bytes)[N]) {
	static_assert(N % sizeof(uint64_t) == 0);
	uint64_t words[N / sizeof(uint64_t)];
	std::memcpy(words, bytes, N);
	for (uint64_t w : words) {
		list.push_back(w);
	}
}

}  // namespace

namespace entry {

// cuda_state() -> the runtime's error, the number of devices, the error's text. libtorch keeps to
// itself why it counts no device.
void cuda_state(Args&, Results& r) {
	int count = 0;
	cudaError_t err = cudaGetDeviceCount(&count);
	(void)cudaGetLastError();  // it is told here, and not to the next who asks
	r.integer(err);
	r.integer(err == cudaSuccess ? count : 0);
	r.string(cudaGetErrorString(err));
}

// cuda_driver_version() -> the newest CUDA that the driver can run (13000), NCCL (22809)
void cuda_driver_version(Args&, Results& r) {
	int version = 0;
	C10_CUDA_CHECK(cudaDriverGetVersion(&version));
	r.integer(version);
	auto nccl = torch::cuda::nccl::version(); // 16 bits for each part
	r.integer(static_cast<int64_t>((nccl >> 32) * 10000 + (nccl >> 16 & 0xffff) * 100 + (nccl & 0xffff)));
}

// device_properties(device) -> words in the order in which Properties of torch/cuda reads them
void device_properties(Args& a, Results& r) {
	int device = a.device().index();
	cudaDeviceProp p{};
	C10_CUDA_CHECK(cudaGetDeviceProperties(&p, device));
	std::vector<uint64_t> list;
	append(list, p.name);
	append(list, p.uuid.bytes);
	for (int64_t v : {static_cast<int64_t>(p.major), static_cast<int64_t>(p.minor), static_cast<int64_t>(p.totalGlobalMem),
	                  static_cast<int64_t>(p.multiProcessorCount), static_cast<int64_t>(p.warpSize),
	                  static_cast<int64_t>(p.maxThreadsPerMultiProcessor), static_cast<int64_t>(p.maxThreadsPerBlock),
	                  static_cast<int64_t>(p.regsPerMultiprocessor), static_cast<int64_t>(p.sharedMemPerBlock),
	                  static_cast<int64_t>(p.sharedMemPerBlockOptin), static_cast<int64_t>(p.sharedMemPerMultiprocessor),
	                  static_cast<int64_t>(p.l2CacheSize), static_cast<int64_t>(p.memoryBusWidth),
	                  static_cast<int64_t>(attribute(cudaDevAttrClockRate, device)),
	                  static_cast<int64_t>(attribute(cudaDevAttrMemoryClockRate, device)), static_cast<int64_t>(p.pciDomainID),
	                  static_cast<int64_t>(p.pciBusID), static_cast<int64_t>(p.pciDeviceID), static_cast<int64_t>(p.integrated),
	                  static_cast<int64_t>(p.isMultiGpuBoard), static_cast<int64_t>(p.ECCEnabled)}) {
		list.push_back(word(v));
	}
	r.words(list);
}

// device_access_peer(device, other) -> whether device can read and write the memory of other
void device_access_peer(Args& a, Results& r) {
	int device = a.device().index(), can = 0;
	C10_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, a.device().index()));
	r.boolean(can != 0);
}

// external_stream(device, cudaStream_t) -> stream
void external_stream(Args& a, Results& r) {
	auto device = a.device();
	auto pointer = reinterpret_cast<cudaStream_t>(a.next());
	r.stream(c10::cuda::getStreamFromExternal(pointer, device.index()).unwrap());
}

void stream_priority(Args& a, Results& r) {
	r.integer(c10::cuda::CUDAStream(a.stream()).priority());
}

// stream_priorities() -> least, greatest
void stream_priorities(Args&, Results& r) {
	auto [least, greatest] = c10::cuda::CUDAStream::priority_range();
	r.integer(least);
	r.integer(greatest);
}

// blocking_event(device, timing) -> a cudaEvent_t for which a waiting thread sleeps
void blocking_event(Args& a, Results& r) {
	c10::DeviceGuard guard(a.device());
	cudaEvent_t event = nullptr;
	unsigned flags = cudaEventBlockingSync | (a.boolean() ? 0U : cudaEventDisableTiming);
	C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
	r.put(reinterpret_cast<uint64_t>(event));
}

}  // namespace entry
}  // namespace tg
