// Blocks of all small sizes go from thread to thread, and threads end: nothing is handed out twice and all keep what was
// written. What cannot be had is std::bad_alloc, after the handler was asked.
#include <malloc.h>

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
	printf("%d %d %d\n", fine, failed, asked);
	// Most of what the threads kept went back to the heap when they ended.
	return mallinfo2().uordblks < 2 << 20 ? 0 : 1;
}
