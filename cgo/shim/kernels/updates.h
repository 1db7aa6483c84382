// Updates of parameters in vectors. Each operation rounds where libtorch's kernels round, as compiled.
#pragma once

#include "update.h"
#include "vectors.h"

namespace tg::matrices {
namespace {

// The mean moves towards the gradient: from the nearer end, as lerp does.
template <class V>
INLINE V moved(const Update& u, V mean, V gradient) {
	const bool near = u.taken < 0.5f && u.taken > -0.5f;
	const float weight = near ? u.taken : u.taken - 1.0f;
	return convolution::multiplied_and_added(weight - V{}, gradient - mean, near ? mean : gradient);
}

// a * b + c * d, of which the product that is rounded is the first one in libtorch's vectors, and the second one of numbers behind them.
template <bool Rest, class V>
INLINE V added(V a, float b, V c, float d) {
	using convolution::multiplied_and_added;
	return Rest ? multiplied_and_added(a, b - V{}, convolution::rounded(c * d)) : multiplied_and_added(c, d - V{}, convolution::rounded(a * b));
}

template <bool Rest, class V>
INLINE void sgd(const Update& u, V& param, V& mean, V gradient) {
	using convolution::multiplied_and_added;
	if (u.decay != 0) {
		gradient = multiplied_and_added(param, u.decay - V{}, gradient);
	}
	if (u.mean != nullptr) {
		mean = added<Rest>(mean, u.kept, gradient, u.taken);
		gradient = u.nesterov ? multiplied_and_added(mean, u.kept - V{}, gradient) : mean;
	}
	param = multiplied_and_added(gradient, u.step - V{}, param);
}

template <bool Rest, class V>
INLINE void adam(const Update& u, V& param, V& mean, V& square, V gradient) {
	using convolution::multiplied_and_added;
	if (u.kind == Update::adamw) {
		param = u.decay != 1 ? convolution::rounded(param * u.decay) : param;
	} else if (u.decay != 0) {
		gradient = multiplied_and_added(param, u.decay - V{}, gradient);
	}
	mean = moved(u, mean, gradient);
	const V taken = convolution::rounded(u.square_taken * gradient);
	square = Rest ? multiplied_and_added(square, u.square_kept - V{}, convolution::rounded(taken * gradient))
	              : multiplied_and_added(taken, gradient, convolution::rounded(square * u.square_kept));
	V scale = convolution::rounded(convolution::square_root(square) / u.square_scale) + u.epsilon;
	param += convolution::rounded(convolution::rounded(u.step * mean) / scale);
}

// Most rules have a mean and none of the other options: SGD's, whose gradient is not decayed, and AdamW's.
INLINE bool is_common(const Update& u) {
	const bool near = u.taken < 0.5f && u.taken > -0.5f;
	return u.mean != nullptr && !u.maximize && !u.nesterov && (u.kind == Update::sgd ? u.decay == 0 : u.kind == Update::adamw && near);
}

// Such a rule, of which the compiler then knows what it is, so that nothing is asked for each vector.
template <bool Adam, bool Common>
INLINE Update known(Update u) {
	if constexpr (Common) {
		u.kind = Adam ? Update::adamw : Update::sgd;
		u.maximize = u.nesterov = false;
		u.decay = Adam ? u.decay : 0;
		if (u.mean == nullptr || (Adam && (u.taken >= 0.5f || u.taken <= -0.5f))) {
			__builtin_unreachable();
		}
	}
	return u;
}

// Brings numbers nearer that come up soon.
template <bool Adam>
INLINE void fetch(const Update& u, int64_t at) {
	constexpr int far = 2;  // no nearer than the second cache
	__builtin_prefetch(u.param + at, 0, far);
	if (u.mean != nullptr) {
		__builtin_prefetch(u.mean + at, 0, far);
	}
	if constexpr (Adam) {
		__builtin_prefetch(u.square + at, 0, far);
	}
}

// The numbers that lie there, a vector of them or some.
template <bool Adam, bool Rest = false, class V, class Load, class Store>
INLINE void step(const Update& u, int64_t at, V gradient, const Load& get, const Store& put) {
	V param = get(u.param + at), mean{}, square{};
	if (u.mean != nullptr) {
		mean = get(u.mean + at);
	}
	if (u.maximize) {
		gradient = gradient * -1.0f;
	}
	if constexpr (Adam) {
		square = get(u.square + at);
		adam<Rest>(u, param, mean, square, gradient);
		put(u.square + at, square);
	} else {
		sgd<Rest>(u, param, mean, gradient);
	}
	if (u.mean != nullptr) {
		put(u.mean + at, mean);
	}
	put(u.param + at, param);
}

// A row of numbers of the gradient.
template <int W>
void update(const Update& of, const float* gradient, int64_t n) {
	constexpr int64_t theirs = 8;  // numbers of libtorch's vectors
	const Update u = of;           // no number that is written lies in it
	const int64_t rest = n % theirs;
	auto some = [&]<bool Rest>(int64_t i, const auto& get, const auto& put) {
		auto numbers = get(gradient + i);
		u.kind == Update::sgd ? step<false, Rest>(u, i, numbers, get, put) : step<true, Rest>(u, i, numbers, get, put);
	};
	convolution::in_vectors<W, 1>(n - rest, [&]<int>(int64_t i, auto get, auto put) { some.template operator()<false>(i, get, put); });
	if (rest > 0) {
		some.template operator()<true>(
			n - rest, [=](const float* from) { return convolution::load_some<W>(from, rest); },
			[=](float* to, convolution::Vec<W> v) { convolution::store_some(to, v, rest); });
	}
}

}  // namespace
}  // namespace tg::matrices
