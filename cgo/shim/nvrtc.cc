// Kernels from source: NVRTC compiles them, the driver launches them. Neither is linked to; of
// both a few functions are used, with the prototypes that NVIDIA documents.
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <map>
#include <mutex>

#include "boxed.h"
#include "entries.h"

namespace tg {
namespace {

template <class F>
F* symbol(void* library, const char* name) {
	auto f = reinterpret_cast<F*>(dlsym(library, name));
	TORCH_CHECK_NOT_IMPLEMENTED(f != nullptr, "the library of CUDA's in this process has no function ", name);
	return f;
}

#define FUNCTION(library, name, ...) int (*name)(__VA_ARGS__) = symbol<int(__VA_ARGS__)>(library, #name)

using Program = struct ProgramOpaque*;

struct Compiler {
	void* library;
	FUNCTION(library, nvrtcVersion, int*, int*);
	FUNCTION(library, nvrtcCreateProgram, Program*, const char*, const char*, int, const char* const*, const char* const*);
	FUNCTION(library, nvrtcDestroyProgram, Program*);
	FUNCTION(library, nvrtcAddNameExpression, Program, const char*);
	FUNCTION(library, nvrtcGetLoweredName, Program, const char*, const char**);
	FUNCTION(library, nvrtcCompileProgram, Program, int, const char* const*);
	FUNCTION(library, nvrtcGetProgramLogSize, Program, size_t*);
	FUNCTION(library, nvrtcGetProgramLog, Program, char*);
	FUNCTION(library, nvrtcGetCUBINSize, Program, size_t*);
	FUNCTION(library, nvrtcGetCUBIN, Program, char*);
	const char* (*nvrtcGetErrorString)(int) = symbol<const char*(int)>(library, "nvrtcGetErrorString");

	void check(int result) const { TORCH_CHECK(result == 0, "NVRTC: ", nvrtcGetErrorString(result)); }
};

std::mutex compiler_mutex;
std::unique_ptr<Compiler> present;

const Compiler& compiler() {
	std::lock_guard<std::mutex> lock(compiler_mutex);
	TORCH_CHECK(present != nullptr, "NVRTC has not been opened");
	return *present;
}

struct Source {
	const Compiler& with;
	Program program = nullptr;

	Source(const Compiler& with, const char* text, const char* name) : with(with) {
		with.check(with.nvrtcCreateProgram(&program, text, name, 0, nullptr, nullptr));
	}
	~Source() { with.nvrtcDestroyProgram(&program); }

	template <class Size, class Get>
	std::string text(Size size, Get get) const {
		size_t n = 0;
		with.check(size(program, &n));
		std::string s(n, '\0');
		with.check(get(program, s.data()));
		return s;
	}
	std::string log() const {
		auto s = text(with.nvrtcGetProgramLogSize, with.nvrtcGetProgramLog);
		s.resize(std::strlen(s.c_str()));  // it ends with a zero
		return s;
	}
};

using Context = struct ContextOpaque*;
using Module = struct ModuleOpaque*;
using Function = struct FunctionOpaque*;

struct Driver {
	void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	FUNCTION(library, cuInit, unsigned);
	FUNCTION(library, cuDeviceGet, int*, int);
	FUNCTION(library, cuDeviceGetAttribute, int*, int, int);
	FUNCTION(library, cuDevicePrimaryCtxRetain, Context*, int);
	FUNCTION(library, cuCtxGetCurrent, Context*);
	FUNCTION(library, cuCtxSetCurrent, Context);
	FUNCTION(library, cuModuleLoadData, Module*, const void*);
	FUNCTION(library, cuModuleUnload, Module);
	FUNCTION(library, cuModuleGetFunction, Function*, Module, const char*);
	FUNCTION(library, cuFuncSetAttribute, Function, int, int);
	FUNCTION(library, cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
	FUNCTION(library, cuGetErrorString, int, const char**);

	void check(int result, const char* what) const {
		if (result == 0) {
			return;
		}
		const char* text = nullptr;
		cuGetErrorString(result, &text);
		auto message = c10::str(what, ": ", text == nullptr ? "an unknown error" : text, " (CUDA error ", result, ")");
		constexpr int kInvalidValue = 1, kNoBinary = 209, kNotFound = 500, kOutOfResources = 701;
		TORCH_CHECK_VALUE(result != kInvalidValue && result != kNoBinary && result != kNotFound && result != kOutOfResources, message);
		throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, result, message);
	}

	// The context that libtorch uses on a card, made where there is none yet.
	Context primary(int device) const {
		static std::mutex mutex;
		static std::map<int, Context> contexts;
		std::lock_guard<std::mutex> lock(mutex);
		auto& context = contexts[device];
		if (context == nullptr) {
			check(cuInit(0), "starting the driver");
			check(cuDevicePrimaryCtxRetain(&context, device), "using the device");
		}
		return context;
	}
};

const Driver& driver() {
	static const Driver d;
	return d;
}

// On makes a card the current one of this thread, for libtorch and for the driver.
class On {
 public:
	explicit On(int device) : guard_(c10::DeviceType::CUDA), before_(guard_.exchangeDevice(at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device)))) {
		Context now = nullptr;
		driver().check(driver().cuCtxGetCurrent(&now), "asking for the context");
		if (auto wanted = driver().primary(device); now != wanted) {
			driver().check(driver().cuCtxSetCurrent(wanted), "entering the context");
		}
	}
	~On() { guard_.uncheckedSetDevice(before_); }
	On(const On&) = delete;
	On& operator=(const On&) = delete;

	void* stream(int device) const {
		return guard_.getStream(at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device))).native_handle();
	}

 private:
	c10::impl::VirtualGuardImpl guard_;
	at::Device before_;
};

