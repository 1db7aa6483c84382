// Calls of operators are seen on a dispatch key above autograd and autocast, so that they are those of the program and not those
// that libtorch makes of them: linear, and not the product in it. libtorch uses the key for its own tests alone. A whole step of training
// is seen below autograd, with what runs backwards: on a key that libtorch keeps for others and does not use.
#include "record.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/max_pool1d_native.h>
#include <ATen/ops/max_pool1d_with_indices.h>
#include <torch/library.h>

#include <unordered_map>

#include "boxed.h"
#include "callback.h"
#include "entries.h"
#include "library.h"

namespace tg {
namespace {

using c10::IValue;
using torch::jit::Stack;

constexpr auto kAbove = c10::DispatchKey::TESTING_ONLY_GenericMode;
constexpr auto kBelow = c10::DispatchKey::Fake;

// Record is one call.
struct Record {
	std::string name, overload;
	std::vector<IValue> arguments, results;  // in which tensors are their numbers
	std::vector<uint64_t> stack;             // of Go
};

// Recording is what a thread has recorded. Tensors stay, so that their addresses remain theirs.
class Recording final : public Guard {
 public:
	explicit Recording(c10::DispatchKey key) : outer_(current), include_(key) { current = this; }
	~Recording() override { current = outer_; }

	int64_t number(const at::Tensor& t) {
		auto [at, fresh] = numbers_.try_emplace(t.unsafeGetTensorImpl(), static_cast<int64_t>(tensors.size()));
		if (fresh) {
			tensors.push_back(t);
		}
		return at->second;
	}

	// numbered is a value in which tensors are tuples of their numbers.
	IValue numbered(const IValue& v) {
		if (v.isTensor()) {
			return v.toTensor().defined() ? IValue(c10::ivalue::Tuple::create(number(v.toTensor()))) : IValue();
		}
		if (!v.isList()) {
			return v;
		}
		c10::impl::GenericList list(c10::AnyType::get());
		for (const IValue& e : v.toListRef()) {
			list.push_back(numbered(e));
		}
		return list;
	}

	// An argument that is its default is an empty tuple.
	IValue argument(const c10::Argument& declared, const IValue& v) {
		const auto& usual = declared.default_value();
		if (usual && !v.isTensor() && (v.isNone() ? usual->isNone() : !usual->isNone() && *usual == v)) {
			return c10::ivalue::Tuple::create(std::vector<IValue>());
		}
		return numbered(v);
	}

	std::vector<at::Tensor> tensors;  // by their numbers
	std::vector<Record> records;

	static thread_local Recording* current;

 private:
	std::unordered_map<at::TensorImpl*, int64_t> numbers_;
	Recording* outer_;
	c10::impl::IncludeDispatchKeyGuard include_;
};

thread_local Recording* Recording::current = nullptr;

bool is_tensors(const IValue& v) {
	return v.isNone() || v.isTensor() || v.isTensorList() || v.isOptionalTensorList();
}

// A step that is repeated needs no gradients, since what computes them is part of it. This operator asks for itself whether there will be
// some, rounds otherwise then and keeps what they are made of.
constexpr auto kLayer = "aten::mkldnn_rnn_layer", kLayerForGradients = "libtorchgo::mkldnn_rnn_layer";

void layer_for_gradients(const c10::OperatorHandle&, Stack* stack) {
	static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(kLayer, "");
	c10::AutoGradMode gradients(true);
	at::AutoDispatchBelowAutograd below;
	op.callBoxed(stack);
}

std::string name_of(const c10::FunctionSchema& schema) {
	return schema.name() == kLayer && c10::GradMode::is_enabled() ? kLayerForGradients : schema.name();
}

void record(const c10::OperatorHandle& op, Stack* stack) {
	Unrecorded below;
	auto* to = Recording::current;
	const auto& schema = op.schema();
	if (to == nullptr) {
		op.callBoxed(stack);
		return;
	}
	TORCH_CHECK(!at::autocast::is_autocast_enabled(at::kCPU) && !at::autocast::is_autocast_enabled(at::kCUDA),
	            "a program cannot be captured within autocast: cast its parameters and inputs instead");
	for (const auto& result : schema.returns()) {
		auto type = result.type()->str();
		TORCH_CHECK(type.find("Tensor") != std::string::npos, schema.name(), " gives Go a value of a tensor: a program that is captured takes ",
		            "the same way whatever its inputs are; use torch.Where, or keep the decision out of it");
	}
	size_t below_arguments = stack->size() - schema.arguments().size();
	Record r{name_of(schema), schema.overload_name(), {}, {}, recorded_stack()};
	for (size_t i = 0; i < schema.arguments().size(); i++) {
		const auto& v = (*stack)[below_arguments + i];
		TORCH_CHECK(!v.isGenerator(), "a program that is captured has no generators: ", schema.name(), " was given one");
		r.arguments.push_back(to->argument(schema.arguments()[i], v));
	}
	op.callBoxed(stack);
	for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); i++) {
		TORCH_CHECK(is_tensors((*stack)[i]), schema.name(), " returns more than tensors");
		r.results.push_back(to->numbered((*stack)[i]));
	}
	to->records.push_back(std::move(r));
}

