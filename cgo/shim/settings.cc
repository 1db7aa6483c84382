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

// cuBLAS may sum half-precision products in half precision; how far it must not is one of
// at::CuBLASReductionOption.
Switch reduction(at::CuBLASReductionOption (at::Context::*get)() const, void (at::Context::*set)(bool, bool)) {
	using at::CuBLASReductionOption;
	return {
	    [=] { return static_cast<int64_t>((at::globalContext().*get)()); },
	    [=](int64_t v) {
		    (at::globalContext().*set)(v == static_cast<int64_t>(CuBLASReductionOption::AllowReducedPrecisionWithSplitK),
		                               v != static_cast<int64_t>(CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK));
	    },
	};
}

#define BOOLEAN(getter, setter) \
	Switch{[] { return static_cast<int64_t>(at::globalContext().getter()); }, [](int64_t v) { at::globalContext().setter(v != 0); }}

std::vector<Switch> make_switches() {
	using at::Context;
	using at::Float32Backend;
	using at::Float32Op;
	return {
	    BOOLEAN(userEnabledCuDNN, setUserEnabledCuDNN),
	    BOOLEAN(benchmarkCuDNN, setBenchmarkCuDNN),
	    {[] { return static_cast<int64_t>(at::globalContext().benchmarkLimitCuDNN()); },
	     [](int64_t v) { at::globalContext().setBenchmarkLimitCuDNN(static_cast<int>(v)); }},
	    BOOLEAN(deterministicCuDNN, setDeterministicCuDNN),
	    precision(Float32Backend::CUDA, Float32Op::CONV),
	    precision(Float32Backend::CUDA, Float32Op::RNN),
	    precision(Float32Backend::CUDA, Float32Op::MATMUL),
	    {[] { return static_cast<int64_t>(at::globalContext().deterministicAlgorithms()); },
	     [](int64_t v) { at::globalContext().setDeterministicAlgorithms(v != 0, at::globalContext().deterministicAlgorithmsWarnOnly()); }},
	    BOOLEAN(userEnabledMkldnn, setUserEnabledMkldnn),
	    {[] { return static_cast<int64_t>(at::globalContext().deterministicAlgorithmsWarnOnly()); },
	     [](int64_t v) { at::globalContext().setDeterministicAlgorithms(at::globalContext().deterministicAlgorithms(), v != 0); }},
	    BOOLEAN(deterministicFillUninitializedMemory, setDeterministicFillUninitializedMemory),
	    reduction(&Context::allowFP16ReductionCuBLAS, &Context::setAllowFP16ReductionCuBLAS),
	    reduction(&Context::allowBF16ReductionCuBLAS, &Context::setAllowBF16ReductionCuBLAS),
	    BOOLEAN(allowFP16AccumulationCuBLAS, setAllowFP16AccumulationCuBLAS),
	    BOOLEAN(userEnabledFlashSDP, setSDPUseFlash),
	    BOOLEAN(userEnabledMemEfficientSDP, setSDPUseMemEfficient),
	    BOOLEAN(userEnabledMathSDP, setSDPUseMath),
	    BOOLEAN(userEnabledCuDNNSDP, setSDPUseCuDNN),
	    BOOLEAN(allowFP16BF16ReductionMathSDP, setAllowFP16BF16ReductionMathSDP),
	    BOOLEAN(deterministicMkldnn, setDeterministicMkldnn),
	    precision(Float32Backend::MKLDNN, Float32Op::CONV),
	    precision(Float32Backend::MKLDNN, Float32Op::RNN),
	    precision(Float32Backend::MKLDNN, Float32Op::MATMUL),
	};
}

// Numbered as torch/cuda/settings.go and torch/mkldnn number them.
const Switch& find(uint64_t i) {
	static const std::vector<Switch> switches = make_switches();
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

// cuda_versions() -> cuDNN that libtorch was built with, cuDNN, CUDA runtime (e.g. 91900, 91900, 13000)
void cuda_versions(Args&, Results& r) {
	r.integer(at::globalContext().versionCuDNN());
	r.integer(at::globalContext().versionRuntimeCuDNN());
	r.integer(at::globalContext().versionCUDART());
}

}  // namespace entry
}  // namespace tg
