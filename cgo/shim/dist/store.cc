// Stores: where the ranks of a group find each other. All are libtorch's.
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "c10d.h"

namespace tg {
namespace {

Store& store(Args& a) { return a.object<Store>("store"); }

std::string text(Args& a) { return std::string(a.string()); }

std::vector<uint8_t> bytes(Args& a) {
	auto s = a.string();
	return {s.begin(), s.end()};
}

std::vector<std::string> keys(Args& a) {
	std::vector<std::string> list(a.next());
	for (auto& key : list) {
		key = a.string();
	}
	return list;
}

void put(Results& r, const std::vector<uint8_t>& value) {
	r.string({reinterpret_cast<const char*>(value.data()), value.size()});
}

}  // namespace

namespace entry {

// new_tcp_store(host, port, world size or -1, serve?, wait for workers?, timeout) -> store, port
void new_tcp_store(Args& a, Results& r) {
	auto host = text(a);
	c10d::TCPStoreOptions o;
	o.port = static_cast<uint16_t>(a.integer());
	if (auto size = a.integer(); size > 0) {
		o.numWorkers = static_cast<size_t>(size);
	}
	o.isServer = a.boolean();
	o.waitWorkers = a.boolean();
	o.timeout = milliseconds(a);
	o.multiTenant = true;
	Unpiped unpiped;
	auto made = c10::make_intrusive<c10d::TCPStore>(host, o);
	auto port = made->getPort();
	r.object<Store>(std::move(made));
	r.integer(port);
}

// new_file_store(path, world size), new_hash_store(), new_prefix_store(prefix, store) -> store
void new_file_store(Args& a, Results& r) {
	auto path = text(a);
	r.object<Store>(c10::make_intrusive<c10d::FileStore>(path, static_cast<int>(a.integer())));
}

void new_hash_store(Args&, Results& r) { r.object<Store>(c10::make_intrusive<c10d::HashStore>()); }

void new_prefix_store(Args& a, Results& r) {
	auto prefix = text(a);
	r.object<Store>(c10::make_intrusive<c10d::PrefixStore>(prefix, store(a)));
}

void store_set(Args& a, Results&) {
	auto& s = store(a);
	auto key = text(a);
	s->set(key, bytes(a));
}

// store_get(store, key) -> value, which is there already or is waited for as long as the store's timeout
void store_get(Args& a, Results& r) {
	auto& s = store(a);
	put(r, s->get(text(a)));
}

void store_add(Args& a, Results& r) {
	auto& s = store(a);
	auto key = text(a);
	r.integer(s->add(key, a.integer()));
}

void store_compare_set(Args& a, Results& r) {
	auto& s = store(a);
	auto key = text(a);
	auto expected = bytes(a);
	put(r, s->compareSet(key, expected, bytes(a)));
}

void store_delete(Args& a, Results& r) {
	auto& s = store(a);
	r.boolean(s->deleteKey(text(a)));
}

void store_check(Args& a, Results& r) {
	auto& s = store(a);
	r.boolean(s->check(keys(a)));
}

void store_num_keys(Args& a, Results& r) { r.integer(store(a)->getNumKeys()); }

void store_set_timeout(Args& a, Results&) {
	auto& s = store(a);
	s->setTimeout(milliseconds(a));
}

}  // namespace entry
}  // namespace tg
