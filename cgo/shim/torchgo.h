/* The flat C surface of the shim: all that Go and C++ share.
 *
 * Every operator and every hand-written entry goes through the same door: an
 * operation number, its arguments packed into 64-bit words (wire.h gives the
 * format) and a frame that the caller owns. Results, the error and the thread's
 * scope come back in that frame, from the same call: nothing is left behind in
 * thread-local state for a second call to find.
 *
 * No type of libtorch appears here. All fields are integers, so that cgo neither
 * scans nor copies anything at the border. */
#ifndef TORCHGO_H
#define TORCHGO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever this header or the wire format changes; checked at load. */
#define TG_ABI 2

/* Words of results that fit into a frame; longer ones go to the heap. */
#define TG_OUT 10

/* What went wrong. The numbers are part of the ABI: cgo/errors.go mirrors them. */
enum tg_kind {
	TG_OK = 0,
	TG_ERROR = 1,           /* c10::Error: shapes, dtypes, broken preconditions */
	TG_OUT_OF_MEMORY = 2,   /* device or host allocation refused */
	TG_ACCELERATOR = 3,     /* the device runtime failed; code says how */
	TG_INDEX = 4,           /* IndexError */
	TG_VALUE = 5,           /* ValueError */
	TG_TYPE = 6,            /* TypeError */
	TG_NOT_IMPLEMENTED = 7, /* no kernel, or not in this version of libtorch */
	TG_LINALG = 8,          /* LinAlgError: singular matrix and the like */
	TG_DIST = 9,            /* torch.distributed: backend, store, network */
	TG_STD = 10,            /* any other std::exception */
	TG_UNKNOWN = 11,        /* something that is not an exception class at all */
	TG_CALLBACK = 12        /* a function of Go failed: out[0] is the number of its failure */
};

/* Notes that ride home on any call. */
enum tg_flag {
	TG_WARNED = 1,   /* libtorch warned: fetch the texts with entry warnings */
	TG_PRESSURE = 2, /* live native bytes passed the limit set by entry limit */
	TG_DROPPED = 4,  /* libtorch let go of values of Go's: fetch them with entry dropped */
	TG_TRAIL = 8     /* with an error of anomaly mode: more says where its nodes were recorded */
};

typedef struct {
	uint32_t kind;
	int32_t code;
	uint32_t flags;
	uint32_t count;     /* result words, or the length of a list */
	uint64_t scope;     /* the scope that this OS thread is in, 0 = none */
	uint64_t msg;       /* malloc'ed, zero-terminated error text, or 0 */
	uint64_t more;      /* malloc'ed list of count words (or bytes), or 0 */
	uint64_t out[TG_OUT];
} tg_frame;

/* A call from libtorch into Go. Addresses are words, too. */
typedef struct {
	uint64_t id;      /* of the function */
	uint64_t arg;     /* what else it wants to know */
	uint64_t in;      /* address of the handles that it takes over */
	uint64_t out;     /* address of the room for its answer, all 0 */
	uint32_t in_count;
	uint32_t out_count;
	uint64_t failure; /* the number of the failure that came instead of an answer, or 0 */
} tg_turn;

typedef void (*tg_callback)(tg_turn* turn);

typedef struct {
	uint32_t abi;
	uint32_t torch_version;  /* what the shim was compiled with: 21100 = 2.11.0 */
	uint64_t ops_hash;       /* of all operator names and schemas: Go has the same */
	void (*call)(uint32_t op, const uint64_t* words, tg_frame* frame);
	void (*call_data)(uint32_t op, const uint64_t* words, void* data, tg_frame* frame);
	/* A call that may enter Go again. stack is the caller's, for anomaly mode. */
	void (*call_back)(uint32_t op, const uint64_t* words, const uint64_t* stack, uint32_t depth, tg_frame* frame);
} tg_api;

/* The shim's only exported symbol. It is given the function that enters Go. */
typedef const tg_api* (*tg_open_fn)(tg_callback callback);

/* The table of the second shim, which needs libtorch_cuda: cuda/cuda.cc. The first shim
 * looks for it when it is opened, and passes calls of entries on to it. */
typedef struct {
	uint32_t abi;
	uint32_t torch_version;
	uint32_t cuda_built;  /* the runtime that the shim was compiled with: 13000 = 13.0 */
	uint32_t cuda_found;  /* that in the process; structs of the runtime change with its major version */
	const void* entries;  /* an array of tg::Entry: the CUDA_ENTRY lines of entries.def */
} tg_cuda_api;

typedef const tg_cuda_api* (*tg_cuda_open_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
