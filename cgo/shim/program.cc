// Programs: lists of calls that run in one call. Operators, their rules and all arguments that are the same in each run
// are found once; a run has its values in slots of its own, so that many may go on at a time.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include "boxed.h"
#include "calculation.h"
#include "direct.h"
#include "entries.h"
#include "expected.h"
#include "guard.h"
#include "library.h"
#include "rules/boxed.h"
#include "slots.h"
#include "workers.h"

namespace tg {
namespace {

using c10::IValue;
using torch::jit::Stack;

constexpr uint32_t kNowhere = ~uint32_t{0};

std::vector<Template> read_templates(Args& a) {
	std::vector<Template> list;
	for (uint64_t n = a.next(); n > 0; n--) {
		list.push_back(Template::read(a, c10::AnyType::get()));
	}
	return list;
}

// Run is what one run of a program knows.
struct Run {
	uint64_t& at;   // the number of the step that runs
	bool learns;    // gradients go through an input or a constant
	bool dual;      // or derivatives in the other direction
	bool direct;    // what need not go through the dispatcher does not
	const std::atomic<uint32_t>* stop;  // the run ends early once it is not 0; none for one that does not

	// goes_on is an error once the run is to end: each step asks, and each turn of a loop, which may have no steps.
	void goes_on() const { TORCH_CHECK(stop == nullptr || stop->load(std::memory_order_relaxed) == 0, "the run was stopped"); }
};

class Step;

// Block is a list of steps, which compute outputs from inputs.
class Block {
 public:
	explicit Block(Args& a);
	~Block();
	Block(Block&&) noexcept;

	std::vector<IValue> run(Run& r, std::vector<IValue> inputs) const;
	void constants(std::vector<at::Tensor>& to) const;

 private:
	size_t slots_;
	std::vector<uint32_t> inputs_;  // where they go; kNowhere for those that nobody reads
	std::vector<Step> steps_;
	std::vector<Template> outputs_;
};

// Step is one call.
class Step {
 public:
	explicit Step(Args& a);

	void run(Run& r, Slots& slots, Stack& stack, bool plain) const;
	void constants(std::vector<at::Tensor>& to) const;
	void leave(std::unordered_set<uint32_t>& slots);

 private:
	enum class Does : uint64_t { call, size, calculate, assert_true, same, replace, cond, loop, grad, autocast };
	struct Output {
		Kind kind;
		uint32_t slot;
	};

	void read_call(Args& a);
	void read_outputs(Args& a);
	void compute(Run& r, Slots& slots, Stack& stack, bool plain) const;
	void call(const Run& r, Slots& slots, Stack& stack, bool plain) const;
	void keep(Slots& slots, Stack& results) const;
	Stack loop(Run& r, Stack carried) const;

