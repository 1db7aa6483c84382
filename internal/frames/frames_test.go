package frames

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLibraryFunctions(t *testing.T) {
	for function, library := range map[string]bool{
		root + "torch.Tensor.Add":                  true,
		root + "torch/nn.Hooked[...]":              true,
		root + "torch/nn/functional.Linear":        true,
		root + "cgo.(*Call).Run":                   true,
		root + "vision/models.(*ResNet).Forward":   true,
		root + "internal/bridge.Done":              true,
		"runtime.gopanic":                          true,
		root + "torch_test.TestX":                  false,
		root + "torch/nn_test.TestX.func1":         false,
		root + "examples/resnet18.train":           false,
		root + "internal/reliability/service.main": false,
		"main.main":                false,
		"example.com/torch.Tensor": false,
		"testing.tRunner":          false,
	} {
		assert.Equal(t, library, inLibrary(function), function)
	}
}

func TestCallersOfPanic(t *testing.T) {
	var callers []uintptr
	func() {
		defer func() {
			require.Equal(t, "lost", recover())
			callers = Callers(0)
		}()
		panic("lost")
	}()
	var names []string
	for frames := runtime.CallersFrames(callers); ; {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more {
			break
		}
	}
	assert.Contains(t, names, root+"internal/frames.TestCallersOfPanic.func1")
	f, ok := User(callers)
	assert.True(t, ok)
	assert.Equal(t, "testing.tRunner", f.Function, "this package itself is no program")
	assert.Equal(t, []string{"testing.tRunner"}, []string{Users(callers)[0].Function})
	assert.Empty(t, Place(nil))
	assert.Nil(t, Users(nil))
}
