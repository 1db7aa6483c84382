// The way to the second shim: its entries have numbers here, and a call of one goes on
// to the table that the second shim left where the dynamic linker finds it.
#include <dlfcn.h>

#include "entries.h"

namespace tg {
namespace {

enum Number : size_t {
#define ENTRY(name)
#define CUDA_ENTRY(name) number_##name,
#include "entries.def"
#undef CUDA_ENTRY
#undef ENTRY
};

const Entry* find() {
	auto open = reinterpret_cast<tg_cuda_open_fn>(dlsym(RTLD_DEFAULT, "tg_cuda_open"));
	if (open == nullptr) {
		return nullptr;
	}
	const tg_cuda_api* api = open();
	return api->abi == TG_ABI && api->torch_version == TG_TORCH_VERSION ? static_cast<const Entry*>(api->entries) : nullptr;
}

// The second shim is opened before this one or not at all.
void pass(Number n, Args& a, Results& r) {
	static const Entry* entries = find();
	TORCH_CHECK_NOT_IMPLEMENTED(entries != nullptr, "this takes libtorchgo_cuda.so, which was not beside libtorchgo.so: run libtorch install -cuda or, in a checkout, ./build.sh");
	entries[n](a, r);
}

}  // namespace

namespace entry {
#define ENTRY(name)
#define CUDA_ENTRY(name) \
	void name(Args& a, Results& r) { pass(number_##name, a, r); }
#include "entries.def"
#undef CUDA_ENTRY
#undef ENTRY
}  // namespace entry
}  // namespace tg
