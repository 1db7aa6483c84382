// One head of an attention: each row of queries gets a mean of values, weighed by how its query agrees with their keys.
#pragma once

#include <cstdint>

#include "number.h"

namespace tg::attention {

// Queries [rows, depth], keys [keys, depth], values [keys, width] and results [rows, width], each with its numbers side by side, and how far one
// row lies behind the one before.
struct Head {
	const void *q, *k, *v;
	void* to;
	int64_t rows, keys, depth, width;
	int64_t q_row, k_row, v_row, to_row;
	const float* mask;  // what is added to the products, [rows, keys], or null
	int64_t mask_row;   // 0 where it is the same for all rows
	float scale;        // of products
	bool causal;        // a row sees no more keys than its number, and one
};

// Rows that are computed together.
constexpr int64_t kRows = 48;

// Fewer rows are not worth panels of all keys and values.
constexpr int64_t kFewRows = 8;

// From one row of products to the next: a vector more than they take, because what is a power of two apart shares few lines of the cache.
constexpr int64_t apart(int64_t keys, int64_t vector) { return convolution::whole(keys, vector) + vector; }

// The floats of room that a head needs.
inline int64_t room_of(const Head& h, int64_t vector) {
	int64_t keys = convolution::whole(h.keys, vector), width = convolution::whole(h.width, vector);
	return keys * h.depth + keys * width + 2 * kRows * apart(h.keys, vector);
}

// The same of one of few rows.
inline int64_t room_of_few(const Head& h, int64_t vector) { return h.rows * (apart(h.keys, vector) + h.width); }

}  // namespace tg::attention
