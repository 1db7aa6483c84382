// DistributedDataParallel's engine: libtorch's Reducer, which gathers gradients in buckets and reduces
// each as soon as the backward pass has filled it.
#include "c10d.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <unordered_map>

#include "callback.h"

namespace tg {
namespace {

// Reducer holds the loan of a Go value: as long as one is lent, backward passes do not wait in Go's gate
// for others, whose gradients they may need.
struct Reducer {
	std::shared_ptr<c10d::Reducer> reducer;
	std::shared_ptr<c10d::Logger> logger;
	Loan loan;
	Backend cards;
	bool delayed = false;  // in the first pass of a static graph all is reduced at its end
};

Reducer& reducer(Args& a) { return a.object<Reducer>("reducer"); }

// Compressed sends gradients in another dtype, as Python's fp16_compress_hook and bf16_compress_hook do.
class Compressed final : public c10d::CommHookInterface {
 public:
	Compressed(c10::intrusive_ptr<c10d::ProcessGroup> group, at::ScalarType dtype) : group_(std::move(group)), dtype_(dtype) {}
	c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
		auto& buffer = bucket.getBufferRef();
		std::vector<at::Tensor> sent{buffer.to(dtype_).div_(group_->getSize())};
		return group_->allreduce(sent)->getFuture()->then(
		    [buffer](c10::ivalue::Future& done) -> c10::IValue {
			    return buffer.copy_(c10d::detail::parseCppCommHookResult(done.value()));
		    },
		    c10::TensorType::get());
	}
	at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
	c10::intrusive_ptr<c10d::ProcessGroup> group_;
	at::ScalarType dtype_;
};

// InGo is a hook that is a function of Go's: it is given the bucket's gradients as one vector, its number and
// the parameters, and returns what takes their place.
class InGo final : public c10d::CommHookInterface {
 public:
	explicit InGo(uint64_t id) : hook_(std::make_shared<Lent>(id)) {}
	c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
		uint64_t arg = bucket.getIndex() << 1 | static_cast<uint64_t>(bucket.isLast());
		std::vector<at::Tensor> in{bucket.getBuffer()};
		for (auto& t : bucket.getGradients()) {
			in.push_back(t);
		}
		auto reduced = call_go_tensors(hook_->id(), arg, in, 1).front();
		TORCH_CHECK(reduced.defined() && reduced.sizes() == bucket.getBuffer().sizes() && reduced.dtype() == bucket.getBuffer().dtype(),
		            "a communication hook must return a tensor like the bucket's: ", bucket.getBuffer().toString(), bucket.getBuffer().sizes());
		std::vector<at::Device> cards;
		if (reduced.is_cuda()) {
			cards.push_back(reduced.device());
		}
		auto future = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get(), cards);
		future->markCompleted(reduced);
		return future;
	}
	at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
	Loan hook_;
};

// shadow has the collectives of a backward pass in which this rank has no gradients: zeros for each bucket, and for the parameters that
// may be unused what Python's ranks send.
void shadow(c10d::Reducer& r, c10d::ProcessGroup& g, bool unused) {
	auto buckets = r.get_grad_buckets(true);
	std::vector<c10::intrusive_ptr<c10::ivalue::Future>> reduced;
	for (auto& bucket : buckets) {
		reduced.push_back(r.run_comm_hook(bucket));
	}
	for (auto& future : reduced) {
		future->waitAndThrow();
	}
	if (unused) {
		std::vector<at::Tensor> used{r.get_local_used_map_on_device()};
		g.allreduce(used)->wait();
	}
	r.push_rebuilt_params_for_all_indices();
}

}  // namespace

