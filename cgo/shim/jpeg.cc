// JPEG by the libjpeg-turbo of the system, or of a wheel, which is opened at run time. Its errors
// come by longjmp, which passes libjpeg's frames and a function of this file without destructors, and nothing else.
#include "jpeg.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "entries.h"

namespace tg::jpeg {
namespace {

// A file of so many bytes may need this much for its coefficients, which progressive files keep: more is no
// image but a trap.
constexpr int64_t kLeastRoom = 56 << 20, kRoomPerByte = 64;

// Each scan of a progressive file goes over the whole image again; programs that make files use ten or so.
constexpr int kMostScans = 500;

// Set once; a library stays open for the rest of the process's life.
std::atomic<const Library*> opened{nullptr};

// What a call of libjpeg needs to come back from an error.
struct Guard {
	Errors errors;
	std::jmp_buf back;
	char text[256];

	static Guard& of(Common* c) { return *reinterpret_cast<Guard*>(c->err); }

	[[noreturn]] static void exit(Common* c) {
		Guard& g = of(c);
		if (g.errors.format_message != nullptr) {
			char text[200];
			g.errors.format_message(c, text);
			std::snprintf(g.text, sizeof g.text, "%s", text);
		}
		std::longjmp(g.back, 1);
	}
	[[noreturn]] static void fail(Common* c, const char* text) {
		std::snprintf(of(c).text, sizeof of(c).text, "%s", text);
		std::longjmp(of(c).back, 1);
	}
	static void silent(Common*) {}
	static void count(Common* c, int level) {
		if (level < 0) {
			c->err->warnings++;
		}
	}

	void install(const Library& lib, Common* c) {
		c->err = lib.std_error(&errors);
		errors.error_exit = exit;
		errors.output_message = silent;
		errors.emit_message = count;
	}
};

static_assert(offsetof(Guard, errors) == 0);

// run calls step and tells whether it came to its end. Nothing with a destructor may live in it
// or in step.
template <class Step>
bool run(Guard& g, Step step) {
	static_assert(std::is_trivially_destructible_v<Step>);
	if (setjmp(g.back) != 0) {
		return false;
	}
	step();
	return true;
}

template <class F>
void look_up(void* handle, F*& f, const char* name) {
	f = reinterpret_cast<F*>(dlsym(handle, name));
	TORCH_CHECK(f != nullptr, "the library has no function ", name, "; libjpeg-turbo 1.5 or later is needed");
}

// ask lets create complain: first of the version it is asked for, then of the length of the structure.
template <class S>
size_t ask(const Library& lib, void (*create)(S*, int, size_t), int& version) {
	alignas(16) unsigned char room[kRoom] = {};
	auto* s = reinterpret_cast<S*>(room);
	Guard g{};
	g.install(lib, s);
	bool made = run(g, [&] { create(s, 0, 0); });
	version = made ? 0 : g.errors.parameters.i[0];
	made = made || run(g, [&] { create(s, version, 0); });
	int size = made ? 0 : g.errors.parameters.i[0];
	TORCH_CHECK((version == 62 || version == 70 || version == 80) && size >= static_cast<int>(sizeof(S)) && size <= static_cast<int>(kRoom),
	            "the library's interface is ", version, " with structures of ", size, " bytes; libjpeg-turbo's 62, 70 and 80 are known");
	return size;
}

}  // namespace

const Library& library() {
	const Library* lib = opened.load(std::memory_order_acquire);
	TORCH_CHECK(lib != nullptr, "no libjpeg-turbo has been opened");
	return *lib;
}

struct Reader::State {
	Guard guard;
	Source source;
	Progress progress;
	const uint8_t* end;
	alignas(16) unsigned char room[kRoom];

	Decompress* d() { return reinterpret_cast<Decompress*>(room); }
	static State& of(Common* c) { return *reinterpret_cast<State*>(reinterpret_cast<char*>(c) - offsetof(State, room)); }

