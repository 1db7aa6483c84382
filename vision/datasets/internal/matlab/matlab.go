package matlab

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// ErrFormat is in the error for what is no such file, or has something else in it.
var ErrFormat = errors.New("not a file of MATLAB's with arrays of numbers")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// An Array is a variable of a file.
type Array struct {
	Shape  []int
	Bytes  []byte    // its elements, where they are bytes: the first index runs fastest
	Values []float64 // its elements, where they are other numbers
}

// Len is the number of elements.
func (a *Array) Len() int { return max(len(a.Bytes), len(a.Values)) }

// Ints are the elements as whole numbers.
func (a *Array) Ints() []int {
	list := make([]int, a.Len())
	for i := range list {
		if a.Bytes != nil {
			list[i] = int(a.Bytes[i])
		} else {
			list[i] = int(a.Values[i])
		}
	}
	return list
}

// The types of elements of a file, and the classes of arrays.
const (
	int8Type       = 1
	uint8Type      = 2
	int16Type      = 3
	uint16Type     = 4
	int32Type      = 5
	uint32Type     = 6
	singleType     = 7
	doubleType     = 9
	int64Type      = 12
	uint64Type     = 13
	matrixType     = 14
	compressedType = 15

	doubleClass = 6
	uint8Class  = 9
	uint64Class = 15
)

// widths are the bytes of a number of each type.
var widths = map[uint32]int{
	int8Type: 1, uint8Type: 1, int16Type: 2, uint16Type: 2, int32Type: 4, uint32Type: 4, singleType: 4, doubleType: 8, int64Type: 8,
	uint64Type: 8,
}

// headerSize is how many bytes come before the first variable.
const headerSize = 128

// Read returns the arrays of numbers in a file, by name; other variables are passed over. An array may have at most so many bytes.
func Read(file []byte, most int) (map[string]*Array, error) {
	if len(file) < headerSize || string(file[126:128]) != "IM" || file[125] != 1 {
		return nil, malformed("it does not begin as one of version 5 on a PC")
	}
	arrays := map[string]*Array{}
	for rest := file[headerSize:]; len(rest) > 0; {
		kind, content, next, err := element(rest)
		if err != nil {
			return nil, err
		}
		rest = next
		if kind == compressedType {
			if kind, content, err = unpack(content, most); err != nil {
				return nil, err
			}
		}
		if kind != matrixType {
			continue
		}
		name, array, err := matrix(content)
		if err != nil {
			return nil, err
		}
		if array != nil {
			arrays[name] = array
		}
	}
	return arrays, nil
}

// element reads a tag and what belongs to it; what follows begins at a multiple of eight bytes, but behind packed elements.
func element(b []byte) (kind uint32, content, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, nil, malformed("%d bytes where an element should begin", len(b))
	}
	kind, size := binary.LittleEndian.Uint32(b), uint64(binary.LittleEndian.Uint32(b[4:]))
	from := uint64(8)
	if kind>>16 != 0 { // a small element: the size in the upper half, up to four bytes instead of it
		kind, size, from = kind&0xffff, uint64(kind>>16), 4
		if size > 4 {
			return 0, nil, nil, malformed("a small element of %d bytes", size)
		}
	}
	end := from + size
	if end > uint64(len(b)) {
		return 0, nil, nil, malformed("an element of %d bytes, of which %d are there", size, uint64(len(b))-from)
	}
	next := end
	if kind != compressedType {
		next = min((end+7)&^7, uint64(len(b)))
	}
	return kind, b[from:end], b[next:], nil
}

// unpack is the element in a packed one.
func unpack(packed []byte, most int) (kind uint32, content []byte, err error) {
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return 0, nil, malformed("%v", err)
	}
	const names = 1 << 16 // what an array has besides its elements
	plain, err := io.ReadAll(io.LimitReader(r, int64(most)+names+1))
	if err != nil {
		return 0, nil, malformed("%v", err)
	}
	if len(plain) > most+names {
		return 0, nil, malformed("an array of more than %d bytes", most)
	}
	kind, content, _, err = element(plain)
	return kind, content, err
}

// matrix reads an array: flags, dimensions, name, elements. It is nil if it has no numbers.
func matrix(b []byte) (name string, a *Array, err error) {
	var parts [4][]byte
	var kinds [4]uint32
	for i := range parts {
		if kinds[i], parts[i], b, err = element(b); err != nil {
			return "", nil, err
		}
		if i == 0 && (len(parts[0]) < 8 || parts[0][0] < doubleClass || parts[0][0] > uint64Class) {
			return "", nil, nil
		}
	}
	const complexFlag = 8
	if parts[0][1]&complexFlag != 0 {
		return "", nil, nil
	}
	a, n := &Array{}, 1
	for d := parts[1]; len(d) >= 4; d = d[4:] {
		side := int(int32(binary.LittleEndian.Uint32(d)))
		if side < 0 || side > 0 && n > math.MaxInt32/side {
			return "", nil, malformed("an array of %d elements in a dimension", side)
		}
		a.Shape, n = append(a.Shape, side), n*side
	}
	width := widths[kinds[3]]
	if width == 0 || len(parts[3]) != n*width {
		return "", nil, malformed("%d bytes of type %d for an array of shape %v", len(parts[3]), kinds[3], a.Shape)
	}
	if parts[0][0] == uint8Class && kinds[3] == uint8Type {
		a.Bytes = parts[3]
	} else {
		a.Values = numbers(kinds[3], width, parts[3])
	}
	return string(parts[2]), a, nil
}

func numbers(kind uint32, width int, raw []byte) []float64 {
	list := make([]float64, len(raw)/width)
	for i := range list {
		at := raw[i*width:]
		switch kind {
		case int8Type:
			list[i] = float64(int8(at[0]))
		case uint8Type:
			list[i] = float64(at[0])
		case int16Type:
			list[i] = float64(int16(binary.LittleEndian.Uint16(at)))
		case uint16Type:
			list[i] = float64(binary.LittleEndian.Uint16(at))
		case int32Type:
			list[i] = float64(int32(binary.LittleEndian.Uint32(at)))
		case uint32Type:
			list[i] = float64(binary.LittleEndian.Uint32(at))
		case singleType:
			list[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
		case int64Type:
			list[i] = float64(int64(binary.LittleEndian.Uint64(at)))
		case uint64Type:
			list[i] = float64(binary.LittleEndian.Uint64(at))
		default:
			list[i] = math.Float64frombits(binary.LittleEndian.Uint64(at))
		}
	}
	return list
}
