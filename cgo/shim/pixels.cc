#include "pixels.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "entries.h"
#include "jpeg.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define WITH_AVX2 __attribute__((target("avx2")))
#endif

namespace tg::pixels {
namespace {

// Where each pixel along one side comes from: weights of 16 bits, two in a word, as libtorch's kernel for
// bytes and Pillow's have them.
struct Side {
	int64_t pairs = 0;  // of weights, for each pixel
	int precision = 0;
	std::vector<int32_t> first;
	std::vector<uint32_t> weights;

	Side(int64_t in, int64_t out) {
		double scale = static_cast<double>(in) / static_cast<double>(out);
		double support = scale >= 1 ? scale : 1, inverse = scale >= 1 ? 1 / scale : 1;
		int64_t most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
		std::vector<double> exact(out * most);
		std::vector<int64_t> size(out);
		first.resize(out);
		double largest = 0;
		for (int64_t i = 0; i < out; i++) {
			double center = scale * (static_cast<double>(i) + 0.5), total = 0;
			int64_t low = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
			int64_t n = std::clamp<int64_t>(std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in) - low, 0, most);
			double* w = &exact[i * most];
			for (int64_t j = 0; j < n; j++) {
				double x = std::abs((static_cast<double>(j + low) - center + 0.5) * inverse);
				w[j] = x < 1 ? 1 - x : 0;
				total += w[j];
			}
			for (int64_t j = 0; j < n && total != 0; j++) {
				w[j] /= total;
				largest = std::max(largest, w[j]);
			}
			first[i] = static_cast<int32_t>(low);
			size[i] = n;
		}
		while (precision < 22 && static_cast<int>(0.5 + largest * (1 << (precision + 1))) < 1 << 15) {
			precision++;
		}
		pairs = (*std::max_element(size.begin(), size.end()) + 1) / 2;
		weights.assign(out * pairs, 0);
		for (int64_t i = 0; i < out; i++) {
			for (int64_t j = 0; j < size[i]; j++) {
				auto w = static_cast<uint32_t>(0.5 + exact[i * most + j] * (1 << precision));
				weights[i * pairs + j / 2] |= w << (16 * (j % 2));
			}
		}
	}
	const uint32_t* of(int64_t i) const { return &weights[i * pairs]; }
};

int32_t half(uint32_t pair, int which) { return static_cast<int16_t>(pair >> (16 * which)); }

uint8_t rounded(int32_t sum, int precision) {
	return static_cast<uint8_t>(std::clamp((sum + (1 << (precision - 1))) >> precision, 0, 255));
}

float normalised(uint8_t byte, const Normal& n, int c) {
	return (static_cast<float>(byte) * static_cast<float>(1.0 / 255) - n.mean[c]) / n.std[c];
}

void across_plain(const uint8_t* from, const Side& side, int64_t out, bool flip, uint8_t* to) {
	for (int64_t i = 0; i < out; i++) {
		for (int c = 0; c < 4; c++) {
			int32_t sum = 0;
			for (int64_t j = 0; j < 2 * side.pairs; j++) {
				if (int32_t w = half(side.of(i)[j / 2], j % 2)) {
					sum += w * from[4 * (side.first[i] + j) + c];
				}
			}
			to[4 * (flip ? out - 1 - i : i) + c] = rounded(sum, side.precision);
		}
	}
}

// down_plain makes a row of planes from rows, stride bytes apart.
void down_plain(const uint8_t* rows, int64_t stride, const uint32_t* weights, int64_t pairs, int precision, int64_t out, const Normal& n,
                float* to, int64_t plane) {
	for (int64_t i = 0; i < out; i++) {
		for (int c = 0; c < 3; c++) {
			int32_t sum = 0;
			for (int64_t j = 0; j < 2 * pairs; j++) {
				if (int32_t w = half(weights[j / 2], j % 2)) {
					sum += w * rows[j * stride + 4 * i + c];
				}
			}
			to[c * plane + i] = normalised(rounded(sum, precision), n, c);
		}
	}
}

void convert_plain(const uint8_t* from, int64_t n, const Normal& normal, int c, float* to) {
	for (int64_t i = 0; i < n; i++) {
		to[i] = normalised(from[i], normal, c);
	}
}

#if defined(WITH_AVX2)

bool has_avx2() {
	static const bool has = __builtin_cpu_supports("avx2");
	return has;
}

// across_avx2 reads pixels in pairs, the last of which may lie behind the row.
WITH_AVX2 void across_avx2(const uint8_t* from, const Side& side, int64_t out, bool flip, uint8_t* to) {
	const __m128i spread = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
	const __m128i start = _mm_set1_epi32(1 << (side.precision - 1)), shift = _mm_cvtsi32_si128(side.precision);
	const uint32_t* w = side.weights.data();
	for (int64_t i = 0; i < out; i++) {
		__m128i sum = start;
		const uint8_t* p = from + 4 * static_cast<int64_t>(side.first[i]);
		for (int64_t j = 0; j < side.pairs; j++, p += 8) {
			__m128i two = _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), spread);
			sum = _mm_add_epi32(sum, _mm_madd_epi16(two, _mm_set1_epi32(static_cast<int32_t>(*w++))));
		}
		sum = _mm_sra_epi32(sum, shift);
		sum = _mm_packus_epi16(_mm_packs_epi32(sum, sum), sum);
		int32_t pixel = _mm_cvtsi128_si32(sum);
		std::memcpy(to + 4 * (flip ? out - 1 - i : i), &pixel, 4);
	}
}

