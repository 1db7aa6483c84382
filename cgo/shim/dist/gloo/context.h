// The little of gloo that c10d's headers name and we call. libtorch carries gloo inside, and its wheel
// exports gloo's functions but has none of its headers. Nothing here is made or copied by us: shared
// pointers to these types come from libtorch and go back to it, so that only names matter, not layouts.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
	void setTimeout(std::chrono::milliseconds timeout);
	void closeConnections();
};

namespace rendezvous {
class Store {
 public:
	virtual ~Store() = default;
	virtual void set(const std::string& key, const std::vector<char>& value) = 0;
	virtual std::vector<char> get(const std::string& key) = 0;
	virtual void wait(const std::vector<std::string>& keys) = 0;
	virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous

namespace transport {
class Device;
class UnboundBuffer {
 public:
	virtual ~UnboundBuffer();
};
}  // namespace transport

}  // namespace gloo
