// NCCL, which carries tensors of cards from process to process: libtorch's backend, for the groups of dist/group.cc.
#define USE_C10D_NCCL

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <thread>

#include "dist/c10d.h"

namespace tg {
namespace {

// Nccl ends nothing but itself where ranks do not come or a card fails: the group's next call says so. Python's ends the process,
// because what an operation leaves in its tensors after that is of no use.
class Nccl final : public c10d::ProcessGroupNCCL {
 public:
	Nccl(const Store& store, int rank, int size, const c10::intrusive_ptr<Options>& options)
	    : ProcessGroupNCCL(store, rank, size, options) {
		asyncErrorHandling_ = c10d::CleanUpOnly;
	}

	// The end of a group that is still at work: what it has begun comes first, as the other ranks count on it.
	void shutdown() override {
		auto end = std::chrono::steady_clock::now() + options_->timeout;
		while (getError() == c10d::ErrorType::SUCCESS && busy() && std::chrono::steady_clock::now() < end) {
			std::this_thread::sleep_for(std::chrono::milliseconds(5));
		}
		abort();
	}

 protected:
	// A thread of libtorch's that finds NCCL or a card hanging calls it at its end.
	void terminateProcess(const std::string&) override {
		std::lock_guard lock(errorMutex_);
		if (error_ == c10d::ErrorType::SUCCESS) {
			error_ = c10d::ErrorType::COMM_ERROR;
		}
	}

 private:
	bool busy() {
		std::lock_guard lock(workMetaListMutex_);
		return !workMetaList_.empty();
	}
};

}  // namespace

namespace entry {

// new_nccl(store with the group's prefixes, rank, size, timeout, group's name, ranks of its members or none for all, card or none)
// -> backend. With a card it is connected to the others at once, otherwise when the first operation tells the card.
void new_nccl(Args& a, Results& r) {
	auto base = a.object<Store>("store");
	auto rank = static_cast<int>(a.integer());
	auto size = static_cast<int>(a.integer());
	auto options = c10d::ProcessGroupNCCL::Options::create();
	options->timeout = milliseconds(a);
	options->group_name = a.string();
	for (auto member : a.ints()) {
		options->global_ranks_in_group.push_back(static_cast<uint64_t>(member));
	}
	auto card = a.opt_device();
	auto made = c10::make_intrusive<Nccl>(base, rank, size, options);
	if (card) {
		made->setBoundDeviceId(card);
		made->eagerConnectSingleDevice(*card);
	}
	r.object<Backend>(std::move(made));
}

}  // namespace entry
}  // namespace tg
