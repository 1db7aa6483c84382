#include "processor.h"

namespace tg::processor {
namespace {

#if !defined(__x86_64__)
Abilities found() {
	Abilities none{};
	none.fast_bfloat16 = true;  // wherever libtorch has instructions for it
	return none;
}
#else
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#if defined(TG_EMULATED)
Abilities found() {
	const bool all = has_avx2();
	return {.avx2 = all,
	        .avx512 = all,
	        .vnni = all,
	        .bfloat16 = all,
	        .tiles = false,
	        .wide = all,
	        .fast_bfloat16 = all,
	        .functions = false};
}
#else
// Tiles take many times as many numbers of bfloat16 as vectors take of float32, and AMD's vectors twice as many. With Intel's vectors bfloat16
// took twice as long as float32 where it was measured (bench/README.md).
Abilities found() {
	const bool avx512 = __builtin_cpu_supports("avx512f"), tiles = __builtin_cpu_supports("amx-bf16");
	const bool more = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
	const bool bfloat16 = __builtin_cpu_supports("avx512bf16");
	return {.avx2 = has_avx2(),
	        .avx512 = avx512,
	        .vnni = __builtin_cpu_supports("avx512vnni") && more,
	        .bfloat16 = bfloat16 && more,
	        .tiles = tiles,
	        .wide = avx512 && !__builtin_cpu_is("amdfam19h"),  // Zen 4
	        .fast_bfloat16 = tiles || (__builtin_cpu_is("amd") && bfloat16),
	        .functions = true};
}
#endif
#endif

}  // namespace

const Abilities& abilities() {
	static const Abilities own = found();
	return own;
}

}  // namespace tg::processor
