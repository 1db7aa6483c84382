// Process groups and what their ranks do together: libtorch's, over gloo and NCCL.
#include "c10d.h"

#include <ATen/ops/view_as_real.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupWrapper.hpp>
#include <torch/csrc/distributed/c10d/Utils.hpp>

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
	void shutdown() override { abort(); }
};

// Checked compares what the ranks are about to do before they do it. libtorch's wrapper does not pass on the end.
class Checked final : public c10d::ProcessGroupWrapper {
 public:
	Checked(const tg::Backend& backend, tg::Backend helper) : ProcessGroupWrapper(backend, helper), helper_(std::move(helper)) {}
	void abort() override {
		getWrappedPg()->abort();
		helper_->abort();
	}
	void shutdown() override {
		getWrappedPg()->shutdown();
		helper_->shutdown();
	}

 private:
	tg::Backend helper_;
};

// A rank that is connected may be done with the group while others are not: they would take it for lost once it leaves. So all that are
// of Go wait for each other; Python's, which do not say that they begin, are not waited for.
Backend gloo(const Store& store, int rank, int size, std::chrono::milliseconds timeout) {
	refuse_broken();
	auto key = [](const char* stage, int of) { return c10::str("go/", stage, "/", of); };
	store->set(key("begun", rank), std::vector<uint8_t>{1});
	auto made = c10::make_intrusive<Gloo>(store, rank, size, Gloo::Options::create_default(timeout));
	store->set(key("connected", rank), std::vector<uint8_t>{1});
	std::vector<std::string> others;
	for (int other = 0; other < size; other++) {
		if (other != rank && store->check({key("begun", other)})) {
			others.push_back(key("connected", other));
		}
	}
	if (!others.empty()) {
		store->wait(others, timeout);
	}
	return made;
}

Store part(const Store& store, const std::string& prefix) { return c10::make_intrusive<c10d::PrefixStore>(prefix, store); }

// The group's own barrier assigns to one tensor of the process, without a lock: two groups would free it twice. On cards it is made on
// one of them, for which libtorch would only have a guess.
Work barrier(c10d::ProcessGroup& group) {
	auto backend = group.getDefaultBackend();
	c10d::BarrierOptions o;
	if (backend->getBackendName() == "nccl") {
		auto bound = group.getBoundDeviceId();
		o.device_ids = {bound ? bound->index() : c10::impl::VirtualGuardImpl(at::kCUDA).getDevice().index()};
	}
	return backend->barrier(o);
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
	    // gloo looks at the splits in its own thread, where their error is also that of a barrier which begins before it is put away.
	    {"all_to_all_single",
	     [](Wanted& w) {
		     c10d::checkSplitSizes(w.out_splits, w.out.at(0), w.group.getSize());
		     c10d::checkSplitSizes(w.in_splits, w.in.at(0), w.group.getSize());
		     return w.group.alltoall_base(w.out[0], w.in[0], w.out_splits, w.in_splits);
	     }},
	    {"barrier", [](Wanted& w) { return barrier(w.group); }},
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

// all_kinds are the dtypes that gloo has code for. Sends and receives are of bytes.
bool all_kinds(at::ScalarType t) {
	switch (t) {
		case at::kFloat:
		case at::kDouble:
		case at::kHalf:
		case at::kBFloat16:
		case at::kChar:
		case at::kByte:
		case at::kBool:
		case at::kInt:
		case at::kLong:
			return true;
		default:
			return false;
	}
}

// refuse_unreduced throws what gloo would only find in a thread of its own: its errors there are those of a barrier as well that begins
// before they are put away.
void refuse_unreduced(std::string_view collective, c10d::ReduceOp::RedOpType op, const std::vector<at::Tensor>& tensors) {
	if (collective == "send" || collective == "recv") {
		return;
	}
	bool reduces = collective.find("reduce") != std::string_view::npos;
	for (const auto& t : tensors) {
		auto dtype = t.scalar_type();
		TORCH_CHECK_TYPE(all_kinds(dtype), "gloo exchanges tensors of float32, float64, float16, bfloat16, int8, uint8, bool, int32, int64 "
		                 "and complex numbers, got ", dtype);
		bool bits = op == c10d::ReduceOp::BAND || op == c10d::ReduceOp::BOR || op == c10d::ReduceOp::BXOR;
		TORCH_CHECK_TYPE(!reduces || op != c10d::ReduceOp::AVG || !at::isIntegralType(dtype, true), "integers have no mean, got ", dtype);
		TORCH_CHECK_TYPE(!reduces || !bits || at::isIntegralType(dtype, true), "bits can be combined of integers only, got ", dtype);
	}
}

Work& work(Args& a) { return a.object<Work>("work"); }

bool to_one_peer(const Work& w) { return c10d::isP2POp(w->retrieveOpType()); }

}  // namespace

