// Operators and kernels registered from Go: torch::Library behind numbers, and kernels that
// lead into Go. A kernel is told the address of its call; it fetches the arguments from
// there and leaves its results there, both as boxed values.
#include "library.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <unordered_map>

#include "boxed.h"
#include "callback.h"
#include "entries.h"

namespace tg {
namespace {

using c10::OperatorHandle;
using torch::jit::Stack;

std::shared_mutex& registration() {
	static auto& mutex = *new std::shared_mutex;
	return mutex;
}

thread_local int calls = 0;  // by name, on this thread, one inside of the other

std::unique_lock<std::shared_mutex> registering() {
	TORCH_CHECK(calls == 0, "operators cannot be registered or taken back inside of a call of an operator by name");
	return std::unique_lock(registration());
}

struct Invocation {
	const OperatorHandle& op;
	c10::DispatchKeySet keys;
	at::ArrayRef<c10::IValue> arguments;
	std::optional<Stack> results;
};

Invocation& invocation(Args& a) {
	return *reinterpret_cast<Invocation*>(a.next());
}

class GoKernel final : public c10::OperatorKernel {
 public:
	explicit GoKernel(uint64_t id) : function_(id) {}

	void operator()(const OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
		const auto& schema = op.schema();
		size_t below = stack->size() - schema.arguments().size();
		Invocation call{op, keys, at::ArrayRef<c10::IValue>(*stack).slice(below), std::nullopt};
		call_go(function_.id(), reinterpret_cast<uint64_t>(&call), {}, 0);
		TORCH_CHECK(call.results.has_value(), "the kernel of ", schema.name(), " has left no results");
		stack->resize(below);
		std::move(call.results->begin(), call.results->end(), std::back_inserter(*stack));
	}

 private:
	Lent function_;
};

// What autograd has saved of a tensor that an operator changes is gone: those above learn of it
// here, whatever kernel does the change.
struct CountChanges final : public c10::OperatorKernel {
	void operator()(const OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
		const auto& declared = op.schema().arguments();
		std::vector<at::Tensor> changed;
		for (size_t i = 0; i < declared.size(); i++) {
			const auto& v = (*stack)[stack->size() - declared.size() + i];
			if (writes(declared[i])) {
				each_tensor(v, [&](const at::Tensor& t) { changed.push_back(t); });
			}
		}
		{
			at::AutoDispatchBelowADInplaceOrView guard;
			op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
		}
		for (const auto& x : changed) {
			if (x.defined() && !x.is_inference()) {
				x.unsafeGetTensorImpl()->bump_version();
			}
		}
	}
};

using torch::Library;

// The libraries by number.
std::unordered_map<uint64_t, std::unique_ptr<Library>>& libraries() {
	static auto& map = *new std::unordered_map<uint64_t, std::unique_ptr<Library>>;
	return map;
}

Library& find_library(Args& a) {
	auto at = libraries().find(a.next());
	TORCH_CHECK_VALUE(at != libraries().end(), "the library has been closed");
	return *at->second;
}

template <class Kernel, class... A>
void implement(Library& lib, const std::string& name, c10::DispatchKey key, A... a) {
	lib.impl(name.c_str(), torch::dispatch(key, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(a...))));
}

}  // namespace

Calling::Calling() : lock_(registration()) {
	calls++;
}

Calling::~Calling() {
	calls--;
}

namespace entry {

// operator_schema(name, overload) -> lines: the schema; then, for each argument and each
// result, "argument" or "result", its name, type, "keyword", "changed", and its default, by tabs
void operator_schema(Args& a, Results& r) {
	auto op = read_operator(a);
	std::ostringstream text;
	text << op.schema() << '\n';
	auto line = [&](const char* what, const c10::Argument& x) {
		text << what << '\t' << x.name() << '\t' << x.real_type()->str() << '\t' << (x.kwarg_only() ? "keyword" : "") << '\t'
		     << (writes(x) ? "changed" : "");
		if (x.default_value()) {
			text << '\t' << *x.default_value();
		}
		text << '\n';
	};
	for (const auto& x : op.schema().arguments()) {
		line("argument", x);
	}
	for (const auto& x : op.schema().returns()) {
		line("result", x);
	}
	r.string(text.str());
}

// open_library(namespace) -> number
void open_library(Args& a, Results& r) {
	auto lock = registering();
	static uint64_t last = 0;
	libraries().emplace(++last, std::make_unique<Library>(Library::FRAGMENT, std::string(a.string()), std::nullopt, "Go", 0));
	r.put(last);
}

// close_library(number): its operators and kernels are no longer
void close_library(Args& a, Results&) {
	auto lock = registering();
	libraries().erase(a.next());
}

// define_operator(library, schema)
void define_operator(Args& a, Results&) {
	auto lock = registering();
	auto& lib = find_library(a);
	std::string text(a.string());
	auto schema = torch::schema(text.c_str());
	auto name = c10::toString(schema.operator_name());
	bool changes = std::any_of(schema.arguments().begin(), schema.arguments().end(), writes);
	lib.def(std::move(schema));
	if (changes) {
		implement<CountChanges>(lib, name, c10::DispatchKey::ADInplaceOrView);
	}
}

// implement_operator(library, name with overload, dispatch key, id of the Go function)
void implement_operator(Args& a, Results&) {
	auto lock = registering();
	auto& lib = find_library(a);
	std::string name(a.string());
	auto key = c10::parseDispatchKey(std::string(a.string()));
	implement<GoKernel>(lib, name, key, a.next());
}

// kernel_arguments(call) -> values
void kernel_arguments(Args& a, Results& r) {
	put_boxed(r, invocation(a).arguments);
}

// kernel_redispatch(call, values) -> results of the kernels below autograd
void kernel_redispatch(Args& a, Results& r) {
	auto& call = invocation(a);
	auto stack = read_values(a, call.op.schema().arguments());
	at::AutoDispatchBelowAutograd guard;
	call.op.redispatchBoxed(call.keys & c10::after_autograd_keyset, &stack);
	put_boxed(r, stack);
}

// kernel_results(call, values): what the kernel answers with
void kernel_results(Args& a, Results&) {
	auto& call = invocation(a);
	call.results = read_values(a, call.op.schema().returns());
}

}  // namespace entry
}  // namespace tg
