package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
)

// Writer writes a zip file byte for byte as PyTorch does: records stored as they are, their bytes at multiples of
// [Alignment], sizes behind them.
type Writer struct {
	w      io.Writer
	folder string
	at     int64
	done   []Record
	err    error // the first
}

// NewWriter writes records into a folder of the zip file.
func NewWriter(w io.Writer, folder string) *Writer { return &Writer{w: w, folder: folder + "/"} }

// Alignment is what the places of all records' bytes are multiples of.
const Alignment = 64

const (
	utf8Names  = 1 << 11
	sizesAfter = 1 << 3 // behind the bytes of the record
)

func (a *Writer) write(b []byte) {
	if a.err != nil {
		return
	}
	n, err := a.w.Write(b)
	a.at += int64(n)
	a.err = err
}

// large tells whether 32 bits do not hold a number.
func large(n int64) bool { return n >= math.MaxUint32 }

// low is a number for 32 bits, or the mark that it stands elsewhere.
func low(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }

// Record writes a record of that size; content writes its bytes.
func (a *Writer) Record(name string, size int64, content func(io.Writer) error) {
	rec := Record{Name: a.folder + name, header: a.at, Size: size}
	le := binary.LittleEndian
	head := le.AppendUint32(nil, localMagic)
	head = le.AppendUint16(head, 0)
	head = le.AppendUint16(head, flags(size))
	head = append(head, make([]byte, 18)...) // method, time, sum and sizes
	wide := rec.wide()
	free := -(a.at + localSize + int64(len(rec.Name)+len(wide)+4)) & (Alignment - 1)
	head = le.AppendUint16(head, uint16(len(rec.Name)))
	head = le.AppendUint16(head, uint16(len(wide)+4+int(free)))
	head = append(append(head, rec.Name...), wide...)
	head = append(le.AppendUint16(append(head, "FB"...), uint16(free)), strings.Repeat("Z", int(free))...)
	a.write(head)
	if a.err != nil {
		return
	}
	sum := crc32.NewIEEE()
	start := a.at
	if err := content(writerFunc(func(b []byte) (int, error) {
		_, _ = sum.Write(b)
		a.write(b)
		return len(b), a.err
	})); err != nil {
		a.err = err
		return
	}
	if a.at-start != size {
		a.err = io.ErrShortWrite
		return
	}
	rec.CRC = sum.Sum32()
	a.done = append(a.done, rec)
	if size == 0 {
		return
	}
	after := le.AppendUint32(le.AppendUint32(nil, descriptorMagic), rec.CRC)
	if large(size) || large(rec.header) {
		after = le.AppendUint64(le.AppendUint64(after, uint64(size)), uint64(size))
	} else {
		after = le.AppendUint32(le.AppendUint32(after, uint32(size)), uint32(size))
	}
	a.write(after)
}

type writerFunc func([]byte) (int, error)

// Write calls f.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func flags(size int64) uint16 {
	if size == 0 {
		return utf8Names
	}
	return utf8Names | sizesAfter
}

// wide is the extra field with what 32 bits do not hold, empty if they hold all.
func (rec *Record) wide() []byte {
	le := binary.LittleEndian
	var own []byte
	if large(rec.Size) {
		own = le.AppendUint64(le.AppendUint64(own, uint64(rec.Size)), uint64(rec.Size))
	}
	if large(rec.header) {
		own = le.AppendUint64(own, uint64(rec.header))
	}
	if own == nil {
		return nil
	}
	return append(le.AppendUint16(le.AppendUint16(nil, extra64), uint16(len(own))), own...)
}

// Text writes a record of text.
func (a *Writer) Text(name, content string) {
	a.Record(name, int64(len(content)), func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
}

// ID are forty digits that depend on all that was written.
func (a *Writer) ID() string {
	sum := sha256.New()
	for _, rec := range a.done {
		_, _ = fmt.Fprintln(sum, rec.Name, rec.Size, rec.CRC)
	}
	digest := sum.Sum(nil)
	return fmt.Sprintf("%020d%020d", binary.LittleEndian.Uint64(digest), binary.LittleEndian.Uint64(digest[8:]))
}

// Finish writes the directory and returns the first error of all.
func (a *Writer) Finish() error {
	le := binary.LittleEndian
	start := a.at
	for _, rec := range a.done {
		wide := rec.wide()
		b := append(le.AppendUint32(nil, centralMagic), 0, 0, 0, 0)
		b = append(le.AppendUint16(b, flags(rec.Size)), make([]byte, 6)...) // method and time
		b = le.AppendUint32(b, rec.CRC)
		b = le.AppendUint32(le.AppendUint32(b, low(rec.Size)), low(rec.Size))
		b = le.AppendUint16(le.AppendUint16(b, uint16(len(rec.Name))), uint16(len(wide)))
		b = le.AppendUint32(append(b, make([]byte, 10)...), low(rec.header))
		a.write(append(append(b, rec.Name...), wide...))
	}
	size, count := a.at-start, len(a.done)
	end := a.at
	b := le.AppendUint64(le.AppendUint32(nil, end64Magic), end64Size-12)
	b = le.AppendUint16(le.AppendUint16(b, 0x31e), 45) // made by miniz, to be read as zip64
	b = append(b, make([]byte, 8)...)                  // disks
	for _, n := range []int64{int64(count), int64(count), size, start} {
		b = le.AppendUint64(b, uint64(n))
	}
	b = le.AppendUint64(append(le.AppendUint32(b, locatorMagic), 0, 0, 0, 0), uint64(end))
	b = append(le.AppendUint32(b, 1), le.AppendUint32(nil, endMagic)...)
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint16(le.AppendUint16(b, uint16(min(count, math.MaxUint16))), uint16(min(count, math.MaxUint16)))
	a.write(append(le.AppendUint32(le.AppendUint32(b, low(size)), low(start)), 0, 0))
	return a.err
}
