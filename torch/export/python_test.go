package export_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

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
	requireAlike(t, want, got, where, func(want, got torch.Tensor) { torchtest.Equal(t, got, want) })
}

func requireAlike(t *testing.T, want, got any, where string, compare func(want, got torch.Tensor)) {
	switch want := want.(type) {
	case torch.Tensor:
		own, ok := got.(torch.Tensor)
		require.True(t, ok, "%s is %T", where, got)
		require.Equal(t, want.DType(), own.DType(), where)
		require.Equal(t, want.Stride(), own.Stride(), where)
		compare(want, own)
	case []any:
		list, ok := got.([]any)
		require.True(t, ok && len(list) == len(want), "%s is %T", where, got)
		for i := range want {
			requireAlike(t, want[i], list[i], fmt.Sprintf("%s[%d]", where, i), compare)
		}
	case map[string]any:
		m, ok := got.(map[string]any)
		require.True(t, ok && len(m) == len(want), "%s is %T", where, got)
		for key := range want {
			requireAlike(t, want[key], m[key], fmt.Sprintf("%s[%q]", where, key), compare)
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

// comparison compares a result with what is expected.
type comparison func(t *testing.T, want, got any, where string)

// requireClose compares two results as [requireSame] does, but for rounding.
func requireClose(relative float64) comparison {
	return func(t *testing.T, want, got any, where string) {
		requireAlike(t, want, got, where, func(want, got torch.Tensor) {
			if !want.IsFloatingPoint() || want.NumEl() == 0 {
				torchtest.Equal(t, got, want)
				return
			}
			finite := want.IsFinite()
			torchtest.Equal(t, torch.Where(finite, torch.Zeros(), got), torch.Where(finite, torch.Zeros(), want))
			a, b := torch.Where(finite, got, torch.Zeros()).To(torch.Float64), torch.Where(finite, want, torch.Zeros()).To(torch.Float64)
			require.LessOrEqual(t, a.Sub(b).Abs().Max().Float64(), relative*b.Abs().Max().Float64(), where)
		})
	}
}

// runLikePython makes the calls of a file that Python wrote and compares the results.
func runLikePython(t *testing.T, call func(inputs ...any) (any, error), calls string, compare comparison) {
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
			got, err := call(inputs...)
			require.NoError(t, err, "call %d", i)
			want := parts[2]
			if !torch.IsGradEnabled() {
				want = parts[3]
			}
			compare(t, want, got, fmt.Sprintf("call %d: result", i))
		}
	})
}

// runCompiled makes the calls with a program that was compiled: first where autograd records, always to the bit, then without.
func runCompiled(t *testing.T, path, calls string, o export.CompileOptions, compare comparison) {
	for _, grad := range []bool{true, false} {
		program, err := export.Load(path)
		require.NoError(t, err)
		compiled, err := export.Compile(program, o)
		program.Close()
		require.NoError(t, err)
		defer compiled.Close()
		if grad {
			runLikePython(t, compiled.Call, calls, requireSame)
			continue
		}
		torch.NoGrad(func() { runLikePython(t, compiled.Call, calls, compare) })
	}
}

// attentions are the programs with attention written by hand, and how often they have it in a form that is known.
var attentions = map[string]int{"attentions": 10, "decomposed": 9, "batches": 1, "MiniLM": 3}

// What Python exports runs here with Python's bits, is printed as Python prints it, and what is saved here runs there.
func TestPythonToGoToPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	programs, to := ofPython.take(t), t.TempDir()
	from, saved := ofPython.dir(t), 0
	for answer := range programs.all(t) {
		var name string
		require.NoError(t, json.Unmarshal(answer, &name))
		path := filepath.Join(from, name+".pt2")
		t.Run(name, func(t *testing.T) {
			program, err := export.Load(path)
			require.NoError(t, err)
			defer program.Close()
			saved++
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
			calls := strings.TrimSuffix(path, ".pt2") + ".pt"
			runLikePython(t, module.Call, calls, requireSame)
			t.Run("exact", func(t *testing.T) { runCompiled(t, path, calls, export.CompileOptions{Exact: true}, requireSame) })
			t.Run("fused", func(t *testing.T) { runCompiled(t, path, calls, export.CompileOptions{}, requireClose(1e-5)) })
			if n, ok := attentions[name]; ok {
				require.Equal(t, n, strings.Count(compiled(t, program).String(), "libtorchgo.attention.default"))
			}
		})
	}
	require.GreaterOrEqual(t, saved, 36)
	checked := python(t, "programs", "check", from, to)
	program, err := export.Load(filepath.Join(to, "guarded.pt2"))
	require.NoError(t, err)
	defer program.Close()
	torch.Scope(func() {
		_, err = program.Run(map[string]torch.Tensor{"a": torch.Ones(10, 10)}, torch.Ones(10, 10))
		require.ErrorContains(t, err, "the inputs break a condition of the program: L['named']['a'].size()")
	})
	require.Equal(t, saved, checked.count(t))
}