// An argument of a kernel: a tensor that it reads, one that it may change, or bits.
enum class Pass : uint64_t { read, change, bits };

std::vector<std::string> strings(Args& a) {
	std::vector<std::string> list(a.next());
	for (auto& s : list) {
		s = a.string();
	}
	return list;
}

std::vector<const char*> pointers(const std::vector<std::string>& list) {
	std::vector<const char*> p;
	for (const auto& s : list) {
		p.push_back(s.c_str());
	}
	return p;
}

}  // namespace

namespace entry {

// nvrtc_open(path of libnvrtc) -> major and minor version. Its builtins, which it opens by
// name when it first compiles, lie beside it and are opened before (paths, in this order).
void nvrtc_open(Args& a, Results& r) {
	std::lock_guard<std::mutex> lock(compiler_mutex);
	if (present == nullptr) {
		void* library = nullptr;
		for (const auto& path : strings(a)) {
			library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
			TORCH_CHECK_NOT_IMPLEMENTED(library != nullptr, dlerror());
		}
		present = std::make_unique<Compiler>(Compiler{library});
	}
	int major = 0, minor = 0;
	present->check(present->nvrtcVersion(&major, &minor));
	r.integer(major);
	r.integer(minor);
}

// nvrtc_compile(source, its name, options, instances) -> boxed: the binary or None, the log, the
// instances' symbols
void nvrtc_compile(Args& a, Results& r) {
	const auto& with = compiler();
	std::string text(a.string());
	std::string name(a.string());
	auto options = strings(a);
	auto instances = strings(a);
	Source source(with, text.c_str(), name.c_str());
	for (const auto& instance : instances) {
		with.check(with.nvrtcAddNameExpression(source.program, instance.c_str()));
	}
	auto flags = pointers(options);
	int result = with.nvrtcCompileProgram(source.program, static_cast<int>(flags.size()), flags.data());
	constexpr int kCompilation = 6;
	if (result != kCompilation) {
		with.check(result);
	}
	std::vector<c10::IValue> values{c10::IValue(), source.log()};
	if (result == 0) {
		values[0] = source.text(with.nvrtcGetCUBINSize, with.nvrtcGetCUBIN);
		for (const auto& instance : instances) {
			const char* lowered = nullptr;
			with.check(with.nvrtcGetLoweredName(source.program, instance.c_str(), &lowered));
			values.emplace_back(std::string(lowered));
		}
	}
	put_boxed(r, values);
}

// kernel_arch(device) -> 90 for compute capability 9.0
void kernel_arch(Args& a, Results& r) {
	int device = static_cast<int>(a.integer()), major = 0, minor = 0;
	constexpr int kMajor = 75, kMinor = 76;
	driver().check(driver().cuInit(0), "starting the driver");
	driver().check(driver().cuDeviceGetAttribute(&major, kMajor, device), "asking for the compute capability");
	driver().check(driver().cuDeviceGetAttribute(&minor, kMinor, device), "asking for the compute capability");
	r.integer(major * 10 + minor);
}

// kernel_load(device, binary) -> module
void kernel_load(Args& a, Results& r) {
	On on(static_cast<int>(a.integer()));
	std::string image(a.string());
	Module module = nullptr;
	driver().check(driver().cuModuleLoadData(&module, image.data()), "loading the module");
	r.put(reinterpret_cast<uint64_t>(module));
}

void kernel_unload(Args& a, Results&) {
	On on(static_cast<int>(a.integer()));
	driver().check(driver().cuModuleUnload(reinterpret_cast<Module>(a.next())), "unloading the module");
}

// kernel_function(device, module, symbol) -> function
void kernel_function(Args& a, Results& r) {
	On on(static_cast<int>(a.integer()));
	auto module = reinterpret_cast<Module>(a.next());
	std::string name(a.string());
	Function function = nullptr;
	driver().check(driver().cuModuleGetFunction(&function, module, name.c_str()), "finding the kernel");
	r.put(reinterpret_cast<uint64_t>(function));
}

// kernel_launch(device, function, grid (3), block (3), shared bytes, arguments)
void kernel_launch(Args& a, Results&) {
	int device = static_cast<int>(a.integer());
	On on(device);
	auto function = reinterpret_cast<Function>(a.next());
	std::array<unsigned, 6> shape{};
	for (auto& n : shape) {
		n = static_cast<unsigned>(a.next());
	}
	auto shared = static_cast<unsigned>(a.next());
	std::vector<uint64_t> values(a.next());
	std::vector<at::Tensor> changed;
	for (auto& v : values) {
		auto pass = static_cast<Pass>(a.next());
		if (pass == Pass::bits) {
			v = a.next();
			continue;
		}
		const auto& t = a.tensor();
		if (pass == Pass::change && t.defined()) {
			changed.push_back(t);
		}
		v = reinterpret_cast<uint64_t>(!t.defined() ? nullptr : pass == Pass::change ? t.mutable_data_ptr() : t.const_data_ptr());
	}
	std::vector<void*> addresses;
	for (auto& v : values) {
		addresses.push_back(&v);
	}
	constexpr unsigned kUsualShared = 48 * 1024;
	constexpr int kMaxDynamicShared = 8;
	if (shared > kUsualShared) {
		driver().check(driver().cuFuncSetAttribute(function, kMaxDynamicShared, static_cast<int>(shared)), "asking for shared memory");
	}
	driver().check(driver().cuLaunchKernel(function, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shared, on.stream(device), addresses.data(), nullptr),
	               "launching the kernel");
	for (const auto& t : changed) {
		t.unsafeGetTensorImpl()->bump_version();
	}
}

}  // namespace entry
}  // namespace tg