WITH_AVX2 inline __m256 normal8(__m128i bytes, __m256 scale, __m256 mean, __m256 std) {
	__m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), scale);
	return _mm256_div_ps(_mm256_sub_ps(x, mean), std);
}

// down_avx2 writes whole eights of pixels: of a row that is no multiple, up to 7 behind its end.
WITH_AVX2 void down_avx2(const uint8_t* rows, int64_t stride, const uint32_t* weights, int64_t pairs, int precision, int64_t out,
                         const Normal& n, float* to, int64_t plane) {
	const __m256i start = _mm256_set1_epi32(1 << (precision - 1));
	const __m128i shift = _mm_cvtsi32_si128(precision);
	const __m256i gather = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	const __m256 scale = _mm256_set1_ps(static_cast<float>(1.0 / 255));
	__m256 mean[3], std[3];
	for (int c = 0; c < 3; c++) {
		mean[c] = _mm256_set1_ps(n.mean[c]);
		std[c] = _mm256_set1_ps(n.std[c]);
	}
	for (int64_t i = 0; i < out; i += 8) {
		__m256i half[2];
		for (int k = 0; k < 2; k++) {
			__m256i low = start, high = start;
			const uint8_t* p = rows + 4 * i + 16 * k;
			for (int64_t j = 0; j < pairs; j++, p += 2 * stride) {
				__m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
				__m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + stride)));
				__m256i w = _mm256_set1_epi32(static_cast<int32_t>(weights[j]));
				low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
				high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));
			}
			half[k] = _mm256_packs_epi32(_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift));
		}
		__m256i bytes = _mm256_packus_epi16(_mm256_permute2x128_si256(half[0], half[1], 0x20), _mm256_permute2x128_si256(half[0], half[1], 0x31));
		bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(bytes, gather), order);
		__m128i rg = _mm256_castsi256_si128(bytes), b = _mm256_extracti128_si256(bytes, 1);
		_mm256_storeu_ps(to + i, normal8(rg, scale, mean[0], std[0]));
		_mm256_storeu_ps(to + plane + i, normal8(_mm_srli_si128(rg, 8), scale, mean[1], std[1]));
		_mm256_storeu_ps(to + 2 * plane + i, normal8(b, scale, mean[2], std[2]));
	}
}

WITH_AVX2 void convert_avx2(const uint8_t* from, int64_t n, const Normal& normal, int c, float* to) {
	const __m256 scale = _mm256_set1_ps(static_cast<float>(1.0 / 255)), mean = _mm256_set1_ps(normal.mean[c]), std = _mm256_set1_ps(normal.std[c]);
	int64_t i = 0;
	for (; i + 8 <= n; i += 8) {
		_mm256_storeu_ps(to + i, normal8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i)), scale, mean, std));
	}
	convert_plain(from + i, n - i, normal, c, to + i);
}

#else

