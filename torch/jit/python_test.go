package jit_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// python runs the script that makes modules and compares them.
func python(t *testing.T, args ...string) {
	out, err := peer.Command(t, append([]string{"testdata/modules.py"}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// modules is a folder of modules that Python made; the tests share it.
func modules(t *testing.T) string {
	t.Helper()
	if folder == "" {
		dir, err := os.MkdirTemp("", "jit")
		require.NoError(t, err)
		python(t, "write", dir)
		folder = dir
	}
	return folder
}

var folder string

func TestMain(m *testing.M) {
	hostileChild()
	jit.InspectChild()
	code := m.Run()
	if folder != "" {
		os.RemoveAll(folder)
	}
	os.Exit(code)
}

// load reads a module of Python's.
func load(t *testing.T, name string, opts ...jit.LoadOptions) *jit.Module {
	t.Helper()
	m, err := jit.LoadTrusted(filepath.Join(modules(t), name+".pt"), opts...)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// plain is a value of torch.save's as a module takes it, or a result of a module's, without the types of lists and dicts.
func plain(v any) any {
	switch v := v.(type) {
	case pt.Tuple:
		return jit.Tuple(plain([]any(v)).([]any))
	case jit.Tuple:
		return jit.Tuple(plain([]any(v)).([]any))
	case *pt.Dict:
		m := map[any]any{}
		for key, own := range v.All() {
			m[key] = plain(own)
		}
		return m
	case torch.Tensor, nil:
		return v
	}
	x := reflect.ValueOf(v)
	switch x.Kind() {
	case reflect.Slice:
		list := make([]any, x.Len())
		for i := range list {
			list[i] = plain(x.Index(i).Interface())
		}
		return list
	case reflect.Map:
		m := map[any]any{}
		for _, key := range x.MapKeys() {
			m[key.Interface()] = plain(x.MapIndex(key).Interface())
		}
		return m
	}
	return v
}

// requireSame compares two values, tensors by their bits.
func requireSame(t *testing.T, want, got any, where string) {
	t.Helper()
	switch want := want.(type) {
	case torch.Tensor:
		own, ok := got.(torch.Tensor)
		require.True(t, ok, "%s is %T", where, got)
		require.Equal(t, want.DType(), own.DType(), where)
		torchtest.Equal(t, own.Detach(), want)
	case jit.Tuple:
		list, ok := got.(jit.Tuple)
		require.True(t, ok && len(list) == len(want), "%s is %T", where, got)
		for i := range want {
			requireSame(t, want[i], list[i], fmt.Sprintf("%s[%d]", where, i))
		}
	case []any:
		list, ok := got.([]any)
		require.True(t, ok && len(list) == len(want), "%s is %T", where, got)
		for i := range want {
			requireSame(t, want[i], list[i], fmt.Sprintf("%s[%d]", where, i))
		}
	case map[any]any:
		m, ok := got.(map[any]any)
		require.True(t, ok && len(m) == len(want), "%s is %T", where, got)
		for key := range want {
			requireSame(t, want[key], m[key], fmt.Sprintf("%s[%v]", where, key))
		}
	default:
		require.Equal(t, want, got, where)
	}
}

// replay makes the calls that Python made and compares the results.
func replay(t *testing.T, m *jit.Module, name string) {
	v, err := pt.Load(filepath.Join(modules(t), name+".calls"))
	require.NoError(t, err)
	defer pt.Close(v)
	torch.Scope(func() {
		for i, call := range v.([]any) {
			parts := call.([]any)
			args := slices.Clone([]any(plain(parts[1]).(jit.Tuple)))
			for key, own := range parts[2].(*pt.Dict).All() {
				args = append(args, torch.Arg(key.(string), plain(own)))
			}
			got, err := m.Call(parts[0].(string), cloned(args).([]any)...)
			require.NoError(t, err, "%s: call %d", name, i)
			requireSame(t, plain(parts[3]), plain(got), fmt.Sprintf("%s: call %d of %v", name, i, parts[0]))
		}
	})
}

// cloned are arguments that a call may change.
func cloned(v any) any {
	switch v := v.(type) {
	case torch.Tensor:
		return v.Clone()
	case torch.Named:
		return torch.Arg(v.Name, cloned(v.Value))
	case []any:
		list := make([]any, len(v))
		for i, own := range v {
			list[i] = cloned(own)
		}
		return list
	}
	return v
}

func names(t *testing.T) (list []string) {
	files, err := filepath.Glob(filepath.Join(modules(t), "*.pt"))
	require.NoError(t, err)
	for _, path := range files {
		list = append(list, strings.TrimSuffix(filepath.Base(path), ".pt"))
	}
	return list
}

// What Python scripted, traced, froze and saved gives Python's bits in Go, with its state dict; what Go saves of it gives them in Python.
func TestPythonToGoToPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	dir := t.TempDir()
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			extra := map[string][]byte{"note.txt": nil, "none": nil}
			m := load(t, name, jit.LoadOptions{ExtraFiles: extra})
			require.Equal(t, "of "+name, string(extra["note.txt"]))
			require.NoError(t, m.Save(filepath.Join(dir, name+".go"), jit.SaveOptions{ExtraFiles: map[string][]byte{"go.txt": []byte("from Go")}}))
			replay(t, m, name)

			state, err := pt.LoadStateDict(filepath.Join(modules(t), name+".state"))
			require.NoError(t, err)
			defer pt.Close(state)
			if name == "counter" {
				return // it has changed
			}
			torch.Scope(func() {
				own, err := m.StateDict()
				require.NoError(t, err)
				require.ElementsMatch(t, slices.Collect(maps.Keys(state)), slices.Collect(maps.Keys(own)))
				for key := range state {
					torchtest.Equal(t, own[key].Detach(), state[key])
				}
			})
		})
	}
	for _, ending := range []string{"calls", "state"} {
		files, err := filepath.Glob(filepath.Join(modules(t), "*."+ending))
		require.NoError(t, err)
		for _, path := range files {
			require.NoError(t, os.Link(path, filepath.Join(dir, filepath.Base(path))))
		}
	}
	python(t, "check", dir)
}