	uint64_t id_;
	Does does_;
	std::string name_;
	std::optional<Operation> operation_;
	bool fresh_ = false;  // it makes its results, changes nothing, and is not made of other operators
	Direct direct_ = nullptr;
	Calculation calculation_ = nullptr;
	std::vector<Template> args_;
	std::vector<Block> blocks_;
	std::vector<std::vector<Output>> outputs_;  // one each, but for lists
	std::vector<bool> lists_;
};

Step::Step(Args& a) : id_(a.next()), does_(static_cast<Does>(a.next())), name_(a.string()) {
	switch (does_) {
		case Does::call: read_call(a); break;
		case Does::calculate: calculation_ = find_calculation(a.string()); [[fallthrough]];
		default: args_ = read_templates(a);
	}
	for (uint64_t n = a.next(); n > 0; n--) {
		blocks_.emplace_back(a);
	}
	read_outputs(a);
}

void Step::read_outputs(Args& a) {
	for (uint64_t n = a.next(); n > 0; n--) {
		uint64_t count = a.next();
		lists_.push_back(count != kNone);
		auto& all = outputs_.emplace_back();
		for (uint64_t k = count == kNone ? 1 : count; k > 0; k--) {
			auto kind = static_cast<Kind>(a.next());
			all.push_back({kind, static_cast<uint32_t>(a.next())});
		}
	}
}

// Positional arguments, then named ones, then the schema's defaults.
void Step::read_call(Args& a) {
	operation_.emplace(read_operator(a));
	const auto& op = operation_->op();
	refuse_inner(op.schema().name());
	const auto& declared = op.schema().arguments();
	std::vector<std::optional<Template>> given(declared.size());
	uint64_t positional = a.next();
	TORCH_CHECK_TYPE(positional <= declared.size(), "too many arguments: ", positional, " given, expected ", op.schema());
	for (uint64_t i = 0; i < positional; i++) {
		given[i] = Template::read(a, declared[i].type());
	}
	for (uint64_t n = a.next(); n > 0; n--) {
		std::string name(a.string());
		auto i = op.schema().argumentIndexWithName(name);
		TORCH_CHECK_TYPE(i.has_value(), "there is no argument ", name, ": ", op.schema());
		given[*i] = Template::read(a, declared[*i].type());
	}
	auto shared = [](const c10::Argument& x) { return x.alias_info() != nullptr; };
	fresh_ = !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
	         std::none_of(declared.begin(), declared.end(), shared);
	direct_ = find_direct(op.schema());
	for (size_t i = 0; i < declared.size(); i++) {
		if (!given[i]) {
			TORCH_CHECK_TYPE(declared[i].default_value(), "argument ", declared[i].name(), " is missing: ", op.schema());
			given[i] = Template::constant(*declared[i].default_value());
		}
		args_.push_back(std::move(*given[i]));
	}
}

std::string describe(const Stack& stack) {
	std::ostringstream text;
	const char* before = "with ";
	for (const auto& v : stack) {
		each_tensor(v, [&](const at::Tensor& t) {
			text << before << c10::getDtypeNames(t.scalar_type()).first << t.sizes();
			before = ", ";
		});
	}
	return text.str();
}

void Step::call(const Run& r, Slots& slots, Stack& stack, bool plain) const {
	for (const auto& x : args_) {
		stack.push_back(x.fill(slots));
	}
	if (direct_ != nullptr && plain && r.direct && direct_(stack)) {
		return;
	}
	try {
		if (plain && fresh_) {
			// Nobody records derivatives, and the results have no memory whose changes are counted elsewhere.
			at::AutoDispatchBelowADInplaceOrView below;
			operation_->run(stack);
		} else {
			operation_->run(stack);
		}
	} catch (c10::Error& e) {
		if (auto text = describe(stack); !text.empty()) {
			e.add_context(std::move(text));
		}
		throw;
	}
}

std::vector<IValue> from(Stack& v, size_t first) {
	v.erase(v.begin(), v.begin() + static_cast<ptrdiff_t>(first));
	return std::move(v);
}

// run shows profilers the step, if there are any.
void Step::run(Run& r, Slots& slots, Stack& stack, bool plain) const {
	r.at = id_;
	if (does_ != Does::replace) {  // half of what a run changes is worse than all of it
		r.goes_on();
	}
	if (r.direct) {
		return compute(r, slots, stack, plain);
	}
	RECORD_USER_SCOPE(name_);
	compute(r, slots, stack, plain);
}

void Step::compute(Run& r, Slots& slots, Stack& stack, bool plain) const {
	stack.clear();
	if (does_ == Does::call) {
		call(r, slots, stack, plain);
		keep(slots, stack);
		return;
	}
	Stack v;
	for (const auto& x : args_) {
		v.push_back(x.fill(slots));
	}
	switch (does_) {
		case Does::call: break;
		case Does::size: stack.emplace_back(v[0].toTensor().size(whole(v[1]))); break;
		case Does::calculate: stack.push_back(calculation_(v.data())); break;
		case Does::assert_true:
			TORCH_CHECK(truth(v[0]), "the inputs break a condition of the program: ", v[1].toStringRef());
			break;
		case Does::same: stack.push_back(std::move(v[0])); break;
		case Does::replace: {
			c10::AutoGradMode off(false);
			v[0].toTensor().copy_(v[1].toTensor());
			break;
		}
		case Does::cond: {
			bool yes = v[0].isTensor() ? v[0].toTensor().item().to<bool>() : truth(v[0]);
			stack = blocks_[yes ? 0 : 1].run(r, from(v, 1));
			break;
		}
		case Does::loop: stack = loop(r, std::move(v)); break;
		case Does::grad: {
			c10::AutoGradMode mode(truth(v[0]));
			stack = blocks_[0].run(r, from(v, 1));
			break;
		}
		case Does::autocast: {
			auto device = at::Device(v[0].toStringRef()).type();
			auto dtype = v[1].isNone() ? at::autocast::get_autocast_dtype(device) : v[1].toScalarType();
			auto mode = autocast(device, truth(v[2]), dtype, v[3].isNone() || truth(v[3]));
			stack = blocks_[0].run(r, from(v, 4));
			break;
		}
	}
	r.at = id_;
	keep(slots, stack);
}

// The first argument is the number of those that change; the others are the same in each turn.
Stack Step::loop(Run& r, Stack v) const {
	auto carried = static_cast<size_t>(whole(v[0]));
	v.erase(v.begin());
	for (;; r.goes_on()) {
		auto more = blocks_[0].run(r, v);
		TORCH_CHECK(more.size() == 1, "the condition of a loop returns ", more.size(), " values");
		bool yes = more[0].isTensor() ? more[0].toTensor().item().to<bool>() : truth(more[0]);
		if (!yes) {
			v.resize(carried);
			return v;
		}
		auto next = blocks_[1].run(r, v);
		TORCH_CHECK(next.size() == carried, "the body of a loop returns ", next.size(), " values, expected ", carried);
		std::move(next.begin(), next.end(), v.begin());
	}
}

// keep puts results into their slots.
void Step::keep(Slots& slots, Stack& results) const {
	if (lists_.size() == 1 && lists_[0] && !blocks_.empty()) {  // what a graph returns is a list
		c10::List<at::Tensor> list;
		for (auto& v : results) {
			list.push_back(std::move(v).toTensor());
		}
		results = {IValue(std::move(list))};
	}
	TORCH_CHECK(results.size() >= outputs_.size(), results.size(), " results, expected ", outputs_.size());
	for (size_t i = 0; i < outputs_.size(); i++) {
		const auto& to = outputs_[i];
		if (!lists_[i]) {
			if (to[0].slot != kNowhere) {
				slots[to[0].slot] = as(to[0].kind, std::move(results[i]));
			}
			continue;
		}
		auto list = results[i].toListRef();
		TORCH_CHECK(list.size() == to.size(), "result ", i, " has ", list.size(), " tensors, expected ", to.size());
		for (size_t k = 0; k < to.size(); k++) {
			if (to[k].slot != kNowhere) {
				slots[to[k].slot] = as(to[k].kind, list[k]);
			}
		}
	}
}

void Step::constants(std::vector<at::Tensor>& to) const {
	for (const auto& x : args_) {
		x.constants(to);
	}
	for (const auto& b : blocks_) {
		b.constants(to);
	}
}

// leave tells which slots hold what leaves the block, or has a memory that does: autograd is to know such views. It gets those that are
// known behind this step, and adds what this step hands on.
void Step::leave(std::unordered_set<uint32_t>& slots) {
	bool leaves = !blocks_.empty();
	for (const auto& all : outputs_) {
		leaves = std::any_of(all.begin(), all.end(), [&](const Output& o) { return slots.count(o.slot) > 0; }) || leaves;
	}
	if (leaves && !fresh_) {
		direct_ = nullptr;
		for (const auto& x : args_) {
			x.reads(slots);
		}
	}
}

Block::~Block() = default;
Block::Block(Block&&) noexcept = default;

Block::Block(Args& a) : slots_(a.next()) {
	for (uint64_t n = a.next(); n > 0; n--) {
		inputs_.push_back(static_cast<uint32_t>(a.next()));
	}
	for (uint64_t n = a.next(); n > 0; n--) {
		steps_.emplace_back(a);
	}
	outputs_ = read_templates(a);
	std::unordered_set<uint32_t> leaving;
	for (const auto& x : outputs_) {
		x.reads(leaving);
	}
	std::for_each(steps_.rbegin(), steps_.rend(), [&](Step& s) { s.leave(leaving); });
}

void Block::constants(std::vector<at::Tensor>& to) const {
	for (const auto& s : steps_) {
		s.constants(to);
	}
}

std::vector<IValue> Block::run(Run& r, std::vector<IValue> inputs) const {
	TORCH_CHECK(inputs.size() == inputs_.size(), "a graph of ", inputs_.size(), " inputs got ", inputs.size());
	Slots slots(slots_);
	for (size_t i = 0; i < inputs.size(); i++) {
		if (inputs_[i] != kNowhere) {
			slots[inputs_[i]] = std::move(inputs[i]);
		}
	}
	bool plain = !r.dual && (!r.learns || !c10::GradMode::is_enabled());
	Stack stack;
	for (const auto& s : steps_) {
		s.run(r, slots, stack, plain);
	}
	std::vector<IValue> outputs;
	outputs.reserve(outputs_.size());
	for (const auto& x : outputs_) {
		outputs.push_back(x.fill(slots));
	}
	return outputs;
}

struct Compiled {
	Expected expected;
	Block main;
	bool foreign;  // it calls operators that may be taken back
	std::vector<at::Tensor> constants;
	mutable std::atomic<int> gatherings;  // for which it is worth that threads are gathered

