#include "matrices.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>

#include "order.h"
#include "plain.h"
#include "weights.h"

namespace tg::matrices {
namespace {

using at::Tensor;

// What was picked from the rows from one on.
Picked from(const Product& p, int64_t row) {
	const Picked& all = p.picked;
	return all.words == nullptr ? all : Picked{all.words + row * p.depth, all.counts + row * p.pieces(), all.piece, all.vectors};
}

// Each thread computes some of the longer side.
template <class Run>
void in_parts(const convolution::Processor& k, const Product& p, const Run& run) {
	const bool across = p.columns >= p.rows;
	const int64_t unit = across ? 4 * k.images.vector : 12, units = ((across ? p.columns : p.rows) + unit - 1) / unit;
	at::parallel_for(0, units, 1, [&](int64_t first, int64_t last) {
		Product part = p;
		int64_t at = first * unit, end = last * unit;
		if (across) {
			part.b += at * p.b_column, part.c += at, part.columns = std::min(p.columns, end) - at, part.column += at;
		} else {
			part.a += at * p.a_row, part.c += at * p.c_row, part.rows = std::min(p.rows, end) - at, part.row += at;
			part.picked = from(p, at);
		}
		if (p.ending.by != nullptr) {
			part.ending.by += part.c - p.c;
		}
		if (p.start != nullptr && across == p.across) {
			part.start += at;
		}
		run(part);
	});
}

// Room is no call of an operator, neither for a profiler nor in time.
Tensor room(int64_t rows, int64_t columns) { return at::detail::empty_cpu({rows, columns}, at::kFloat); }

void turn_in_parts(const convolution::Processor& k, const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                   bool relu = false) {
	constexpr int64_t enough = 1 << 15, side = 16;  // of numbers for a thread, and what is turned at once
	const int64_t strips = (rows + side - 1) / side, some = enough / (side * columns) + 1;
	at::parallel_for(0, strips, some, [&](int64_t first, int64_t last) {
		first *= side, last = std::min(rows, last * side);
		k.turn(from + first * from_row, from_row, last - first, columns, to + first, rows, relu);
	});
}

Tensor turned(const convolution::Processor& k, const float* from, int64_t from_row, int64_t rows, int64_t columns) {
	auto to = room(columns, rows);
	turn_in_parts(k, from, from_row, rows, columns, to.mutable_data_ptr<float>());
	return to;
}

// Numbers of rows or of columns lie side by side, and no two in one place.
bool lies(int64_t rows, int64_t columns, int64_t row, int64_t step) { return (step == 1 && row >= columns) || (row == 1 && step >= rows); }

// How a product's numbers lie; none if our kernels do not compute it.
std::optional<Layout> layout_of(const Tensor* start, const Tensor& a, const Tensor& b) {
	if (a.dim() != 2 || b.dim() != 2 || a.size(1) != b.size(0) || !is_plain(a) || !is_plain(b)) {
		return std::nullopt;
	}
	Layout l{a.size(0), b.size(1), a.size(1), a.stride(0), a.stride(1), b.stride(0), b.stride(1), start != nullptr, 1, {}};
	bool fits = start == nullptr || (start->dim() == 1 && start->size(0) == l.columns && start->stride(0) == 1 && is_plain(*start));
	if (!fits || !lies(l.rows, l.depth, l.a_row, l.a_step) || !lies(l.depth, l.columns, l.b_step, l.b_column)) {
		return std::nullopt;
	}
	return l;
}

// Numbers are where a product's are, and what is done with it.
struct Numbers {
	const float *a, *b, *start;
	float* c;
	Ending ending = {};
	const Update* update = nullptr;
};

// What is picked from at once: a block, or as much of it as stays near, where a sum can go on from what is there.
int64_t piece_of(const Order& order, int64_t depth) {
	constexpr int64_t near = 1 << 6;
	if (order.block < depth && order.way != Order::onward) {
		return order.block;
	}
	const int64_t pieces = (depth + near - 1) / near;
	return (depth + pieces - 1) / pieces;
}

// The vectors of a piece of b that lie near each other: as many as stay near, and nearly as many each time.
int64_t vectors_of(const Product& p, int64_t vector) {
	constexpr int64_t near = 1 << 15, least = 4;
	const int64_t some = near / (p.picked.piece * vector * int64_t{sizeof(float)});
	const int64_t most = std::clamp<int64_t>(some, least, Product::most(vector, p.update != nullptr));
	int64_t all = std::max<int64_t>(1, p.columns / vector), parts = (all + most - 1) / most;
	return (all + parts - 1) / parts;
}

// Whether a has so many zeros, as far as some of its numbers tell, that leaving them out pays: fewer where b stays near. Of a matrix without
// any not as many are asked.
bool has_zeros(const Layout& l, const Order& order, const float* a) {
	constexpr int64_t asked = 128, first = asked / 4, few = asked * 3 / 10, many = asked * 9 / 20, near = 1 << 6, far = 1 << 9;
	constexpr int64_t turning = 28;                 // what it takes to turn a number of b is that of so many products
	constexpr uint64_t next = 0x9E3779B97F4A7C15U;  // both halves of its multiples are all over the matrix
	if (order.block == 0 || order.way == Order::lanes) {
		return false;
	}
	const int64_t piece = piece_of(order, l.depth);
	if (piece > far) {
		return false;
	}
	int64_t zeros = 0;
	uint64_t place = 0;
	for (int64_t i = 0; i < asked && (i < first || zeros > 0); i++, place += next) {
		auto row = static_cast<int64_t>((place >> 32) * l.rows >> 32), step = static_cast<int64_t>((place & 0xFFFFFFFF) * l.depth >> 32);
		zeros += a[row * l.a_row + step * l.a_step] == 0;
	}
	return zeros >= (piece <= near ? few : many) && (l.b_column == 1 || zeros * l.rows >= asked * turning);
}

// Computes a product without a's zeros; false if they meet what is not finite, or there may be negative zeros. An update is always computed.
bool skip(const convolution::Processor& k, const Layout& l, const Order& order, const Numbers& n) {
	constexpr int64_t some = 16;
	Product p{n.a, l.a_row, l.a_step, n.b, l.b_step, l.b_column, n.c, l.columns, n.start, true, l.rows, l.columns, l.depth, order, n.ending};
	p.update = n.update;
	Tensor a;
	if (p.a_step != 1) {
		a = turned(k, n.a, l.a_step, l.depth, l.rows);
		p.a = a.const_data_ptr<float>(), p.a_row = l.depth, p.a_step = 1;
	}
	p.picked.piece = piece_of(order, l.depth);
	p.picked.vectors = vectors_of(p, k.images.vector);
	Tensor words = at::detail::empty_cpu({l.rows, l.depth + p.pieces()}, at::kLong);
	p.picked.words = static_cast<uint64_t*>(words.mutable_data_ptr());
	p.picked.counts = words.mutable_data_ptr<int64_t>() + l.rows * l.depth;
	at::parallel_for(0, l.rows, some, [&](int64_t first, int64_t last) {
		for (; first < last; first++) {
			Picked row = from(p, first);
			k.pick(p.a + first * p.a_row, l.depth, row.piece, row.vectors, row.words, row.counts);
		}
	});
	std::atomic<bool> finite{true};
	in_parts(k, p, [&](const Product& part) {
		auto own = room(p.picked.vectors * k.images.vector, p.picked.piece);
		if (!k.multiply_picked(part, own.mutable_data_ptr<float>())) {
			finite = false;
		}
	});
	return finite;
}

// What numbers that lie side by side become.
void rectify(const convolution::Processor& k, const Ending& ending, int64_t numbers, float* c) {
	constexpr int64_t enough = 1 << 15;  // numbers for a thread
	if (ending.rectified) {
		at::parallel_for(0, numbers, enough, [&](int64_t first, int64_t last) {
			k.rectify(ending.by != nullptr ? ending.by + first : nullptr, last - first, c + first);
		});
	}
}

Tensor computed(const convolution::Processor& k, const Layout& l, const Order& order, bool skips, const Tensor* start, const Tensor& a,
                const Tensor& b, const Ending& ending = {}) {
	auto c = room(l.rows, l.columns);
	Numbers n{a.const_data_ptr<float>(), b.const_data_ptr<float>(), start != nullptr ? start->const_data_ptr<float>() : nullptr,
	          c.mutable_data_ptr<float>(), ending};
	if (!skips || !skip(k, l, order, n)) {
		const bool relu = ending.rectified && ending.by == nullptr;
		if (!multiply(k, l, order, n.a, n.b, n.start, n.c, relu)) {
			rectify(k, ending, c.numel(), n.c);
		}
	}
	return c;
}

// Whether a product takes long enough for what is looked at, and not so long that finding its order would be felt.
bool of_some_size(const Tensor& a, const Tensor& b) {
	constexpr int64_t few = 8, many = int64_t{1} << 20, least = int64_t{1} << 16, most = int64_t{1} << 30;
	if (a.dim() != 2 || b.dim() != 2) {
		return false;
	}
	int64_t rows = a.size(0), depth = a.size(1), columns = b.size(1);
	bool sides = std::min({rows, columns, depth}) >= few && std::max({rows, columns, depth}) <= many;
	return sides && rows * columns <= most / depth && rows * columns * depth >= least;
}

// Plan is how our kernels compute a product.
struct Plan {
	Layout layout;
	Order order;
	bool skips;
};

// The plan for a product; none if our kernels do not compute it as libtorch does, and in less time.
std::optional<Plan> plan_of(const Tensor* start, const Tensor& a, const Tensor& b) {
	auto l = of_some_size(a, b) ? layout_of(start, a, b) : std::nullopt;
	if (!l) {
		return std::nullopt;
	}
	l->threads = at::in_parallel_region() ? 1 : at::get_num_threads();
	l->precision = at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
	const Known known = order_of(*l);
	const auto *from = a.const_data_ptr<float>(), *by = b.const_data_ptr<float>();
	if (known.order.way == Order::lanes && !(lies_for_lanes(from) && lies_for_lanes(by))) {
		return std::nullopt;
	}
	const bool skips = has_zeros(*l, known.order, from);
	return skips || known.sooner ? std::optional(Plan{*l, known.order, skips}) : std::nullopt;
}

// The product in an order that the caller chooses, and with vectors of so many numbers, with or without a's zeros.
Tensor product_in_order(const std::optional<Tensor>& start, const Tensor& a, const Tensor& b, int64_t block, std::string_view way,
                        int64_t vector, bool skips) {
	constexpr std::string_view ways[] = {"added", "replacing", "onward", "lanes"};
	const Tensor* begin = start ? &*start : nullptr;
	auto l = layout_of(begin, a, b);
	TORCH_CHECK_VALUE(l && std::min({l->rows, l->columns, l->depth}) > 0, "expected matrices of float32 whose rows or columns lie side by side, got ",
	                  a.sizes(), " with strides ", a.strides(), " and ", b.sizes(), " with strides ", b.strides());
	TORCH_CHECK_VALUE(block > 0 && block < int64_t{1} << 31, "expected blocks of one or more, got ", block);
	auto found = std::find(std::begin(ways), std::end(ways), way);
	TORCH_CHECK_VALUE(found != std::end(ways), "there is no way ", way, " to make sums");
	Order order{static_cast<int32_t>(block), static_cast<Order::Way>(found - std::begin(ways))};
	if (order.way == Order::lanes) {
		TORCH_CHECK_VALUE(fits_lanes(*l) && !skips, "sums of ", l->depth, " numbers for ", l->columns, " columns are not made in lanes");
		order = Order::in_lanes(order.block);
	}
	return computed(convolution::processor_of(vector), *l, order, skips, begin, a, b);
}

bool is_one(const at::Scalar& s) { return !s.isComplex() && !s.isSymbolic() && s.toDouble() == 1; }

}  // namespace

bool fits_lanes(const Layout& l) {
	constexpr int64_t most = 8, lane = 4;  // lanes, and what a row's place is a multiple of
	return l.columns < Order::few && l.depth % most == 0 && l.a_step == 1 && l.b_step == 1 && l.a_row % lane == 0;
}

bool lies_for_lanes(const float* numbers) { return reinterpret_cast<uintptr_t>(numbers) % 16 == 0; }

// A kernel reads columns of b that lie side by side. Where rows do, b is turned, or, if that is less, the product, for which a and c are.
bool multiply(const convolution::Processor& k, const Layout& l, const Order& order, const float* a, const float* b, const float* start,
              float* c, bool relu) {
	constexpr int64_t deep = 128;  // so many lines of a that lie apart do not stay near
	if (order.way == Order::lanes) {
		in_parts(k, {a, l.a_row, 1, b, 1, l.b_column, c, l.columns, start, true, l.rows, l.columns, l.depth, order}, k.multiply_in_lanes);
		return false;
	}
	int64_t a_row = l.a_row, a_step = l.a_step, b_step = l.b_step, b_column = l.b_column;
	const bool packs = l.threads == 1 && k.images.vector < Product::whole && std::min<int64_t>(order.block, l.depth) <= Product::near;
	Tensor a_turned, b_turned;
	auto turn_a = [&](int64_t from_row, int64_t rows, int64_t columns) {
		a_turned = turned(k, a, from_row, rows, columns);
		a = a_turned.const_data_ptr<float>();
	};
	if (l.b_column != 1 && l.rows * (l.columns + l.depth) < l.columns * l.depth) {
		if (a_row != 1 && !packs) {
			turn_a(a_row, l.rows, l.depth);
			a_row = 1, a_step = l.rows;
		}
		auto sums = room(l.columns, l.rows);
		const Product p{b, l.b_column, 1, a, a_step, a_row, sums.mutable_data_ptr<float>(), l.rows, start, false, l.columns, l.rows, l.depth, order};
		in_parts(k, p, k.multiply);
		turn_in_parts(k, sums.const_data_ptr<float>(), l.rows, l.columns, l.rows, c, relu);
		return relu;
	}
	if (a_step != 1 && l.depth > deep) {
		turn_a(a_step, l.depth, l.rows);
		a_row = l.depth, a_step = 1;
	}
	if (b_column != 1 && !packs) {
		b_turned = turned(k, b, b_column, l.columns, l.depth);
		b = b_turned.const_data_ptr<float>(), b_step = l.columns, b_column = 1;
	}
	in_parts(k, {a, a_row, a_step, b, b_step, b_column, c, l.columns, start, true, l.rows, l.columns, l.depth, order}, k.multiply);
	return false;
}

bool rectify(const Ending& ending, Tensor& c) {
	const auto* k = convolution::best_processor();
	if (k == nullptr || !is_plain(c, c.sizes())) {
		return false;
	}
	rectify(*k, ending, c.numel(), c.mutable_data_ptr<float>());
	return true;
}

std::optional<Tensor> product(const Tensor* start, const Tensor& a, const Tensor& b, const Ending& ending) {
	auto plan = plan_of(start, a, b);
	if (!plan) {
		return std::nullopt;
	}
	return computed(*convolution::best_processor(), plan->layout, plan->order, plan->skips, start, a, b, ending);
}

bool multiply_into(Update& update, const Tensor& a, const Tensor& b) {
	auto plan = plan_of(nullptr, a, b);
	if (!plan || !plan->skips || piece_of(plan->order, plan->layout.depth) < plan->layout.depth) {
		return false;  // what is picked in pieces may have to be computed anew
	}
	update.width = plan->layout.columns;
	Numbers n{a.const_data_ptr<float>(), b.const_data_ptr<float>(), nullptr, nullptr, {}, &update};
	return skip(*convolution::best_processor(), plan->layout, plan->order, n);
}

Tensor mm(const Tensor& a, const Tensor& b) {
	auto c = product(nullptr, a, b);
	return c ? *std::move(c) : at::cpu::mm(a, b);
}

Tensor addmm(const Tensor& start, const Tensor& a, const Tensor& b, const at::Scalar& beta, const at::Scalar& alpha) {
	std::optional<Tensor> c;
	if (is_one(beta) && is_one(alpha)) {
		c = product(&start, a, b);
	}
	return c ? *std::move(c) : at::cpu::addmm(start, a, b, beta, alpha);
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("product(Tensor? start, Tensor a, Tensor b, int block, str way, int vector, bool skips) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("product", product_in_order); }

}  // namespace tg::matrices
