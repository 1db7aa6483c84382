// LAPACK reads outside of memory over some numbers.
#include "rules.h"

namespace tg::rule {

void no_infinite(const Tensor& x) {
	TORCH_CHECK_LINALG(!on_host(x) || finite(x), "input tensor should not contain infs or NaNs.");
}

void hermitian(const Tensor& x, bool hermitian) {
	if (hermitian) {
		no_infinite(x);
	}
}

// Rows that are not there, and a 2 x 2 block of which a half is missing, are swapped unseen.
// LAPACK takes no right-hand sides for a mistake of ours.
void columns(const Tensor& b, Mode driver) {
	bool none = has(b) && b.dim() > 0 && b.size(-1) == 0 && (driver == "gelss" || driver == "gelsd");
	TORCH_CHECK(!none, "expected at least one right-hand side with driver ", *driver, ", but got b of size ", b.sizes());
}

void pivots(const Tensor& pivots) {
	if (!on_host(pivots) || pivots.dim() == 0 || !integral(pivots)) {
		return;
	}
	auto n = pivots.size(-1);
	bool half = false;
	auto list = values(pivots);
	for (size_t i = 0; i < list.size(); i++) {
		auto p = list[i];
		bool last = static_cast<int64_t>(i) % n == n - 1;
		TORCH_CHECK_INDEX(p != 0 && p <= n && p >= -n, "pivots have to be between 1 and ", n, ", or between -", n, " and -1, but got ", p);
		TORCH_CHECK_INDEX(!(p > 0 && half) && !(p < 0 && !half && last), "negative pivots have to come in pairs");
		half = p < 0 && !half;
	}
}

// Where the factors are broadcast, their pivots are read from beyond those that there are.
void as_many(const Tensor& factors, const Tensor& b) {
	if (!has(factors) || !has(b) || factors.dim() < 2 || b.dim() < 2) {
		return;
	}
	auto have = factors.sizes().slice(0, factors.dim() - 2), want = b.sizes().slice(0, b.dim() - 2);
	bool grows = want.size() > have.size();
	for (size_t i = 1; !grows && i <= want.size(); i++) {
		grows = want[want.size() - i] != 1 && have[have.size() - i] == 1;
	}
	TORCH_CHECK_NOT_IMPLEMENTED(!grows, "cannot broadcast LD of size ", factors.sizes(), " to the matrices in B, of size ", b.sizes(), "; Expand and Clone LD and pivots");
}

// There is a pivot for each row or column, whichever are fewer, of each matrix.
void lu_pivots(const Tensor& lu, const Tensor& pivots, bool wanted) {
	if (!wanted || !has(lu) || !has(pivots) || lu.dim() < 2) {
		return;
	}
	auto want = lu.sizes().slice(0, lu.dim() - 2).vec();
	want.push_back(std::min(lu.size(-2), lu.size(-1)));
	TORCH_CHECK(pivots.sizes() == IntArrayRef(want), "Expected pivots of size ", IntArrayRef(want), ", but got ", pivots.sizes());
}

}  // namespace tg::rule
