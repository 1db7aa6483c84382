// Strides that reach outside of memory, memory that is not what a kernel takes it for, and
// tensors in more pieces than anyone can hold.
#include "rules.h"

#include <ATen/ExpandUtils.h>
#include <ATen/SparseCsrTensorUtils.h>

namespace tg::rule {

// libtorch multiplies sizes by strides, and both by the size of an element, without looking.
void strides(IntArrayRef size, IntArrayRef stride, std::optional<int64_t> offset) {
	constexpr int64_t widest = 16;
	int64_t reach = offset.value_or(0);
	bool past = false;
	for (size_t i = 0; i < std::min(size.size(), stride.size()); i++) {
		int64_t along = 0;
		past |= overflows(std::max<int64_t>(size[i] - 1, 1), std::max<int64_t>(stride[i], 0), &along) || __builtin_add_overflow(reach, along, &reach);
	}
	int64_t bytes = 0;
	if (past || overflows(reach, widest, &bytes)) {
		TORCH_CHECK(offset.value_or(0) < 0, "Storage size calculation overflowed with sizes=", size, " and strides=", stride);
	}
}

namespace {

void restride(const Tensor& x, IntArrayRef size, const Format& format, bool contiguous) {
	if (!contiguous || !has(x) || !x.has_storage() || x.sizes() != size) {
		return;
	}
	auto room = static_cast<int64_t>(x.storage().nbytes() / x.dtype().itemsize()) - x.storage_offset();
	TORCH_CHECK(room >= x.numel(), "a tensor of size ", size, " cannot be laid out as ", *format, ": its memory has room for ", room,
	            " elements; make it contiguous first");
}

}  // namespace

// A tensor of that size already is laid out anew in the memory it has.
void restride(const Tensor& x, IntArrayRef size, Format format) {
	restride(x, size, format, format && *format != at::MemoryFormat::Preserve);
}

void restride(const Tensor& x, const Tensor& like, Format format) {
	if (has(like)) {
		restride(x, like.sizes(), format);
	}
}

// In place these kernels take every layout for a strided one.
void dense(const Tensor& index, const Tensor& source) {
	for (const auto* t : {&index, &source}) {
		TORCH_CHECK_NOT_IMPLEMENTED(!t->defined() || t->layout() != at::kMkldnn, "expected a strided tensor, but got one of layout ", t->layout(),
		                            "; ToDense makes it strided");
	}
}

void dense(const Tensor& index, const Scalar&) {
	dense(index, undefined);
}

namespace {

constexpr int64_t most_pieces = 1 << 22;

void check_pieces(int64_t n) {
	TORCH_CHECK_VALUE(n <= most_pieces, "a tensor in ", n, " pieces is too many: at most ", most_pieces);
}

int64_t size_of(const Tensor& x, int64_t dim) {
	dim += dim < 0 ? x.dim() : 0;
	return dim >= 0 && dim < x.dim() ? x.size(dim) : 0;
}

}  // namespace

void pieces(const Tensor& x, int64_t dim) {
	if (has(x)) {
		check_pieces(size_of(x, dim));
	}
}

void pieces(const Tensor& x, int64_t size, int64_t dim) {
	if (has(x) && size > 0) {
		check_pieces(size_of(x, dim) / size);
	}
}

void chunks(const Tensor& x, int64_t chunks, int64_t dim) {
	if (has(x) && chunks > 0) {
		auto n = size_of(x, dim);
		check_pieces(n == 0 ? chunks : std::min(n, chunks));
	}
}

void sections(int64_t sections) {
	check_pieces(sections);
}

void sections(const Tensor& sections) {
	if (on_host(sections) && sections.dim() == 0 && integral(sections)) {
		check_pieces(values(sections)[0]);
	}
}

// Operators resolve these views by copying, which for other layouts comes back to the view.
void viewable(const Tensor& x) {
	TORCH_CHECK_NOT_IMPLEMENTED(!has(x) || (x.layout() == at::kStrided && !x.is_quantized()), "there are no conjugate and negative views of ",
	                            x.is_quantized() ? "quantized tensors" : "tensors that are not strided");
}

// oneDNN has no kernels that fill, and makes plain tensors behind libtorch's back.
void no_mkldnn(Layout layout) {
	TORCH_CHECK_NOT_IMPLEMENTED(layout != at::kMkldnn, "a tensor of layout ", *layout, " cannot be filled: make a strided one and convert it");
}

// Its kernels divide by the number of elements.
void some_elements(const Tensor& x) {
	TORCH_CHECK(!has(x) || x.numel() > 0, "oneDNN has no tensors without elements, got one of size ", x.sizes());
}

// It fills as many floats as there are elements, whatever these are.
void float_mkldnn(const Tensor& x) {
	TORCH_CHECK_NOT_IMPLEMENTED(!x.defined() || !x.is_mkldnn() || x.scalar_type() == at::kFloat, "oneDNN fills tensors of dtype float only, got one of ", x.scalar_type());
}

void float_mkldnn(TensorList xs) {
	for (const auto& x : xs) {
		float_mkldnn(x);
	}
}

// oneDNN's tensors come back as they went in, and the graph would name them as made of themselves.
void reshaped(const Tensor& x, IntArrayRef shape) {
	if (!x.defined() || !x.is_mkldnn() || !recorded(x)) {
		return;
	}
	bool same = static_cast<size_t>(x.dim()) == shape.size();
	for (int64_t d = 0; same && d < x.dim(); d++) {
		same = shape[d] == x.size(d) || shape[d] == -1;
	}
	TORCH_CHECK_NOT_IMPLEMENTED(!same, "a tensor of layout ", x.layout(), " that requires a gradient has the shape ", x.sizes(), " already");
}

namespace {

bool is_sparse(const Tensor& x) {
	return x.defined() && (x.is_sparse() || at::sparse_csr::is_sparse_compressed(x));
}

}  // namespace

// A product with nothing leaves values that are not set.
void not_sparse(const Tensor& x) {
	TORCH_CHECK_NOT_IMPLEMENTED(!is_sparse(x), "there is no dropout of a tensor of layout ", x.layout());
}

// Elements are copied between like layouts only, and expanded in strided ones; libtorch does
// not look.
void plain_pair(const Tensor& x, const Tensor& source) {
	TORCH_CHECK_NOT_IMPLEMENTED(!has(x) || !has(source) || x.layout() == source.layout(), "cannot copy between tensors of layouts ", x.layout(), " and ", source.layout());
	TORCH_CHECK(!has(x) || !has(source) || x.layout() == at::kStrided || x.sizes() == source.sizes(), "cannot expand a tensor of layout ", source.layout(), " and size ", source.sizes(), " to ", x.sizes());
}

void plain_pair(TensorList xs, TensorList sources) {
	for (size_t i = 0; i < std::min(xs.size(), sources.size()); i++) {
		plain_pair(xs[i], sources[i]);
	}
}

// A copy that is laid out as x looks at x's storage, which oneDNN's tensors do not have.
void copied(const Tensor& x) {
	TORCH_CHECK_NOT_IMPLEMENTED(!has(x) || x.layout() != at::kMkldnn, "there is no copy laid out as a tensor of layout ", x.layout(), ": copy in place, or clone the source");
}

void not_nested(const Tensor& x) {
	TORCH_CHECK_NOT_IMPLEMENTED(!x.defined() || !x.is_nested(), "a nested tensor has no one shape along which to sum");
}

// oneDNN's kernel reads both as of one size.
void same_size(const Tensor& gradient, const Tensor& x) {
	TORCH_CHECK(!has(gradient) || !has(x) || gradient.sizes() == x.sizes(), "expected a gradient of size ", x.sizes(), ", but got ", gradient.sizes());
}

// A target that is larger than the input makes more losses than there is room for.
void fits(const Tensor& x, const Tensor& target) {
	TORCH_CHECK_VALUE(!has(x) || !has(target) || at::is_expandable_to(target.sizes(), x.sizes()), "expected a target of the input's size, ", x.sizes(), ", but got one of size ", target.sizes());
}

// There is no quantizer for the parts of a nested tensor.
void quantizable(const Tensor& x, std::optional<at::ScalarType> dtype) {
	TORCH_CHECK_NOT_IMPLEMENTED(!x.defined() || !x.is_nested() || !dtype || !at::isQIntType(*dtype), "there are no nested tensors of dtype ", *dtype);
}

void quantizable(TensorList xs, std::optional<at::ScalarType> dtype) {
	for (const auto& x : xs) {
		auto made = dtype.value_or(x.defined() ? x.scalar_type() : at::kFloat);
		TORCH_CHECK_NOT_IMPLEMENTED(!at::isQIntType(made), "there are no nested tensors of dtype ", made);
	}
}

// Sums over complex numbers are computed in the dtype's complex counterpart and written as its real part, which for bfloat16 is float32 and
// has no room in the result.
void complex_counterpart(const Tensor& x, std::optional<at::ScalarType> dtype) {
	if (!x.defined() || !x.is_complex() || !dtype || !at::isFloatingType(*dtype)) {
		return;
	}
	auto written = at::toRealValueType(at::toComplexType(*dtype));
	TORCH_CHECK_VALUE(written == *dtype, "the dtype for complex inputs has to be one that has a complex counterpart, but got ", *dtype);
}

void complex_counterpart(TensorList xs, std::optional<at::ScalarType> dtype) {
	for (const auto& x : xs) {
		complex_counterpart(x, dtype);
	}
}

// A kernel that computes in one dtype writes it to memory of the other.
void one_dtype(const Tensor& x, const Tensor& other) {
	bool fits = !x.defined() || !other.defined() || x.scalar_type() == other.scalar_type();
	TORCH_CHECK(fits, "expected tensors of one dtype, but got ", x.scalar_type(), " and ", other.scalar_type());
}

// A dimension that is counted from the end is not counted at all.
void nested_dim(const Tensor& x, int64_t dim) {
	TORCH_CHECK_INDEX(!x.defined() || !x.is_nested() || dim >= 0, "a nested tensor takes the dimension counted from the first, but got ", dim);
}

// The tensor that is on the meta device decides that nothing is computed.
void one_device(const Tensor& a, const Tensor& b) {
	TORCH_CHECK(!a.defined() || !b.defined() || a.is_meta() == b.is_meta(), "Tensor on device ", b.device(), " is not on the expected device ", a.device(), "!");
}

// Products of a sparse tensor and one of oneDNN's read the second as a plain one.
void one_backend(const Tensor& a, const Tensor& b) {
	auto foreign = [](const Tensor& t) { return t.defined() && t.is_mkldnn(); };
	if (!foreign(a) && !foreign(b)) {
		return;  // nearly always
	}
	TORCH_CHECK_NOT_IMPLEMENTED(!is_sparse(a) && !is_sparse(b), "there is no product of tensors of layouts ", a.layout(), " and ", b.layout(), "; ToDense makes them strided");
}

// There are no elements to fill in a compressed layout, and its indices are left as they are.
void filled(Layout layout) {
	no_mkldnn(layout);
	TORCH_CHECK_NOT_IMPLEMENTED(!layout || !at::sparse_csr::is_sparse_compressed(*layout), "a tensor of layout ", *layout, " cannot be filled: make a strided one and convert it");
}

// The elements of quantized tensors are numbers only together with their quantizer.
void not_quantized(const Tensor& x, at::ScalarType dtype) {
	TORCH_CHECK_NOT_IMPLEMENTED(!has(x) || (!x.is_quantized() && !at::isQIntType(dtype)), "there are no views of quantized tensors as another dtype");
}

// It fills a tensor in steps and keeps one of these for a gradient that the next step spoils.
void no_gradient(const Tensor& x) {
	TORCH_CHECK(!recorded(x), "vander has no gradient, because it changes in place what that needs; LinalgVander has one");
}

// What is not quantized comes back as it went in, and the graph would name it as made of itself.
void quantized_or_constant(const Tensor& x) {
	TORCH_CHECK(!recorded(x) || x.is_quantized(), "expected a quantized tensor, but got one of dtype ", x.scalar_type(), " that requires a gradient");
}

void quantized_or_constant(TensorList xs) {
	for (const auto& x : xs) {
		quantized_or_constant(x);
	}
}

}  // namespace tg::rule
