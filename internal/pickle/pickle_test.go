package pickle

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Python reads back what was written, type by type.
func TestPythonReads(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python")
	}
	path := filepath.Join(t.TempDir(), "x.pickle")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, Write(file, Dict{
		{"none", nil}, {"yes", true}, {"no", false}, {"text", "näme\x00"}, {"empty", []any{}}, {"dict", Dict{}},
		{"ints", []any{0, -1, 1 << 31, int64(math.MinInt64), uint64(math.MaxUint64), int32min, uint64(1) << 63}},
		{"float", 0.1}, {"pair", Tuple{1, "x"}}, {"nested", []any{Dict{{"a", []any{Tuple{nil, Tuple{2, 3}}}}}}},
	}))
	require.NoError(t, file.Close())
	out, err := exec.Command(python, "-c", "import pickle, sys; print(ascii(pickle.load(open(sys.argv[1], 'rb'))))", path).Output()
	require.NoError(t, err)
	require.Equal(t, `{'none': None, 'yes': True, 'no': False, 'text': 'n\xe4me\x00', 'empty': [], 'dict': {}, `+
		`'ints': [0, -1, 2147483648, -9223372036854775808, 18446744073709551615, -2147483648, 9223372036854775808], `+
		`'float': 0.1, 'pair': (1, 'x'), 'nested': [{'a': [(None, (2, 3))]}]}`+"\n", string(out))
}

const int32min = math.MinInt32

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrors(t *testing.T) {
	for _, v := range []any{struct{}{}, []any{struct{}{}}, Dict{{"a", struct{}{}}}, Tuple{struct{}{}}} {
		require.EqualError(t, Write(new(bytes.Buffer), v), "pickle: cannot write a struct {}")
	}
	require.EqualError(t, Write(full{}, "x"), "disk full")
}
