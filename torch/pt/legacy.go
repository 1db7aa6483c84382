package pt

import (
	"encoding/binary"
	"io"
	"maps"

	"github.com/libtorch-go/libtorch/internal/pickle"
)

// What legacy files begin with.
const (
	legacyMagic   = "1950a86a20f9469cfc6c" // a number, in hexadecimal
	legacyVersion = 1001
)

// openLegacy finds the parts of a file from before PyTorch 1.6: five pickles, then the storages.
func openLegacy(r io.ReaderAt, size int64, l pickle.Limits) (src source, err error) {
	at := int64(0)
	var refs []*pickle.Ref
	l.Refs = &refs
	read := func() any {
		var v any
		if err == nil {
			v, at, err = pickle.Read(r, at, size, l)
		}
		return v
	}
	magic := read()
	if err != nil || !isMagic(magic) {
		return src, malformed("it begins as no file of torch.save does%s", tarHint(r))
	}
	version := read()
	if err == nil && version != legacyVersion {
		return src, malformed("version %s of the legacy format, expected %d", show(version), legacyVersion)
	}
	read() // sizes of C's types, which no file depends on
	refs = refs[:0]
	src.value = read()
	own := refs
	keys := read()
	if err != nil {
		return src, named(err)
	}
	src.pickled = at
	src.storages, err = legacyStorages(r, at, size, keys, own)
	return src, err
}

// tarHint names the format of before PyTorch 0.2, which nobody reads as data.
func tarHint(r io.ReaderAt) string {
	const at, magic = 257, "ustar"
	if b, err := bytesAt(r, at, len(magic)); err == nil && string(b) == magic {
		return ": it is a tar file, as PyTorch wrote before version 0.2; save it anew in Python"
	}
	return ""
}

func isMagic(v any) bool {
	n, ok := v.(interface{ Text(int) string })
	return ok && n.Text(16) == legacyMagic
}

// isCount tells whether eight bytes are a number.
func isCount(b []byte, n int64) bool { return binary.LittleEndian.Uint64(b) == uint64(n) }

// legacyStorages finds the storages, each a count of elements and then these, in the order of the keys.
func legacyStorages(r io.ReaderAt, at, size int64, keys any, refs []*pickle.Ref) (map[string]*storage, error) {
	wanted := map[string]*storage{}
	err := eachRef(refs, func(id refID) error {
		s := wanted[id.key]
		if s == nil {
			s = &storage{key: id.key, dtype: id.dtype, size: id.size}
			wanted[id.key] = s
		}
		if s.dtype != id.dtype || s.size != id.size {
			return malformed("storage %q has %d and %d bytes", id.key, s.size, id.size)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list, ok := keys.(*pickle.List)
	if !ok {
		return nil, malformed("there is no list of storages")
	}
	rest := maps.Clone(wanted)
	for _, key := range *list {
		name, _ := key.(string)
		s := rest[name]
		if s == nil {
			return nil, malformed("storage %s is listed and not used, or listed twice", show(key))
		}
		delete(rest, name)
		const count = 8
		b, err := bytesAt(r, at, count)
		if err != nil {
			return nil, err
		}
		if at += count; s.size > size-at || !isCount(b, s.size/int64(s.dtype.Size())) {
			return nil, malformed("storage %q has %d bytes, which the file has not", name, s.size)
		}
		s.at = at
		at += s.size
	}
	if len(rest) > 0 || at != size {
		return nil, malformed("%d storages are not in the file, and %d bytes of it are of none", len(rest), size-at)
	}
	return wanted, nil
}
