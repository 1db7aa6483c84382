//go:build !cgo

package cgo

import (
	"errors"
	"unsafe"
)

// Built without cgo the package compiles, and [Load] says why nothing works.
var errNoCgo = errors.New("torch: this program was built without cgo, through which libtorch is called: " +
	"install a C compiler (Debian, Ubuntu: apt install gcc) and build it with CGO_ENABLED=1")

func unbuilt() error { return errNoCgo }

const abiVersion = 0

func door(Op, *uint64, *frame)                         { panic(errNoCgo) }
func doorData(Op, *uint64, unsafe.Pointer, *frame)     { panic(errNoCgo) }
func doorBack(Op, []uint64, []uint64, *frame)          { panic(errNoCgo) }
func takeString(uint64, int) string                    { return "" }
func takeWords(uint64, int) []uint64                   { return nil }
func openLibrary(path string, lazy, global bool) error { return errNoCgo }
func openShim(string) (shimInfo, error)                { return shimInfo{}, errNoCgo }
func openCUDAShim(string) (shimInfo, error)            { return shimInfo{}, errNoCgo }
func loadedTorch() int                                 { return 0 }
func openNVML(string) error                            { return errNoCgo }
func readNVML(string, *[nvmlReadings]uint32) int       { return -1 }
func nvmlText(int) string                              { return "" }

// LibraryIsOpen is false: nothing can be opened without cgo.
func LibraryIsOpen(string) bool { return false }

// SymbolIsKnown is false: nothing can be opened without cgo.
func SymbolIsKnown(string) bool { return false }
