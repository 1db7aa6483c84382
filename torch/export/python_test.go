package export_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// python runs the script that exports programs and compares them.
func python(t *testing.T, args ...string) string {
	out, err := peer.Command(t, append([]string{"testdata/programs.py"}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// plain are values of a file of torch.save as a program takes and returns them.
func plain(v any) any {
	switch v := v.(type) {
	case pt.Tuple:
		return plain([]any(v))
	case []any:
		list := make([]any, len(v))
		for i, own := range v {
			list[i] = plain(own)
		}
		return list
	case *pt.Dict:
		m := map[string]any{}
		for key, own := range v.All() {
			m[key.(string)] = plain(own)
		}
		return m
	}
	return v
}

// requireSame compares two results, tensors by bits and strides.
func requireSame(t *testing.T, want, got any, where string) {
	switch want := want.(type) {
	case torch.Tensor:
		own, ok := got.(torch.Tensor)
		require.True(t, ok, "%s is %T", where, got)
		require.Equal(t, want.DType(), own.DType(), where)
		require.Equal(t, want.Stride(), own.Stride(), where)
		torchtest.Equal(t, own, want)
	case []any:
		list, ok := got.([]any)
		require.True(t, ok && len(list) == len(want), "%s is %T", where, got)
		for i := range want {
			requireSame(t, want[i], list[i], fmt.Sprintf("%s[%d]", where, i))
		}
	case map[string]any:
		m, ok := got.(map[string]any)
		require.True(t, ok && len(m) == len(want), "%s is %T", where, got)
		for key := range want {
			requireSame(t, want[key], m[key], fmt.Sprintf("%s[%q]", where, key))
		}
	default:
		require.Equal(t, want, got, where)
	}
}

// copied are the inputs of a call for a program that may change them.
func copied(v any) any {
	switch v := v.(type) {
	case torch.Tensor:
		return v.Clone()
	case []any:
		list := make([]any, len(v))
		for i, own := range v {
			list[i] = copied(own)
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for key, own := range v {
			m[key] = copied(own)
		}
		return m
	}
	return v
}

// runLikePython makes the calls of a file that Python wrote and compares the results.
func runLikePython(t *testing.T, module interface {
	Call(inputs ...any) (any, error)
}, calls string) {
	v, err := pt.Load(calls)
	require.NoError(t, err)
	defer pt.Close(v)
	torch.Scope(func() {
		for i, c := range plain(v).([]any) {
			parts := c.([]any)
			inputs := copied(parts[0]).([]any)
			for name, value := range parts[1].(map[string]any) {
				inputs = append(inputs, torch.Arg(name, copied(value)))
			}
			got, err := module.Call(inputs...)
			require.NoError(t, err, "call %d", i)
			requireSame(t, parts[2], got, fmt.Sprintf("call %d: result", i))
		}
	})
}

// What Python exports runs here with Python's bits, is printed as Python prints it, and what is saved here runs there.
func TestPythonToGoToPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	from, to := t.TempDir(), t.TempDir()
	python(t, "write", from)
	files, err := filepath.Glob(filepath.Join(from, "*.pt2"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 36)
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".pt2")
		t.Run(name, func(t *testing.T) {
			program, err := export.Load(path)
			require.NoError(t, err)
			defer program.Close()
			require.NoError(t, program.Save(filepath.Join(to, name+".pt2")))
			again, err := export.Load(filepath.Join(to, name+".pt2"))
			require.NoError(t, err)
			defer again.Close()
			require.Equal(t, program.String(), again.String())
			printed, err := os.ReadFile(strings.TrimSuffix(path, ".pt2") + ".txt")
			require.NoError(t, err)
			if name != "ungraded" { // fx numbers its graphs by names that are not in the file
				require.Equal(t, string(printed), program.String())
			}
			module, err := program.Module()
			require.NoError(t, err)
			compiled, err := export.Compile(again)
			require.NoError(t, err)
			defer compiled.Close()
			runLikePython(t, module, strings.TrimSuffix(path, ".pt2")+".pt")
			runLikePython(t, compiled, strings.TrimSuffix(path, ".pt2")+".pt")
		})
	}
	out := strings.Split(strings.TrimSpace(python(t, "check", from, to)), "\n")
	require.Equal(t, fmt.Sprintf("%d programs", len(files)), out[len(out)-1])
}
