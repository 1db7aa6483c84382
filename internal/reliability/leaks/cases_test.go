package leaks

import (
	"maps"
	"slices"
	"testing"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
)

// cases call what is exported and is no operator, by the name of what they are about. What
// they make they may leave to the scope, or to the garbage collector.
type cases map[string]func()

func TestEverythingElse(t *testing.T) {
	n, bad := 0, 0
	for _, list := range []cases{torchCases, valueCases, lanesCases, operatorCases, functionalCases, lossCases, layerCases, printCases,
		moduleCases, hookCases, nnCases, optimCases, scheduleCases, otherCases, fileCases, toolCases, exportCases, jitCases, serveCases,
		datasetCases, distCases} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			n++
			if !repeat(t, name, list[name]) {
				bad++
			}
		}
	}
	reliability.Note(t, "cases of other functions", n)
	reliability.Exactly(t, "cases that left something", bad, 0)
}

// The tensors that cases compute with.

func random(shape ...int) torch.Tensor { return torch.RandN(shape...) }

func positive(shape ...int) torch.Tensor { return torch.Rand(shape...).AddScalar(0.1) }

func zeros(shape ...int) torch.Tensor { return torch.TensorOptions{DType: torch.Int64}.Zeros(shape...) }

func parameter(shape ...int) torch.Tensor { return torch.RandN(shape...).SetRequiresGrad(true) }

// check panics with an error that there should not be.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// refuse wants an error.
func refuse(err error) {
	if err == nil {
		panic("no error")
	}
}
