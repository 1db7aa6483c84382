// Process groups and what their ranks do together: libtorch's, over gloo.
#include "c10d.h"

#include <ATen/ops/view_as_real.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupWrapper.hpp>

#include <functional>
#include <unordered_map>

namespace tg {
namespace {

class Gloo final : public c10d::ProcessGroupGloo {
 public:
	using ProcessGroupGloo::ProcessGroupGloo;
	void abort() override {
		for (const auto& context : contexts_) {
			context->closeConnections();
		}
	}
};

c10::intrusive_ptr<c10d::Backend> gloo(const Store& store, int rank, int size, std::chrono::milliseconds timeout) {
	watch_gloo();
	refuse_broken();
	return c10::make_intrusive<Gloo>(store, rank, size, Gloo::Options::create_default(timeout));
}

// What a collective is given: the tensors that it writes to, those that it only reads, and the rest of
// its arguments, of which each collective has some.
struct Wanted {
	c10d::ProcessGroup& group;
	std::vector<at::Tensor> out, in;
	c10d::ReduceOp op;
	int64_t peer;
	int tag;
	std::vector<int64_t> out_splits, in_splits;

	bool here() const { return group.getRank() == peer; }
	std::vector<std::vector<at::Tensor>> lists(const std::vector<at::Tensor>& list) const {
		return list.empty() ? std::vector<std::vector<at::Tensor>>() : std::vector<std::vector<at::Tensor>>{list};
	}
};

using Collective = std::function<Work(Wanted&)>;

const std::unordered_map<std::string_view, Collective>& collectives() {
	static const auto& table = *new std::unordered_map<std::string_view, Collective>{
	    {"all_reduce", [](Wanted& w) { return w.group.allreduce(w.out, {.reduceOp = w.op}); }},
	    {"all_reduce_coalesced",
	     [](Wanted& w) {
		     c10d::AllreduceCoalescedOptions o;
		     o.reduceOp = w.op;
		     return w.group.allreduce_coalesced(w.out, o);
	     }},
	    {"reduce", [](Wanted& w) { return w.group.reduce(w.out, {.reduceOp = w.op, .rootRank = w.peer}); }},
	    {"broadcast", [](Wanted& w) { return w.group.broadcast(w.out, {.rootRank = w.peer}); }},
	    {"all_gather",
	     [](Wanted& w) {
		     auto out = w.lists(w.out);
		     return w.group.allgather(out, w.in);
	     }},
	    {"all_gather_into_tensor", [](Wanted& w) { return w.group._allgather_base(w.out.at(0), w.in.at(0)); }},
	    {"gather",
	     [](Wanted& w) {
		     auto out = w.lists(w.out);
		     return w.group.gather(out, w.in, {.rootRank = w.peer});
	     }},
	    {"scatter",
	     [](Wanted& w) {
		     auto in = w.lists(w.in);
		     return w.group.scatter(w.out, in, {.rootRank = w.peer});
	     }},
	    {"reduce_scatter",
	     [](Wanted& w) {
		     auto in = w.lists(w.in);
		     return w.group.reduce_scatter(w.out, in, {.reduceOp = w.op});
	     }},
	    {"reduce_scatter_tensor", [](Wanted& w) { return w.group._reduce_scatter_base(w.out.at(0), w.in.at(0), {.reduceOp = w.op}); }},
	    {"all_to_all", [](Wanted& w) { return w.group.alltoall(w.out, w.in); }},
	    {"all_to_all_single",
	     [](Wanted& w) { return w.group.alltoall_base(w.out.at(0), w.in.at(0), w.out_splits, w.in_splits); }},
	    // The group's own barrier assigns to one tensor of the process, without a lock: two groups would free it twice.
	    {"barrier", [](Wanted& w) { return w.group.getDefaultBackend()->barrier(); }},
	    {"send", [](Wanted& w) { return w.group.send(w.in, static_cast<int>(w.peer), w.tag); }},
	    {"recv",
	     [](Wanted& w) {
		     return w.peer < 0 ? w.group.recvAnysource(w.out, w.tag) : w.group.recv(w.out, static_cast<int>(w.peer), w.tag);
	     }},
	};
	return table;
}

// Backends send memory as it lies, and write it from the first element on, however far apart the elements
// are. So a tensor that is only read is laid out anew where it has gaps, and one that is written
// must have none. Complex numbers travel as pairs.
at::Tensor dense(const at::Tensor& t, bool written) {
	if (t.layout() != at::kStrided) {
		return t;
	}
	auto plain = t;
	if (!t.is_non_overlapping_and_dense() || t.is_conj() || t.is_neg()) {
		TORCH_CHECK_VALUE(!written, "a tensor that is written to must lie in memory without gaps, overlaps and pending conjugations, but got sizes ",
		                  t.sizes(), " with strides ", t.strides(), ": pass its Contiguous() copy");
		plain = t.resolve_conj().resolve_neg().contiguous();
	}
	return plain.is_complex() ? at::view_as_real(plain) : plain;
}

std::vector<at::Tensor> tensors(Args& a, bool written) {
	std::vector<at::Tensor> list;
	for (const auto& t : a.tensors()) {
		list.push_back(dense(t, written));
	}
	return list;
}

// reduction is the operation as it is done with the bytes of these tensors: gloo adds booleans up to numbers that are none.
c10d::ReduceOp reduction(int64_t code, at::ScalarType dtype, bool complex) {
	auto op = static_cast<c10d::ReduceOp::RedOpType>(code);
	TORCH_CHECK_VALUE(!complex || c10d::isComplexViewAsRealAllowed(op), "complex numbers cannot be reduced by this operation");
	if (dtype == at::kBool && op == c10d::ReduceOp::SUM) {
		return c10d::ReduceOp::MAX;
	}
	return dtype == at::kBool && op == c10d::ReduceOp::PRODUCT ? c10d::ReduceOp::MIN : op;
}

Work& work(Args& a) { return a.object<Work>("work"); }

bool to_one_peer(const Work& w) { return c10d::isP2POp(w->retrieveOpType()); }

}  // namespace

// The threads of a group that is broken cannot be joined.
Group::~Group() {
	if (gloo_broken()) {
		group_.release();
		return;
	}
	try {
		group_->abort();
	} catch (...) {  // the connections are gone already
	}
}

namespace entry {

// new_group(store, backend, rank, size, timeout, name, description, detail?) -> group. The prefixes of the stores are
// those of Python, whose ranks may be members.
void new_group(Args& a, Results& r) {
	auto base = a.object<Store>("store");
	auto backend = std::string(a.string());
	auto rank = static_cast<int>(a.integer());
	auto size = static_cast<int>(a.integer());
	auto timeout = milliseconds(a);
	auto name = std::string(a.string());
	TORCH_CHECK(backend == "gloo", "there is no backend ", backend, " here: only gloo");
	Store store = c10::make_intrusive<c10d::PrefixStore>(name + "/", std::move(base));
	auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
	group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
	store = c10::make_intrusive<c10d::PrefixStore>("cpu/", std::move(store));
	auto made = gloo(store, rank, size, timeout);
	auto description = std::string(a.string());
	if (a.boolean()) {
		auto helper = c10::make_intrusive<c10d::PrefixStore>("pg_wrapper:" + name, store);
		made = c10::make_intrusive<c10d::ProcessGroupWrapper>(made, gloo(helper, rank, size, timeout));
	}
	for (auto device : {at::kCPU, at::kCUDA}) {
		group->setBackend(device, c10d::ProcessGroup::BackendType::GLOO, made);
	}
	group->setGroupName(name);
	group->setGroupDesc(description);
	r.object<Group>(std::move(group));
}

// abort_group(group): ends its connections, and so all that is under way
void abort_group(Args& a, Results&) { group(a)->abort(); }

// collective(group, name, written, read, operation, complex numbers?, peer, tag, splits of written, splits of read) -> work
void collective(Args& a, Results& r) {
	auto& g = group(a);
	refuse_broken();
	auto name = a.string();
	auto out = tensors(a, true);
	auto in = tensors(a, false);
	auto dtype = out.empty() ? at::kFloat : out[0].scalar_type();
	auto code = a.integer();
	auto op = reduction(code, dtype, a.boolean());
	Wanted w{*(*g), std::move(out), std::move(in), op, a.integer(), 0, {}, {}};
	w.tag = static_cast<int>(a.integer());
	w.out_splits = a.ints().vec();
	w.in_splits = a.ints().vec();
	auto found = collectives().find(name);
	TORCH_CHECK(found != collectives().end(), "there is no collective ", name);
	r.object<Work>(found->second(w));
}

// monitored_barrier(group, timeout, wait for all?)
void monitored_barrier(Args& a, Results&) {
	auto& g = group(a);
	refuse_broken();
	c10d::BarrierOptions o;
	o.timeout = milliseconds(a);
	g->monitoredBarrier(o, a.boolean());
}

// work_wait(work, timeout) -> whether it was not given up. It throws what the work failed with, or that the time is over.
void work_wait(Args& a, Results& r) {
	auto& w = work(a);
	r.boolean(w->wait(milliseconds(a)));
}

// work_abort(work): whoever waits for a send or a receive learns that it was given up
void work_abort(Args& a, Results&) {
	auto& w = work(a);
	if (to_one_peer(w)) {
		w->abort();
	}
}

// work_done(work) -> whether it has ended, well or not. It throws where nobody will ever tell.
void work_done(Args& a, Results& r) {
	refuse_broken();
	r.boolean(work(a)->isCompleted());
}

// work_source(work) -> the rank that a receive got its tensor from
void work_source(Args& a, Results& r) { r.integer(work(a)->sourceRank()); }

}  // namespace entry
}  // namespace tg
