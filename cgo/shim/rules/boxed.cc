#include "boxed.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rules.h"

namespace tg {

namespace {

using Rows = std::unordered_map<std::string, std::vector<const GuardRow*>>;

const Rows& table() {
	static const auto& rows = *[] {
		auto map = new Rows;
		for (size_t i = 0; i < guard_count; i++) {
			(*map)[guard_rows[i].name].push_back(&guard_rows[i]);
		}
		return map;
	}();
	return rows;
}

const GuardRow* find(const std::string& name, const std::string& overload) {
	auto at = table().find(name);
	if (at != table().end()) {
		for (const auto* row : at->second) {
			if (row->overload == overload) {
				return row;
			}
		}
	}
	return nullptr;
}

// made_of tells whether a schema has the arguments of another, and after these only what it
// writes to.
bool made_of(const c10::FunctionSchema& schema, const GuardRow& row) {
	auto other = c10::Dispatcher::singleton().findSchema({row.name, row.overload});
	if (!other || other->schema().arguments().size() > schema.arguments().size()) {
		return false;
	}
	const auto& a = schema.arguments();
	const auto& b = other->schema().arguments();
	for (size_t i = 0; i < a.size(); i++) {
		if (i >= b.size() ? a[i].alias_info() == nullptr : a[i].name() != b[i].name() || *a[i].type() != *b[i].type()) {
			return false;
		}
	}
	return true;
}

}  // namespace

const GuardRow* find_guard(const c10::FunctionSchema& schema) {
	if (const auto* row = find(schema.name(), schema.overload_name())) {
		return row;
	}
	constexpr std::string_view functional = "_functional";
	auto base = schema.name();
	if (base.size() > functional.size() && base.compare(base.size() - functional.size(), functional.size(), functional) == 0) {
		base.resize(base.size() - functional.size());
	}
	for (const auto& name : {base, base + '_'}) {
		auto at = table().find(name);
		if (at == table().end()) {
			continue;
		}
		for (const auto* row : at->second) {
			if (made_of(schema, *row)) {
				return row;
			}
		}
	}
	return nullptr;
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
	bool inner = namespace_of(name) == "aten" ? std::find(unlisted, unlisted + unlisted_count, name) != unlisted + unlisted_count
	                                          : inner_namespaces().count(namespace_of(name)) > 0;
	if (inner) {
		rule::refuse_unsafe(name.c_str());
	}
}

}  // namespace tg
