// What stands between a call and libtorch: functions that refuse arguments over which it
// would end the process, read outside memory or never come back. The lines "rule" of
// cgo/gen/names.txt say which operators ask them, typed or by name.
//
// A rule throws what libtorch throws for other mistakes, in one sentence: what was wrong, and
// what was expected. What libtorch itself refuses is left to it.
#pragma once

#include "look.h"

namespace tg::rule {

using at::IntArrayRef;
using at::OptionalIntArrayRef;
using at::Scalar;
using at::Tensor;
using at::TensorList;
using Layout = std::optional<at::Layout>;
using Format = std::optional<at::MemoryFormat>;
using Mode = std::optional<std::string_view>;

// of is an argument as rules take it.
template <class T>
const T& of(const T& v) { return v; }
inline const Tensor& of(const std::optional<Tensor>& t) { return t ? *t : undefined; }
inline IntArrayRef of(const c10::SymIntArrayRef& v) { return c10::asIntArrayRefUnchecked(v); }
inline OptionalIntArrayRef of(const at::OptionalSymIntArrayRef& v) {
	return v ? OptionalIntArrayRef(c10::asIntArrayRefUnchecked(*v)) : OptionalIntArrayRef();
}
inline std::optional<int64_t> of(const std::optional<c10::SymInt>& v) {
	return v ? std::optional<int64_t>(v->expect_int()) : std::nullopt;
}

// unsafe.cc
void refuse_unsafe(const char* op);

// lists.cc
void some(TensorList tensors);
void same_length(TensorList a, TensorList b);
void same_length(TensorList a, at::ArrayRef<Scalar> b);
void bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode, const Tensor& scales, bool include_last);
void labels(const Tensor& log_probs, const Tensor& targets, IntArrayRef lengths);
void labels(const Tensor& log_probs, const Tensor& targets, const Tensor& lengths);
void as_they_lie(const Tensor& lengths);
void repeats(const Tensor& counts);
void segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets, int64_t axis);

// layers.cc
void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& variance, bool training);
void empty_statistics(const Tensor& input, const Tensor& weight, const Tensor& bias);
void weight_norm(const Tensor& v, const Tensor& g, int64_t dim);
void attention(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped);

// fused.cc
void fused_sgd(TensorList params, TensorList grads, TensorList momentum);
void fused_adam(TensorList params, TensorList grads, TensorList mean, TensorList square, TensorList largest, TensorList steps);
void fused_adagrad(TensorList params, TensorList grads, TensorList sums, TensorList steps);

// recurrent.cc
void lstm(const Tensor& input, TensorList hidden, TensorList params, bool biases, int64_t layers, bool bidirectional, bool batch_first);
void gru(const Tensor& input, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional, bool batch_first);
void rnn(const Tensor& input, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional, bool batch_first);
void packed(const Tensor& data, const Tensor& sizes);
void packed_lstm(const Tensor& data, const Tensor& sizes, TensorList hidden, TensorList params, bool biases, int64_t layers, bool bidirectional);
void packed_gru(const Tensor& data, const Tensor& sizes, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional);
void packed_rnn(const Tensor& data, const Tensor& sizes, const Tensor& hidden, TensorList params, bool biases, int64_t layers, bool bidirectional);

// sparse.cc
void coo(const Tensor& indices, const Tensor& values, IntArrayRef size);
void compressed(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size, Layout layout);
void csr(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size);
void csc(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size);
void bsr(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size);
void bsc(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntArrayRef size);
void compressed_alone(const Tensor& compressed, const Tensor& plain, const Tensor& values, Layout layout);
void csr_alone(const Tensor& compressed, const Tensor& plain, const Tensor& values);
void csc_alone(const Tensor& compressed, const Tensor& plain, const Tensor& values);
void bsr_alone(const Tensor& compressed, const Tensor& plain, const Tensor& values);
void bsc_alone(const Tensor& compressed, const Tensor& plain, const Tensor& values);

void one_matrix(const Tensor& x);
void no_offset(const Tensor& written, const Tensor& other);
void no_offset(TensorList written, TensorList others);

