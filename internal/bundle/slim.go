package bundle

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
)

// A part of a file: bytes of its own, or some of another file's.
type part struct {
	data   []byte
	off, n int64
}

func (p part) size() int64 {
	if p.data != nil {
		return int64(len(p.data))
	}
	return p.n
}

// reader reads parts, one behind the other.
func reader(file io.ReaderAt, parts []part) io.Reader {
	list := make([]io.Reader, len(parts))
	for i, p := range parts {
		if list[i] = bytes.NewReader(p.data); p.data == nil {
			list[i] = io.NewSectionReader(file, p.off, p.n)
		}
	}
	return io.MultiReader(list...)
}

// slim lists the parts of a shared library that the dynamic linker maps into memory, as a library of its own.
// What is left out serves debuggers and linkers: the table of all symbols, those inside of the library included, and the
// sections. In libtorch_cpu.so that is a fifth. What is in memory afterwards is the same, byte for byte.
func slim(path string) ([]part, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var header elf.Header64
	if err := binary.Read(file, binary.LittleEndian, &header); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if string(header.Ident[:4]) != elf.ELFMAG || header.Ident[elf.EI_CLASS] != byte(elf.ELFCLASS64) ||
		header.Ident[elf.EI_DATA] != byte(elf.ELFDATA2LSB) || int(header.Phentsize) != binary.Size(elf.Prog64{}) {
		return nil, fmt.Errorf("%s is no shared library for a 64-bit processor", path)
	}
	progs := make([]elf.Prog64, header.Phnum)
	table := io.NewSectionReader(file, int64(header.Phoff), int64(binary.Size(progs)))
	if err := binary.Read(table, binary.LittleEndian, progs); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	parts, err := rearrange(&header, progs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parts, nil
}

// rearrange moves the segments together, and puts the header and the table of segments, which it changes,
// before them.
func rearrange(header *elf.Header64, progs []elf.Prog64) ([]part, error) {
	var loads []*elf.Prog64
	for i := range progs {
		if progs[i].Type == uint32(elf.PT_LOAD) {
			loads = append(loads, &progs[i])
		}
	}
	slices.SortFunc(loads, func(a, b *elf.Prog64) int { return cmp.Compare(a.Off, b.Off) })
	tableEnd := header.Phoff + uint64(binary.Size(progs))
	if len(loads) == 0 || loads[0].Off != 0 || loads[0].Filesz < tableEnd || header.Phoff < uint64(header.Ehsize) {
		return nil, fmt.Errorf("its table of segments is not at its beginning")
	}
	olds := make([]elf.Prog64, len(loads))
	at := uint64(0)
	var parts []part
	for i, p := range loads {
		olds[i] = *p
		gap := (p.Off - at) % max(p.Align, 1) // a segment lies at an offset like its address, but for whole pages
		parts = append(parts, part{data: make([]byte, gap)}, part{off: int64(p.Off), n: int64(p.Filesz)})
		p.Off = at + gap
		at = p.Off + p.Filesz
	}
	for i := range progs {
		p := &progs[i]
		if p.Type == uint32(elf.PT_LOAD) || p.Filesz == 0 {
			continue
		}
		j := slices.IndexFunc(olds, func(old elf.Prog64) bool { return p.Off >= old.Off && p.Off+p.Filesz <= old.Off+old.Filesz })
		if j < 0 {
			p.Type = uint32(elf.PT_NULL) // a note that is not mapped
			continue
		}
		p.Off += loads[j].Off - olds[j].Off
	}
	header.Shoff, header.Shnum, header.Shstrndx = 0, 0, 0
	var front bytes.Buffer
	_ = binary.Write(&front, binary.LittleEndian, header) // of fixed size, to memory: it cannot fail
	front.Write(make([]byte, header.Phoff-uint64(front.Len())))
	_ = binary.Write(&front, binary.LittleEndian, progs)
	parts[1] = part{off: int64(tableEnd), n: parts[1].n - int64(tableEnd)}
	parts[0] = part{data: front.Bytes()}
	return parts, nil
}
