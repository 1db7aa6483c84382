package pt

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/tensorfile"
	"github.com/libtorch-go/libtorch/torch"
)

// storageTypes are the classes of storages and the dtypes of their elements.
var storageTypes = map[string]torch.DType{
	"FloatStorage": torch.Float32, "DoubleStorage": torch.Float64, "HalfStorage": torch.Float16, "BFloat16Storage": torch.BFloat16,
	"LongStorage": torch.Int64, "IntStorage": torch.Int32, "ShortStorage": torch.Int16, "CharStorage": torch.Int8, "ByteStorage": torch.Uint8,
	"BoolStorage": torch.Bool, "ComplexFloatStorage": torch.Complex64, "ComplexDoubleStorage": torch.Complex128,
	"QInt8Storage": torch.QInt8, "QUInt8Storage": torch.QUint8, "QInt32Storage": torch.QInt32,
	"QUInt4x2Storage": torch.QUint4x2, "QUInt2x4Storage": torch.QUint2x4,
}

// storage is the memory behind tensors, as the file has it.
type storage struct {
	key    string
	dtype  torch.DType // of the elements, as the first tensor has it
	at     int64       // in the file
	size   int64
	base   torch.Tensor // its bytes, once they are read
	crc    *uint32      // of its bytes, nil where the file has none
	shift  int64        // of the storage's first byte in base's memory
	wanted bool         // by a tensor
}

// piece is how much is read and written at a time: it stays in a processor's cache.
const piece = 1 << 20

// loader reads storages.
type loader struct {
	r      io.ReaderAt
	swap   bool // the other byte order
	device torch.Device
	verify bool
	mapped torch.Tensor // the whole file, where it is mapped into memory
	buffer []byte
}

// together is how many bytes are read at once, by several goroutines: their memory is taken before, and on another
// device's behalf twice.
const together = 64 << 20

// load reads the bytes of storages. It is called within a scope of which the result is kept.
func (l *loader) load(list []*storage) error {
	for len(list) > 0 {
		n, bytes := 0, int64(0)
		for n < len(list) && (n == 0 || bytes+list[n].size <= together) {
			bytes += list[n].size
			n++
		}
		if err := l.some(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// some reads the bytes of a few storages: directly into their memory where nobody needs to look at them.
func (l *loader) some(list []*storage) error {
	const widest = 16 // bytes of an element, which lie at a multiple of them
	f, isFile := l.r.(*os.File)
	var parts []tensorfile.Part
	for _, s := range list {
		if l.mapped.Defined() && s.at%widest == 0 && !l.swap {
			s.base, s.shift = l.mapped, s.at
			continue
		}
		s.base = torch.TensorOptions{DType: torch.Uint8}.Empty(int(s.size))
		if isFile && !l.verify && !l.swap {
			parts = append(parts, tensorfile.Part{File: f, At: s.at, Into: s.base})
		} else if err := l.fill(s); err != nil {
			return err
		}
	}
	if _, err := tensorfile.Read(parts); err != nil {
		return cutOff(err)
	}
	if l.device.IsZero() || l.device.IsCPU() {
		return nil
	}
	for _, s := range list {
		s.base = s.base.Narrow(0, int(s.shift), int(s.size)).To(l.device)
		s.shift = 0
	}
	return nil
}

// fill reads the bytes of a storage piece by piece, sums them up and turns them around.
func (l *loader) fill(s *storage) error {
	if l.buffer == nil {
		l.buffer = make([]byte, piece)
	}
	sum := uint32(0)
	for at := int64(0); at < s.size; at += piece {
		b := l.buffer[:min(piece, s.size-at)]
		if n, err := l.r.ReadAt(b, s.at+at); n < len(b) {
			return cmp.Or(cutOff(err), io.ErrUnexpectedEOF)
		}
		if l.verify {
			sum = crc32.Update(sum, crc32.IEEETable, b)
		}
		if l.swap {
			swap(b, s.dtype)
		}
		torch.Scope(func() { torch.Fill(s.base.Narrow(0, int(at), len(b)), b) })
	}
	if l.verify && s.crc != nil && sum != *s.crc {
		return malformed("the sum of storage %q is %08x, expected %08x", s.key, sum, *s.crc)
	}
	return nil
}

// verified compares the bytes of a record with its sum.
func verified(r io.ReaderAt, rec archive.Record) error {
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(r, rec.Data, rec.Size)); err != nil {
		return err
	}
	if got := sum.Sum32(); got != rec.CRC {
		return malformed("the sum of record %q is %08x, expected %08x", rec.Name, got, rec.CRC)
	}
	return nil
}

// cutOff is the error of a read: the file became shorter while it was read, or the reader's own.
func cutOff(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return malformed("the file ends too soon: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// swap turns the bytes of each number around. A piece holds whole numbers.
func swap(b []byte, dtype torch.DType) {
	width := dtype.Size()
	if dtype.IsComplex() {
		width /= 2
	}
	switch width {
	case 1:
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			b[0], b[1] = b[1], b[0]
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		}
	default:
		for ; len(b) >= width; b = b[width:] {
			slices.Reverse(b[:width])
		}
	}
}

// write writes a part of a storage that tensors lie in. any is one of them.
func (p *part) write(w io.Writer, buffer []byte) (err error) {
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				t := p.tensor.Detach()
				low := int(p.low) - t.StorageOffset() // which libtorch adds
				if low < 0 || !t.IsContiguous() {     // which libtorch refuses
					t, low = t.AsStrided([]int{0}, []int{1}, 0), int(p.low)
				}
				bytes := torch.TensorOptions{DType: torch.Uint8, Device: t.Device()}.Empty(0).
					SetTensorOffsetInPlace(t, low, []int{int(p.high - p.low)}, 1)
				for at := 0; at < int(p.high-p.low) && err == nil; at += len(buffer) {
					n := min(len(buffer), int(p.high-p.low)-at)
					torch.Scope(func() { bridge.Bytes(bytes.Narrow(0, at, n), buffer[:n]) })
					_, err = w.Write(buffer[:n])
				}
			})
		})
	})
	return cmp.Or(err, broken)
}

// part is the part of a storage that the tensors of a value reach.
type part struct {
	tensor    torch.Tensor // one of them
	dtype     torch.DType  // of all of them; zero where they differ
	low, high int64        // bytes
	key       string       // in the file, once something refers to it
}
