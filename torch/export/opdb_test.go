package export_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// opdbVariable set to "all", or to a pattern of names, has TestOperatorDatabase run all of op_db, which takes some minutes, or a part.
const opdbVariable = "LIBTORCH_GO_OPDB"

// fewestOperators is how many entries of op_db Python has to export and Go to run.
const fewestOperators = 600

// Every operator of PyTorch's own tests, exported by Python as a program of one call, computes here what it computes there, to the bit:
//
//	LIBTORCH_GO_OPDB=all go test -run TestOperatorDatabase ./torch/export
//
// Without the variable some of them do.
func TestOperatorDatabase(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	pattern := os.Getenv(opdbVariable)
	work, all := someOperators, pattern == "all"
	if pattern != "" {
		named := pattern
		if all {
			named = ""
		}
		work = &ahead{&live, "operators", []string{"opdb", "write"}, []string{"1", named}, nil}
	}
	entries, names := work.take(t), map[string]bool{}
	for answer := range entries.all(t) {
		var entry struct {
			Name, File, Why string
			Unset           bool
		}
		require.NoError(t, json.Unmarshal(answer, &entry))
		if entry.File == "" {
			t.Log("Python does not export", entry.Name, entry.Why)
			continue
		}
		path := filepath.Join(work.dir(t), entry.File)
		names[entry.Name] = t.Run(entry.Name, func(t *testing.T) {
			program, err := export.Load(path + ".pt2")
			require.NoError(t, err)
			defer program.Close()
			run := func() { runOperator(t, program, path+".pt", entry.Unset) }
			if innerEntries[entry.Name] {
				torch.Unsafe(run)
			} else {
				run()
			}
		})
	}
	t.Log(len(names), "entries")
	if all {
		require.GreaterOrEqual(t, len(names), fewestOperators)
	}
}

// runOperator makes the calls of a file with a program, as it is and compiled.
func runOperator(t *testing.T, program *export.Program, calls string, unset bool) {
	compare := requireDense
	if unset {
		compare = requireSizes
	}
	seeded := func(call func(...any) (any, error)) func(...any) (any, error) {
		return func(inputs ...any) (any, error) {
			torch.ManualSeed(0)
			return call(inputs...)
		}
	}
	runLikePython(t, seeded(program.Call), calls, compare)
	exact := compiled(t, program, export.CompileOptions{Exact: true})
	torch.NoGrad(func() { runLikePython(t, seeded(exact.Call), calls, compare) })
}

// requireDense compares two results as requireSame does, sparse ones by what they stand for.
func requireDense(t *testing.T, want, got any, where string) {
	requireSame(t, dense(want), dense(got), where)
}

// dense are tensors whose elements lie in a row.
func dense(v any) any {
	switch v := v.(type) {
	case torch.Tensor:
		if v.Layout() != torch.Strided {
			return v.ToDense()
		}
	case []any:
		list := make([]any, len(v))
		for i, own := range v {
			list[i] = dense(own)
		}
		return list
	}
	return v
}

// requireSizes compares two results but for their elements.
func requireSizes(t *testing.T, want, got any, where string) {
	requireAlike(t, want, got, where, func(want, got torch.Tensor) { require.Equal(t, want.Shape(), got.Shape(), where) })
}

// innerEntries are made of operators that trust their arguments, and are refused outside of torch.Unsafe.
var innerEntries = map[string]bool{"lu": true, "_softmax_backward_data": true, "as_strided_copy": true, "_native_batch_norm_legit": true,
	"_batch_norm_with_update": true, "max_pool2d_with_indices_backward": true, "torch._scaled_mm": true, "_unsafe_masked_index": true,
	"_unsafe_masked_index_put_accumulate": true, "_chunk_cat": true, "native_dropout_backward": true}
