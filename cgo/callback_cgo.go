package cgo

// This file has the functions that C++ calls: cgo allows no C code next to them.

/*
#include "shim/torchgo.h"
*/
import "C"

//export torchgoCallback
func torchgoCallback(t *C.tg_turn) {
	in, out := at(uint64(t.in), int(t.in_count)), at(uint64(t.out), int(t.out_count))
	t.failure = C.uint64_t(serve(uint64(t.id), uint64(t.arg), in, out))
}
