package fuzz

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// log is what a child writes down before every call, in memory that outlives it: a file
// that the parent has mapped as well. It costs a store.
type log struct {
	words []word
	data  []byte
}

// The words of a log.
const (
	logCall    = iota // number of the call at hand, plus one
	logStage          // of that call
	logDone           // calls that were made
	logOK             // of these, how many returned a result
	logSkipped        // cases that are no call: arguments that cannot be made, or do not fit
	logPlaced         // 1 while blocks lie between guard pages
	logWords   = 8
)

// stages of a call.
const (
	stageMake = iota + 1
	stageCall
	stageRead
	stageBackward
	stageFree
	stageCheck
)

var stageNames = [...]string{"start", "making the arguments", "the call", "reading the results", "the backward pass", "freeing",
	"looking for what is left"}

// newLog maps a file of the log's size.
func newLog(f *os.File) (*log, error) {
	size := logWords * 8
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("fuzz: the log: %w", err)
	}
	return &log{unsafe.Slice((*word)(unsafe.Pointer(&data[0])), logWords), data}, nil
}

func (l *log) close() { _ = syscall.Munmap(l.data) }

func (l *log) stage(n uint64) { l.words[logStage].Store(n) }

func (l *log) begin(call uint64) {
	l.words[logStage].Store(0)
	l.words[logCall].Store(call + 1)
}

func (l *log) get(word int) uint64 { return l.words[word].Load() }
func (l *log) add(word int)        { l.words[word].Add(1) }

// word is a word of a log.
type word = atomic.Uint64
