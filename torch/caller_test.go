package torch_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// mistake is a line of the program's own that an error has to name.
func mistake() { torch.Ones(2, 3).MatMul(torch.Ones(2, 3)) }

func TestErrorsNameTheLine(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		lanes := torch.NewLanes(1)
		defer lanes.Close()
		leaf := torch.TensorOptions{RequiresGrad: true}.Ones(2)
		leaf.RegisterHook(func(torch.Tensor) torch.Tensor { mistake(); return torch.Tensor{} })
		for name, c := range map[string]struct {
			run    func() error
			frames []string // further functions of the program
		}{
			"Try":      {func() error { return torch.Try(mistake) }, []string{"torch_test.TestErrorsNameTheLine"}},
			"a check":  {func() error { return torch.Try(func() { torch.FromSlice([]int{1}, 2) }) }, nil},
			"a lane":   {func() error { return lanes.Do(context.Background(), mistake) }, []string{"torch_test.TestErrorsNameTheLine"}},
			"a scope":  {func() error { return torch.Try(func() { torch.Scope(mistake) }) }, []string{"torch_test.TestErrorsNameTheLine"}},
			"a mode":   {func() error { return torch.Try(func() { torch.NoGrad(mistake) }) }, nil},
			"backward": {func() error { return torch.Try(func() { leaf.Mul(leaf).Backward() }) }, nil},
			"a hook":   {func() error { return torch.Try(func() { leaf.Sum().Backward() }) }, []string{"torch_test.mistake"}},
		} {
			t.Run(name, func(t *testing.T) {
				err := c.run()
				var e *torch.Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, "caller_test.go", filepath.Base(e.Caller().File))
				assert.Positive(t, e.Caller().Line)
				text := fmt.Sprintf("%+v", err)
				assert.Contains(t, text, err.Error())
				assert.Contains(t, text, "caller_test.go:")
				for _, f := range c.frames {
					assert.Contains(t, text, f)
				}
				assert.NotContains(t, text, "libtorch/torch.(", "frames of the library are left out")
			})
		}
	})
}

func TestPanicsInHooksNameTheLine(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.TensorOptions{RequiresGrad: true}.Ones(2)
		x.RegisterHook(func(torch.Tensor) torch.Tensor { panic("lost") })
		err := torch.Try(func() { x.Sum().Backward() })
		assert.ErrorContains(t, err, "lost, at ")
		assert.ErrorContains(t, err, "caller_test.go:")
	})
}

func TestUseAfterScopeSaysKeep(t *testing.T) {
	torchtest.NoLeaks(t)
	var x torch.Tensor
	torch.Scope(func() { x = torch.Ones(2) })
	err := torch.Try(func() { x.Exp() })
	require.ErrorIs(t, err, torch.ErrClosed)
	assert.ErrorContains(t, err, "exp: a tensor was used after it had been closed")
	assert.ErrorContains(t, err, "Keep takes a tensor out of its Scope")
	y := torch.Ones(2)
	y.Close()
	assert.NotContains(t, torch.Try(func() { y.Exp() }).Error(), "Keep")
}