	template <class Step>
	void step(Step s) {
		TORCH_CHECK_VALUE(run(guard, s), guard.text);
	}
};

namespace {

void nothing(Common*) {}

}  // namespace

Reader::Reader(const uint8_t* data, size_t size, int64_t denominator) {
	const Library& lib = library();
	auto made = std::make_unique<State>();
	State& s = *made;
	std::memset(&s, 0, sizeof s);
	s.guard.install(lib, s.d());
	s.step([&] { lib.create_decompress(s.d(), lib.version, lib.decompress_size); });
	state_ = made.release();  // ~Reader is not called for what throws below
	try {
		Decompress* d = s.d();
		d->mem->max_to_use = std::max<int64_t>(kLeastRoom, kRoomPerByte * static_cast<int64_t>(size));
		s.source.next = data;
		s.source.left = size;
		s.source.init = nothing;
		s.source.term = nothing;
		s.source.resync = lib.resync;
		s.source.fill = [](Common* c) -> int { Guard::fail(c, "the image is incomplete or truncated"); };
		s.source.skip = [](Common* c, long n) {
			Source& from = *static_cast<Decompress*>(c)->src;
			if (n > 0) {
				size_t step = std::min<size_t>(n, from.left);
				from.next += step, from.left -= step;
			}
		};
		d->src = &s.source;
		s.progress.monitor = [](Common* c) {
			if (static_cast<Decompress*>(c)->scan > kMostScans) {
				Guard::fail(c, "the image has more than 500 scans");
			}
		};
		d->progress = &s.progress;
		s.step([&] { lib.read_header(d, 1); });
		d->scale_num = 1;
		d->scale_denom = denominator;
		width_ = (d->image_width + denominator - 1) / denominator;
		height_ = (d->image_height + denominator - 1) / denominator;
	} catch (...) {
		lib.destroy(s.d());
		delete state_;
		throw;
	}
}

Reader::~Reader() {
	library().destroy(state_->d());
	delete state_;
}

int Reader::components() const { return state_->d()->components; }

namespace {

// Pillow's rounding, which torchvision has taken over.
uint8_t without_black(int k, int cmy) {
	int v = k * cmy + 128;
	return static_cast<uint8_t>(std::clamp(k - (((v >> 8) + v) >> 8), 0, 255));
}

// from_cmyk writes a row of inks as Photoshop stores them, inverted, in another number of channels.
void from_cmyk(const uint8_t* from, int64_t n, int channels, uint8_t* to) {
	for (int64_t i = 0; i < n; i++, from += 4, to += channels) {
		int k = from[3];
		uint8_t r = without_black(k, 255 - from[0]), g = without_black(k, 255 - from[1]), b = without_black(k, 255 - from[2]);
		if (channels == 1) {
			to[0] = static_cast<uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
			continue;
		}
		to[0] = r, to[1] = g, to[2] = b;
	}
}

}  // namespace

void Reader::read(const Part& part, int channels, uint8_t* to, size_t stride) {
	const Library& lib = library();
	State& s = *state_;
	Decompress* d = s.d();
	bool inks = d->components == 4;
	d->out_colours = inks ? cmyk : channels == 1 ? grey : channels == 4 ? ext_rgbx : rgb;
	s.step([&] { lib.start_decompress(d); });
	int64_t bytes = inks ? 4 : channels;
	TORCH_CHECK_VALUE(d->output_width == width_ && d->output_height == height_ && d->output_components == bytes,
	                  "libjpeg makes another image than its header says");
	// Colours are interpolated from pixels next to them, so a little more than the part is decoded, and cut off.
	constexpr int64_t around = 2;
	unsigned left = std::max<int64_t>(0, part.left - around);
	unsigned width = std::min(width_, part.left + part.width + around) - left;
	if (width < width_) {
		s.step([&] { lib.crop_scanline(d, &left, &width); });
	}
	int64_t within = (part.left - left) * bytes, row_bytes = part.width * bytes;
	bool direct = within == 0 && width == part.width && !inks;
	auto row = std::make_unique<uint8_t[]>(static_cast<size_t>(width) * bytes);
	uint8_t* line = row.get();
	if (part.top > 0) {
		s.step([&] { lib.skip_scanlines(d, part.top); });
	}
	for (int64_t y = 0; y < part.height; y++, to += stride) {
		uint8_t* place = direct ? to : line;
		s.step([&] { lib.read_scanlines(d, &place, 1); });
		if (inks) {
			from_cmyk(line + within, part.width, channels, to);
		} else if (!direct) {
			std::memcpy(to, line + within, row_bytes);
		}
	}
}

}  // namespace tg::jpeg

