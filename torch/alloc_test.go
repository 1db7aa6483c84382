//go:build !race && !torchdebug

package torch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Inside a Scope a call makes no garbage for Go's collector: the room for 64 handles is
// one allocation, and all else is on the stack. (The race detector and torchdebug allocate themselves.)
func TestCallsDoNotAllocate(t *testing.T) {
	torchtest.NoLeaks(t)
	x, w := torch.Ones(4, 4), torch.Ones(4, 4).SetRequiresGrad(true)
	factor, rows := 1000.5, 2
	buffer := make([]float32, 16)
	calls := map[string]func(){
		"Add":               func() { x.Add(w) },
		"AddOptions":        func() { x.Add(w, torch.AddOptions{Alpha: factor}) },
		"AddInPlace":        func() { x.AddInPlace(x) },
		"MulScalar":         func() { x.MulScalar(factor) },
		"MM":                func() { x.MM(w) },
		"View":              func() { x.View(rows, -1) },
		"Select":            func() { x.Select(0, rows) },
		"Sum":               func() { x.Sum() },
		"SumDim":            func() { x.SumDim([]int{rows - 1}, torch.SumOptions{KeepDim: true}) },
		"MaxDim":            func() { x.MaxDim(1) },
		"Empty":             func() { torch.Empty(rows, 3) },
		"Zeros":             func() { torch.TensorOptions{DType: torch.Float64}.Zeros(rows, 3) },
		"FromSlice":         func() { torch.FromSlice(buffer, 4, 4) },
		"Fill":              func() { torch.Fill(x, buffer) },
		"DType":             func() { x.DType() },
		"Dim":               func() { x.Dim() },
		"Close":             func() { x.Neg().Close() },
		"several at a time": func() { x.AddMM(w, x) },
	}
	for name, call := range calls {
		torch.Scope(func() {
			assert.Zero(t, testing.AllocsPerRun(1000, call), name)
		})
	}
	scope := testing.AllocsPerRun(1000, func() { torch.Scope(func() { x.Add(x) }) })
	assert.LessOrEqual(t, scope, 1.0, "a Scope and its closure")
}
