#include "boxed.h"

#include <unordered_map>

namespace tg {

const GuardRow* find_guard(const std::string& name, const std::string& overload) {
	static const auto& rows = *[] {
		auto map = new std::unordered_map<std::string, const GuardRow*>;
		for (size_t i = 0; i < guard_count; i++) {
			map->emplace(std::string(guard_rows[i].name) + '.' + guard_rows[i].overload, &guard_rows[i]);
		}
		return map;
	}();
	auto at = rows.find(name + '.' + overload);
	return at == rows.end() ? nullptr : at->second;
}

namespace boxed {

void finish(torch::jit::Stack& s, size_t outs, std::vector<at::Tensor> results) {
	if (outs == 0) {
		s.assign(std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
		return;
	}
	torch::jit::Stack given(s.end() - static_cast<int64_t>(outs), s.end());
	for (size_t i = 0; i < outs; i++) {
		auto out = given[i].toTensor();
		if (out.sizes() != results[i].sizes()) {
			out.resize_(results[i].sizes());
		}
		out.copy_(results[i]);
	}
	s = std::move(given);
}

}  // namespace boxed
}  // namespace tg
