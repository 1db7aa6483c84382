// What libjpeg-turbo lays out alike in all its versions: the fronts of its structures, and
// its functions, which are looked up at run time. No header of libjpeg's is needed to
// build, and one shim works with the library of any system: what lies behind the fronts differs
// (the interfaces 62, 70 and 80), but is the library's own. It says itself how long its structures are.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tg::jpeg {

struct Common;

struct Errors {
	void (*error_exit)(Common*);
	void (*emit_message)(Common*, int);
	void (*output_message)(Common*);
	void (*format_message)(Common*, char*);
	void (*reset)(Common*);
	int code;
	union {
		int i[8];
		char s[80];
	} parameters;
	int trace_level;
	long warnings;
	const char* const* table;
	int last;
	const char* const* more;
	int first_more, last_more;
};

struct Memory {
	void (*methods[11])();
	long max_to_use;
	long max_chunk;
};

struct Progress {
	void (*monitor)(Common*);
	long pass_counter, pass_limit;
	int completed_passes, total_passes;
};

struct Common {
	Errors* err;
	Memory* mem;
	Progress* progress;
	void* client;
	int is_decompressor, state;
};

struct Source {
	const uint8_t* next;
	size_t left;
	void (*init)(Common*);
	int (*fill)(Common*);
	void (*skip)(Common*, long);
	int (*resync)(Common*, int);
	void (*term)(Common*);
};

enum Colours : int { unknown, grey, rgb, ycc, cmyk, ycck, ext_rgb, ext_rgbx };

struct Decompress : Common {
	Source* src;
	unsigned image_width, image_height;
	int components;
	Colours colours, out_colours;
	unsigned scale_num, scale_denom;
	double gamma;
	int buffered, raw, dct, fancy, smoothing, quantize, dither, two_pass, colors, one_pass_quant, external_quant, two_pass_quant;
	unsigned output_width, output_height;
	int out_color_components, output_components, rec_height, actual_colors;
	uint8_t** colormap;
	unsigned output_scanline;
	int scan;
};

struct Compress : Common {
	void* dest;
	unsigned image_width, image_height;
	int components;
	Colours colours;
};

// The structures are as long as the library says, and no longer than this.
constexpr size_t kRoom = 1024;

// A library of libjpeg-turbo's functions.
struct Library {
	Errors* (*std_error)(Errors*);
	void (*create_decompress)(Decompress*, int, size_t);
	int (*read_header)(Decompress*, int);
	int (*start_decompress)(Decompress*);
	unsigned (*read_scanlines)(Decompress*, uint8_t**, unsigned);
	unsigned (*skip_scanlines)(Decompress*, unsigned);
	void (*crop_scanline)(Decompress*, unsigned*, unsigned*);
	void (*destroy)(Common*);
	int (*resync)(Common*, int);
	void (*create_compress)(Compress*, int, size_t);
	void (*mem_dest)(Compress*, uint8_t**, unsigned long*);
	void (*set_defaults)(Compress*);
	void (*set_quality)(Compress*, int, int);
	void (*start_compress)(Compress*, int);
	unsigned (*write_scanlines)(Compress*, uint8_t**, unsigned);
	void (*finish_compress)(Compress*);

	int version = 0;                                // of the interface: 62, 70 or 80
	size_t decompress_size = 0, compress_size = 0;  // of its structures
};

// library is the one that was opened; it throws where none was.
const Library& library();

// A part of an image, in pixels.
struct Part {
	int64_t left = 0, top = 0, width = 0, height = 0;
};

// A Reader decodes a file, or a part of it. It throws what libjpeg complains of.
class Reader {
 public:
	Reader(const uint8_t* data, size_t size, int64_t denominator = 1);
	~Reader();
	Reader(const Reader&) = delete;
	Reader& operator=(const Reader&) = delete;

	int64_t width() const { return width_; }        // as it will be decoded
	int64_t height() const { return height_; }
	int components() const;                         // in the file: 1, 3 or 4

	// Writes rows of the part, one behind the other, with 1 (grey), 3 (RGB) or 4 (RGB and one that means nothing) bytes to a pixel.
	void read(const Part& part, int channels, uint8_t* to, size_t stride);

 private:
	struct State;
	State* state_;
	int64_t width_ = 0, height_ = 0;
};

}  // namespace tg::jpeg
