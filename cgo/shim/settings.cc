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

// One function for each line of settings.def.
namespace setting {

using at::Context;
using at::Float32Backend;
using at::Float32Op;

Switch cudnn_enabled() { return BOOLEAN(userEnabledCuDNN, setUserEnabledCuDNN); }
Switch cudnn_benchmark() { return BOOLEAN(benchmarkCuDNN, setBenchmarkCuDNN); }
Switch cudnn_benchmark_limit() {
	return {[] { return static_cast<int64_t>(at::globalContext().benchmarkLimitCuDNN()); },
	        [](int64_t v) { at::globalContext().setBenchmarkLimitCuDNN(static_cast<int>(v)); }};
}
Switch cudnn_deterministic() { return BOOLEAN(deterministicCuDNN, setDeterministicCuDNN); }
Switch cuda_conv_precision() { return precision(Float32Backend::CUDA, Float32Op::CONV); }
Switch cuda_rnn_precision() { return precision(Float32Backend::CUDA, Float32Op::RNN); }
Switch cuda_matmul_precision() { return precision(Float32Backend::CUDA, Float32Op::MATMUL); }
Switch cublas_fp16_reduction() { return reduction(&Context::allowFP16ReductionCuBLAS, &Context::setAllowFP16ReductionCuBLAS); }
Switch cublas_bf16_reduction() { return reduction(&Context::allowBF16ReductionCuBLAS, &Context::setAllowBF16ReductionCuBLAS); }
Switch cublas_fp16_accumulation() { return BOOLEAN(allowFP16AccumulationCuBLAS, setAllowFP16AccumulationCuBLAS); }
Switch flash_attention() { return BOOLEAN(userEnabledFlashSDP, setSDPUseFlash); }
Switch mem_efficient_attention() { return BOOLEAN(userEnabledMemEfficientSDP, setSDPUseMemEfficient); }
Switch cudnn_attention() { return BOOLEAN(userEnabledCuDNNSDP, setSDPUseCuDNN); }
Switch math_attention() { return BOOLEAN(userEnabledMathSDP, setSDPUseMath); }
Switch math_attention_reduction() { return BOOLEAN(allowFP16BF16ReductionMathSDP, setAllowFP16BF16ReductionMathSDP); }
Switch deterministic_algorithms() {
	return {[] { return static_cast<int64_t>(at::globalContext().deterministicAlgorithms()); },
	        [](int64_t v) { at::globalContext().setDeterministicAlgorithms(v != 0, at::globalContext().deterministicAlgorithmsWarnOnly()); }};
}
Switch deterministic_warn_only() {
	return {[] { return static_cast<int64_t>(at::globalContext().deterministicAlgorithmsWarnOnly()); },
	        [](int64_t v) { at::globalContext().setDeterministicAlgorithms(at::globalContext().deterministicAlgorithms(), v != 0); }};
}
Switch deterministic_fill() { return BOOLEAN(deterministicFillUninitializedMemory, setDeterministicFillUninitializedMemory); }
Switch mkldnn_enabled() { return BOOLEAN(userEnabledMkldnn, setUserEnabledMkldnn); }
Switch mkldnn_deterministic() { return BOOLEAN(deterministicMkldnn, setDeterministicMkldnn); }
Switch mkldnn_conv_precision() { return precision(Float32Backend::MKLDNN, Float32Op::CONV); }
Switch mkldnn_rnn_precision() { return precision(Float32Backend::MKLDNN, Float32Op::RNN); }
Switch mkldnn_matmul_precision() { return precision(Float32Backend::MKLDNN, Float32Op::MATMUL); }

}  // namespace setting

const Switch& find(uint64_t i) {
#define SETTING(name) setting::name(),
	static const std::vector<Switch> switches{
#include "settings.def"
	};
#undef SETTING
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