	explicit Compiled(Args& a);
};

Compiled::Compiled(Args& a) : expected(a), main(a), foreign(a.boolean()) {
	main.constants(constants);
	const bool on_card = std::any_of(constants.begin(), constants.end(), [](const at::Tensor& t) { return t.is_cuda(); });
	gatherings = on_card ? Gathered::kNever : 0;
}

bool is_dual(const at::Tensor& t) {
	return t.defined() && t.unsafeGetTensorImpl()->autograd_meta() != nullptr && t._fw_grad(0).defined();
}

bool is_learning(const at::Tensor& t) { return learns(t); }

bool any(const Compiled& c, const std::vector<IValue>& inputs, bool (*is)(const at::Tensor&)) {
	return std::any_of(c.constants.begin(), c.constants.end(), is) ||
	       std::any_of(inputs.begin(), inputs.end(), [&](const IValue& v) { return v.isTensor() && is(v.toTensor()); });
}

}  // namespace

namespace entry {

// compile_program(inputs, ranges of symbols, block, whether it calls operators that may be taken back) -> program
void compile_program(Args& a, Results& r) {
	r.object<Compiled>(a);
}

// run_program(program, whether the inputs are known to fit, the address of a number that stops the run, or 0, inputs) -> the outputs as
// boxed values, or none if the inputs do not fit. The last word of an error's frame is the number of the step that failed.
void run_program(Args& a, Results& r) {
	const auto& c = a.object<Compiled>("program");
	bool known = a.boolean();
	const auto* stop = reinterpret_cast<const std::atomic<uint32_t>*>(a.next());
	std::vector<IValue> inputs;
	for (uint64_t n = a.next(); n > 0; n--) {
		inputs.push_back(read_value(a, c10::AnyType::get()));
	}
	TORCH_CHECK(inputs.size() == c.expected.inputs(), "expected ", c.expected.inputs(), " inputs, got ", inputs.size());
	r.f->out[TG_OUT - 1] = kNone;
	if (!known && !c.expected.admits(inputs)) {
		r.put(kNone);
		return;
	}
	std::optional<Calling> calling;
	if (c.foreign) {
		calling.emplace();
	}
	Gathered workers(c.gatherings);
	Run run{r.f->out[TG_OUT - 1], any(c, inputs, is_learning), any(c, inputs, is_dual), goes_direct(), stop};
	auto outputs = c.main.run(run, std::move(inputs));
	put_boxed(r, outputs);
}

}  // namespace entry
}  // namespace tg
