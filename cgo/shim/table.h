// Objects that Go names by number and that may be gone by then.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace tg {

// Weak is a weak pointer.
template <class Weak>
class Table {
 public:
	void put(uint64_t id, Weak object) {
		std::lock_guard<std::mutex> lock(mutex_);
		objects_.insert_or_assign(id, std::move(object));
	}
	auto find(uint64_t id) {
		std::lock_guard<std::mutex> lock(mutex_);
		auto at = objects_.find(id);
		return at == objects_.end() ? decltype(at->second.lock())() : at->second.lock();
	}
	void erase(uint64_t id) {
		std::lock_guard<std::mutex> lock(mutex_);
		objects_.erase(id);
	}

 private:
	std::mutex mutex_;
	std::unordered_map<uint64_t, Weak> objects_;
};

}  // namespace tg
