// Functions of Go that libtorch calls, by number. A number stands for a value in Go's
// registry; whoever holds a Lent holds the value.
#pragma once

#include <atomic>
#include <exception>
#include <memory>

#include "core.h"

namespace tg {

extern tg_callback enter_go;  // what tg_open was given

// Lent is a value of Go's that C++ refers to. It may die on any thread, and inside of calls
// that must not enter Go: its end leaves a note, which Go collects (entry dropped).
class Lent {
 public:
	explicit Lent(uint64_t id) : id_(id) {}
	~Lent();
	Lent(const Lent&) = delete;
	Lent& operator=(const Lent&) = delete;

	uint64_t id() const { return id_.load(std::memory_order_relaxed); }
	uint64_t give_back() { return id_.exchange(0); }  // the number is the caller's from here on

 private:
	std::atomic<uint64_t> id_;
};

using Loan = std::shared_ptr<Lent>;

// A failure of a Go function on its way through libtorch: an error, a panic, a Goexit. The
// fence hands its number back to Go.
struct GoFailure final : std::exception {
	Loan failure;
	explicit GoFailure(uint64_t id) : failure(std::make_shared<Lent>(id)) {}
	const char* what() const noexcept override { return "a Go function failed"; }
};

// call_go runs a Go function with the tensors in and returns the words that it answers with,
// count of them. arg is what else it wants to know.
std::vector<uint64_t> call_go(uint64_t id, uint64_t arg, at::TensorList in, size_t count);

// A word that stands for a reference of its own becomes a tensor.
at::Tensor take(uint64_t handle);

// call_go for a function that answers with tensors.
std::vector<at::Tensor> call_go_tensors(uint64_t id, uint64_t arg, at::TensorList in, size_t count);

bool any_dropped();  // there are notes to collect

// The Go callers of the call that this thread is in, as addresses of their code; empty
// unless anomaly mode is on.
std::vector<uint64_t> recorded_stack();

// Anomaly is an exception of a node and where the node was recorded.
struct Anomaly final : std::exception {
	std::exception_ptr cause;
	std::string text;
	std::vector<uint64_t> trail;  // for each node: its name as text, the addresses as a list
	const char* what() const noexcept override { return text.c_str(); }
};

// use_own_engine makes libtorch's autograd ask us for hooks on saved tensors, and for what
// anomaly mode keeps of a node.
void use_own_engine();

}  // namespace tg
