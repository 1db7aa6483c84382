package export_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// mutationsVariable says how many files are bent and read, on all processors:
//
//	EXPORT_MUTATIONS=15000000 go test ./torch/export -run Mutations -timeout 4h
const mutationsVariable = "EXPORT_MUTATIONS"

// pieces are texts that mean something in a program.
var pieces = []string{"{", "}", "[", "]", ",", ":", `"`, "null", "true", "-1", "0", "1", "2", "7", "99", "9223372036854775807",
	"1e308", "\\", `{"as_none":true}`, `{"as_int":3}`, `{"as_tensor":{"name":"x"}}`, `{"as_tensor":{"name":"add"}}`,
	`{"as_sym_int":{"as_name":"rows"}}`, `{"as_ints":[1,2]}`, `{"as_sym_ints":[{"as_int":1}]}`, `{"as_tensors":[]}`, `{"as_float":"NaN"}`,
	`{"as_string":"x"}`, "torch.ops.aten.mul.Tensor", "torch.ops.aten.relu.default", "torch.ops.aten.from_file.default", "_operator.floordiv",
	"torch.ops.higher_order.while_loop", "Symbol('n')", "Add(Integer(1), Symbol('n'))", "x", "weight", "mean", "linear"}

// bent is a text with a few changes.
func bent(r *rand.Rand, text string) string {
	b := []byte(text)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			return ""
		}
		at := r.IntN(len(b))
		n := min(1+r.IntN(24), len(b)-at)
		piece := pieces[r.IntN(len(pieces))]
		switch r.IntN(7) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b = append(b[:at:at], b[at+n:]...)
		case 2:
			b = append(b[:at+n:at+n], b[at:]...)
		case 3:
			b = append(append(b[:at:at], piece...), b[at:]...)
		case 4:
			b = append(append(b[:at:at], piece...), b[at+n:]...)
		case 5: // a whole value
			from := strings.LastIndexAny(string(b[:at+1]), ":[,{")
			end := strings.IndexAny(string(b[at:]), ",]}")
			if from >= 0 && end >= 0 {
				b = append(append(b[:from+1:from+1], piece...), b[at+end:]...)
			}
		case 6:
			b = b[:at]
		}
	}
	return string(b)
}

// records are a file's, which is bent in one of them.
type records struct {
	file  []byte
	names []string
	texts map[string]string
}

func recordsOf(t testing.TB, file []byte) records {
	own := records{file: file, texts: map[string]string{}}
	rewritten(t, file, func(name, text string) (string, bool) {
		own.names, own.texts[name] = append(own.names, name), text
		return text, true
	})
	return own
}

// bent is a file of them with a few changes in one record, or in the zip file itself.
func (own records) bent(r *rand.Rand) []byte {
	which := []string{model, model, model, weights, constants, "data/weights/weight_0", ""}[r.IntN(7)]
	if which == "" {
		return []byte(bent(r, string(own.file)))
	}
	return own.with(which, bent(r, own.texts[which]))
}

// with is a file of them with another text for one, or none if there cannot be such a file.
func (own records) with(which, text string) []byte {
	var b bytes.Buffer
	a := archive.NewWriter(&b, "model")
	for _, name := range own.names {
		if name == which {
			a.Text(name, text)
			continue
		}
		a.Text(name, own.texts[name])
	}
	if a.Finish() != nil {
		return nil
	}
	return b.Bytes()
}

// Files that were bent at random are read or refused: nothing panics, nothing hangs, nothing takes memory, no tensor is left.
func TestMutations(t *testing.T) {
	torchtest.NoLeaks(t)
	plain, full := written(t), writtenEvery(t)
	simple := recordsOf(t, plain) // is read three times as fast
	all := []records{simple, simple, simple, recordsOf(t, full), recordsOf(t, pickled(t))}
	reliability.Bent{
		Name: ".pt2", Variable: mutationsVariable, Short: 4_000, Largest: 4 * len(full),
		Read: func(r *rand.Rand) ([]byte, bool) {
			b := all[r.IntN(len(all))].bent(r)
			return b, read(b) == nil
		},
	}.Run(t)
}
