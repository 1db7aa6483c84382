package torch_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Some things can be tested only in a separate process: why loading fails, and how much
// memory a program takes. The test binary starts itself again with the name of a function
// here in its environment.
var children = map[string]func(){
	"load":     childLoad,
	"scopes":   childScopes,
	"garbage":  childGarbage,
	"dropped":  childDropped,
	"exhausts": childExhausts,
	"shutdown": childShutdown,
	"overlap":  childOverlap,
	"near":     childNear,
}

const childVariable = "TORCH_TEST_CHILD"

func TestMain(m *testing.M) {
	if fn := children[os.Getenv(childVariable)]; fn != nil {
		fn()
		os.Exit(0)
	}
	torchtest.Main(m)
}

// runChild returns what the child wrote.
func runChild(t *testing.T, name string, env ...string) string {
	t.Helper()
	require.Contains(t, children, name)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), env...), childVariable+"="+name)
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	require.NoError(t, cmd.Run(), "%v%v", &out, &complaints)
	return out.String()
}
