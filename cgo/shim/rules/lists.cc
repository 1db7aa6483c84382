// Operators that follow lists of places: bags, labels, segments.
#include "rules.h"

namespace tg::rule {

void some(TensorList tensors) {
	TORCH_CHECK_VALUE(!tensors.empty(), "expected a non-empty list of Tensors");
}

void same_length(TensorList a, TensorList b) {
	TORCH_CHECK(a.size() == b.size(), "Tensor lists must have the same number of tensors, got ", a.size(), " and ", b.size());
	some(a);
}

void same_length(TensorList a, at::ArrayRef<Scalar> b) {
	TORCH_CHECK(a.size() == b.size(), "Tensor list must have same number of elements as scalar list, got ", a.size(), " and ", b.size());
}

// Bags lie inside of the indices, and each index in one.
void bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode, const Tensor& scales, bool include_last) {
	TORCH_CHECK_VALUE(mode >= 0 && mode <= 2, "mode has to be 0 (sum), 1 (mean) or 2 (max), but got ", mode);
	if (!has(weight) || !has(indices) || !has(offsets)) {
		return;
	}
	TORCH_CHECK(weight.dim() == 2, "weight has to have 2 dimensions, but got ", weight.dim());
	TORCH_CHECK(indices.dim() == 1, "input has to be a 1D Tensor, but got one of dimension ", indices.dim());
	TORCH_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor, but got one of dimension ", offsets.dim());
	auto n = indices.numel();
	TORCH_CHECK(!scales.defined() || (has(scales) && scales.sizes() == indices.sizes()),
	            "expected per_sample_weights to have the shape of the input, ", indices.sizes());
	TORCH_CHECK(n == 0 || weight.size(0) > 0, "there is no index into a weight of no rows, but got ", n);
	TORCH_CHECK(offsets.scalar_type() != at::kBool, "offsets has to be of dtype int or long, but got bool");
	if (!on_host(offsets) || !integral(offsets)) {
		return;
	}
	auto starts = values(offsets);
	auto bags = static_cast<int64_t>(starts.size()) - (include_last ? 1 : 0);
	TORCH_CHECK(bags >= 1 || n == 0, "offsets of ", starts.size(), " elements leave no bag for ", n, " indices");
	int64_t before = 0;
	for (size_t i = 0; i < starts.size(); i++) {
		TORCH_CHECK(i > 0 || starts[i] == 0,
		            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got ", starts[i]);
		TORCH_CHECK(starts[i] <= n, "offsets[", i, "] can not be greater than input's length ", n, " but got ", starts[i]);
		TORCH_CHECK(starts[i] >= before, "offsets have to ascend, but offsets[", i, "] is ", starts[i], " after ", before);
		before = starts[i];
	}
	// the maximum and the gradients count what comes after as one more bag
	TORCH_CHECK(!include_last || before == n, "with include_last_offset offsets[-1] has to be input's length ", n, " but got ", before);
}

// Labels are classes: the CTC loss looks them up unasked.
void labels(const Tensor& log_probs, const Tensor& targets, IntArrayRef lengths) {
	if (!has(log_probs) || !on_host(targets) || log_probs.dim() < 2) {
		return;
	}
	auto classes = log_probs.size(-1);
	int64_t row = 0, used = 0;
	switch (targets.dim()) {
		case 1:
			for (auto n : lengths) {
				TORCH_CHECK(n <= targets.numel() - used, "Expected target_lengths to sum to at most ", targets.numel(), ", but got more");
				used += std::max<int64_t>(n, 0);
			}
			row = targets.numel();
			lengths = used;
			break;
		case 2: row = targets.size(1); break;
		default: return;
	}
	auto list = values(targets);
	auto total = static_cast<int64_t>(list.size());
	for (int64_t i = 0; i < static_cast<int64_t>(lengths.size()) && i * row < total; i++) {
		for (int64_t k = 0; k < std::min(std::max<int64_t>(lengths[i], 0), row); k++) {
			auto label = list[i * row + k];
			TORCH_CHECK_INDEX(label >= 0 && label < classes, "Expected targets to be in the range [0, ", classes, "), but got label ", label);
		}
	}
}

// libtorch reads lengths as they lie in memory.
void as_they_lie(const Tensor& lengths) {
	TORCH_CHECK_VALUE(!lengths.defined() || (!lengths.is_neg() && !lengths.is_conj()), "expected lengths that lie in memory as they are, but got a negative view; ResolveNeg copies it");
}

// For probabilities on the CPU libtorch fetches the lengths too, wherever they are.
void labels(const Tensor& log_probs, const Tensor& targets, const Tensor& lengths) {
	as_they_lie(lengths);
	if (!has(log_probs) || !has(lengths) || lengths.is_meta() || !integral(lengths)) {
		return;
	}
	if (on_host(lengths)) {
		labels(log_probs, targets, values(lengths));
	} else if (on_host(log_probs) && lengths.layout() == at::kStrided) {
		labels(log_probs, targets, values(lengths.cpu()));
	}
}

namespace {

void check_offsets(IntArrayRef offsets, int64_t size) {
	int64_t before = 0;
	for (auto at : offsets) {
		TORCH_CHECK_INDEX(at >= before && at <= size, "offsets have to ascend from 0 to at most ", size, ", but got ", at, " after ", before);
		before = at;
	}
}

void check_lengths(IntArrayRef lengths, int64_t size) {
	auto left = size;
	for (auto n : lengths) {
		TORCH_CHECK(n >= 0, "lengths contains negative value!");
		TORCH_CHECK(n <= left, "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1), ", size, ", but got more");
		left -= n;
	}
}

}  // namespace

// Each writes to where the sum of those before says.
void repeats(const Tensor& counts) {
	if (!on_host(counts) || !integral(counts)) {
		return;
	}
	int64_t sum = 0;
	for (auto n : values(counts)) {
		TORCH_CHECK_VALUE(n >= 0, "repeats can not be negative, but got ", n);
		TORCH_CHECK_VALUE(!__builtin_add_overflow(sum, n, &sum), "repeats sum to more elements than there can be");
	}
}

// Segments lie inside of the data. libtorch looks at lengths alone, and not at those that it is
// told are safe.
void segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis) {
	const auto& given = offsets.defined() ? offsets : lengths;
	if (!has(data) || !on_host(given) || !integral(given)) {
		return;
	}
	if (axis < 0) {
		axis += data.dim();
	}
	if (axis < 0 || axis >= data.dim() || given.dim() != axis + 1) {
		return;
	}
	for (int64_t i = 0; i < axis; i++) {
		TORCH_CHECK(given.size(i) == data.size(i), "Expected segments of size ", data.size(i), " at dimension ", i, ", as in data, but got ", given.size(i));
	}
	auto row = given.size(axis);
	auto list = values(given);
	for (size_t i = 0; row > 0 && i < list.size(); i += row) {
		IntArrayRef part(list.data() + i, row);
		offsets.defined() ? check_offsets(part, data.size(axis)) : check_lengths(part, data.size(axis));
	}
}

}  // namespace tg::rule
