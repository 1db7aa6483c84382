// A block of the heap may be read past its end, or used after it was freed, and nobody
// notices. Here each block has pages of its own between two that may not be touched, so that
// the kernel notices; freed, its pages may not be touched either until all others of its size
// were in use.
#include "guardpages.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace tg {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kWidest = 64;     // libtorch's alignment
constexpr size_t kMargin = 256;    // bytes beside a block that are looked at when it is freed
constexpr size_t kPoisoned = 1 << 20;  // more is as the kernel gives it: zeros
constexpr unsigned char kFresh = 0xFF;   // not a number, and no index
constexpr unsigned char kUntouched = 0xA5;

// Slots of one number of pages, in one run of addresses: a page that may not be touched
// before each slot, and one after the last.
class Slots {
 public:
	void reserve(size_t pages, size_t count) {
		pages_ = pages;
		size_t bytes = (count * (pages + 1) + 1) * kPage;
		void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at == MAP_FAILED) {
			return;
		}
		first_ = static_cast<char*>(at);
		last_ = first_ + bytes;
		blocks_.resize(count);
		free_.resize(count);
		for (size_t i = 0; i < count; i++) {
			free_[i] = static_cast<uint32_t>(i);
		}
		left_ = count;
	}
	bool has(const void* p) const { return p >= first_ && p < last_; }
	size_t bytes() const { return pages_ * kPage; }

	// align is how closely a block may end at a page; 0 has it begin at one.
	void* take(size_t n, size_t align) {
		if (left_ == 0) {
			return nullptr;
		}
		uint32_t i = free_[head_];
		char* pages = at_slot(i);
		if (mprotect(pages, bytes(), PROT_READ | PROT_WRITE) != 0) {
			return nullptr;
		}
		head_ = (head_ + 1) % free_.size();
		left_--;
		size_t start = align == 0 ? 0 : bytes() - (n + align - 1) / align * align;
		blocks_[i] = {pages + start, n};
		if (n <= kPoisoned) {
			std::memset(pages + start, kFresh, n);
		}
		auto [from, to] = margin(i);
		std::memset(from, kUntouched, static_cast<size_t>(to - from));
		return pages + start;
	}
	size_t size(const void* p) const { return blocks_[slot(p)].n; }
	void give(void* p) {
		uint32_t i = slot(p);
		auto [from, to] = margin(i);
		char* bad = std::find_if(from, to, [](char c) { return static_cast<unsigned char>(c) != kUntouched; });
		if (bad != to) {
			std::fprintf(stderr, "guard pages: byte %td of a block of %zu was written to\n", bad - blocks_[i].data, blocks_[i].n);
			std::abort();
		}
		if (blocks_[i].n > kPoisoned) {
			madvise(at_slot(i), bytes(), MADV_DONTNEED);
		}
		mprotect(at_slot(i), bytes(), PROT_NONE);
		blocks_[i] = {};
		free_[(head_ + left_) % free_.size()] = i;
		left_++;
	}

 private:
	struct Block {
		char* data = nullptr;
		size_t n = 0;
	};
	struct Bytes {
		char *from, *to;
	};

	char* at_slot(uint32_t i) const { return first_ + (i * (pages_ + 1) + 1) * kPage; }
	uint32_t slot(const void* p) const {
		size_t page = static_cast<size_t>(static_cast<const char*>(p) - first_) / kPage;
		return static_cast<uint32_t>((page - 1) / (pages_ + 1));
	}
	Bytes margin(uint32_t i) const {
		char* end = blocks_[i].data + blocks_[i].n;
		return {end, std::min(end + kMargin, at_slot(i) + bytes())};
	}

	size_t pages_ = 0;
	char *first_ = nullptr, *last_ = nullptr;
	std::vector<Block> blocks_;
	std::vector<uint32_t> free_;  // a ring: the slot that was freed first is taken first
	size_t head_ = 0, left_ = 0;
};

// Slots of 1, 2, 4 … pages; each kind has about as many bytes.
class Pages {
 public:
	Pages() {
		size_t pages = 1, count = 8192;
		for (auto& slots : kinds_) {
			slots.reserve(pages, count);
			pages *= 2;
			count = std::max<size_t>(4, count / 2);
		}
	}
	void* take(size_t n, size_t align) {
		for (auto& slots : kinds_) {
			if (n <= slots.bytes()) {
				std::lock_guard<std::mutex> lock(mutex_);
				return slots.take(n, align);
			}
		}
		return nullptr;
	}
	Slots* of(const void* p) {
		auto* found = std::find_if(std::begin(kinds_), std::end(kinds_), [p](const Slots& s) { return s.has(p); });
		return found == std::end(kinds_) ? nullptr : found;
	}
	std::mutex mutex_;

 private:
	Slots kinds_[15];  // up to 64 MB
};

Pages& pages() {
	static auto* all = new Pages;  // blocks are freed until the process ends
	return *all;
}

}  // namespace

void* guarded_take(size_t n, Placement at) {
	return pages().take(n, at == Placement::begin ? 0 : at == Placement::close ? 16 : kWidest);
}

bool is_guarded(const void* block) { return pages().of(block) != nullptr; }

size_t guarded_size(const void* block) {
	std::lock_guard<std::mutex> lock(pages().mutex_);
	return pages().of(block)->size(block);
}

void guarded_give(void* block) {
	std::lock_guard<std::mutex> lock(pages().mutex_);
	pages().of(block)->give(block);
}

const void* guarded_copy(const void* first, size_t bytes) {
	static std::array<std::atomic<void*>, 256> kept{};
	static std::atomic<size_t> turn;
	void* copy = pages().take(bytes, 1);
	if (copy == nullptr) {
		return first;
	}
	std::memcpy(copy, first, bytes);
	if (void* oldest = kept[turn++ % kept.size()].exchange(copy); oldest != nullptr) {
		guarded_give(oldest);
	}
	return copy;
}

}  // namespace tg
