// Operators that come and go while the process lives.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace tg {

// Calling is held by calls of operators by name: none is taken out of the dispatcher, and
// none gets another kernel, while one runs. Calls may nest.
class Calling {
 public:
	Calling();
	~Calling();
	Calling(const Calling&) = delete;
	Calling& operator=(const Calling&) = delete;

 private:
	std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace tg