bool has_avx2() { return false; }
constexpr auto across_avx2 = across_plain;
constexpr auto down_avx2 = down_plain;
constexpr auto convert_avx2 = convert_plain;

#endif

std::vector<uint8_t>& scratch(int which) {
	static thread_local std::vector<uint8_t> buffers[2];
	return buffers[which];
}

// room is memory of this thread's of at least n bytes; where a call needed very much of it, it is not kept for ever.
uint8_t* room(int which, size_t n) {
	constexpr size_t kept = 4 << 20;
	auto& buffer = scratch(which);
	if (buffer.size() < n || buffer.size() > std::max(n, kept)) {
		buffer = std::vector<uint8_t>(n);
	}
	return buffer.data();
}

}  // namespace

void resize(const uint8_t* from, int64_t h, int64_t w, int64_t stride, int64_t out_h, int64_t out_w, bool flip, const Normal& normal, float* to) {
	Side across(w, out_w), down(h, out_h);
	const bool fast = has_avx2();
	const int64_t wide = (out_w + 7) / 8 * 8, row_bytes = 4 * wide;
	// A pair of rows may have its second, without weight, behind the last.
	uint8_t* rows = room(1, (h + 2 * down.pairs) * row_bytes);
	for (int64_t y = 0; y < h; y++) {
		(fast ? across_avx2 : across_plain)(from + y * stride, across, out_w, flip, rows + y * row_bytes);
	}
	std::vector<float> last(out_w == wide ? 0 : 3 * wide);
	const int64_t plane = out_h * out_w;
	for (int64_t y = 0; y < out_h; y++) {
		const uint8_t* first = rows + down.first[y] * row_bytes;
		float* row = to + y * out_w;
		if (!fast || last.empty()) {
			(fast ? down_avx2 : down_plain)(first, row_bytes, down.of(y), down.pairs, down.precision, out_w, normal, row, plane);
			continue;
		}
		down_avx2(first, row_bytes, down.of(y), down.pairs, down.precision, out_w, normal, last.data(), wide);
		for (int c = 0; c < 3; c++) {
			std::memcpy(row + c * plane, &last[c * wide], out_w * sizeof(float));
		}
	}
}

namespace {

Normal read_normal(Args& a) {
	Normal n;
	auto mean = a.numbers(), std = a.numbers();
	TORCH_CHECK_VALUE(mean.size() == 3 && std.size() == 3, "expected a mean and a standard deviation for each of 3 channels");
	for (int c = 0; c < 3; c++) {
		n.mean[c] = static_cast<float>(mean[c]);
		n.std[c] = static_cast<float>(std[c]);
	}
	return n;
}

// place is image number i of a batch of floats [N, 3, H, W].
float* place(const at::Tensor& batch, int64_t i) {
	TORCH_CHECK_VALUE(batch.scalar_type() == at::kFloat && batch.device().is_cpu() && batch.dim() == 4 && batch.size(1) == 3 && batch.is_contiguous() &&
	                      batch.numel() > 0 && i >= 0 && i < batch.size(0),
	                  "image ", i, " has no place in a batch of shape ", batch.sizes());
	return batch.mutable_data_ptr<float>() + i * batch.stride(0);
}

void check_part(const jpeg::Part& p, int64_t w, int64_t h) {
	TORCH_CHECK_VALUE(p.left >= 0 && p.top >= 0 && p.width > 0 && p.height > 0 && p.width <= w && p.height <= h && p.left <= w - p.width &&
	                      p.top <= h - p.height,
	                  "the part lies outside of the image of ", w, " x ", h, " pixels");
}

// What a call reads behind the last pixel.
constexpr int64_t kBehind = 16;

}  // namespace
}  // namespace tg::pixels

