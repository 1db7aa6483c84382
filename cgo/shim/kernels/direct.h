// Direct convolutions: each pixel of the result is a product of what is around it, a row of the kernel at a time, with a panel of weights.
#pragma once

#include "convolution.h"
#include "vectors.h"

namespace tg::convolution {
namespace {

// The numbers to whose power e is a normal number.
constexpr float kLeastPower = -87.0f, kMostPower = 88.0f;

// A polynomial, its highest factor first.
template <class V, size_t n>
INLINE V polynomial(const float (&factors)[n], V x) {
	V y = V{} + factors[0];
	for (size_t i = 1; i < n; i++) {
		y = y * x + factors[i];
	}
	return y;
}

// e to the power of each such number, as near as float32 comes but for the last bit: a power of two times a polynomial of what is left over,
// which is less than half of ln 2 (Cephes' constants).
template <class V>
INLINE V exponential_within(V x) {
	using I = Ints<sizeof(V) / sizeof(float)>;
	constexpr float ahead = 0x1.8p23f;  // adding it rounds to whole numbers, which are its last bits then
	V shifted = x * 1.44269504f + ahead, n = shifted - ahead;
	V rest = x - n * 0.693359375f + n * 2.12194440e-4f;
	constexpr float factors[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
	V y = polynomial(factors, rest) * (rest * rest) + rest + 1.0f;
	I power = ((I)shifted - (I)(V{} + ahead) + 127) << 23;
	return y * (V)power;
}

// e to the power of each number.
template <class V>
INLINE V exponential(V v) {
	V y = exponential_within(smaller(V{} + kMostPower, larger(V{} + kLeastPower, v)));
	return v > kMostPower ? V{} + __builtin_inff() : y;
}

// How much of the normal distribution lies below each number. Between the limits it is a half and an odd function, a fraction of two
// polynomials (fitted to erf at 3,000 points so that the largest error is least: 7e-9, of which float32 makes 2e-7).
template <class V>
INLINE V normal_below(V x) {
	constexpr float limit = 5.5f;
	constexpr float above[] = {2.27489672e-8f, 6.35211154e-6f, 1.68828803e-4f, 4.67727939e-3f, 3.38529833e-2f, 3.98942232e-1f};
	constexpr float under[] = {1.19749188e-6f, 7.36483562e-5f, 1.88446266e-3f, 2.86460575e-2f, 2.5152275e-1f, 1.0f};
	V within = smaller(V{} + limit, larger(V{} - limit, x)), square = within * within;
	V part = within * polynomial(above, square) / polynomial(under, square) + 0.5f;
	return x <= -limit ? V{} : x >= limit ? V{} + 1.0f : larger(V{}, part);
}

// What is no number stays so in all of them.
template <Activation A, class V>
INLINE V activate(V v) {
	if constexpr (A == Activation::none) {
		return v;
	} else if constexpr (A == Activation::relu) {
		return larger(V{}, v);
	} else if constexpr (A == Activation::swish) {
		return v / (exponential(-v) + 1.0f);
	} else if constexpr (A == Activation::sigmoid) {
		return 1.0f / (exponential(-v) + 1.0f);
	} else if constexpr (A == Activation::gelu) {
		return v * normal_below(v);
	} else if constexpr (A == Activation::gelu_tanh) {
		return v / (exponential((v * v * 0.044715f + 1.0f) * v * -1.59576912f) + 1.0f);  // twice the root of 2 / pi
	} else {
		V six = V{} + 6.0f, part = A == Activation::relu6 ? v : v + 3.0f;
		part = smaller(six, larger(V{}, part));
		if constexpr (A != Activation::relu6) {
			part *= 1.0f / 6;
		}
		return A == Activation::hardswish ? v * part : part;
	}
}

// with calls a function with the activation as a constant.
template <class Do>
INLINE void with(Activation a, const Do& run) {
	switch (a) {
		case Activation::none: return run.template operator()<Activation::none>();
		case Activation::relu: return run.template operator()<Activation::relu>();
		case Activation::relu6: return run.template operator()<Activation::relu6>();
		case Activation::hardswish: return run.template operator()<Activation::hardswish>();
		case Activation::hardsigmoid: return run.template operator()<Activation::hardsigmoid>();
		case Activation::swish: return run.template operator()<Activation::swish>();
		case Activation::sigmoid: return run.template operator()<Activation::sigmoid>();
		case Activation::gelu: return run.template operator()<Activation::gelu>();
		case Activation::gelu_tanh: return run.template operator()<Activation::gelu_tanh>();
	}
}

// The bias of V vectors of outputs, of which the last may be fewer numbers.
template <int W, int V>
INLINE void biases(const Task& t, int64_t output, Vec<W>* to) {
	for (int v = 0; v < V; v++, output += W) {
		int64_t n = t.outputs - output;
		to[v] = t.bias ? load_at_most<W>(t.bias + output, n) : Vec<W>{};
	}
}

// How results lie: numbers from a pixel to the next, and from a vector of outputs to the next.
struct Lying {
	int64_t pixel, vector;
};

// What R rows of V vectors become, of which the last has some numbers alone where that is less than all. It is called for activations that
// take longer than a call: in each place of its own they would be most of what is compiled.
template <int W, class N>
__attribute__((noinline)) void write_activated(Activation a, const Vec<W>* sums, int R, int V, N* place, Lying lying, int64_t some) {
	with(a, [&]<Activation A>() __attribute__((always_inline)) {
		for (int r = 0; r < R; r++, place += lying.pixel) {
			for (int v = 0; v < V; v++, sums++) {
				store_at_most(place + v * lying.vector, activate<A>(*sums), v < V - 1 ? W : some);
			}
		}
	});
}

// Results are what neighbouring pixels have of V vectors of outputs. The first of them lies at place, and the last vector has some numbers
// alone where that is less than all.
template <class N, int W, int V, int R>
struct Results {
	Sums<W, V, R> sums;
	Lying lying;
	int64_t some;

	// Both are unrolled, as the compiler would not by itself: sums stay in registers.
	INLINE void add(const N* place) {
#pragma GCC unroll 16
		for (int r = 0; r < R; r++, place += lying.pixel) {
#pragma GCC unroll 16
			for (int v = 0; v < V; v++) {
				sums.rows[r][v] += load_at_most<W>(place + v * lying.vector, v < V - 1 ? W : some);
			}
		}
	}

	// None of them less than a floor.
	INLINE void write(float floor, N* place) const {
#pragma GCC unroll 16
		for (int r = 0; r < R; r++, place += lying.pixel) {
#pragma GCC unroll 16
			for (int v = 0; v < V; v++) {
				store_at_most(place + v * lying.vector, larger(Vec<W>{} + floor, sums.rows[r][v]), v < V - 1 ? W : some);
			}
		}
	}
};

// The least that ReLU leaves, or none does.
INLINE float floor_of(Activation a) { return a == Activation::relu ? 0 : -__builtin_inff(); }

// finish writes sums of neighbouring pixels, of outputs of which the first has that number and lies at place.
template <class N, int W, int V, int R>
INLINE void finish(const Task& t, const Sums<W, V, R>& sums, int64_t place, int64_t output, Lying lying) {
	Results<N, W, V, R> results{sums, lying, t.outputs - output - (V - 1) * W};
	if (t.sum) {
		results.add(static_cast<const N*>(t.sum) + place);
	}
	N* to = static_cast<N*>(t.y) + place;
	if (t.activation == Activation::none || t.activation == Activation::relu) {
		return results.write(floor_of(t.activation), to);
	}
	const Sums<W, V, R> own = results.sums;  // what has an address is in memory, and would be for all activations
	write_activated<W>(t.activation, &own.rows[0][0], R, V, to, lying, results.some);
}

// The same where a pixel's outputs lie together.
template <class N, int W, int V, int R>
INLINE void finish(const Task& t, const Sums<W, V, R>& sums, int64_t place, int64_t output) {
	finish<N>(t, sums, place, output, {t.outputs, W});
}

// finish_direct writes those of a direct convolution's pixels and vectors from one on, where a pixel's outputs lie together or vectors lie apart.
template <class N, int W, int V, int R>
INLINE void finish_direct(const Task& t, const Sums<W, V, R>& sums, int64_t pixel, int64_t vector) {
	const Lying lying = t.apart_vectors > 0 ? Lying{W, t.apart_vectors} : Lying{t.outputs, W};
	const int64_t place = pixel * lying.pixel + vector * lying.vector;
	if constexpr (together<N> > 1) {
		if (t.wide) {
			const Results<float, W, V, R> results{sums, lying, t.outputs - (vector + V - 1) * W};
			float* to = static_cast<float*>(t.y) + place;
			return results.write(floor_of(t.activation), to);
		}
	}
	finish<N>(t, sums, place, vector * W, lying);
}

// Where pixels of the result begin to see, one after the other.
template <class Of, class N>
struct Walk {
	const Of& t;
	int64_t x, y;
	const N* row;

	Walk(const Of& task, const N* images, int64_t pixel) : t(task), x(pixel % t.out_width), y(pixel / t.out_width % t.out_height) {
		row = images + (pixel / t.out_width / t.out_height * t.height + y * t.down) * t.width * t.channels;
	}

	INLINE auto operator()(int64_t) {
		auto from = row + x * t.across * t.channels;
		if (++x == t.out_width) {
			x = 0;
			bool last = ++y == t.out_height;
			row += (last ? t.height - (y - 1) * t.down : t.down) * t.width * t.channels;
			y = last ? 0 : y;
		}
		return from;
	}
};

// A number of each of R pixels, which is in all lanes, or two of bfloat16, meets its vectors of Q panels of three, which lie so far apart.
template <int W, int Q, int R, class N>
INLINE void meet(const Vec<W>* numbers, const N* panel, int64_t apart, Sums<W, 3 * Q, R>& sums) {
	constexpr int size = together<N> * W, line = 64 / sizeof(N), lines = (3 * size + line - 1) / line, ahead = 16 * line;
	unrolled<Q>([&](int q) __attribute__((always_inline)) {
		const N* own = panel + q * apart;
		for (int i = 0; i < lines; i++) {
			__builtin_prefetch(own + ahead + i * line, 0, 2);
		}
		for (int v = 0; v < 3; v++) {
			const Vec<W> weight = lying<W>(own + v * size);
			for (int r = 0; r < R; r++) {
				sums.rows[r][3 * q + v] = add_product<W>(sums.rows[r][3 * q + v], own, numbers[r], weight);
			}
		}
	});
}

// Few pixels take the time in which weights come from memory, which gives a sixth more, or a third, to who reads at several places: they meet
// several panels of three vectors at once. (Linear layers with narrow weights gain nothing by it.)
template <class N, int W, int Q, int R>
void direct_few(const Task& t, int64_t vector) {
	constexpr int V = 3 * Q, P = together<N>;
	const int64_t n = t.kernel_width * t.channels, row = t.apart * t.width * t.channels, output = vector * W;
	const int64_t all = t.kernel_height * whole(n, P);  // the numbers of a pixel that a vector meets
	const N *panel = static_cast<const N*>(t.weight) + output * all, *rows[R];
	Walk at(t, static_cast<const N*>(t.x), 0);
	Sums<W, V, R> sums;
	for (int r = 0; r < R; r++) {
		rows[r] = at(r);
		biases<W, V>(t, output, sums.rows[r]);
	}
	auto add = [&]<bool Alone>(int64_t k) __attribute__((always_inline)) {
		Vec<W> numbers[R];
		for (int r = 0; r < R; r++) {
			numbers[r] = across<W, Alone>(rows[r] + k);
		}
		meet<W, Q, R>(numbers, panel, 3 * W * all, sums);
		panel += 3 * P * W;
	};
	for (int64_t y = 0; y < t.kernel_height; y++) {
		int64_t k = 0;
		for (; k + P <= n; k += P) {
			add.template operator()<false>(k);
		}
		if (P > 1 && k < n) {
			add.template operator()<true>(k);
		}
		for (int r = 0; r < R; r++) {
			rows[r] += row;
		}
	}
	finish_direct<N>(t, sums, 0, vector);
}

// The same of as many panels and pixels as a task says.
template <class N, int W>
INLINE void direct_few_of(const Task& t, int64_t vector) {
	auto run = [&]<int Q, int R>() {
		if constexpr (Panels::fit(Q, R, W)) {
			direct_few<N, W, Q, R>(t, vector);
		}
	};
	auto of = [&]<int Q>() {
		switch (t.pixels()) {
			case 1: return run.template operator()<Q, 1>();
			case 2: return run.template operator()<Q, 2>();
			case 3: return run.template operator()<Q, 3>();
			case 4: return run.template operator()<Q, 4>();
		}
	};
	static_assert(kFewRows == 4 && Panels::kPanels == 4, "each is one of the cases");
	switch (t.panels) {
		case 1: return of.template operator()<1>();
		case 2: return of.template operator()<2>();
		case 4: return of.template operator()<4>();
	}
}

// V vectors of outputs, of which the last may be some numbers alone.
template <class N, int W, int V, int R>
void direct(const Task& t, int64_t vector, int64_t first, int64_t last) {
	if (V == 3 && t.panels > 0) {
		return direct_few_of<N, W>(t, vector);
	}
	const int64_t row = t.apart * t.width * t.channels, n = t.kernel_width * t.channels, output = vector * W;
	Vec<W> bias[V];
	biases<W, V>(t, output, bias);
	Walk at(t, static_cast<const N*>(t.x), first);
	const N* panel = static_cast<const N*>(t.weight) + output * t.kernel_height * whole(n, together<N>);
	auto done = [&](int64_t pixel, const auto& sums) { finish_direct<N>(t, sums, pixel, vector); };
	products<W, V, R>(first, last, at, t.kernel_height, row, Weights{panel}, n, bias, done);
}

}  // namespace
}  // namespace tg::convolution
