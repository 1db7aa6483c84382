// The way from libtorch into Go, and the hooks of tensors that take it.
#include "callback.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <mutex>

#include "entries.h"
#include "table.h"

namespace tg {

tg_callback enter_go = nullptr;

namespace {

std::mutex dropped_mutex;
std::vector<uint64_t> dropped_ids;
std::atomic<bool> dropped_any{false};

}  // namespace

Lent::~Lent() {
	uint64_t id = give_back();
	if (id == 0) {
		return;
	}
	std::lock_guard<std::mutex> lock(dropped_mutex);
	dropped_ids.push_back(id);
	dropped_any.store(true, std::memory_order_relaxed);
	thread.flags |= TG_DROPPED;
}

bool any_dropped() {
	return dropped_any.load(std::memory_order_relaxed);
}

at::Tensor take(uint64_t handle) {
	if (handle == 0) {
		return {};
	}
	return at::Tensor(c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>::reclaim(reinterpret_cast<at::TensorImpl*>(handle)));
}

std::vector<uint64_t> call_go(uint64_t id, uint64_t arg, at::TensorList in, size_t count) {
	Thread& t = thread;
	TORCH_CHECK(t.door != Door::plain,
	            "a Go function (a hook, a custom function) is wanted inside of an operation that cannot run any: of all operations only "
	            "Backward, Grad and Call can");
	std::vector<uint64_t> handles;
	handles.reserve(in.size());
	for (const auto& x : in) {
		handles.push_back(release(at::Tensor(x)));
	}
	std::vector<uint64_t> out(count);
	tg_turn turn{id,
	             arg,
	             reinterpret_cast<uint64_t>(handles.data()),
	             reinterpret_cast<uint64_t>(out.data()),
	             static_cast<uint32_t>(in.size()),
	             static_cast<uint32_t>(count),
	             0};
	Door door = t.door;
	uint64_t scope = t.scope;
	t.door = Door::none;
	t.turns++;
	enter_go(&turn);
	t.turns--;
	t.door = door;
	t.scope = scope;
	if (turn.failure != 0) {
		throw GoFailure(turn.failure);
	}
	return out;
}

std::vector<at::Tensor> call_go_tensors(uint64_t id, uint64_t arg, at::TensorList in, size_t count) {
	std::vector<at::Tensor> list;
	list.reserve(count);
	for (uint64_t handle : call_go(id, arg, in, count)) {
		list.push_back(take(handle));
	}
	return list;
}

namespace {

using torch::autograd::Variable;
using torch::autograd::variable_list;

// The Go functions of one tensor, in the order they were registered.
class Hooks : public std::enable_shared_from_this<Hooks> {
 public:
	~Hooks() {
		for (const auto& hook : list_) {
			homes().erase(hook->id());
		}
	}
	void add(Loan hook) {
		homes().put(hook->id(), shared_from_this());
		std::lock_guard<std::mutex> lock(mutex_);
		list_.push_back(std::move(hook));
	}
	void remove(uint64_t id) {
		homes().erase(id);
		std::lock_guard<std::mutex> lock(mutex_);
		std::erase_if(list_, [&](const Loan& hook) { return hook->id() == id; });
	}
	// A hook may add and remove others: they are seen the next time.
	std::vector<Loan> list() {
		std::lock_guard<std::mutex> lock(mutex_);
		return list_;
	}
	// Where the hook of that number is.
	static Table<std::weak_ptr<Hooks>>& homes() {
		static auto& table = *new Table<std::weak_ptr<Hooks>>;
		return table;
	}

 private:
	std::mutex mutex_;
	std::vector<Loan> list_;
};

// Hooks on the gradient of a tensor, which is number index of its node's.
struct GradientHooks final : torch::autograd::FunctionPreHook {
	size_t index;
	std::shared_ptr<Hooks> hooks = std::make_shared<Hooks>();

	explicit GradientHooks(size_t index) : index(index) {}
	variable_list operator()(const variable_list& grads) override {
		variable_list results(grads);
		auto& grad = results.at(index);
		for (const auto& hook : hooks->list()) {
			auto changed = call_go_tensors(hook->id(), 0, {grad}, 1).front();
			if (changed.defined()) {
				TORCH_CHECK(grad.defined(), "a hook cannot make a gradient where there is none");
				torch::autograd::check_variable_result(grad, changed, "a Go hook");
				grad = std::move(changed);
			}
		}
		return results;
	}
};

struct AccumulateHooks final : torch::autograd::PostAccumulateGradHook {
	std::shared_ptr<Hooks> hooks = std::make_shared<Hooks>();

	void operator()(const Variable& leaf) override {
		for (const auto& hook : hooks->list()) {
			call_go(hook->id(), 0, {leaf}, 0);
		}
	}
};

const at::Tensor& with_gradient(Args& a) {
	const auto& t = a.tensor();
	TORCH_CHECK(t.defined() && t.requires_grad(), "a tensor that does not require gradients cannot have hooks");
	return t;
}

}  // namespace

namespace entry {

// add_hook(t, id): the Go function is called with each gradient of t, and may replace it.
void add_hook(Args& a, Results&) {
	const auto& t = with_gradient(a);
	auto hook = std::make_shared<Lent>(a.next());
	auto node = t.grad_fn();
	auto index = static_cast<size_t>(node ? t.output_nr() : 0);
	auto& all = node ? node->tensor_pre_hooks() : torch::autograd::impl::hooks(t);
	for (auto& present : all) {
		auto ours = dynamic_cast<GradientHooks*>(present.get());
		if (ours != nullptr && ours->index == index) {
			ours->hooks->add(std::move(hook));
			return;
		}
	}
	auto first = std::make_unique<GradientHooks>(index);
	first->hooks->add(std::move(hook));
	all.push_back(std::move(first));
}

// add_accumulate_hook(t, id): the Go function is called when t, a leaf, has got a gradient.
void add_accumulate_hook(Args& a, Results&) {
	const auto& t = with_gradient(a);
	auto hook = std::make_shared<Lent>(a.next());
	TORCH_CHECK(t.is_leaf(), "only a leaf has gradients accumulated, and hooks for that");
	auto& present = torch::autograd::impl::post_acc_grad_hooks(t);
	if (!present) {
		torch::autograd::impl::set_post_acc_grad_hooks(t, std::make_unique<AccumulateHooks>());
	}
	static_cast<AccumulateHooks&>(*present).hooks->add(std::move(hook));
}

void remove_hook(Args& a, Results&) {
	uint64_t id = a.next();
	if (auto home = Hooks::homes().find(id)) {
		home->remove(id);
	}
}

// dropped() -> the numbers that nobody holds any longer
void dropped(Args&, Results& r) {
	std::vector<uint64_t> taken;
	{
		std::lock_guard<std::mutex> lock(dropped_mutex);
		taken.swap(dropped_ids);
		dropped_any.store(false, std::memory_order_relaxed);
	}
	r.words(taken);
}

}  // namespace entry
}  // namespace tg
