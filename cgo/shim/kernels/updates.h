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

template <class V>
INLINE void sgd(const Update& u, V& param, V& mean, V gradient) {
	using convolution::multiplied_and_added;
	if (u.decay != 0) {
		gradient = multiplied_and_added(param, u.decay - V{}, gradient);
	}
	if (u.mean != nullptr) {
		mean = multiplied_and_added(gradient, u.taken - V{}, convolution::rounded(mean * u.kept));
		gradient = u.nesterov ? multiplied_and_added(mean, u.kept - V{}, gradient) : mean;
	}
	param = multiplied_and_added(gradient, u.step - V{}, param);
}

template <class V>
INLINE void adam(const Update& u, V& param, V& mean, V& square, V gradient) {
	using convolution::multiplied_and_added;
	if (u.kind == Update::adamw) {
		param = u.decay != 1 ? convolution::rounded(param * u.decay) : param;
	} else if (u.decay != 0) {
		gradient = multiplied_and_added(param, u.decay - V{}, gradient);
	}
	mean = moved(u, mean, gradient);
	square = multiplied_and_added(u.square_taken * gradient, gradient, convolution::rounded(square * u.square_kept));
	V scale = convolution::rounded(convolution::square_root(square) / u.square_scale) + u.epsilon;
	param += convolution::rounded(convolution::rounded(u.step * mean) / scale);
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
template <bool Adam, class V, class Load, class Store>
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
		adam(u, param, mean, square, gradient);
		put(u.square + at, square);
	} else {
		sgd(u, param, mean, gradient);
	}
	if (u.mean != nullptr) {
		put(u.mean + at, mean);
	}
	put(u.param + at, param);
}

// A row of numbers of the gradient.
template <int W>
void update(const Update& of, const float* gradient, int64_t n) {
	const Update u = of;  // no number that is written lies in it
	convolution::in_vectors<W, 1>(n, [&]<int>(int64_t i, auto get, auto put) {
		u.kind == Update::sgd ? step<false>(u, i, get(gradient + i), get, put) : step<true>(u, i, get(gradient + i), get, put);
	});
}

}  // namespace
}  // namespace tg::matrices
