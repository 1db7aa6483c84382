// Operators for which autograd has nothing to do go below it, and save the way through.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>

#include "core.h"

namespace tg {

// Passing keeps layers of autograd's out of an operator if they would only pass it on: no argument has a gradient to get or a tangent, or
// nothing is recorded. That an argument is a view is nothing to them, as long as what it is a view of has no gradient to get. An undefined
// tensor is not passed on: autograd has words for it. A call that may lead into Go takes the usual way, on which somebody may be waiting for it.
template <class Guard>
class Passing {
 public:
	template <class... T>
	explicit Passing(const T&... args) {
		if (thread.door == Door::plain && (passes(args) && ...)) {
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
	static bool passes(const at::Tensor& t) {
		return t.defined() && (t.unsafeGetTensorImpl()->autograd_meta() == nullptr || nothing_to_do(t));
	}
	static bool passes(const std::optional<at::Tensor>& t) { return !t || passes(*t); }
	static bool passes(at::TensorList list) {
		return std::all_of(list.begin(), list.end(), [](const at::Tensor& t) { return passes(t); });
	}
	static bool passes(const c10::List<std::optional<at::Tensor>>& list) {
		return std::all_of(list.begin(), list.end(), [](const std::optional<at::Tensor>& t) { return passes(t); });
	}

	[[gnu::noinline]] static bool nothing_to_do(const at::Tensor& t) {
		return !(t.requires_grad() && c10::GradMode::is_enabled()) && !t._fw_grad(0).defined();
	}

	std::optional<Guard> guard_;
};

// Below is for operators that compute their results, or change their first argument, by a kernel of their own.
using Below = Passing<at::AutoDispatchBelowADInplaceOrView>;

// BelowGradients is for those that make views, which the layer below writes down.
using BelowGradients = Passing<at::AutoDispatchBelowAutograd>;

}  // namespace tg
