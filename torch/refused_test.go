package torch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A call that is refused half-way, with tensors in hand, lets go of them.
func TestRefusedArgumentsAreLetGo(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(2)
	for name, call := range map[string]func(){
		"a text for a number":      func() { x.AddScalar("two") },
		"nil for a number":         func() { x.AddScalar(nil) },
		"a channel for a value":    func() { torch.Call("aten::add.Tensor", x, make(chan int)) },
		"a struct as named option": func() { torch.Call("aten::add.Tensor", x, x, torch.Arg("alpha", struct{}{})) },
	} {
		require.ErrorIs(t, torch.Try(call), torch.ErrType, name)
	}
	x.Close()
}
