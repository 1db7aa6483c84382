package service

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// children are what the test binary does where it was started again with the name in its
// environment: what needs a process of its own.
var children = map[string]func(){
	"soak":      childSoak,
	"inference": childInference,
	"training":  childTraining,
	"compiled":  childCompiled,
	"runs":      childRuns,
}

const childVariable = "SERVICE_TEST_CHILD"

func TestMain(m *testing.M) {
	if fn := children[os.Getenv(childVariable)]; fn != nil {
		fn()
		os.Exit(0)
	}
	torchtest.Main(m)
}

// child is the test binary, about to start as one of the children.
func child(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	require.Contains(t, children, name)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), env...), childVariable+"="+name)
	return cmd
}

// answer runs a command and reads what it writes into v.
func answer(t *testing.T, cmd *exec.Cmd, v any) {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, v), "%s", out)
}

// tell is the other end of answer.
func tell(v any) {
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		panic(err)
	}
}

func usage() proc.Usage {
	u, err := proc.Self()
	if err != nil {
		panic(err)
	}
	return u
}

// megabytes is how figures of memory are told.
func megabytes(bytes int) float64 { return float64(bytes) / (1 << 20) }

// equal reports whether two tensors have the same bits.
func equal(a, b torch.Tensor) bool { return string(a.Bytes()) == string(b.Bytes()) }