// The threads of a group that is broken cannot be joined.
Group::~Group() {
	if (broken()) {
		group_.release();
		cards_.release();
		return;
	}
	try {
		group_->shutdown();
	} catch (...) {  // the connections are gone already
	}
}

namespace entry {

// new_group(store, rank, size, timeout, name, description, detail?, number of backends; of each: backend of the second shim or none for
// gloo, number of devices, their types) -> group. The prefixes of the stores are those of Python, whose ranks may be members.
void new_group(Args& a, Results& r) {
	using Type = c10d::ProcessGroup::BackendType;
	auto base = a.object<Store>("store");
	auto rank = static_cast<int>(a.integer());
	auto size = static_cast<int>(a.integer());
	auto timeout = milliseconds(a);
	auto name = std::string(a.string());
	auto description = std::string(a.string());
	bool detail = a.boolean();
	watch_threads();
	Unpiped unpiped;
	auto store = part(base, name + "/");
	auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
	Backend cards;
	for (auto backends = a.next(); backends > 0; backends--) {
		Backend made;
		if (a.boolean()) {
			made = cards = a.object<Backend>("backend");
			group->setBoundDeviceId(cards->getBoundDeviceId());
		}
		std::vector<std::string> devices(a.next());
		for (auto& device : devices) {
			device = a.string();
		}
		auto own = part(store, devices.at(0) + "/");
		auto type = made ? Type::NCCL : Type::GLOO;
		if (!made) {
			made = gloo(own, rank, size, timeout);
		}
		if (detail) {
			made = c10::make_intrusive<Checked>(made, gloo(part(own, "pg_wrapper:" + name), rank, size, timeout));
		}
		for (const auto& device : devices) {
			group->setBackend(at::Device(device).type(), type, made);
		}
	}
	group->setDefaultBackend(cards ? Type::NCCL : Type::GLOO);
	group->setGroupName(name);
	group->setGroupDesc(description);
	r.object<Group>(std::move(group), std::move(cards));
}

// abort_group(group): ends its connections, and so all that is under way
void abort_group(Args& a, Results&) { group(a)->abort(); }

// collective(group, name, written, read, operation, complex numbers?, peer, tag, splits of written, splits of read) -> work
void collective(Args& a, Results& r) {
	auto& g = group(a);
	refuse_failed(g.cards());
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
	const auto& sent = w.out.empty() ? w.in : w.out;
	if (!sent.empty() && sent[0].is_cpu() && g->getBackend(at::kCPU)->getBackendName() == "gloo") {
		refuse_unreduced(name, static_cast<c10d::ReduceOp::RedOpType>(w.op), sent);
	}
	r.object<Work>(found->second(w));
}

// group_check(group): throws what operations on cards have failed with since they were begun
void group_check(Args& a, Results&) { refuse_failed(group(a).cards()); }

// batch_begin(group): operations on cards that this thread begins from here on go together. batch_end(group) -> their work
void batch_begin(Args& a, Results&) {
	auto& g = group(a);
	refuse_failed(g.cards());
	g->startCoalescing(at::kCUDA);
}

void batch_end(Args& a, Results& r) { r.object<Work>(group(a)->endCoalescing(at::kCUDA)); }

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

// work_stream(work): the current stream waits for it, and not the caller
void work_stream(Args& a, Results&) { work(a)->blockCurrentStream(); }

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
