// Small blocks of C++: operator new and delete for libtorch, in a library of their own that is opened before it, so that
// what libtorch asks for is found here. A tensor is two such blocks, three if autograd knows it. Results of a scope are freed all at
// once, and glibc's cache of a thread keeps seven blocks of a size: the others are merged with their neighbours and cut off again,
// a sixth of the time of an operator on a few numbers. A thread keeps more of them here. Blocks are malloc's, whoever
// frees them; a process that has another operator new before this one, as under AddressSanitizer, uses that and is not changed.
// It needs nothing but the C library: C++'s, which may lie beside libtorch, must not be looked for before libtorch is.
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "../keepers.h"

namespace {

constexpr size_t kStep = 16;      // from one size of glibc's to the next
constexpr size_t kSmallest = 24;  // what its smallest block holds

struct Small {
	static constexpr size_t kSizes = 32;  // up to 520 bytes
	static constexpr size_t size(size_t i) { return kSmallest + i * kStep; }
	static void free(void* block) { std::free(block); }
};
using Kept = tg::Kept<Small>;

[[gnu::noinline]] void* fetch(size_t n) {
	if (void* block = std::malloc(std::max<size_t>(n, 1))) {
		return block;
	}
	// Handlers and exceptions are the library's that is to be loaded after this one, beside libtorch: it has them behind this form, too.
	auto fail = reinterpret_cast<void* (*)(size_t, size_t)>(dlsym(RTLD_DEFAULT, "_ZnwmSt11align_val_t"));
	return fail != nullptr ? fail(n, alignof(std::max_align_t)) : (std::abort(), nullptr);
}

}  // namespace

__attribute__((visibility("default"))) void* operator new(size_t n) {
	size_t size = (std::max(n, kSmallest) - kSmallest + kStep - 1) / kStep;
	if (__builtin_expect(size < Small::kSizes, true)) {
		if (void* block = Kept::take(size)) {
			return block;
		}
	}
	return fetch(n);
}

__attribute__((visibility("default"))) void operator delete(void* block) noexcept {
	if (block == nullptr) {
		return;
	}
	// What is below the smallest is beyond the largest, too.
	size_t size = (malloc_usable_size(block) - kSmallest) / kStep;
	if (__builtin_expect(size >= Small::kSizes, false) || !Kept::keep(size, block)) {
		std::free(block);
	}
}

// The size that C++ knows is not used: where a program has it wrong, glibc does not care.
__attribute__((visibility("default"))) void operator delete(void* block, size_t) noexcept {
	operator delete(block);
}

// Gives malloc what threads keep: a block holds the whole page that it is in.
extern "C" __attribute__((visibility("default"))) void tg_heap_empty() {
	Kept::empty();
}
