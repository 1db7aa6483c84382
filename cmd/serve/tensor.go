package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// datatypes are the protocol's names of dtypes.
var datatypes = []struct {
	name  string
	dtype torch.DType
	bytes int
}{
	{"BOOL", torch.Bool, 1}, {"UINT8", torch.Uint8, 1}, {"UINT16", torch.Uint16, 2}, {"UINT32", torch.Uint32, 4}, {"UINT64", torch.Uint64, 8},
	{"INT8", torch.Int8, 1}, {"INT16", torch.Int16, 2}, {"INT32", torch.Int32, 4}, {"INT64", torch.Int64, 8},
	{"FP16", torch.Float16, 2}, {"BF16", torch.BFloat16, 2}, {"FP32", torch.Float32, 4}, {"FP64", torch.Float64, 8},
}

// textType is the protocol's name of strings, which no tensor holds: files of images come as such, and names of classes go.
const textType = "BYTES"

// datatypeOf is the protocol's name of a dtype.
func datatypeOf(d torch.DType) string {
	for _, t := range datatypes {
		if t.dtype == d {
			return t.name
		}
	}
	return d.String()
}

// dtypeOf is the dtype of that name, and its size.
func dtypeOf(name string) (torch.DType, int, error) {
	for _, t := range datatypes {
		if t.name == name {
			return t.dtype, t.bytes, nil
		}
	}
	return torch.DType{}, 0, badf("there is no datatype %q", name)
}

// elements is how many a tensor of that shape has.
func elements(shape []int) (int, error) {
	n := 1
	for _, size := range shape {
		if size < 0 || size > 0 && n > math.MaxInt32/size {
			return 0, badf("the shape %v has a negative size, or more than two thousand million elements", shape)
		}
		n *= size
	}
	return n, nil
}

// fromBinary makes a tensor of its bytes.
func fromBinary(datatype string, shape []int, data []byte) (torch.Tensor, error) {
	dtype, size, err := dtypeOf(datatype)
	if err != nil {
		return torch.Tensor{}, err
	}
	n, err := elements(shape)
	if err != nil {
		return torch.Tensor{}, err
	}
	if len(data) != n*size {
		return torch.Tensor{}, badf("%d bytes, expected %d for %s%v", len(data), n*size, datatype, shape)
	}
	if dtype == torch.Bool && bytes.ContainsFunc(data, func(r rune) bool { return r > 1 }) {
		return torch.Tensor{}, badf("a BOOL is neither 0 nor 1")
	}
	return torch.Try1(func() torch.Tensor { return torch.FromBytes(data, dtype, shape...) })
}

// fromJSON makes a tensor of numbers in JSON, nested as the shape says or flat.
func fromJSON(datatype string, shape []int, data json.RawMessage) (torch.Tensor, error) {
	n, err := elements(shape)
	if err != nil {
		return torch.Tensor{}, err
	}
	if n > len(data) { // each takes a character at least
		return torch.Tensor{}, badf("the data is shorter than the shape %v says", shape)
	}
	list, err := flatten(data, shape, n)
	if err != nil {
		return torch.Tensor{}, err
	}
	half := datatype == "FP16" || datatype == "BF16"
	as := datatype
	if half {
		as = "FP32"
	}
	var raw []byte
	for _, token := range list {
		if raw, err = appendNumber(raw, as, string(token)); err != nil {
			return torch.Tensor{}, err
		}
	}
	t, err := fromBinary(as, shape, raw)
	if err != nil || !half {
		return t, err
	}
	defer t.Close()
	dtype, _, _ := dtypeOf(datatype)
	return torch.Try1(func() torch.Tensor { return t.To(dtype) })
}

