// Updates of parameters in vectors. Each operation rounds where libtorch's kernels round, as compiled.
#pragma once

#include "update.h"
#include "vectors.h"

namespace tg::matrices {
namespace {

// Whether the mean is the nearer end of the way to the gradient.
INLINE bool is_near(const Update& u) { return u.taken < 0.5f && u.taken > -0.5f; }

// The mean moves towards the gradient: from the nearer end, as lerp does.
template <bool Near, class V>
INLINE V moved(const Update& u, V mean, V gradient) {
	const bool near = Near || is_near(u);
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

// Adam's averages with the gradient; the root of that of squares.
template <bool Rest, bool Near, class V>
INLINE V averaged(const Update& u, V& mean, V& square, V gradient) {
	using convolution::multiplied_and_added;
	mean = moved<Near>(u, mean, gradient);
	const V taken = convolution::rounded(u.square_taken * gradient);
	square = Rest ? multiplied_and_added(square, u.square_kept - V{}, convolution::rounded(taken * gradient))
	              : multiplied_and_added(taken, gradient, convolution::rounded(square * u.square_kept));
	return convolution::square_root(square);
}

// What a parameter is to become more by them.
template <class V>
INLINE V change(const Update& u, V mean, V root) {
	V scale = convolution::rounded(root / u.square_scale) + u.epsilon;
	return convolution::rounded(convolution::rounded(u.step * mean) / scale);
}

template <bool Rest, class V>
INLINE void adam(const Update& u, V& param, V& mean, V& square, V gradient) {
	if (u.kind == Update::adamw) {
		param = convolution::rounded(param * u.decay);
	} else if (u.decay != 0) {
		gradient = convolution::multiplied_and_added(param, u.decay - V{}, gradient);
	}
	const V root = averaged<Rest, false>(u, mean, square, gradient);
	param += change(u, mean, root);
}

// Most rules have a mean and none of the other options: SGD's, whose gradient is not decayed, and AdamW's.
INLINE bool is_common(const Update& u) {
	return u.mean != nullptr && !u.maximize && !u.nesterov && (u.kind == Update::sgd ? u.decay == 0 : u.kind == Update::adamw && is_near(u));
}

// Such a rule, of which the compiler then knows what it is, so that nothing is asked for each vector.
template <bool Adam, bool Common>
INLINE Update known(Update u) {
	if constexpr (Common) {
		u.kind = Adam ? Update::adamw : Update::sgd;
		u.maximize = u.nesterov = false;
		u.decay = Adam ? u.decay : 0;
		if (u.mean == nullptr) {
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

// The steps of V vectors that lie side by side, as many of which begin at each time as share what is read for them. Those of AdamW's common
// rule take three times, for one part each: a processor that lets results go in their order holds too few of them to begin another chain of a
// root and two divisions before one is through.
template <bool Adam, bool Common, int W, int V>
struct Steps {
	static constexpr bool chained = Adam && Common;
	static constexpr int together = Common ? 2 : 1, begins = (V + together - 1) / together, times = chained ? begins + 2 : begins;
	static constexpr int64_t ahead = 4;  // rows: processors do not foresee where the next one lies

	Vec<W> mean[V], root[V], more[V];

	// Calls f for each vector that began at that time.
	template <class F>
	static INLINE void some(int time, const F& f) {
		for (int v = time * together; time >= 0 && v < convolution::least(V, (time + 1) * together); v++) {
			f(v);
		}
	}

	// What is to be done at that time to the numbers that lie there.
	template <class Load, class Store>
	INLINE void advance(const Update& u, int time, int64_t at, const Vec<W>* gradient, const Load& get, const Store& put) {
		if constexpr (chained) {
			some(time - 2, [&](int v) __attribute__((always_inline)) {
				float* param = u.param + at + v * W;
				put(param, convolution::rounded(get(param) * u.decay) + more[v]);
			});
			some(time - 1, [&](int v) __attribute__((always_inline)) { more[v] = change(u, mean[v], root[v]); });
		}
		some(time, [&](int v) __attribute__((always_inline)) {
			const int64_t i = at + v * W;
			fetch<Adam>(u, i + ahead * u.width);
			if constexpr (chained) {
				Vec<W> square = get(u.square + i);
				mean[v] = get(u.mean + i);
				root[v] = averaged<false, true>(u, mean[v], square, gradient[v]);
				put(u.mean + i, mean[v]);
				put(u.square + i, square);
			} else {
				step<Adam>(u, i, gradient[v], get, put);
			}
		});
	}
};

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