// Where nothing needs gradients, libtorch computes this within itself, without an operator that could be seen.
at::Tensor max_pool1d(const at::Tensor& x, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                      bool ceil_mode) {
	if (Recording::current != nullptr && !c10::impl::tls_is_dispatch_key_excluded(kBelow)) {
		return std::get<0>(at::max_pool1d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
	}
	return at::native::max_pool1d(x, kernel, stride, padding, dilation, ceil_mode);
}

Recording& recording() {
	TORCH_CHECK(Recording::current != nullptr, "nothing is being captured");
	return *Recording::current;
}

IValue list_of(const std::vector<IValue>& values) {
	c10::impl::GenericList list(c10::AnyType::get());
	for (const auto& v : values) {
		list.push_back(v);
	}
	return list;
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, "
	      "int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) "
	      "-> (Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) {
	m.impl("mkldnn_rnn_layer", torch::CppFunction::makeFromBoxedFunction<&layer_for_gradients>());
}

}  // namespace

void refuse_recorded(const char* what) {
	bool excluded = c10::impl::tls_is_dispatch_key_excluded(kAbove);
	TORCH_CHECK(Recording::current == nullptr || excluded, what, ": a program that is captured takes the same way whatever its inputs are, and knows no values");
}

namespace entry {

// enter_recording(whether below autograd) -> guard: until it is left, the calls of this thread are recorded
void enter_recording(Args& a, Results& r) {
	static auto& libraries = *[] {
		auto list = new std::vector<torch::Library>;
		for (auto key : {kAbove, kBelow}) {
			list->emplace_back(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
			list->back().fallback(torch::CppFunction::makeFromBoxedFunction<&record>());
		}
		list->emplace_back(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradCPU, __FILE__, __LINE__);
		list->back().impl("max_pool1d", max_pool1d);
		return list;
	}();
	(void)libraries;
	enter<Recording>(r, a.boolean() ? kBelow : kAbove);
}

// is_exporting() -> whether this thread's calls become nodes of a program that others may run
void is_exporting(Args&, Results& r) {
	r.boolean(c10::impl::tls_is_dispatch_key_included(kAbove) && !c10::impl::tls_is_dispatch_key_excluded(kAbove));
}

// recorded(tensors) -> the numbers of the tensors; all tensors by their numbers; the calls: a list each of name, overload,
// arguments and results, and the addresses of Go's code that made it
void recorded(Args& a, Results& r) {
	Unrecorded unrecorded;
	auto& from = recording();
	std::vector<IValue> numbers, tensors, calls;
	for (const auto& t : a.tensors()) {
		numbers.emplace_back(from.number(t));
	}
	for (const auto& t : from.tensors) {
		tensors.emplace_back(t);
	}
	for (const auto& c : from.records) {
		std::vector<IValue> stack;
		for (auto address : c.stack) {
			stack.emplace_back(static_cast<int64_t>(address));
		}
		calls.push_back(list_of({c.name, c.overload, list_of(c.arguments), list_of(c.results), list_of(stack)}));
	}
	put_boxed(r, {list_of(numbers), list_of(tensors), list_of(calls)});
}

}  // namespace entry
}  // namespace tg
