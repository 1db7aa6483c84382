#include "order.h"

#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm_cpu_dispatch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "trial.h"
#include "weights.h"

namespace tg::matrices {
namespace {

using at::Tensor;
using convolution::Processor;

// Trial is a product of made-up numbers, as libtorch computes it and as we do.
class Trial {
 public:
	Trial(const Processor& k, const Layout& l) : kernels_(k), layout_(l), a_(extent(l.rows, l.depth, l.a_row, l.a_step) + kLanes),
	      b_(extent(l.depth, l.columns, l.b_step, l.b_column) + kLanes), start_(l.columns), c_(l.rows * l.columns), want_(c_.size()) {
		make_up(kTiny);
	}

	// What lies between the rows does not cost more than they do, and none of it is much.
	static bool fits(const Layout& l) {
		constexpr int64_t most = int64_t{1} << 22, apart = 4;
		int64_t a = extent(l.rows, l.depth, l.a_row, l.a_step), b = extent(l.depth, l.columns, l.b_step, l.b_column);
		return a <= std::min(most, apart * l.rows * l.depth) && b <= std::min(most, apart * l.depth * l.columns) && l.rows * l.columns <= most;
	}

	// The first order with libtorch's bits, wherever the numbers lie.
	Order find() {
		for (auto way : {Order::added, Order::onward, Order::replacing}) {
			if (Order all{static_cast<int32_t>(layout_.depth), way}; same(all)) {
				return all;
			}
			for (int32_t block = kUnit; block < layout_.depth && block <= kLongest; block += kUnit) {
				if (Order some{block, way}; same(some)) {
					return some;
				}
			}
		}
		return fits_lanes(layout_) ? in_lanes() : Order();
	}

	// Whether we take less time.
	bool pays(const Order& order) {
		double ours = std::numeric_limits<double>::infinity(), theirs = ours;
		const int rounds = layout_.rows * layout_.columns * layout_.depth < kLong ? kRounds : 2;
		for (int round = 0; round < rounds; round++) {
			theirs = std::min(theirs, seconds([&] { by_libtorch(0); }));
			ours = std::min(ours, seconds([&] { run(layout_, order, 0); }));
		}
		return ours < kEnough * theirs;
	}

 private:
	static constexpr int32_t kUnit = 16, kLongest = 1024;  // of blocks
	static constexpr int64_t kShift = 1;                   // to an address that is no vector's
	static constexpr int64_t kLanes = 4;                   // to another one where rows may begin whose sums are made in lanes
	static constexpr float kTiny = 1e-24F;
	static constexpr int kRounds = 5;                      // of measuring, but for products of more than so many numbers
	static constexpr int64_t kLong = int64_t{1} << 27;
	static constexpr double kEnough = 0.97;

	static constexpr int64_t extent(int64_t rows, int64_t columns, int64_t row, int64_t step) {
		return (rows - 1) * row + (columns - 1) * step + 1;
	}

	int64_t a_of(int64_t row, int64_t i) const { return row * layout_.a_row + i * layout_.a_step; }
	int64_t b_of(int64_t i, int64_t column) const { return i * layout_.b_step + column * layout_.b_column; }

	void fill(std::vector<float>& numbers) {
		for (float& x : numbers) {
			x = static_cast<float>(made_up(seed_)) * 0x1p-31F;
		}
	}

	// Makes a product whose first and last rows and columns are smaller: so small that sums round to a negative zero, or not at all.
	void make_up(float small) {
		const auto& l = layout_;
		fill(a_), fill(b_), fill(start_);
		for (int64_t i = 0; i < l.depth; i++) {
			a_[a_of(0, i)] *= small, a_[a_of(l.rows - 1, i)] *= small;
			b_[b_of(i, 0)] *= small, b_[b_of(i, l.columns - 1)] *= small;
		}
		a_[a_of(2, l.depth / 2)] = std::numeric_limits<float>::infinity();
		a_[a_of(3, l.depth / 2)] = std::numeric_limits<float>::quiet_NaN();
		by_libtorch(0);
	}

	static Tensor tensor(std::vector<float>& numbers, int64_t shift, int64_t rows, int64_t columns, int64_t row, int64_t step) {
		return at::from_blob(numbers.data() + shift, {rows, columns}, {row, step}, at::kFloat);
	}

	void by_libtorch(int64_t shift) {
		const auto& l = layout_;
		auto a = tensor(a_, shift, l.rows, l.depth, l.a_row, l.a_step), b = tensor(b_, shift, l.depth, l.columns, l.b_step, l.b_column);
		auto want = tensor(want_, 0, l.rows, l.columns, l.columns, 1);
		if (l.starts) {
			at::cpu::addmm_out(want, at::from_blob(start_.data(), {l.columns}, at::kFloat), a, b);
		} else {
			at::cpu::mm_out(want, a, b);
		}
	}

