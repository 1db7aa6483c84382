// Operators for which autograd has nothing to do go below it, and save the way through.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "core.h"

namespace tg {

// Below keeps autograd out of an operator that computes its results, or changes its first argument,
// by a kernel of its own, if autograd would only pass it on: no argument has anything of autograd's, as
// gradients and bases of views are, or nothing is recorded. An undefined tensor is not passed on: autograd
// has words for it. A call that may lead into Go takes the usual way, on which somebody may be waiting for it.
class Below {
 public:
	template <class... T>
	explicit Below(const T&... args) {
		bool records = c10::GradMode::is_enabled();
		if (thread.door == Door::plain && (passes(args, records) && ...)) {
			guard_.emplace();
		}
	}

	// changed counts a change of the first argument, as the layer that was left out does; tensors of
	// inference mode are not to be changed outside of it, which is said there.
	void changed(const at::Tensor& t) const {
		if (guard_) {
			t.unsafeGetTensorImpl()->bump_version();
		}
	}

 private:
	static bool passes(const at::Tensor& t, bool records) {
		return t.defined() && (t.unsafeGetTensorImpl()->autograd_meta() == nullptr || (!records && !t._fw_grad(0).defined()));
	}
	static bool passes(const std::optional<at::Tensor>& t, bool records) { return !t || passes(*t, records); }
	static bool passes(at::TensorList list, bool records) {
		return std::all_of(list.begin(), list.end(), [=](const at::Tensor& t) { return passes(t, records); });
	}
	static bool passes(const c10::List<std::optional<at::Tensor>>& list, bool records) {
		return std::all_of(list.begin(), list.end(), [=](const std::optional<at::Tensor>& t) { return passes(t, records); });
	}

	std::optional<at::AutoDispatchBelowADInplaceOrView> guard_;
};

}  // namespace tg