namespace tg::entry {

// crop_jpeg(byte count, batch, i, left, top, width, height, flip, mean, std) + data: decodes a part of a file, resizes it to
// the size of the batch's images, mirrors it, normalises it, and writes it to the batch's image i.
void crop_jpeg(Args& a, Results&) {
	using namespace tg::pixels;
	auto bytes = a.next();
	const auto& batch = a.needed("batch");
	float* to = place(batch, a.integer());
	jpeg::Part part{a.integer(), a.integer(), a.integer(), a.integer()};
	bool flip = a.boolean();
	auto normal = read_normal(a);
	jpeg::Reader reader(static_cast<const uint8_t*>(a.data), bytes);
	check_part(part, reader.width(), reader.height());
	uint8_t* image = room(0, 4 * part.width * part.height + kBehind);
	reader.read(part, 4, image, 4 * part.width);
	resize(image, part.height, part.width, 4 * part.width, batch.size(2), batch.size(3), flip, normal, to);
}

// crop_image(image, batch, i, left, top, width, height, flip, mean, std): the same of an image uint8 [3, H, W].
void crop_image(Args& a, Results&) {
	using namespace tg::pixels;
	const auto& image = a.needed("image");
	const auto& batch = a.needed("batch");
	float* to = place(batch, a.integer());
	jpeg::Part part{a.integer(), a.integer(), a.integer(), a.integer()};
	bool flip = a.boolean();
	auto normal = read_normal(a);
	TORCH_CHECK_VALUE(image.scalar_type() == at::kByte && image.device().is_cpu() && image.dim() == 3 && image.size(0) == 3,
	                  "expected an image of bytes [3, H, W] on the CPU");
	check_part(part, image.size(2), image.size(1));
	uint8_t* copy = room(0, 4 * part.width * part.height + kBehind);
	const auto* from = image.const_data_ptr<uint8_t>();
	auto strides = image.strides();
	for (int64_t y = 0; y < part.height; y++) {
		const uint8_t* row = from + (part.top + y) * strides[1] + part.left * strides[2];
		uint8_t* pixel = copy + 4 * y * part.width;
		for (int64_t x = 0; x < part.width; x++, row += strides[2], pixel += 4) {
			pixel[0] = row[0], pixel[1] = row[strides[0]], pixel[2] = row[2 * strides[0]];
		}
	}
	resize(copy, part.height, part.width, 4 * part.width, batch.size(2), batch.size(3), flip, normal, to);
}

// crop_flip(images uint8 [N, 3, H, W], tops, lefts, flips, size, mean, std) -> float32 [N, 3, size, size]: of each image the square of
// which the place is given, mirrored where its flip is not 0, normalised. Outside of the image lie zeros.
void crop_flip(Args& a, Results& r) {
	using namespace tg::pixels;
	const auto& given = a.needed("images");
	auto tops = a.ints(), lefts = a.ints(), flips = a.ints();
	int64_t size = a.integer();
	auto normal = read_normal(a);
	TORCH_CHECK_VALUE(given.scalar_type() == at::kByte && given.device().is_cpu() && given.dim() == 4 && given.size(1) == 3,
	                  "expected images of bytes [N, 3, H, W] on the CPU, got shape ", given.sizes());
	int64_t n = given.size(0), h = given.size(2), w = given.size(3);
	auto count = static_cast<size_t>(n);
	TORCH_CHECK_VALUE(tops.size() == count && lefts.size() == count && flips.size() == count && size > 0 && size <= 1 << 20,
	                  "expected a place for each of ", n, " images, and a size of 1 or more");
	auto images = given.contiguous();
	auto out = at::empty({n, 3, size, size}, at::TensorOptions().dtype(at::kFloat));
	float* to = out.mutable_data_ptr<float>();
	std::vector<uint8_t> line(size);
	auto convert = has_avx2() ? convert_avx2 : convert_plain;
	for (int64_t i = 0; i < n; i++) {
		int64_t left = std::clamp<int64_t>(lefts[i], -size, w), top = std::clamp<int64_t>(tops[i], -size, h);
		int64_t before = std::clamp<int64_t>(-left, 0, size), within = std::clamp<int64_t>(w - left, 0, size) - before;
		for (int c = 0; c < 3; c++) {
			const uint8_t* plane = images.const_data_ptr<uint8_t>() + (3 * i + c) * h * w;
			for (int64_t y = top; y < top + size; y++, to += size) {
				std::fill(line.begin(), line.end(), 0);
				if (y >= 0 && y < h && within > 0) {
					std::memcpy(line.data() + before, plane + y * w + left + before, within);
				}
				if (flips[i] != 0) {
					std::reverse(line.begin(), line.end());
				}
				convert(line.data(), size, normal, c, to);
			}
		}
	}
	r.tensor(std::move(out));
}

}  // namespace tg::entry