	void run(const Layout& l, const Order& order, int64_t shift) {
		multiply(kernels_, l, order, a_.data() + shift, b_.data() + shift, l.starts ? start_.data() : nullptr, c_.data());
	}

	// Whether the first rows and columns of the result are libtorch's.
	bool equal(int64_t rows, int64_t columns) const {
		for (int64_t i = 0; i < rows; i++) {
			if (memcmp(want_.data() + i * layout_.columns, c_.data() + i * columns, columns * sizeof(float)) != 0) {
				return false;
			}
		}
		return true;
	}

	// The lanes of each column: eight where four make other bits. What is too small does not tell.
	Order in_lanes() {
		int32_t eight = 0;
		make_up(1);
		run(layout_, Order::in_lanes(0), 0);
		for (size_t i = 0; i < c_.size(); i++) {
			eight |= (memcmp(&want_[i], &c_[i], sizeof(float)) != 0) << (i % layout_.columns);
		}
		const Order order = Order::in_lanes(eight);
		const bool all = same(order);
		make_up(kTiny);
		return all && same(order) ? order : Order();
	}

	// Whether an order makes libtorch's bits: in a corner, in all of the product, and in another one, at addresses that are no vector's.
	bool same(const Order& order) {
		Layout corner = layout_;
		corner.rows = std::min<int64_t>(corner.rows, 12), corner.columns = std::min<int64_t>(corner.columns, 32);
		run(corner, order, 0);
		if (!equal(corner.rows, corner.columns)) {
			return false;
		}
		bool all = true;
		for (int64_t shift : {order.way == Order::lanes ? kLanes : kShift, int64_t{0}}) {  // the next order meets the first product again
			by_libtorch(shift);
			run(layout_, order, shift);
			all &= equal(layout_.rows, layout_.columns);
		}
		return all;
	}

	template <class F>
	static double seconds(const F& f) {
		auto start = std::chrono::steady_clock::now();
		f();
		return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
	}

	const Processor& kernels_;
	const Layout layout_;
	uint64_t seed_ = 1;
	std::vector<float> a_, b_, start_, c_, want_;
};

// The order for a layout. Where memory is short, there is none.
Known found(const Layout& l) {
	try {
		Trial trial(*convolution::best_processor(), l);
		Order order = trial.find();
		return {order, order.block > 0 && trial.pays(order)};
	} catch (const c10::OutOfMemoryError&) {
		return {};
	} catch (const std::bad_alloc&) {
		return {};
	}
}

// Entry is what is known of a layout.
struct Entry {
	const Layout layout;
	std::atomic<int> uses{0};
	std::atomic<Order> order{Order{}};
	std::atomic<bool> sooner{false};  // is set before the order
};

size_t hash(const Layout& l) {
	uint64_t h = 0;
	for (auto n : {l.rows, l.columns, l.depth, l.a_row, l.b_step, int64_t{l.starts}, int64_t{l.threads}}) {
		h = (h ^ static_cast<uint64_t>(n)) * 0x9E3779B97F4A7C15U;
		h ^= h >> 32;
	}
	return h;
}

// The entry of a layout; null if there are too many.
Entry* entry_of(const Layout& l) {
	constexpr size_t slots = 512, near = 8;
	static std::array<std::atomic<Entry*>, slots> table;
	const size_t first = hash(l);
	for (size_t i = 0; i < near; i++) {
		auto& slot = table[(first + i) % slots];
		Entry* entry = slot.load(std::memory_order_acquire);
		if (entry == nullptr) {
			auto made = std::make_unique<Entry>(l);
			if (slot.compare_exchange_strong(entry, made.get(), std::memory_order_acq_rel)) {
				return made.release();
			}
		}
		if (entry->layout == l) {
			return entry;
		}
	}
	return nullptr;
}

}  // namespace

Known order_of(const Layout& l) {
	constexpr int seldom = 32;  // products that come up more often are worth the time of a dozen
	Entry* entry = entry_of(l);
	if (entry == nullptr) {
		return {};
	}
	bool young = entry->uses.load(std::memory_order_relaxed) <= seldom;
	if (young && entry->uses.fetch_add(1, std::memory_order_relaxed) == seldom && Trial::fits(l)) {
		const Known known = found(l);
		entry->sooner.store(known.sooner, std::memory_order_relaxed);
		entry->order.store(known.order, std::memory_order_release);
	}
	const Order order = entry->order.load(std::memory_order_acquire);
	return {order, order.block > 0 && entry->sooner.load(std::memory_order_relaxed)};
}

}  // namespace tg::matrices