// flatten lists the elements of JSON data that is nested as the shape says, or flat.
func flatten(data json.RawMessage, shape []int, n int) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, badf("data is no array")
	}
	if len(list) == 0 || list[0][0] != '[' {
		if len(list) != n {
			return nil, badf("%d elements, expected %d for the shape %v", len(list), n, shape)
		}
		return list, nil
	}
	if len(shape) < 2 || len(list) != shape[0] {
		return nil, badf("an array of %d arrays, expected the shape %v", len(list), shape)
	}
	var all []json.RawMessage
	for _, row := range list {
		part, err := flatten(row, shape[1:], n/shape[0])
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// appendNumber appends the bytes of a number that is written in JSON.
func appendNumber(to []byte, datatype, token string) ([]byte, error) {
	_, size, err := dtypeOf(datatype)
	if err != nil {
		return nil, err
	}
	var bits uint64
	switch datatype[:1] {
	case "B":
		if token != "true" && token != "false" && token != "1" && token != "0" {
			return nil, badf("%.40s is no BOOL", token)
		}
		if token == "true" || token == "1" {
			bits = 1
		}
	case "U":
		bits, err = strconv.ParseUint(token, 10, 8*size)
	case "I":
		var n int64
		n, err = strconv.ParseInt(token, 10, 8*size)
		bits = uint64(n)
	default:
		var x float64
		x, err = strconv.ParseFloat(token, 8*size)
		if bits = math.Float64bits(x); size == 4 {
			bits = uint64(math.Float32bits(float32(x)))
		}
	}
	if err != nil {
		return nil, badf("%.40s is no %s", token, datatype)
	}
	return append(to, binary.LittleEndian.AppendUint64(nil, bits)[:size]...), nil
}

// toJSON writes a tensor's elements as a flat array; what JSON cannot write is null.
func toJSON(to []byte, t torch.Tensor) (_ []byte, err error) {
	defer torch.Recover(&err)
	if d := t.DType(); d == torch.Float16 || d == torch.BFloat16 {
		t = t.To(torch.Float32)
		defer t.Close()
	}
	datatype := datatypeOf(t.DType())
	_, size, err := dtypeOf(datatype)
	if err != nil {
		return nil, err
	}
	raw := t.Bytes()
	to = append(to, '[')
	for i := 0; i < len(raw); i += size {
		if i > 0 {
			to = append(to, ',')
		}
		to = writeNumber(to, datatype, raw[i:i+size])
	}
	return append(to, ']'), nil
}

// writeNumber appends a number in JSON.
func writeNumber(to []byte, datatype string, raw []byte) []byte {
	var wide [8]byte
	copy(wide[:], raw)
	bits := binary.LittleEndian.Uint64(wide[:])
	switch datatype[:1] {
	case "B":
		return strconv.AppendBool(to, bits != 0)
	case "U":
		return strconv.AppendUint(to, bits, 10)
	case "I":
		unused := 64 - 8*len(raw)
		return strconv.AppendInt(to, int64(bits)<<unused>>unused, 10)
	}
	x, width := math.Float64frombits(bits), 64
	if len(raw) == 4 {
		x, width = float64(math.Float32frombits(uint32(bits))), 32
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(to, "null"...)
	}
	return strconv.AppendFloat(to, x, 'g', -1, width)
}

// appendBinary appends the elements of a tensor of that shape, each of so many bytes.
func appendBinary(to []byte, t torch.Tensor, shape []int, size int) []byte {
	const small = 1 << 20
	n, err := elements(shape)
	if err != nil || n > small/size { // more than there is memory, maybe: libtorch says so
		return append(to, t.Bytes()...)
	}
	start := len(to)
	to = slices.Grow(to, n*size)[:start+n*size]
	bridge.Bytes(t, to[start:])
	return to
}

// texts reads strings, each behind its length in 4 bytes.
func texts(raw []byte) (list [][]byte, err error) {
	for len(raw) > 0 {
		if len(raw) < 4 {
			return nil, badf("the strings end within a length")
		}
		n := int(binary.LittleEndian.Uint32(raw))
		if raw = raw[4:]; n > len(raw) {
			return nil, badf("a string of %d bytes, of which %d are there", n, len(raw))
		}
		list, raw = append(list, raw[:n]), raw[n:]
	}
	return list, nil
}

// appendText appends a string as texts reads it.
func appendText(to []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(to, uint32(len(text))), text...)
}

// errRequest is matched by the errors that a request is to blame for.
var errRequest = errors.New("bad request")

type requestError struct{ text string }

func (e requestError) Error() string        { return e.text }
func (e requestError) Is(target error) bool { return target == errRequest }

// badf is an error that the request is to blame for.
func badf(format string, args ...any) error { return requestError{fmt.Sprintf(format, args...)} }

// shapeOf turns a shape of the protocol's into one of ours.
func shapeOf(shape []int64) []int {
	out := make([]int, len(shape))
	for i, n := range shape {
		out[i] = int(n)
	}
	return out
}

// plainText is text that can go into a header or a log.
func plainText(s string) bool {
	return len(s) <= 256 && utf8.ValidString(s) && !slices.ContainsFunc([]rune(s), func(r rune) bool { return r < ' ' })
}
