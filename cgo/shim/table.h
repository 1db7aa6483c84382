// Objects that Go names by number and that may be gone by then.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace tg {

template <class T>
class Table {
 public:
	void put(uint64_t id, std::weak_ptr<T> object) {
		std::lock_guard<std::mutex> lock(mutex_);
		objects_[id] = std::move(object);
	}
	std::shared_ptr<T> find(uint64_t id) {
		std::lock_guard<std::mutex> lock(mutex_);
		auto at = objects_.find(id);
		return at == objects_.end() ? nullptr : at->second.lock();
	}
	void erase(uint64_t id) {
		std::lock_guard<std::mutex> lock(mutex_);
		objects_.erase(id);
	}

 private:
	std::mutex mutex_;
	std::unordered_map<uint64_t, std::weak_ptr<T>> objects_;
};

}  // namespace tg
