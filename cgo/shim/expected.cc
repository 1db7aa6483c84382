#include "expected.h"

namespace tg {

using c10::IValue;

Expected::Expected(Args& a) : inputs_(a.next()) {
	for (auto& in : inputs_) {
		in.kind = static_cast<Kind>(a.next());
		if (in.kind == Kind::tensor) {
			in.dtype = a.dtype();
		}
		in.sizes.resize(a.next());
		for (auto& s : in.sizes) {
			s.fixed = a.boolean();
			s.n = a.integer();
		}
	}
	symbols_.resize(a.next());
	for (auto& r : symbols_) {
		r.least = a.integer();
		r.most = a.integer();
	}
}

// Symbols are the numbers that inputs have given to symbols so far.
class Expected::Symbols {
 public:
	explicit Symbols(const std::vector<Range>& ranges) : ranges_(ranges), known_(ranges.size(), kOpen) {}

	bool fit(const Size& s, int64_t n) {
		if (s.fixed) {
			return n == s.n;
		}
		auto& symbol = known_[static_cast<size_t>(s.n)];
		const auto& range = ranges_[static_cast<size_t>(s.n)];
		bool ok = symbol == kOpen ? range.least <= n && n <= range.most : symbol == n;
		symbol = n;
		return ok;
	}

 private:
	static constexpr int64_t kOpen = -1;

	const std::vector<Range>& ranges_;
	c10::SmallVector<int64_t, 8> known_;
};

bool Expected::admits(const Input& in, const IValue& given, Symbols& symbols) {
	if (in.kind == Kind::integer) {
		return given.isInt() && symbols.fit(in.sizes[0], given.toInt());
	}
	if (in.kind != Kind::tensor) {
		return true;
	}
	if (!given.isTensor() || !given.toTensor().defined()) {
		return false;
	}
	const auto& t = given.toTensor();
	if (t.scalar_type() != in.dtype || static_cast<size_t>(t.dim()) != in.sizes.size()) {
		return false;
	}
	for (size_t d = 0; d < in.sizes.size(); d++) {
		if (!symbols.fit(in.sizes[d], t.size(static_cast<int64_t>(d)))) {
			return false;
		}
	}
	return true;
}

bool Expected::admits(const std::vector<IValue>& given) const {
	Symbols symbols(symbols_);
	for (size_t i = 0; i < inputs_.size(); i++) {
		if (!admits(inputs_[i], given[i], symbols)) {
			return false;
		}
	}
	return true;
}

}  // namespace tg