namespace entry {

// verify_params(group, tensors): all ranks have parameters of the same shapes
void verify_params(Args& a, Results&) {
	auto& g = group(a);
	refuse_failed(g.cards());
	c10d::verify_params_across_processes(*g, a.variables(), {});
}

// broadcast_coalesced(group, tensors, bytes at a time, rank)
void broadcast_coalesced(Args& a, Results&) {
	auto& g = group(a);
	refuse_failed(g.cards());
	auto list = a.tensors();
	auto bytes = static_cast<size_t>(a.integer());
	c10d::broadcast_coalesced(*g, list, bytes, static_cast<int>(a.integer()));
}

// new_reducer(group, loan, model's name, names, parameters, which have sparse gradients?, bucket bytes, bytes of the first, find unused?,
// views?, static graph?, broadcast buffers?) -> reducer. Before the first pass tells in which order gradients come there is one bucket, unless
// some parameters may have none, as in Python.
void new_reducer(Args& a, Results& r) {
	auto& g = group(a);
	auto loan = std::make_shared<Lent>(a.next());
	auto model = std::string(a.string());
	std::unordered_map<size_t, std::string> names;
	for (size_t i = 0, n = a.next(); i < n; i++) {
		names[i] = a.string();
	}
	auto params = a.variables();
	std::vector<bool> sparse(a.next());
	for (size_t i = 0; i < sparse.size(); i++) {
		sparse[i] = a.boolean();
	}
	auto bytes = a.integer();
	auto first = a.integer();
	bool unused = a.boolean();
	bool views = a.boolean();
	bool fixed = a.boolean();
	bool buffers = a.boolean();
	std::vector<size_t> limits{static_cast<size_t>(INT64_MAX)};
	if (unused && !fixed) {
		limits = {static_cast<size_t>(first), static_cast<size_t>(bytes)};
	}
	auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(params, limits, sparse));
	std::reverse(buckets.begin(), buckets.end());
	auto made = std::make_shared<c10d::Reducer>(std::move(params), std::move(buckets), *g, std::move(sparse), bytes, unused, views,
	                                            std::move(names), first, false, false, std::vector<int64_t>());
	auto logger = std::make_shared<c10d::Logger>(made);
	made->set_logger(logger);
	logger->set_construction_data_and_log(model, {}, -1, buffers, false, fixed);
	if (fixed) {
		made->set_static_graph();
		logger->set_static_graph();
	}
	r.object<Reducer>(std::move(made), std::move(logger), std::move(loan), g.cards(), fixed);
}

// reducer_forward(reducer, will it reduce?, inputs may be uneven?, [the work that counts ranks with inputs, divide by that number?])
// -> whether the buckets were made anew
void reducer_forward(Args& a, Results& r) {
	auto& d = reducer(a);
	refuse_failed(d.cards);
	if (a.boolean()) {
		d.logger->set_runtime_stats_and_log();
		d.reducer->prepare_for_forward();
	}
	if (a.boolean()) {
		auto counted = a.object<Work>("work");
		d.logger->set_uneven_input_join();
		d.reducer->set_forward_pass_work_handle(std::move(counted), !a.boolean());
	}
	r.boolean(d.reducer->rebuild_buckets());
}

// reducer_backward(reducer, has this rank inputs?, outputs): gradients that come from now on are reduced. The outputs say which parameters
// have none. reducer_backward(reducer, false, group, find unused?): the rank has no inputs left, and takes part in the pass of the others.
void reducer_backward(Args& a, Results&) {
	auto& d = reducer(a);
	refuse_failed(d.cards);
	if (a.boolean()) {
		d.reducer->prepare_for_backward(a.variables());
		return;
	}
	auto& g = group(a);
	shadow(*d.reducer, **g, a.boolean());
}

// reducer_delay(reducer, outputs): a static graph is learnt in its first pass, and reduced at the end of it.
void reducer_delay(Args& a, Results&) {
	auto& d = reducer(a);
	if (!std::exchange(d.delayed, false)) {
		return;
	}
	auto queued = std::make_shared<bool>(false);
	for (const auto& t : a.tensors()) {
		if (t.requires_grad()) {
			t.register_hook([queued, reducer = d.reducer](const at::Tensor&) {
				if (!std::exchange(*queued, true)) {
					torch::autograd::Engine::get_default_engine().queue_callback([reducer] { reducer->delay_all_reduce(); });
				}
			});
		}
	}
}

// reducer_compress(reducer, group, dtype): gradients travel in that dtype
void reducer_compress(Args& a, Results&) {
	auto& d = reducer(a);
	auto& g = group(a);
	d.reducer->register_comm_hook(std::make_unique<Compressed>(*g, a.dtype()));
}

// reducer_hook(reducer, id): gradients are reduced by a Go function
void reducer_hook(Args& a, Results&) {
	auto& d = reducer(a);
	d.reducer->register_comm_hook(std::make_unique<InGo>(a.next()));
}

// reducer_stats(reducer) -> names and numbers of what libtorch's logger knows
void reducer_stats(Args& a, Results& r) {
	std::vector<uint64_t> words;
	for (const auto& [name, value] : reducer(a).logger->get_ddp_logging_data().ints_map) {
		put_text(words, name);
		words.push_back(word(value));
	}
	r.words(words);
}

}  // namespace entry
}  // namespace tg
