// Whether kernels of ours make libtorch's bits is tried with made-up numbers when it first matters, and then known.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace tg {

// The next made-up number of 32 bits.
inline int32_t made_up(uint64_t& seed) {
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return static_cast<int32_t>(seed >> 32);
}

// Whether two tensors of float32 that lie alike have the same bits.
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
	return memcmp(a.const_data_ptr<float>(), b.const_data_ptr<float>(), a.numel() * sizeof(float)) == 0;
}

// Verdict is what is known of one kind of computation. Threads that ask at the same time may all try.
class Verdict {
 public:
	template <class Try>
	bool holds(const Try& tried) {
		if (known_.load(std::memory_order_relaxed) == unknown) {
			known_.store(tried() ? equal : other, std::memory_order_relaxed);
		}
		return known_.load(std::memory_order_relaxed) == equal;
	}

 private:
	enum : uint8_t { unknown, equal, other };
	std::atomic<uint8_t> known_{unknown};
};

}  // namespace tg
