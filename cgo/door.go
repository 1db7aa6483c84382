//go:build cgo

package cgo

/*
#cgo LDFLAGS: -ldl

#include <dlfcn.h>
#include <stdlib.h>
#include "shim/dl.h"
#include "shim/torchgo.h"

static const tg_api* api;

void torchgoCallback(tg_turn* turn); // callback_cgo.go

static inline void door(uint32_t op, const uint64_t* words, tg_frame* f) { api->call(op, words, f); }
static inline void door_data(uint32_t op, const uint64_t* words, void* data, tg_frame* f) { api->call_data(op, words, data, f); }
static void door_back(uint32_t op, uint64_t* words, uint64_t* stack, uint32_t depth, tg_frame* f) {
	api->call_back(op, words, stack, depth, f);
}
static inline void door_free(uint64_t p) { free((void*)p); }

static char* library_open(const char* path, int lazy, int global) {
	int flags = (lazy ? RTLD_LAZY : RTLD_NOW) | (global ? RTLD_GLOBAL : RTLD_LOCAL);
	return dlopen(path, flags) ? NULL : dl_failure();
}

static char* shim_open(const char* path, tg_api* out) {
	void* lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) return dl_failure();
	tg_open_fn fn = (tg_open_fn)dlsym(lib, "tg_open");
	if (!fn) return dl_failure();
	api = fn(torchgoCallback);
	*out = *api;
	return NULL;
}

static char* cuda_shim_open(const char* path, tg_cuda_api* out) {
	void* lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!lib) return dl_failure();
	tg_cuda_open_fn fn = (tg_cuda_open_fn)dlsym(lib, "tg_cuda_open");
	if (!fn) return dl_failure();
	*out = *fn();
	return NULL;
}

static int library_is_open(const char* name) {
	void* lib = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	return lib && !dlclose(lib);
}

static int symbol_is_known(const char* name) { return dlsym(RTLD_DEFAULT, name) != NULL; }

static uint64_t abi_version(void) {
	uint64_t (*fn)(void) = (uint64_t (*)(void))dlsym(RTLD_DEFAULT, "aoti_torch_abi_version");
	return fn ? fn() : 0;
}

#cgo noescape door
#cgo nocallback door
#cgo noescape door_data
#cgo nocallback door_data
#cgo nocallback door_free
*/
import "C"

import (
	"errors"
	"unsafe"
)

// The Go mirror of the frame must lie over the C one.
const _ = -uint(unsafe.Sizeof(frame{}) - C.sizeof_tg_frame)

func door(op Op, words *uint64, f *frame) {
	C.door(C.uint32_t(op), (*C.uint64_t)(unsafe.Pointer(words)), (*C.tg_frame)(unsafe.Pointer(f)))
}

// doorData passes bulk data along with the words. Go memory may move out of C's reach
// once the call ends; no entry keeps the pointer.
func doorData(op Op, words *uint64, data unsafe.Pointer, f *frame) {
	C.door_data(C.uint32_t(op), (*C.uint64_t)(unsafe.Pointer(words)), data, (*C.tg_frame)(unsafe.Pointer(f)))
}

// doorBack may lead into Go again, so its arguments are on the heap.
func doorBack(op Op, words, stack []uint64, f *frame) {
	C.door_back(C.uint32_t(op), (*C.uint64_t)(unsafe.SliceData(words)), (*C.uint64_t)(unsafe.SliceData(stack)), C.uint32_t(len(stack)),
		(*C.tg_frame)(unsafe.Pointer(f)))
}

// takeString copies n bytes (all up to a zero byte if n < 0) out of a malloc'ed block
// and frees it.
func takeString(p uint64, n int) string {
	if p == 0 {
		return ""
	}
	defer C.door_free(C.uint64_t(p))
	text := *(**C.char)(unsafe.Pointer(&p))
	if n < 0 {
		return C.GoString(text)
	}
	return C.GoStringN(text, C.int(n))
}

// takeWords copies n words out of a malloc'ed block and frees it.
func takeWords(p uint64, n int) []uint64 {
	if p == 0 {
		return nil
	}
	defer C.door_free(C.uint64_t(p))
	words := make([]uint64, n)
	copy(words, unsafe.Slice(*(**uint64)(unsafe.Pointer(&p)), n))
	return words
}

// openLibrary loads a shared library for the rest of the process's life.
func openLibrary(path string, lazy, global bool) error {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	return loadError(C.library_open(p, flag(lazy), flag(global)))
}

// LibraryIsOpen tells whether a shared library of that name (its soname) is in the process.
func LibraryIsOpen(name string) bool {
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	return C.library_is_open(p) != 0
}

// SymbolIsKnown tells whether libtorch, or a library opened for all to see, has that symbol.
func SymbolIsKnown(name string) bool {
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	return C.symbol_is_known(p) != 0
}

// openShim loads our own library and takes over its table.
func openShim(path string) (shimInfo, error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	var table C.tg_api
	if err := loadError(C.shim_open(p, &table)); err != nil {
		return shimInfo{}, err
	}
	return shimInfo{
		abi:          int(table.abi),
		torchVersion: int(table.torch_version),
		opsHash:      uint64(table.ops_hash),
	}, nil
}

// openCUDAShim loads the second shim, which knows libtorch's CUDA half from inside.
func openCUDAShim(path string) (shimInfo, error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	var table C.tg_cuda_api
	if err := loadError(C.cuda_shim_open(p, &table)); err != nil {
		return shimInfo{}, err
	}
	return shimInfo{
		abi: int(table.abi), torchVersion: int(table.torch_version), opsHash: opsHash,
		cudaBuilt: int(table.cuda_built), cudaFound: int(table.cuda_found),
	}, nil
}

// loadedTorch is the version of the libtorch in the process as major*100+minor, or 0.
func loadedTorch() int {
	v := uint64(C.abi_version())
	return int(v>>56)*100 + int(v>>48&0xff)
}

// loadError takes over what dl_failure returned, or NULL.
func loadError(text *C.char) error {
	if text == nil {
		return nil
	}
	return errors.New(takeString(uint64(uintptr(unsafe.Pointer(text))), -1))
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

const abiVersion = C.TG_ABI

// unbuilt says why nothing can be loaded by this program, wherever libtorch is.
func unbuilt() error { return nil }
