package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A sound file in pieces, so that each can be spoilt.
type pieces struct {
	length uint64
	fields []string // of the header
	header string   // instead of the fields, where not empty
	data   []byte
}

func (p *pieces) text() string {
	if p.header != "" {
		return p.header
	}
	return "{" + strings.Join(p.fields, ",") + "}"
}

func (p *pieces) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(nil, p.length)
	if p.length == 0 {
		binary.LittleEndian.PutUint64(b, uint64(len(p.text())))
	}
	return append(append(b, p.text()...), p.data...)
}

func field(name, dtype, shape string, begin, end any) string {
	return fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%v,%v]}`, name, dtype, shape, begin, end)
}

var kinds = []struct {
	name string
	size int
}{{"F32", 4}, {"I64", 8}, {"U8", 1}, {"BF16", 2}, {"BOOL", 1}, {"C64", 8}}

// sound makes a file of some tensors.
func sound(r *rand.Rand) *pieces {
	p := &pieces{}
	if r.IntN(3) == 0 {
		p.fields = append(p.fields, `"__metadata__":{"a":"b"}`)
	}
	for i := range 1 + r.IntN(5) {
		k, rows, columns := kinds[r.IntN(len(kinds))], r.IntN(4), 1+r.IntN(3)
		n := rows * columns * k.size
		p.fields = append(p.fields, field(fmt.Sprint("t", i), k.name, fmt.Sprintf("[%d,%d]", rows, columns), len(p.data), len(p.data)+n))
		p.data = append(p.data, make([]byte, n)...)
	}
	for i := range p.data {
		p.data[i] = byte(r.IntN(2))
	}
	return p
}

// edges are numbers that sums and products of them overflow, and texts that are no such
// number.
var edges = []any{
	0, 1, 3, 8, 1 << 31, 1 << 40, uint64(1 << 62), uint64(1<<63 - 1), uint64(1 << 63), uint64(1<<64 - 1), uint64(9223372036854775800),
	"-1", "-9223372036854775808", "1e3", "8.0", "0.5", "1e999", "99999999999999999999999", "null", `"8"`, "[]", "{}", "true", "NaN",
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

var spoilers = []func(r *rand.Rand, p *pieces){
	func(r *rand.Rand, p *pieces) { // the length of the header
		p.length = pick(r, []uint64{1, 7, 8, uint64(len(p.text()) - 1), uint64(len(p.text()) + 1), uint64(len(p.text()) + len(p.data)),
			100_000_001, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1})
	},
	func(r *rand.Rand, p *pieces) { // any offsets
		p.fields = append(p.fields, field("x", pick(r, kinds).name, "[2]", pick(r, edges), pick(r, edges)))
	},
	func(r *rand.Rand, p *pieces) { // offsets that wrap
		p.fields = append(p.fields, field("x", "U8", fmt.Sprintf("[%d]", 16+len(p.data)), uint64(1<<63-8), 8+len(p.data)))
		p.data = append(p.data, make([]byte, 8)...)
	},
	func(r *rand.Rand, p *pieces) { // any shape
		shape := make([]string, r.IntN(70))
		for i := range shape {
			shape[i] = fmt.Sprint(pick(r, edges))
		}
		p.fields = append(p.fields, field("x", pick(r, kinds).name, "["+strings.Join(shape, ",")+"]", len(p.data), len(p.data)+r.IntN(8)))
	},
	func(r *rand.Rand, p *pieces) { // a shape whose product is 0, or 1
		p.fields = append(p.fields, field("x", "U8", pick(r, []string{
			"[4294967296,4294967296]", "[4294967296,4294967296,0]", "[0,9223372036854775807,3]", "[0,9223372036854775807]",
			"[9223372036854775807,9223372036854775807]", "[1,1,1,1,1,1,1,1,0]", "[" + strings.Repeat("1,", 63) + "0]",
			"[" + strings.Repeat("1,", 64) + "0]",
		}), len(p.data), len(p.data)))
	},
	func(r *rand.Rand, p *pieces) { // an overlap or a hole
		n := max(0, len(p.data)+pick(r, []int{-4, -1, 1, 4, 1000}))
		p.fields = append(p.fields, field("x", "U8", "[4]", n, n+4))
		p.data = append(p.data, make([]byte, 4)...)
	},
	func(r *rand.Rand, p *pieces) { // several empty tensors at any place
		for i := range 3 {
			n := r.IntN(len(p.data) + 2)
			p.fields = append(p.fields, field(fmt.Sprint("e", i), "F32", "[0]", n, n))
		}
	},
	func(r *rand.Rand, p *pieces) { // a dtype
		p.fields = append(p.fields, field("x", pick(r, []string{"", "f32", "F99", "F32 ", "C128", "U3", strings.Repeat("F", 1000)}), "[]",
			len(p.data), len(p.data)+4))
		p.data = append(p.data, make([]byte, 4)...)
	},
	func(r *rand.Rand, p *pieces) { p.fields = append(p.fields, pick(r, p.fields)) }, // a key twice
	func(r *rand.Rand, p *pieces) { // other fields of an entry
		end := fmt.Sprintf(`%d,%d]`, len(p.data), len(p.data))
		p.fields = append(p.fields, `"x":`+pick(r, []string{
			`{"dtype":"U8","dtype":"F32","shape":[0],"data_offsets":[` + end + `}`, `{"shape":[0],"data_offsets":[` + end + `}`,
			`{"dtype":"U8","data_offsets":[` + end + `}`, `{"dtype":"U8","shape":[0]}`, `{"dtype":"U8","shape":0,"data_offsets":[` + end + `}`,
			`{"DTYPE":"U8","Shape":[0],"data_offsets":[` + end + `}`, `{"dtype":1,"shape":[0],"data_offsets":[` + end + `}`, `null`, `[]`,
			`"x"`, `1`,
			`{"dtype":"U8","shape":[0],"data_offsets":[0,0,` + end + `}`, `{"dtype":"U8","shape":[0],"data_offsets":[0]}`,
			`{"dtype":"U8","shape":[0],"more":{"a":[1,2]},"data_offsets":[` + end + `}`, `{}`,
		}))
	},
	func(r *rand.Rand, p *pieces) { // metadata
		p.fields = append(p.fields, `"__metadata__":`+
			pick(r, []string{`{"a":1}`, `null`, `[]`, `{"a":{"b":"c"}}`, `{"a":"b","a":"c"}`, `"text"`, `{"a":null}`}))
	},
	func(r *rand.Rand, p *pieces) { p.data = p.data[:r.IntN(len(p.data)+1)] },                 // cut off
	func(r *rand.Rand, p *pieces) { p.data = append(p.data, make([]byte, 1+r.IntN(100))...) }, // a rest
	func(r *rand.Rand, p *pieces) { // texts that are not UTF-8, or become the same
		p.fields = append(p.fields, pick(r, []string{
			"\"\xff\xfe\":{}", "\"a\xc0\":{}",
			"\"\\ud800\":" + strings.SplitN(p.fields[0], ":", 2)[1] + ",\"\\ud801\":" + strings.SplitN(p.fields[0], ":", 2)[1],
		}))
	},
	func(r *rand.Rand, p *pieces) { // deep
		nest := strings.Repeat(pick(r, []string{"[", `{"a":`}), pick(r, []int{10, 100, 1000, 11_000}))
		p.header = pick(r, []string{nest, "{" + nest, `{"x":` + nest, `{"x":{"more":` + nest, `{"__metadata__":` + nest, `{"x":{"shape":` + nest})
	},
	func(r *rand.Rand, p *pieces) { // very many
		for i := range pick(r, []int{10, 100, 1000}) {
			p.fields = append(p.fields, field(fmt.Sprint("n", i), "U8", "[0]", 0, 0))
		}
	},
	func(r *rand.Rand, p *pieces) { // JSON or not
		p.header = pick(r, []string{"", " ", "{", "}", "[]", "null", "hello", "{}{}", "{} x", " {}", "{\"a\"", "{\"a\":}", "{,}",
			"{}\x00", p.text()[:r.IntN(len(p.text()))] + "}"})
	},
	func(r *rand.Rand, p *pieces) { // any byte of the header
		text := []byte(p.text())
		for range 1 + r.IntN(4) {
			text[r.IntN(len(text))] = pick(r, []byte("0123456789{}[]\",:.-eE\\ \x00\xff"))
		}
		p.header = string(text)
	},
}

// hostile spoils a sound file, or leaves it as it is. Half of all are cut off somewhere or have
// other bytes besides.
func hostile(r *rand.Rand) (content []byte, size int64) {
	p := sound(r)
	for range r.IntN(3) {
		pick(r, spoilers)(r, p)
	}
	content = p.bytes()
	size = int64(len(content))
	switch r.IntN(8) {
	case 0:
		content = content[:r.IntN(len(content)+1)]
		size = int64(len(content))
	case 1:
		content[r.IntN(len(content))] ^= byte(1 << r.IntN(8))
	case 2: // a file that has shrunk since its size was asked for, or a size that is none
		size = pick(r, []int64{size + 1, size - 1, 0, -1, 7, 1 << 40, 1<<63 - 1, -1 << 63})
	}
	return content, size
}

// requireContent checks what was read by a second, simple reading of the file.
func requireContent(t *testing.T, content []byte, file *safetensors.File) {
	n := binary.LittleEndian.Uint64(content)
	var header map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(content[8:8+n], &header))
	delete(header, "__metadata__")
	require.ElementsMatch(t, slices.Collect(maps.Keys(header)), slices.Collect(maps.Keys(file.Tensors)))
	for name, text := range header {
		var e struct {
			Shape   []int `json:"shape"`
			Offsets []int `json:"data_offsets"`
		}
		require.NoError(t, json.Unmarshal(text, &e))
		require.Equal(t, e.Shape, file.Tensors[name].Shape())
		data := content[8+n:]
		require.True(t, bytes.Equal(data[e.Offsets[0]:e.Offsets[1]], file.Tensors[name].Bytes()), name)
	}
}

// Whatever a file is, Read returns all of it or an error that says why, keeps no tensor of
// what it did not return, and takes memory by the size of the file.
func TestHostileFiles(t *testing.T) {
	torchtest.NoLeaks(t)
	reasons := map[string]int{}
	files, accepted, left, seed := reliability.Size(100_000, 4_000), 0, 0, uint64(13)
	r := rand.New(rand.NewPCG(seed, 0))
	before, worst := torch.Stats().Live(), 0.0
	for range files {
		content, size := hostile(r)
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		file, err := safetensors.Read(bytes.NewReader(content), size)
		runtime.ReadMemStats(&to)
		const fixed = 4096 // of a decoder
		worst = max(worst, float64(to.TotalAlloc-from.TotalAlloc)/float64(len(content)+fixed))
		if err == nil {
			requireContent(t, content, file)
			file.Close()
			accepted++
		} else {
			require.Nil(t, file)
			require.ErrorIs(t, err, safetensors.ErrFormat)
			require.NotContains(t, err.Error(), "\n")
			reasons[reason(err)]++
		}
		left += torch.Stats().Live() - before
	}
	reliability.Exactly(t, "hostile safetensors files: tensors left open", left, 0)
	reliability.AtMost(t, "hostile safetensors files: bytes that Go allocated per byte of the file", worst, 64)
	reliability.Note(t, "hostile safetensors files", files)
	require.Greater(t, accepted, files/20)
	require.Equal(t, []string{}, slices.DeleteFunc(slices.Clone(named), func(n string) bool { return reasons[n] > 0 }),
		"every kind of fault has its words: %v", reasons)
}

// named are the ways in which a file can be unsound.
var named = []string{
	"ends too soon", "header would have", "not UTF-8", "not JSON that begins with {", "header is not JSON: ", "something follows", `twice`,
	"which is not known", "impossible shape", "expected a list and two numbers", "its data_offsets are", "expected it to start at",
	"belong to no tensor", "expected a whole number", "more than 64 elements", "more than 2 elements", "expected a text",
	"expected it to begin with",
}

func reason(err error) string {
	for _, n := range named {
		if strings.Contains(err.Error(), n) {
			return n
		}
	}
	return err.Error()
}
