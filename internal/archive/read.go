package archive

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/refused"
)

// ErrFormat is matched by every error that means: this is not a sound zip file of PyTorch's.
var ErrFormat = errors.New("not a sound zip file")

// malformed is an error that matches [ErrFormat].
func malformed(format string, args ...any) error {
	return refused.Because(ErrFormat, format, args...)
}

// The parts of a zip file: their signatures and sizes.
const (
	localMagic, localSize     = 0x04034b50, 30
	centralMagic, centralSize = 0x02014b50, 46
	endMagic, endSize         = 0x06054b50, 22
	locatorMagic, locatorSize = 0x07064b50, 20
	end64Magic, end64Size     = 0x06064b50, 56
	descriptorMagic           = 0x08074b50
	extra64                   = 1 // the extra field with what 32 bits do not hold
)

// Record is a file within a zip file.
type Record struct {
	Name   string
	Data   int64  // where its bytes begin
	Size   int64  // of its content
	Stored int64  // how many bytes it takes: less than Size if Packed
	Packed bool   // it is compressed
	CRC    uint32 // of its content
	header int64  // where it begins
}

// Archive is a zip file. All of its records are stored as they are, lie one behind
// the other and have names of their own: whatever else zip permits is refused.
type Archive struct {
	Records map[string]Record // by their names without the file's own folder

	r      io.ReaderAt
	folder string // before all names of records, with its slash
	packed bool   // records may be compressed
}

// BytesAt reads n bytes. A file that ends before is an error that matches [ErrFormat].
func BytesAt(r io.ReaderAt, at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := r.ReadAt(b, at)
	if got == n {
		return b, nil
	}
	if errors.Is(err, io.EOF) {
		return nil, malformed("the file ends too soon: %w", io.ErrUnexpectedEOF)
	}
	return nil, err
}

// longestDirectory is how many bytes the list of records may take: that of 100,000 tensors has 7 MB.
const longestDirectory = 8 << 20

// directory is where the list of records lies.
type directory struct{ at, size, count uint64 }

// Open reads the list of records and checks all of it.
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	return open(&Archive{r: r, Records: map[string]Record{}}, size)
}

// OpenPacked is [Open] of a file that may have compressed records, as torch.jit.save's have for source.
func OpenPacked(r io.ReaderAt, size int64) (*Archive, error) {
	return open(&Archive{r: r, Records: map[string]Record{}, packed: true}, size)
}

func open(a *Archive, size int64) (*Archive, error) {
	r := a.r
	d, end, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	if d.size > longestDirectory {
		return nil, malformed("its directory has %d bytes, expected at most %d", d.size, longestDirectory)
	}
	if d.at > uint64(end) || d.size != uint64(end)-d.at || d.count > d.size/centralSize {
		return nil, malformed("its directory of %d records would lie at bytes %d to %d of %d", d.count, d.at, d.at+d.size, end)
	}
	list, err := a.list(io.NewSectionReader(r, int64(d.at), int64(d.size)), d)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Record) int { return cmp.Compare(a.header, b.header) })
	free := int64(0) // where the next record may begin
	for _, rec := range list {
		if rec.header < free {
			return nil, malformed("record %q overlaps the one before it", rec.Name)
		}
		if err := a.locate(&rec, int64(d.at)); err != nil {
			return nil, err
		}
		free = rec.Data + rec.Stored
		if own, ok := strings.CutPrefix(rec.Name, a.folder); ok {
			a.Records[own] = rec
		}
	}
	return a, nil
}

