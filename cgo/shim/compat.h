// What differs between the versions of libtorch that these sources build on, under one name for
// each. Nothing else but generated code asks for the version.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <utility>

namespace tg {

// Pointers to nodes of the graph are std's up to 2.12, c10's from 2.13 on.
#if TG_TORCH_VERSION < 21300
template <class T>
using NodePtr = std::shared_ptr<T>;
template <class T>
using WeakNodePtr = std::weak_ptr<T>;
#else
template <class T>
using NodePtr = c10::intrusive_ptr<T>;
template <class T>
using WeakNodePtr = c10::weak_intrusive_ptr<T>;
#endif

// OwnNode is a node that learns when its last owner is gone while weak pointers to it are left. The
// destructor is no place for it: c10's weak pointers keep the whole node.
class OwnNode : public torch::autograd::Node {
 public:
	virtual void abandoned() = 0;
#if TG_TORCH_VERSION >= 21300
	void release_resources() override {
		abandoned();
		Node::release_resources();
	}
#endif
};

// make_node makes a T, which is an OwnNode. A long graph is freed node by node, not in a recursion.
template <class T, class... Args>
NodePtr<T> make_node(Args&&... args) {
#if TG_TORCH_VERSION < 21300
	return NodePtr<T>(new T(std::forward<Args>(args)...), [](T* node) {
		node->abandoned();
		torch::autograd::deleteNode(node);
	});
#else
	return c10::make_intrusive<T>(std::forward<Args>(args)...);
#endif
}

// wrap_outputs makes what a function of our own computed outside of the graph the outputs of its
// node. From 2.14 on libtorch also tells which node they got: Python's hooks on new nodes ask for it.
template <class... Args>
auto wrap_outputs(Args&&... args) {
#if TG_TORCH_VERSION < 21400
	return torch::autograd::_wrap_outputs(std::forward<Args>(args)...);
#else
	NodePtr<torch::autograd::Node> attached;
	return torch::autograd::_wrap_outputs(std::forward<Args>(args)..., attached);
#endif
}

// is_named tells whether dimensions of a tensor have names, which they have no longer in 2.15.
template <class T>
bool is_named(const T& t) {
	if constexpr (requires { t.has_names(); }) {
		return t.has_names();
	} else {
		return false;
	}
}

}  // namespace tg