namespace tg::entry {

// open_jpeg(path) -> version of the interface. Where a library is open already, it stays.
void open_jpeg(Args& a, Results& r) {
	using namespace tg::jpeg;
	if (opened.load() == nullptr) {
		void* handle = dlopen(std::string(a.string()).c_str(), RTLD_NOW | RTLD_LOCAL);
		TORCH_CHECK(handle != nullptr, dlerror());
		auto lib = std::make_unique<Library>();
		look_up(handle, lib->std_error, "jpeg_std_error");
		look_up(handle, lib->create_decompress, "jpeg_CreateDecompress");
		look_up(handle, lib->read_header, "jpeg_read_header");
		look_up(handle, lib->start_decompress, "jpeg_start_decompress");
		look_up(handle, lib->read_scanlines, "jpeg_read_scanlines");
		look_up(handle, lib->skip_scanlines, "jpeg_skip_scanlines");
		look_up(handle, lib->crop_scanline, "jpeg_crop_scanline");
		look_up(handle, lib->destroy, "jpeg_destroy");
		look_up(handle, lib->resync, "jpeg_resync_to_restart");
		look_up(handle, lib->create_compress, "jpeg_CreateCompress");
		look_up(handle, lib->mem_dest, "jpeg_mem_dest");
		look_up(handle, lib->set_defaults, "jpeg_set_defaults");
		look_up(handle, lib->set_quality, "jpeg_set_quality");
		look_up(handle, lib->start_compress, "jpeg_start_compress");
		look_up(handle, lib->write_scanlines, "jpeg_write_scanlines");
		look_up(handle, lib->finish_compress, "jpeg_finish_compress");
		int version = 0;
		lib->decompress_size = ask(*lib, lib->create_decompress, lib->version);
		lib->compress_size = ask(*lib, lib->create_compress, version);
		const Library* none = nullptr;
		if (opened.compare_exchange_strong(none, lib.get())) {
			lib.release();
		}
	}
	r.integer(library().version);
}

// jpeg_size(byte count) + data -> width, height, components
void jpeg_size(Args& a, Results& r) {
	auto bytes = a.next();
	jpeg::Reader reader(static_cast<const uint8_t*>(a.data), bytes);
	r.integer(reader.width());
	r.integer(reader.height());
	r.integer(reader.components());
}

// decode_jpeg(byte count, channels, most pixels, denominator, left, top, width, height) + data -> uint8 [channels, H, W], channels last.
// A width of 0 means all of the image, and 0 channels those of the file.
void decode_jpeg(Args& a, Results& r) {
	auto bytes = a.next();
	auto channels = a.integer(), most = a.integer(), denominator = a.integer();
	jpeg::Part part{a.integer(), a.integer(), a.integer(), a.integer()};
	TORCH_CHECK_VALUE(denominator == 1 || denominator == 2 || denominator == 4 || denominator == 8, "an image is decoded at 1/1, 1/2, 1/4 or 1/8 of its size");
	TORCH_CHECK_VALUE(channels == 0 || channels == 1 || channels == 3, "an image is decoded to 1 or 3 channels");
	jpeg::Reader reader(static_cast<const uint8_t*>(a.data), bytes, denominator);
	if (channels == 0) {
		channels = reader.components() == 1 ? 1 : 3;
	}
	int64_t w = reader.width(), h = reader.height();
	TORCH_CHECK_VALUE(w > 0 && h > 0 && w <= most / h, "it has ", w, " x ", h, " pixels, expected 1 to ", most, " in all");
	if (part.width == 0) {
		part = {0, 0, w, h};
	}
	TORCH_CHECK_VALUE(part.left >= 0 && part.top >= 0 && part.width > 0 && part.height > 0 && part.width <= w && part.height <= h &&
	                      part.left <= w - part.width && part.top <= h - part.height,
	                  "the part lies outside of the image of ", w, " x ", h, " pixels");
	auto t = at::empty({part.height, part.width, channels}, at::TensorOptions().dtype(at::kByte));
	reader.read(part, static_cast<int>(channels), t.mutable_data_ptr<uint8_t>(), part.width * channels);
	r.tensor(t.permute({2, 0, 1}));
}

// encode_jpeg(image uint8 [1 or 3, H, W], quality) -> its file, uint8 [bytes]
void encode_jpeg(Args& a, Results& r) {
	using namespace tg::jpeg;
	const auto& given = a.needed("image");
	int quality = static_cast<int>(std::clamp<int64_t>(a.integer(), 1, 100));
	TORCH_CHECK_TYPE(given.scalar_type() == at::kByte && given.device().is_cpu(), "the image must be of bytes on the CPU");
	TORCH_CHECK_VALUE(given.dim() == 3 && (given.size(0) == 1 || given.size(0) == 3) && given.size(1) > 0 && given.size(2) > 0 &&
	                      given.size(1) < 65500 && given.size(2) < 65500,
	                  "the image has shape ", given.sizes(), ", expected [1 or 3, H, W] with sides of 1 to 65,499");
	auto image = given.permute({1, 2, 0}).contiguous();
	const Library& lib = library();
	struct State {
		Guard guard;
		alignas(16) unsigned char room[kRoom];
		uint8_t* bytes;
		unsigned long size;
	} s{};
	auto* c = reinterpret_cast<Compress*>(s.room);
	s.guard.install(lib, c);
	auto* row = const_cast<uint8_t*>(image.const_data_ptr<uint8_t>());
	int64_t h = image.size(0), stride = image.size(1) * image.size(2);
	bool done = run(s.guard, [&] {
		lib.create_compress(c, lib.version, lib.compress_size);
		lib.mem_dest(c, &s.bytes, &s.size);
		c->image_width = image.size(1);
		c->image_height = h;
		c->components = static_cast<int>(image.size(2));
		c->colours = c->components == 1 ? grey : rgb;
		lib.set_defaults(c);
		lib.set_quality(c, quality, 1);
		lib.start_compress(c, 1);
		for (int64_t y = 0; y < h; y++, row += stride) {
			lib.write_scanlines(c, &row, 1);
		}
		lib.finish_compress(c);
	});
	if (c->mem != nullptr) {
		lib.destroy(c);
	}
	TORCH_CHECK_VALUE(done, s.guard.text);  // whose the bytes are then is not known
	std::unique_ptr<uint8_t, void (*)(void*)> bytes(s.bytes, std::free);
	auto file = at::empty({static_cast<int64_t>(s.size)}, at::TensorOptions().dtype(at::kByte));
	std::memcpy(file.mutable_data_ptr(), s.bytes, s.size);
	r.tensor(std::move(file));
}

}  // namespace tg::entry