// findDirectory reads what a zip file ends with, and returns where the directory has to end.
func findDirectory(r io.ReaderAt, size int64) (d directory, end int64, err error) {
	if size < endSize {
		return d, 0, malformed("a zip file of %d bytes has no directory", size)
	}
	tail, err := BytesAt(r, size-min(size, endSize+math.MaxUint16), int(min(size, endSize+math.MaxUint16)))
	if err != nil {
		return d, 0, err
	}
	at := len(tail) - endSize
	for ; at >= 0; at-- {
		comment := int(binary.LittleEndian.Uint16(tail[at+20:]))
		if binary.LittleEndian.Uint32(tail[at:]) == endMagic && at+endSize+comment == len(tail) {
			break
		}
	}
	if at < 0 {
		return d, 0, malformed("the zip file has no end: it was cut off, or something follows it")
	}
	b := tail[at:]
	end = size - int64(len(tail)) + int64(at)
	d = directory{uint64(binary.LittleEndian.Uint32(b[16:])), uint64(binary.LittleEndian.Uint32(b[12:])),
		uint64(binary.LittleEndian.Uint16(b[10:]))}
	if end < locatorSize {
		return d, end, nil
	}
	b, err = BytesAt(r, end-locatorSize, locatorSize)
	if err != nil || binary.LittleEndian.Uint32(b) != locatorMagic {
		return d, end, err
	}
	at64 := binary.LittleEndian.Uint64(b[8:])
	if at64 > uint64(end-locatorSize) || uint64(end-locatorSize)-at64 < end64Size {
		return d, 0, malformed("the end of the zip file would lie at byte %d", at64)
	}
	b, err = BytesAt(r, int64(at64), end64Size)
	if err != nil {
		return d, 0, err
	}
	if binary.LittleEndian.Uint32(b) != end64Magic {
		return d, 0, malformed("there is no end of the zip file at byte %d", at64)
	}
	d = directory{binary.LittleEndian.Uint64(b[48:]), binary.LittleEndian.Uint64(b[40:]), binary.LittleEndian.Uint64(b[32:])}
	return d, int64(at64), nil
}

// list reads the directory.
func (a *Archive) list(r io.Reader, d directory) ([]Record, error) {
	all := make([]byte, d.size)
	if _, err := io.ReadFull(r, all); err != nil {
		return nil, err
	}
	list, seen := []Record{}, map[string]bool{}
	for range d.count {
		rec, n, err := entry(all, a.packed)
		if err != nil {
			return nil, err
		}
		if seen[rec.Name] {
			return nil, malformed("there are two records %q", rec.Name)
		}
		seen[rec.Name] = true
		if a.folder == "" {
			folder, _, ok := strings.Cut(rec.Name, "/")
			if !ok {
				return nil, malformed("record %q is in no folder, expected the file's own", rec.Name)
			}
			a.folder = folder + "/"
		}
		list, all = append(list, rec), all[n:]
	}
	if len(all) > 0 {
		return nil, malformed("%d bytes of the directory belong to no record", len(all))
	}
	return list, nil
}

// entry reads an entry of the directory, which takes n bytes.
func entry(b []byte, packed bool) (rec Record, n int, err error) {
	if len(b) < centralSize || binary.LittleEndian.Uint32(b) != centralMagic {
		return rec, 0, malformed("the directory has no entry where it should have one")
	}
	name, extra, comment := int(binary.LittleEndian.Uint16(b[28:])), int(binary.LittleEndian.Uint16(b[30:])),
		int(binary.LittleEndian.Uint16(b[32:]))
	n = centralSize + name + extra + comment
	if n > len(b) {
		return rec, 0, malformed("the directory ends within an entry")
	}
	rec.Name = string(b[centralSize : centralSize+name])
	if err := checkName(rec.Name); err != nil {
		return rec, 0, err
	}
	const encrypted, unix, link, kinds, deflated = 1, 3, 0xa000, 0xf000, 8
	attributes := binary.LittleEndian.Uint32(b[38:])
	switch {
	case binary.LittleEndian.Uint16(b[8:])&encrypted != 0:
		return rec, 0, malformed("record %q is encrypted", rec.Name)
	case binary.LittleEndian.Uint16(b[10:]) == deflated && packed:
		rec.Packed = true
	case binary.LittleEndian.Uint16(b[10:]) != 0:
		return rec, 0, malformed("record %q is compressed; PyTorch writes records as they are", rec.Name)
	case b[5] == unix && attributes>>16&kinds == link:
		return rec, 0, malformed("record %q is a symbolic link", rec.Name)
	}
	stored, size := uint64(binary.LittleEndian.Uint32(b[20:])), uint64(binary.LittleEndian.Uint32(b[24:]))
	header := uint64(binary.LittleEndian.Uint32(b[42:]))
	if err := widen(b[centralSize+name:centralSize+name+extra], &size, &stored, &header); err != nil {
		return rec, 0, err
	}
	if stored != size && !rec.Packed || size > math.MaxInt64 || stored > math.MaxInt64 || header > math.MaxInt64 {
		return rec, 0, malformed("record %q has %d bytes and takes %d, at byte %d", rec.Name, size, stored, header)
	}
	rec.Stored, rec.Size, rec.header, rec.CRC = int64(stored), int64(size), int64(header), binary.LittleEndian.Uint32(b[16:])
	return rec, n, nil
}

