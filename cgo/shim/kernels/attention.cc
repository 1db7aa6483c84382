// Attention as libtorch's scaled_dot_product_attention computes it, in the memory of a head's keys and values and of some rows. It takes less
// time for as many keys as stay in the cache, and for few rows; all else is left to libtorch.
#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "head.h"
#include "weights.h"

namespace tg::attention {
namespace {

using at::Tensor;

constexpr int64_t most_numbers = 1 << 17;  // of a head's keys, and of its values

// What computes a head of some attention, and the room it needs.
struct Way {
	void (*attend)(const Head& h, float* room);
	int64_t (*room)(const Head& h, int64_t vector);
	int64_t vector;
};

// The way of such an attention; none where libtorch has to compute it.
std::optional<Way> way_of(const Tensor& q, const Tensor& k, const Tensor& v) {
	auto is_head = [&](const Tensor& t) {
		return t.dim() == 4 && t.scalar_type() == q.scalar_type() && t.layout() == at::kStrided && !t.is_neg() && t.size(0) == q.size(0);
	};
	if (!is_head(q) || !is_head(k) || !is_head(v) || q.size(3) != k.size(3) || k.size(2) != v.size(2) || k.size(1) != v.size(1)) {
		return std::nullopt;
	}
	int64_t keys = k.size(2), depth = k.size(3), width = v.size(3);
	if (keys < 1 || depth < 1 || width < 1) {
		return std::nullopt;
	}
	if (q.size(2) < kFewRows) {
		const auto* best = q.scalar_type() == at::kFloat ? convolution::best_processor() : nullptr;
		return best ? std::optional(Way{best->attend_few, room_of_few, best->images.vector}) : std::nullopt;
	}
	if (keys > most_numbers / depth || keys > most_numbers / width || depth % convolution::together_of(q.scalar_type()) != 0) {
		return std::nullopt;
	}
	const auto* kernels = convolution::any_kernels(q.scalar_type());
	return kernels ? std::optional(Way{kernels->attend, room_of, kernels->vector}) : std::nullopt;
}

// What is added to products, in float32, with the sizes of all of them; undefined where libtorch has words for a mask.
Tensor added(const Tensor& mask, const Tensor& query, int64_t keys) {
	std::vector<int64_t> sizes{query.size(0), query.size(1), query.size(2), keys};
	bool known = mask.scalar_type() == at::kBool || mask.scalar_type() == query.scalar_type();
	if (!known || mask.layout() != at::kStrided || mask.is_neg() || mask.dim() < 2 || !at::is_expandable_to(mask.sizes(), sizes)) {
		return {};
	}
	Tensor m = mask;
	if (mask.scalar_type() == at::kBool) {
		auto zeros = at::zeros_like(mask, at::kFloat);
		m = at::where(mask, zeros, at::full_like(zeros, -std::numeric_limits<double>::infinity()));
	}
	m = m.to(at::kFloat);
	if (m.size(-1) != keys || m.stride(-1) != 1) {
		auto rows = m.sizes().vec();
		rows.back() = keys;
		m = m.expand(rows).contiguous();
	}
	return m.expand(sizes);
}

// Rows whose numbers lie side by side, those that are multiplied together in whole words.
Tensor rows_of(const Tensor& t, int64_t together) {
	return t.stride(3) == 1 && t.stride(2) % together == 0 ? t : t.contiguous();
}

// Results lie as libtorch's do: as queries where they have the same sizes.
Tensor results(const Tensor& q, const Tensor& v) {
	if (q.size(3) == v.size(3)) {
		auto y = at::empty_like(q);
		if (y.stride(3) == 1) {
			return y;
		}
	}
	return at::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
}

Tensor computed(const Way& way, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, bool causal, double scale) {
	auto together = convolution::together_of(query.scalar_type());
	auto q = rows_of(query, together), k = rows_of(key, together), v = rows_of(value, together);
	const int64_t heads = q.size(1);
	auto y = results(q, v);
	// So many queries in a row have the same keys and values.
	auto offset = [&](const Tensor& t, int64_t i) {
		const int64_t shared = heads / t.size(1);
		return (i / heads * t.stride(0) + i % heads / shared * t.stride(1)) * static_cast<int64_t>(t.element_size());
	};
	auto at_head = [&](const Tensor& t, int64_t i) { return static_cast<const char*>(t.const_data_ptr()) + offset(t, i); };
	Head like{nullptr, nullptr, nullptr, nullptr, q.size(2), k.size(2), k.size(3), v.size(3), q.stride(2), k.stride(2), v.stride(2), y.stride(2),
	          nullptr, mask.defined() ? mask.stride(2) : 0, static_cast<float>(scale), causal};
	auto* to = static_cast<char*>(y.mutable_data_ptr());
	const int64_t some = convolution::share_of(like.rows, like.keys * (like.depth + like.width));
	at::parallel_for(0, q.size(0) * heads, some, [&](int64_t first, int64_t last) {
		std::unique_ptr<float[]> room(new float[way.room(like, way.vector)]);
		for (; first < last; first++) {
			Head h = like;
			h.q = at_head(q, first), h.k = at_head(k, first), h.v = at_head(v, first);
			h.to = to + offset(y, first);
			h.mask = mask.defined() ? reinterpret_cast<const float*>(at_head(mask, first)) : nullptr;
			way.attend(h, room.get());
		}
	});
	return y;
}

// Whether groups of queries, each the only row of its head, may be rows of heads that have keys of their own.
bool are_rows(const Tensor& query, const Tensor& key, const std::optional<Tensor>& mask) {
	auto is_one = [&](int64_t back) { return !mask || mask->dim() < back || mask->size(-back) == 1; };
	return query.dim() == 4 && key.dim() == 4 && query.size(2) == 1 && key.size(1) > 0 && query.size(1) % key.size(1) == 0 &&
	       query.size(1) > key.size(1) && is_one(2) && is_one(3);
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask, bool causal,
                 std::optional<double> scale, bool grouped) {
	if (grouped && !causal && are_rows(query, key, mask)) {
		auto rows = query.reshape({query.size(0), key.size(1), query.size(1) / key.size(1), query.size(3)});
		return attention(rows, key, value, mask, false, scale, false).reshape({query.size(0), query.size(1), 1, value.size(3)});
	}
	auto way = way_of(query, key, value);
	if (way && query.size(1) != key.size(1) && (!grouped || key.size(1) == 0 || query.size(1) % key.size(1) != 0)) {
		way.reset();
	}
	Tensor own;
	if (way && mask) {
		own = added(*mask, query, key.size(2));
	}
	if (!way || (mask && (causal || !own.defined()))) {
		return at::scaled_dot_product_attention(query, key, value, mask, /*dropout_p=*/0.0, causal, scale, grouped);
	}
	return computed(*way, query, key, value, own, causal, scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3)))));
}

TORCH_LIBRARY_FRAGMENT(libtorchgo, m) {
	m.def("attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float? scale, bool grouped) -> Tensor");
}

TORCH_LIBRARY_IMPL(libtorchgo, CPU, m) { m.impl("attention", attention); }

}  // namespace
}  // namespace tg::attention
