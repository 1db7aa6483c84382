// What libtorch's autograd asks of the language in front of it: hooks on the tensors that it
// saves, and what anomaly mode keeps of a node.
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include "callback.h"
#include "compat.h"
#include "entries.h"
#include "guard.h"

namespace tg {

std::vector<uint64_t> recorded_stack() {
	return {thread.stack, thread.stack + thread.depth};
}

namespace {

using namespace torch::autograd;

thread_local std::vector<Loan> saved_hooks;  // the innermost last

// One saved tensor, packed by a Go function: what that made of it is Go's, by number.
class Packed final : public SavedVariableHooks {
 public:
	explicit Packed(Loan function) : function_(std::move(function)) {}
	void call_pack_hook(const at::Tensor& x) override {
		value_ = std::make_unique<Lent>(call_go(function_->id(), 0, {x}, 1).front());
	}
	at::Tensor call_unpack_hook() override {
		auto x = call_go_tensors(function_->id(), value_->id(), {}, 1).front();
		TORCH_CHECK(x.defined(), "the function that unpacks saved tensors returned the undefined tensor");
		return x;
	}

 private:
	Loan function_;
	std::unique_ptr<Lent> value_;
};

// SavedHooks pack what this thread saves while they last.
struct SavedHooks final : Guard {
	explicit SavedHooks(uint64_t function) { saved_hooks.push_back(std::make_shared<Lent>(function)); }
	~SavedHooks() override { saved_hooks.pop_back(); }
};

// Where in Go a node was recorded.
struct Recorded final : AnomalyMetadata {
	std::vector<uint64_t> stack;
	NodePtr<Node> parent;  // the node that was running then, if this one was made in a backward pass

	void store_stack() override { stack = recorded_stack(); }
	void print_stack(const std::string&) override {}  // the exception tells: see thread_on_exception
	void assign_parent(const NodePtr<Node>& node) override { parent = node; }
};

// trail_of lists a node and those in whose backward passes it came about.
std::vector<uint64_t> trail_of(Node* node) {
	std::vector<uint64_t> words;
	while (node != nullptr) {
		auto recorded = dynamic_cast<Recorded*>(node->metadata());
		if (recorded == nullptr) {
			break;
		}
		put_text(words, node->name());
		words.push_back(recorded->stack.size());
		words.insert(words.end(), recorded->stack.begin(), recorded->stack.end());
		node = recorded->parent.get();
	}
	return words;
}

class GoEngine final : public Engine {
 public:
	static Engine& instance() {
		static auto& engine = *new GoEngine;  // its threads may outlive all destructors
		return engine;
	}
	std::unique_ptr<AnomalyMetadata> make_anomaly_metadata() override { return std::make_unique<Recorded>(); }
	std::unique_ptr<SavedVariableHooks> get_default_saved_variable_hooks() override {
		return saved_hooks.empty() ? nullptr : std::make_unique<Packed>(saved_hooks.back());
	}
	void thread_on_exception(const std::shared_ptr<GraphTask>& task, const NodePtr<Node>& node, std::exception& e) override {
		if (!AnomalyMode::is_enabled() || !node) {
			Engine::thread_on_exception(task, node, e);
			return;
		}
		Anomaly anomaly;
		anomaly.cause = std::current_exception();
		anomaly.text = e.what();
		anomaly.trail = trail_of(node.get());
		try {
			throw anomaly;
		} catch (std::exception& told) {
			Engine::thread_on_exception(task, node, told);
		}
	}
};

}  // namespace

void use_own_engine() {
	set_default_engine_stub(&GoEngine::instance);
}

namespace entry {

// enter_saved_hooks(id) -> guard. The function gets a tensor and answers with the number of
// what it made of it; it gets that number and answers with a tensor.
void enter_saved_hooks(Args& a, Results& r) {
	enter<SavedHooks>(r, a.next());
}

// backward_number() -> of the backward pass that this thread runs, or -1
void backward_number(Args&, Results& r) {
	r.integer(get_current_graph_task_id());
}

void set_anomaly(Args& a, Results&) {
	bool on = a.boolean();
	AnomalyMode::set_enabled(on, a.boolean());
}

}  // namespace entry
}  // namespace tg
