#include "boxed.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <unordered_map>
#include <unordered_set>

#include "rules.h"

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

namespace {

std::unordered_set<std::string>& inner_namespaces() {
	static auto& set = *new std::unordered_set<std::string>;
	return set;
}

std::string namespace_of(const std::string& name) {
	return name.substr(0, name.find("::"));
}

}  // namespace

void know_inner_namespaces() {
	for (const auto& op : c10::Dispatcher::singleton().getAllOpNames()) {
		inner_namespaces().insert(namespace_of(op.name));
	}
	inner_namespaces().erase("aten");
}

void refuse_inner(const std::string& name) {
	if (name.compare(0, 6, "aten::") != 0 && inner_namespaces().count(namespace_of(name)) > 0) {
		rule::refuse_unsafe(name.c_str());
	}
}

}  // namespace tg
