// Functions with a derivative written in Go: their node in the graph.
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_set>

#include "callback.h"
#include "compat.h"
#include "entries.h"
#include "table.h"

namespace tg {
namespace {

using namespace torch::autograd;

class GoNode final : public OwnNode {
 public:
	GoNode(Loan function, std::string name) : function_(std::move(function)), name_(std::move(name)) {}
	void abandoned() override { all().erase(function_->id()); }

	std::string name() const override { return name_; }

	// The inputs of the function that are tensors: the others have no edge.
	void set_inputs(const variable_list& inputs) {
		variable_list given;
		for (const auto& x : inputs) {
			given_.push_back(x.defined());
			if (x.defined()) {
				given.push_back(x);
			}
		}
		set_next_edges(collect_next_edges(given));
		clear_input_metadata();
	}

	void set_outputs(const std::vector<std::optional<Variable>>& outputs, bool materialize) {
		materialize_ = materialize;
		for (const auto& y : outputs) {
			outputs_.push_back(y ? VariableInfo(*y) : VariableInfo());
		}
	}

	void save(const variable_list& list) {
		for (const auto& x : list) {
			bool is_output = x.defined() && x.grad_fn().get() == this;
			saved_.emplace_back(x, is_output);
		}
	}

	std::vector<at::Tensor> saved() {
		std::lock_guard<std::mutex> lock(mutex_);
		TORCH_CHECK(!released_, ERR_BACKWARD_TWICE);
		std::vector<at::Tensor> list;
		for (const auto& x : saved_) {
			list.push_back(x.unpack(getptr()));
		}
		return list;
	}

	void release_variables() override {
		std::lock_guard<std::mutex> lock(mutex_);
		released_ = !saved_.empty();
		saved_.clear();
	}

	variable_list apply(variable_list&& grads) override {
		at::OptionalDeviceGuard device;
		for (size_t i = 0; materialize_ && i < grads.size(); i++) {
			if (!grads[i].defined()) {
				grads[i] = outputs_[i].zeros(device);
			}
		}
		uint64_t wanted = 0;  // a bit for each of the first 64 inputs
		size_t edge = 0;
		for (size_t i = 0; i < given_.size(); i++) {
			if (given_[i] && task_should_compute_output(edge++) && i < 64) {
				wanted |= uint64_t{1} << i;
			}
		}
		auto answer = call_go_tensors(function_->id(), wanted, grads, given_.size());
		variable_list results;
		for (size_t i = 0; i < given_.size(); i++) {
			if (given_[i]) {
				results.push_back(std::move(answer[i]));
			} else {
				TORCH_CHECK(!answer[i].defined(), "function ", name_, " returned a gradient for input ", i, ", which was the undefined tensor");
			}
		}
		return results;
	}

	// The nodes by the number of their function.
	static Table<WeakNodePtr<GoNode>>& all() {
		static auto& table = *new Table<WeakNodePtr<GoNode>>;
		return table;
	}

 private:
	Loan function_;
	std::string name_;
	std::vector<bool> given_;
	std::vector<VariableInfo> outputs_;
	std::vector<SavedVariable> saved_;
	bool materialize_ = true;
	bool released_ = false;
};

using Impls = std::unordered_set<at::TensorImpl*>;

Impls impls(const variable_list& list) {
	Impls set;
	for (const auto& x : list) {
		set.insert(x.unsafeGetTensorImpl());
	}
	return set;
}

variable_list no_forward_mode(const variable_list&, const variable_list&) {
	TORCH_CHECK_NOT_IMPLEMENTED(false, "a function written in Go has no derivative in forward mode");
}

}  // namespace

namespace entry {

// apply_function(id, name, materialize, inputs, outputs, saved, not differentiable, dirty) -> outputs
//
// The outputs were computed outside of the graph; here they become those of a node.
void apply_function(Args& a, Results& r) {
	auto function = std::make_shared<Lent>(a.next());
	std::string name(a.string());
	bool materialize = a.boolean();
	auto inputs = a.variables();
	auto outputs = a.variables();
	auto saved = a.variables();
	auto fixed = a.variables();
	auto dirty = a.variables();
	variable_list given;
	std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(given), [](const Variable& x) { return x.defined(); });
	for (const auto& x : dirty) {
		x.unsafeGetTensorImpl()->bump_version();
	}

	NodePtr<GoNode> node;
	if (GradMode::is_enabled() && any_variable_requires_grad(given)) {
		uint64_t id = function->id();
		node = make_node<GoNode>(std::move(function), std::move(name));
		GoNode::all().put(id, WeakNodePtr<GoNode>(node));
		node->set_inputs(inputs);
	}
	std::vector<std::optional<Variable>> raw;
	for (const auto& y : outputs) {
		raw.push_back(y.defined() ? std::optional(y) : std::nullopt);
	}
	auto view_as_self = [](const at::Tensor& x) { return x.view_as(x); };
	auto wrapped = wrap_outputs(given, impls(fixed), impls(dirty), raw, node, no_forward_mode, Impls(), view_as_self, false);
	if (node) {
		node->set_outputs(wrapped, materialize);
		node->save(saved);
	}
	std::vector<at::Tensor> results;
	for (auto& y : wrapped) {
		results.push_back(y.value_or(at::Tensor()));
	}
	r.tensors(std::move(results));
}

// saved_tensors(id) -> what the function of that number has saved
void saved_tensors(Args& a, Results& r) {
	auto node = GoNode::all().find(a.next());
	TORCH_CHECK(node, "the graph that these tensors were saved in is gone, or was never recorded");
	r.tensors(node->saved());
}

}  // namespace entry
}  // namespace tg
