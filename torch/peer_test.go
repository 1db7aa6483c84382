package torch_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch"
)

// The oracle is PyTorch itself, in a Python process on the same libtorch.

type answer struct {
	Text    string // str(y)
	Tensors []struct {
		DType string
		Shape []int
		Data  []byte
	}
	Error string // "IndexError: …"
}

type oracle struct {
	mu sync.Mutex
	*talk.Partner
}

// ask runs Python code that leaves its answer in y.
func ask(t testing.TB, code string) (a answer) {
	t.Helper()
	o, err := peer()
	if err != nil {
		t.Skip("no Python with torch to compare with: ", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	require.NoError(t, o.Ask(map[string]string{"code": code}, &a))
	return a
}

// tensor is the i-th tensor of an answer.
func (a answer) tensor(t testing.TB, i int) torch.Tensor {
	t.Helper()
	require.Empty(t, a.Error)
	require.Greater(t, len(a.Tensors), i, a.Text)
	d, err := torch.ParseDType(a.Tensors[i].DType)
	require.NoError(t, err)
	return torch.FromBytes(a.Tensors[i].Data, d, a.Tensors[i].Shape...)
}

// peer starts the process at the first question; it ends with ours.
var peer = sync.OnceValues(func() (*oracle, error) {
	cmd, err := python()
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args, filepath.Join("testdata", "oracle.py"))
	cmd.Stderr = os.Stderr
	partner, err := talk.Start("the oracle", cmd)
	return &oracle{Partner: partner}, err
})

// python is the peer that ./build.sh makes, or, where $LIBTORCH is Python's own torch, the
// Python around it.
func python() (*exec.Cmd, error) {
	home := os.Getenv(cgo.EnvHome)
	if home == "" {
		home = filepath.Join("..", "third_party")
	}
	made := filepath.Join(home, "peer", "python")
	if _, err := os.Stat(made); err == nil {
		return exec.Command(made), nil
	}
	if dir := os.Getenv(cgo.EnvTorch); dir != "" {
		cmd := exec.Command("python3")
		cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Dir(dir))
		return cmd, nil
	}
	return nil, errors.New("run ./build.sh peer")
}
