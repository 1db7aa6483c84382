package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/libtorch-go/libtorch/internal/refused"
	"github.com/libtorch-go/libtorch/torch"
)

// mostDims is the number of dimensions that libtorch's kernels support.
const mostDims = 64

// entry is the header's entry for a tensor.
type entry struct {
	name       string
	dtype      torch.DType
	shape      []int
	begin, end int64
}

// malformed is an error that matches one of the kinds of [ErrFormat].
func malformed(kind error, format string, args ...any) error {
	return refused.Because(ErrFormat, "%w", &formatError{kind, fmt.Errorf(format, args...)})
}

// formatError says what is wrong with a file.
type formatError struct{ kind, err error }

// Error is the cause alone: what all of them have in common stands before it.
func (e *formatError) Error() string { return e.err.Error() }

// Unwrap are the kind of the error and its cause.
func (e *formatError) Unwrap() []error { return []error{e.kind, e.err} }

// parse reads a header. It returns the tensors in the order of their bytes, whatever their
// order in the header is.
func parse(header []byte) (entries []entry, metadata map[string]string, err error) {
	if !utf8.Valid(header) {
		return nil, nil, malformed(ErrHeaderUTF8, "the header is not UTF-8")
	}
	if !bytes.HasPrefix(header, []byte("{")) {
		return nil, nil, malformed(ErrHeaderStart, "the header is not JSON that begins with {")
	}
	p := parser{json.NewDecoder(bytes.NewReader(header))}
	p.UseNumber()
	err = p.object("the header", func(name string) error {
		if name == metadataKey {
			metadata, err = p.texts(name)
			return err
		}
		e, err := p.entry(name)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := p.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, malformed(ErrHeaderJSON, "something follows the JSON of the header")
	}
	slices.SortFunc(entries, func(a, b entry) int {
		// empty tensors come before what follows them
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	return entries, metadata, nil
}

// parser reads JSON piece by piece, because encoding/json accepts a key that occurs twice and
// ignores the case of letters.
type parser struct{ *json.Decoder }

// object calls field with the name of every field of an object, to read its value.
func (p parser) object(what string, field func(name string) error) error {
	return p.between(what, '{', func() error {
		names := map[string]bool{}
		for p.More() {
			key, err := p.Token()
			if err != nil {
				return notJSON(err)
			}
			name := key.(string) // the decoder accepts nothing else
			if names[name] {
				return malformed(ErrHeaderJSON, "%s has %q twice", what, name)
			}
			names[name] = true
			if err := field(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// between reads an opening delimiter, what is between and the closing one.
func (p parser) between(what string, open json.Delim, read func() error) error {
	start, err := p.Token()
	if err != nil {
		return notJSON(err)
	}
	if start != open {
		return malformed(ErrHeaderJSON, "%s is %v, expected it to begin with %v", what, brief(start), open)
	}
	if err := read(); err != nil {
		return err
	}
	if _, err := p.Token(); err != nil {
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return malformed(ErrHeaderJSON, "the header is not JSON: %w", err)
}

// brief is a token for an error.
func brief(t json.Token) string {
	const most = 40
	text := fmt.Sprintf("%#v", t)
	if d, ok := t.(json.Delim); ok {
		text = d.String()
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// texts reads an object of texts.
func (p parser) texts(what string) (map[string]string, error) {
	all := map[string]string{}
	err := p.object(what, func(name string) (err error) {
		all[name], err = p.text(what + "." + name)
		return err
	})
	return all, err
}

func (p parser) text(what string) (string, error) {
	t, err := p.Token()
	if err != nil {
		return "", notJSON(err)
	}
	text, ok := t.(string)
	if !ok {
		return "", malformed(ErrHeaderJSON, "%s is %s, expected a text", what, brief(t))
	}
	return text, nil
}

// numbers reads a list of at most that many whole numbers, none of them negative.
func (p parser) numbers(what string, most int) (list []int, err error) {
	list = []int{}
	err = p.between(what, '[', func() error {
		for p.More() {
			t, err := p.Token()
			if err != nil {
				return notJSON(err)
			}
			number, _ := t.(json.Number)
			n, err := strconv.ParseUint(number.String(), 10, 63)
			if err != nil {
				return malformed(ErrHeaderJSON, "%s has the element %s, expected a whole number that an int64 holds", what, brief(t))
			}
			if len(list) == most {
				return malformed(ErrHeaderJSON, "%s has more than %d elements", what, most)
			}
			list = append(list, int(n))
		}
		return nil
	})
	return list, err
}

// entry reads the header's entry for a tensor and checks that it is consistent.
func (p parser) entry(name string) (e entry, err error) {
	what := fmt.Sprintf("tensor %q", name)
	var dtype string
	var offsets []int
	err = p.object(what, func(field string) (err error) {
		switch field {
		case "dtype":
			dtype, err = p.text(what + ": dtype")
		case "shape":
			e.shape, err = p.numbers(what+": shape", mostDims)
		case "data_offsets":
			offsets, err = p.numbers(what+": data_offsets", 2)
		default: // as in the reference implementation
			var passed json.RawMessage
			if err := p.Decode(&passed); err != nil {
				return notJSON(err)
			}
		}
		return err
	})
	if err != nil {
		return e, err
	}
	known := false
	if slices.Contains(foreign, dtype) {
		return e, fmt.Errorf("%s has dtype %s, which this libtorch binding has no tensors of", what, dtype)
	}
	if e.dtype, known = dtypes[dtype]; !known {
		return e, malformed(ErrDType, "%s has dtype %q, which is not known", what, dtype)
	}
	if e.shape == nil || len(offsets) != 2 {
		return e, malformed(ErrTensorInfo, "%s has shape %v and data_offsets %v, expected a list and two numbers", what, e.shape, offsets)
	}
	if last := len(e.shape) - 1; packed(e.dtype) {
		if last < 0 || e.shape[last]%2 != 0 {
			return e, malformed(ErrTensorInfo, "%s of shape %v and dtype %s ends within a byte", what, e.shape, dtype)
		}
		e.shape[last] /= 2
	}
	size, ok := bytesOf(e.dtype, e.shape)
	if !ok {
		return e, malformed(ErrOverflow, "%s has the impossible shape %v", what, e.shape)
	}
	if offsets[0] > offsets[1] || offsets[1]-offsets[0] != size {
		return e, malformed(ErrTensorInfo, "%s of shape %v and dtype %s needs %d bytes, its data_offsets are %v", what, e.shape, dtype,
			size, offsets)
	}
	e.name, e.begin, e.end = name, int64(offsets[0]), int64(offsets[1])
	return e, nil
}

// bytesOf is how many bytes a tensor has; false if they, or its strides, overflow.
func bytesOf(dtype torch.DType, shape []int) (n int, ok bool) {
	span, empty := uint64(dtype.Size()), false
	for _, size := range shape {
		over, low := bits.Mul64(span, uint64(max(1, size)))
		if size < 0 || over > 0 || low > math.MaxInt64 {
			return 0, false
		}
		span, empty = low, empty || size == 0
	}
	if empty {
		return 0, true
	}
	return int(span), true
}

// checkLayout checks that the tensors fill the data without gaps, overlaps or a rest:
// bytes that belong to no tensor could be anything.
func checkLayout(entries []entry, data int64) error {
	var at int64
	for _, e := range entries {
		if e.begin != at || e.end > data {
			return malformed(ErrOffset, "tensor %q lies at bytes %d to %d, expected it to start at %d of %d", e.name, e.begin, e.end, at, data)
		}
		at = e.end
	}
	if at != data {
		return malformed(ErrIncomplete, "%d bytes of data belong to no tensor", data-at)
	}
	return nil
}
