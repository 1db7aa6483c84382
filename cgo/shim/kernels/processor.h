// What the processor that this runs on has.
#pragma once

namespace tg::processor {

// The kernels that it runs, and what it is fast at.
struct Abilities {
	bool avx2;           // and FMA
	bool avx512;
	bool vnni;           // and AVX-512 for numbers of eight bits
	bool bfloat16;       // the same for those of bfloat16
	bool tiles;          // AMX, with bfloat16
	bool wide;           // it multiplies vectors of 512 bits at once, and not in two halves
	bool fast_bfloat16;  // products of bfloat16 take less time than those of float32
	bool functions;      // libtorch's functions of vectors take those of all kernels
};

const Abilities& abilities();

}  // namespace tg::processor