// checkName refuses names that lead elsewhere when somebody unpacks them.
func checkName(name string) error {
	for _, part := range strings.Split(name, "/") {
		if part == "" || part == "." || part == ".." {
			return malformed("record %q has a name that leads out of the file", name)
		}
	}
	if strings.ContainsAny(name, "\\\x00:") {
		return malformed("record %q has a name that leads out of the file", name)
	}
	return nil
}

// widen takes the numbers that 32 bits do not hold from an extra field.
func widen(extra []byte, numbers ...*uint64) error {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return malformed("an extra field is longer than all of them")
		}
		own := extra[:n]
		extra = extra[n:]
		if id != extra64 {
			continue
		}
		for _, number := range numbers {
			if *number != math.MaxUint32 {
				continue
			}
			if len(own) < 8 {
				return malformed("an extra field lacks a size")
			}
			*number, own = binary.LittleEndian.Uint64(own), own[8:]
		}
	}
	return nil
}

// locate finds the bytes of a record behind its own header, which lies before the directory.
func (a *Archive) locate(rec *Record, directory int64) error {
	if rec.header > directory-localSize {
		return malformed("record %q would lie at byte %d of %d", rec.Name, rec.header, directory)
	}
	b, err := BytesAt(a.r, rec.header, int(min(localSize+int64(len(rec.Name)), directory-rec.header)))
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b) != localMagic || !bytes.Equal(b[localSize:], []byte(rec.Name)) ||
		int(binary.LittleEndian.Uint16(b[26:])) != len(rec.Name) {
		return malformed("there is no record %q at byte %d", rec.Name, rec.header)
	}
	rec.Data = rec.header + localSize + int64(len(rec.Name)) + int64(binary.LittleEndian.Uint16(b[28:]))
	if rec.Data > directory || rec.Stored > directory-rec.Data {
		return malformed("record %q of %d bytes would lie at byte %d of %d", rec.Name, rec.Size, rec.Data, directory)
	}
	return nil
}

// Content is what a record holds, compared with its sum. No more than most bytes are read.
func (a *Archive) Content(rec Record, most int64) ([]byte, error) {
	if rec.Size > most {
		return nil, malformed("record %q has %d bytes, expected at most %d", rec.Name, rec.Size, most)
	}
	var b []byte
	var err error
	if rec.Packed {
		b, err = io.ReadAll(io.LimitReader(flate.NewReader(io.NewSectionReader(a.r, rec.Data, rec.Stored)), rec.Size+1))
		if err != nil || int64(len(b)) != rec.Size {
			return nil, malformed("record %q does not unpack to %d bytes: %w", rec.Name, rec.Size, cmp.Or(err, io.ErrUnexpectedEOF))
		}
	} else if b, err = BytesAt(a.r, rec.Data, int(rec.Size)); err != nil {
		return nil, err
	}
	if got := crc32.ChecksumIEEE(b); got != rec.CRC {
		return nil, malformed("the sum of record %q is %08x, expected %08x", rec.Name, got, rec.CRC)
	}
	return b, nil
}

// Text is the content of a small record, empty where there is none.
func (a *Archive) Text(name string) (string, error) {
	const most = 1 << 10
	rec, ok := a.Records[name]
	if !ok {
		return "", nil
	}
	if rec.Size > most {
		return "", malformed("record %q has %d bytes, expected a word", rec.Name, rec.Size)
	}
	b, err := BytesAt(a.r, rec.Data, int(rec.Size))
	return string(b), err
}