// integers.cc
void quotient(const Tensor& x, const Tensor& other, Mode mode);
void quotient(const Tensor& x, const Scalar& other, Mode mode);
void divides_sums(const Tensor& x, std::optional<int64_t> by);
void multiple(const Tensor& x, const Tensor& other);
void range(const Tensor& x, int64_t from, std::optional<int64_t> to);
void step(const Scalar& step, std::optional<at::ScalarType> dtype, const Tensor& out);
void span(const Scalar& start, const Scalar& end, const Scalar& step);
void combined(int64_t r);
void exponent(int64_t n);

// special.cc
void degree(const Tensor& x, const Tensor& n);
void degree(const Scalar& x, const Tensor& n);
void degree(const Tensor& x, const Scalar& n);
void trials(const Tensor& count);

// linalg.cc
void no_infinite(const Tensor& x);
void hermitian(const Tensor& x, bool hermitian);
void columns(const Tensor& b, Mode driver);
void pivots(const Tensor& pivots);
void as_many(const Tensor& factors, const Tensor& b);
void lu_pivots(const Tensor& lu, const Tensor& pivots, bool wanted);

// windows.cc
void lengths(const char* name, OptionalIntArrayRef list);
void reach(IntArrayRef kernel, IntArrayRef dilation);
void pooled1(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation);
void pooled2(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation);
void pooled3(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation);
void convolved(const Tensor& x, const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding);
void spread(const Tensor& x, const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, IntArrayRef output_padding);
void scattered(const Tensor& x, IntArrayRef stride);
void resized(const Tensor& x, OptionalIntArrayRef output, std::optional<at::ArrayRef<double>> factors = std::nullopt);
void padded(const Tensor& x, IntArrayRef padding);
void numbers(const char* name, int64_t count, IntArrayRef list);
void numbers(const char* name, int64_t count, IntArrayRef list, const Tensor& x);
void circular(const Tensor& x, IntArrayRef padding, Mode mode);
void unfolded(const Tensor& x, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride);
void places(const Tensor& input, const Tensor& grid, int64_t padding);
void folded(const Tensor& x, IntArrayRef output);
void factors(IntArrayRef output, std::optional<double> depth, std::optional<double> height, std::optional<double> width);
void antialiased(const Tensor& x, IntArrayRef output, std::optional<double> height, std::optional<double> width);
void antialiased(IntArrayRef input, IntArrayRef output, std::optional<double> height, std::optional<double> width);

// views.cc
void strides(IntArrayRef size, IntArrayRef stride, std::optional<int64_t> offset);
void restride(const Tensor& x, IntArrayRef size, Format format);
void restride(const Tensor& x, const Tensor& like, Format format);
void dense(const Tensor& index, const Tensor& source);
void dense(const Tensor& index, const Scalar& source);
void pieces(const Tensor& x, int64_t dim);
void pieces(const Tensor& x, int64_t size, int64_t dim);
void chunks(const Tensor& x, int64_t chunks, int64_t dim);
void sections(int64_t sections);
void sections(const Tensor& sections);
void viewable(const Tensor& x);
void not_quantized(const Tensor& x, at::ScalarType dtype);
void no_gradient(const Tensor& x);
void quantized_or_constant(const Tensor& x);
void quantized_or_constant(TensorList xs);
void filled(Layout layout);
void no_mkldnn(Layout layout);
void some_elements(const Tensor& x);
void float_mkldnn(const Tensor& x);
void float_mkldnn(TensorList xs);
void reshaped(const Tensor& x, IntArrayRef shape);
void not_sparse(const Tensor& x);
void plain_pair(const Tensor& x, const Tensor& source);
void plain_pair(TensorList xs, TensorList sources);
void copied(const Tensor& x);
void not_nested(const Tensor& x);
void fits(const Tensor& x, const Tensor& target);
void quantizable(const Tensor& x, std::optional<at::ScalarType> dtype);
void quantizable(TensorList xs, std::optional<at::ScalarType> dtype);
void complex_counterpart(const Tensor& x, std::optional<at::ScalarType> dtype);
void complex_counterpart(TensorList xs, std::optional<at::ScalarType> dtype);
void one_dtype(const Tensor& x, const Tensor& other);
void nested_dim(const Tensor& x, int64_t dim);
void same_size(const Tensor& gradient, const Tensor& x);
void one_device(const Tensor& a, const Tensor& b);
void one_backend(const Tensor& a, const Tensor& b);

// enums.cc
void reduction(int64_t mode);
void sampler(int64_t interpolation, int64_t padding);
void one(const Tensor& scale, const Tensor& zero);

}  // namespace tg::rule
