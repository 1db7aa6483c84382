package halves

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// emptyLibrary is a shared library that has a name and nothing else, for the 64-bit machines
// that libtorch runs on.
func emptyLibrary(soname string, machine elf.Machine) []byte {
	text := "\x00" + soname + "\x00"
	header := elf.Header64{
		Ident:     [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:      uint16(elf.ET_DYN),
		Machine:   uint16(machine),
		Version:   uint32(elf.EV_CURRENT),
		Ehsize:    64,
		Phentsize: 56,
		Phnum:     3,
		Shentsize: 64,
	}
	header.Phoff = uint64(header.Ehsize)
	hash := []uint32{1, 1, 0, 0} // one bucket with the one symbol that all libraries have
	var none elf.Sym64
	const entries = 7
	dynamicAt := header.Phoff + uint64(header.Phnum*header.Phentsize)
	dynamicSize := uint64(entries * binary.Size(elf.Dyn64{}))
	hashAt := dynamicAt + dynamicSize
	symbolsAt := hashAt + uint64(binary.Size(hash))
	textAt := symbolsAt + uint64(binary.Size(none))
	size := textAt + uint64(len(text))

	write := elf.PF_R | elf.PF_W // the loader puts addresses into the dynamic section
	const page = 0x1000
	segments := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Flags: uint32(write), Filesz: size, Memsz: size, Align: page},
		{Type: uint32(elf.PT_DYNAMIC), Flags: uint32(write), Off: dynamicAt, Vaddr: dynamicAt, Filesz: dynamicSize, Memsz: dynamicSize, Align: 8},
		{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(write), Align: 16}, // without it stacks would become executable
	}
	dynamic := [entries]elf.Dyn64{
		{Tag: int64(elf.DT_SONAME), Val: 1},
		{Tag: int64(elf.DT_HASH), Val: hashAt},
		{Tag: int64(elf.DT_SYMTAB), Val: symbolsAt},
		{Tag: int64(elf.DT_SYMENT), Val: uint64(binary.Size(none))},
		{Tag: int64(elf.DT_STRTAB), Val: textAt},
		{Tag: int64(elf.DT_STRSZ), Val: uint64(len(text))},
		{Tag: int64(elf.DT_NULL)},
	}
	var file bytes.Buffer
	for _, part := range []any{header, segments, dynamic, hash, none, []byte(text)} {
		_ = binary.Write(&file, binary.LittleEndian, part) // of fixed size, to memory: it cannot fail
	}
	return file.Bytes()
}
