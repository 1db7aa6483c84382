// libtorch's process-wide switches (at::globalContext()). Only the new precision API is
// used: mixing it with the old one makes libtorch's own getters throw.
#include <ATen/Context.h>

#include <functional>

#include "entries.h"

namespace tg {
namespace {

struct Switch {
	std::function<int64_t()> get;
	std::function<void(int64_t)> set;
};

Switch precision(at::Float32Backend backend, at::Float32Op op) {
	return {
	    [=] { return static_cast<int64_t>(at::globalContext().float32Precision(backend, op)); },
	    [=](int64_t v) { at::globalContext().setFloat32Precision(backend, op, static_cast<at::Float32Precision>(v)); },
	};
}

#define BOOLEAN(getter, setter) \
	Switch{[] { return static_cast<int64_t>(at::globalContext().getter()); }, [](int64_t v) { at::globalContext().setter(v != 0); }}

// Numbered as torch/cuda/settings.go numbers them.
const Switch& find(uint64_t i) {
	using at::Float32Backend;
	using at::Float32Op;
	static const std::vector<Switch> switches = {
	    BOOLEAN(userEnabledCuDNN, setUserEnabledCuDNN),
	    BOOLEAN(benchmarkCuDNN, setBenchmarkCuDNN),
	    {[] { return static_cast<int64_t>(at::globalContext().benchmarkLimitCuDNN()); },
	     [](int64_t v) { at::globalContext().setBenchmarkLimitCuDNN(static_cast<int>(v)); }},
	    BOOLEAN(deterministicCuDNN, setDeterministicCuDNN),
	    precision(Float32Backend::CUDA, Float32Op::CONV),
	    precision(Float32Backend::CUDA, Float32Op::RNN),
	    precision(Float32Backend::CUDA, Float32Op::MATMUL),
	    {[] { return static_cast<int64_t>(at::globalContext().deterministicAlgorithms()) +
	                 static_cast<int64_t>(at::globalContext().deterministicAlgorithmsWarnOnly()); },
	     [](int64_t v) { at::globalContext().setDeterministicAlgorithms(v != 0, v == 2); }},
	    BOOLEAN(userEnabledMkldnn, setUserEnabledMkldnn),
	};
	TORCH_CHECK_INDEX(i < switches.size(), "no setting ", i);
	return switches[i];
}

}  // namespace

namespace entry {

// get_setting(number) -> value; set_setting(number, value)
void get_setting(Args& a, Results& r) {
	r.integer(find(a.next()).get());
}

void set_setting(Args& a, Results&) {
	const auto& s = find(a.next());
	s.set(a.integer());
}

// cuda_versions() -> cuDNN, CUDA runtime (e.g. 91900, 13000)
void cuda_versions(Args&, Results& r) {
	r.integer(at::globalContext().versionCuDNN());
	r.integer(at::globalContext().versionCUDART());
}

}  // namespace entry
}  // namespace tg
