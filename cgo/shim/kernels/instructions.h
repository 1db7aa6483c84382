// The instructions that a file's kernels are compiled for. Some may be emulated, for tests.
#pragma once

#if defined(TG_EMULATED)
#include "emulated/avx512.h"
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) || defined(TG_EMULATED)
#define TG_AVX512
#endif
#if defined(__AVX512BF16__) || defined(TG_EMULATED)
#define TG_BFLOAT16
#endif
#if defined(__AVX512VNNI__) || defined(TG_EMULATED)
#define TG_VNNI
#endif
