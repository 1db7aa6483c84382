// Blocks of all small sizes go from thread to thread, and threads end: nothing is handed out twice and all keep what was
// written. What cannot be had is std::bad_alloc, after the handler was asked.
#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

struct Late {
	std::unique_ptr<int> value;
	~Late() { value = std::make_unique<int>(2); }
};

struct Block {
	char* data;
	size_t size;
};

static bool good(const Block& b, unsigned char mark) {
	for (size_t i = 0; i < b.size; i++) {
		if (static_cast<unsigned char>(b.data[i]) != mark) return false;
	}
	return malloc_usable_size(b.data) >= b.size;
}

static int asked = 0;

// What threads keep that sleep is given back to malloc.
static bool empties(void (*empty)()) {
	std::barrier meet(2);
	std::thread sleeper([&] {
		std::vector<void*> made;
		for (int i = 0; i < 3000; i++) made.push_back(::operator new(i % 500));
		for (void* p : made) ::operator delete(p);
		meet.arrive_and_wait();
		meet.arrive_and_wait();
	});
	meet.arrive_and_wait();
	size_t before = mallinfo2().uordblks;
	empty();
	size_t after = mallinfo2().uordblks;
	meet.arrive_and_wait();
	sleeper.join();
	return before - after > 256 << 10;
}

// ... and of those that are at it nothing is lost.
static bool empties_the_busy(void (*empty)()) {
	std::atomic<bool> fine = true, over = false;
	std::vector<std::thread> busy;
	for (int t = 0; t < 4; t++) {
		busy.emplace_back([&, t] {
			std::vector<Block> made(64);
			for (unsigned round = 0; !over; round++) {
				for (auto& b : made) {
					b = {static_cast<char*>(::operator new(round % 500)), round % 500};
					memset(b.data, (round + t) & 0xff, b.size);
				}
				for (auto& b : made) {
					fine = fine && good(b, (round + t) & 0xff);
					::operator delete(b.data);
				}
			}
		});
	}
	for (int i = 0; i < 20000; i++) empty();
	over = true;
	for (auto& t : busy) t.join();
	return fine;
}

int main() {
	bool fine = true;
	std::vector<Block> kept;
	for (int round = 0; round < 50; round++) {
		std::thread([&] {
			static thread_local Late late;
			late.value = std::make_unique<int>(1);
			std::vector<Block> made;
			for (int i = 0; i < 3000; i++) {
				size_t size = i % 600;
				made.push_back({static_cast<char*>(::operator new(size)), size});
				memset(made.back().data, (i + round) & 0xff, size);
			}
			for (int i = 0; i < 3000; i++) {
				fine = fine && good(made[i], (i + round) & 0xff);
			}
			for (auto& b : kept) {
				::operator delete(b.data, b.size);
			}
			kept = made;
		}).join();
	}
	for (auto& b : kept) {
		::operator delete(b.data);
	}
	::operator delete(nullptr);
	std::set_new_handler([] {
		if (++asked == 2) std::set_new_handler(nullptr);
	});
	bool failed = false;
	try {
		::operator delete(::operator new(size_t{1} << 62));
	} catch (const std::bad_alloc&) {
		failed = true;
	}
	auto empty = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "tg_heap_empty"));
	printf("%d %d %d %d %d\n", fine, failed, asked, empties(empty), empties_the_busy(empty));
	// Most of what the threads kept went back to the heap when they ended.
	return mallinfo2().uordblks < 2 << 20 ? 0 : 1;
}
