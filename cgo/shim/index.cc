// Indexing as Python's brackets do it, with the functions that Python's own binding uses.
#include <ATen/TensorIndexing.h>
#include <ATen/ops/empty.h>

#include <vector>

#include "entries.h"
#include "record.h"

namespace tg::entry {

namespace {

using at::indexing::TensorIndex;

// Tags of an index on the wire; torch/index.go has the same.
enum class Pick : uint64_t { none, ellipsis, integer, slice, boolean, tensor, integers, booleans };

// A list becomes a tensor of its own: autograd may keep it for longer than the call.
at::Tensor list(Args& a, at::ScalarType dtype) {
	auto values = a.ints();
	Unrecorded unrecorded;
	auto t = at::empty({static_cast<int64_t>(values.size())}, at::TensorOptions().dtype(at::kLong));
	std::copy(values.begin(), values.end(), t.mutable_data_ptr<int64_t>());
	return t.to(dtype);
}

TensorIndex pick(Args& a) {
	switch (static_cast<Pick>(a.next())) {
		case Pick::none: return at::indexing::None;
		case Pick::ellipsis: return at::indexing::Ellipsis;
		case Pick::integer: return a.integer();
		case Pick::boolean: return a.boolean();
		case Pick::integers: return list(a, at::kLong);
		case Pick::booleans: return list(a, at::kBool);
		case Pick::slice: {
			auto start = a.integer();
			auto stop = a.integer();
			return at::indexing::Slice(start, stop, a.integer());
		}
		case Pick::tensor: break;
	}
	const auto& t = a.tensor();
	TORCH_CHECK_VALUE(t.defined(), "the undefined tensor is no index");
	return t;
}

// Each Ellipsis stands for as many dimensions, so what follows a second one is past the last; libtorch reads the size of that one
// before it asks whether it is there.
void one_ellipsis(const at::Tensor& self, at::ArrayRef<TensorIndex> indices) {
	int seen = 0;
	for (const auto& index : indices) {
		if (index.is_ellipsis()) {
			seen++;
		} else if (seen > 1) {
			TORCH_CHECK_INDEX(at::indexing::impl::count_specified_dimensions(indices) >= self.dim(),
				"the first Ellipsis stands for all dimensions without an index of their own, so no index can follow a second one; leave one out");
			return;
		}
	}
}

std::vector<TensorIndex> picks(Args& a, const at::Tensor& self) {
	std::vector<TensorIndex> all;
	for (uint64_t n = a.next(); n > 0; n--) {
		all.push_back(pick(a));
	}
	one_ellipsis(self, all);
	return all;
}

// The value of an assignment: a tensor, or a number, which becomes one of the dtype of what it is
// written to. It stays on the host, where a device can read it.
at::Tensor value_for(const at::Tensor& self, Args& a) {
	const auto& t = a.tensor();
	auto number = a.opt_scalar();
	if (!number) {
		TORCH_CHECK_VALUE(t.defined(), "the undefined tensor cannot be assigned");
		return t;
	}
	auto dtype = at::isQIntType(self.scalar_type()) ? at::kFloat : self.scalar_type();
	bool host = self.device().is_cpu() || self.device().is_cuda();
	auto device = host ? at::Device(at::kCPU) : self.device();
	return at::indexing::scalarToTensor(*number, self.options().dtype(dtype).device(device).layout(at::kStrided), device);
}

// add_item adds where set_item overwrites; what is picked several times gets it each time.
void add_item(const at::Tensor& self, at::ArrayRef<TensorIndex> indices, const at::Tensor& value) {
	std::vector<at::Tensor> by;
	auto part = at::indexing::impl::applySlicing(self, indices, by, false, self.device(), self.sym_sizes());
	auto trimmed = value.view_symint(at::indexing::slicePrefix1sSize(value.sym_sizes()));
	if (by.empty()) {
		part.add_(trimmed);
		return;
	}
	part.index_put_(at::indexing::impl::typeConvertIndices(part, std::move(by)), trimmed, /*accumulate=*/true);
}

const at::Tensor& indexed(Args& a) {
	const auto& t = a.tensor();
	TORCH_CHECK_VALUE(t.defined(), "the tensor is undefined");
	return t;
}

}  // namespace

// index(t, indices) -> t[indices]
void index(Args& a, Results& r) {
	const auto& t = indexed(a);
	r.tensor(at::indexing::get_item(t, picks(a, t)));
}

// set_index(t, value or undefined, number or none, accumulate, indices): t[indices] = value, or +=
void set_index(Args& a, Results&) {
	const auto& t = indexed(a);
	auto value = value_for(t, a);
	bool accumulate = a.boolean();
	auto indices = picks(a, t);
	if (accumulate) {
		add_item(t, indices, value);
	} else {
		at::indexing::set_item(t, indices, value);
	}
}

}  // namespace tg::entry
