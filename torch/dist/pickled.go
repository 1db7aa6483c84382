package dist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/pickle"
)

// pickled is what JSON says of a value, as one of Python's pickles: dicts, lists, texts, numbers, True, False and None.
func pickled(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	plain, err := plainValue(d)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = pickle.Write(&out, plain)
	return out.Bytes(), err
}

// plainValue is the next value of a JSON text, in the types of pickles; the fields of objects keep their order.
func plainValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		return plainNumber(t.String())
	case json.Delim:
		var dict pickle.Dict
		list := []any{}
		for d.More() {
			var key any
			if t == '{' {
				if key, err = d.Token(); err != nil {
					return nil, err
				}
			}
			v, err := plainValue(d)
			if err != nil {
				return nil, err
			}
			dict, list = append(dict, pickle.Item{Key: key, Value: v}), append(list, v)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if t == '{' {
			return dict, nil
		}
		return list, nil
	}
	return token, nil
}

func plainNumber(text string) (any, error) {
	if strings.ContainsAny(text, ".eE") {
		return strconv.ParseFloat(text, 64)
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, fmt.Errorf("%q is no number", text)
	}
	if n.IsInt64() {
		return n.Int64(), nil
	}
	return n, nil
}

// unpickled is the value that such a pickle, of Go's or Python's, has for T. Nothing in it is run: classes other than those above are
// errors.
func unpickled[T any](op string, text []byte) (v T, err error) {
	const overhead = 256 // bytes that a byte of a pickle can become at most
	plain, _, err := pickle.Read(bytes.NewReader(text), 0, int64(len(text)), pickle.Limits{
		Budget: overhead * int64(len(text)+1<<10),
		Allow: func(class pickle.Global) error {
			return fmt.Errorf("the object has a %v, and only dicts, lists, tuples, texts, numbers, True, False and None can be read", class)
		},
	})
	if err == nil {
		w := &jsonWriter{left: overhead * (len(text) + 1<<10)}
		if err = w.value(plain, 0); err == nil {
			err = json.Unmarshal(w.out.Bytes(), &v)
		}
	}
	if err != nil {
		return v, fmt.Errorf("dist: %s: %w", op, err)
	}
	return v, nil
}

// jsonWriter writes what a pickle had as JSON. A pickle can contain a thing many times, and in itself.
type jsonWriter struct {
	out  bytes.Buffer
	left int
}

var errTangled = errors.New("the object contains itself, or another far too often")

func (w *jsonWriter) value(v any, depth int) error {
	const deepest = 1000
	if depth > deepest || w.out.Len() > w.left {
		return errTangled
	}
	switch v := v.(type) {
	case *pickle.List:
		return w.list(*v, depth)
	case *pickle.Tuple:
		return w.list(*v, depth)
	case *pickle.Dict:
		return w.dict(*v, depth)
	case *big.Int:
		w.out.WriteString(v.String())
		return nil
	case nil, bool, int, float64, string:
		text, err := json.Marshal(v)
		w.out.Write(text)
		return err
	}
	return fmt.Errorf("the object has a %T, which cannot be read", v)
}

func (w *jsonWriter) list(list []any, depth int) error {
	w.out.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(v, depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

// dict writes keys that are numbers as texts, which is what maps with such keys read.
func (w *jsonWriter) dict(d pickle.Dict, depth int) error {
	w.out.WriteByte('{')
	for i, item := range d {
		if i > 0 {
			w.out.WriteByte(',')
		}
		key := item.Key
		if n, ok := key.(int); ok {
			key = strconv.Itoa(n)
		}
		if _, ok := key.(string); !ok {
			return fmt.Errorf("the object has a dict with a key that is a %T, expected texts or numbers", key)
		}
		if err := w.value(key, depth); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.value(item.Value, depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}
