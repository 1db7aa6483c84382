package parity

import (
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/signal/windows"
)

// arguments are those of a function that Python composes, by their names there.
type arguments struct {
	named   map[string]*value
	tensors []torch.Tensor
}

// get is an argument, or the zero value of the type where it was not given or is None.
func get[T any](a arguments, name string) T {
	v, _ := a.named[name].argument(a.tensors).(T)
	return v
}

// number is an argument that Python lets be whole.
func number(a arguments, name string) float64 {
	if i, ok := a.named[name].argument(a.tensors).(int); ok {
		return float64(i)
	}
	return get[float64](a, name)
}

// words are what Python says of values that Go has otherwise: a whole number is a float64
// there and a reduction no string.
var words = strings.NewReplacer("got: -1 instead", "got: -1.0 instead", "abc is not valid", "abc is not a valid value for reduction")

// composed are Go's forms of functions that Python composes of operators and that have
// wrong inputs in the database.
var composed = map[string]func(a arguments){
	"signal.windows.bartlett": window(windows.Bartlett),
	"signal.windows.blackman": window(windows.Blackman),
	"signal.windows.cosine":   window(windows.Cosine),
	"signal.windows.hamming":  window(windows.Hamming),
	"signal.windows.hann":     window(windows.Hann),
	"signal.windows.nuttall":  window(windows.Nuttall),
	"signal.windows.exponential": func(a arguments) {
		tau := 1.0
		if a.named["tau"] != nil {
			tau = number(a, "tau")
		}
		o := windows.ExponentialOptions{Options: windowOptions(a)}
		if a.named["center"] != nil {
			center := number(a, "center")
			o.Center = &center
		}
		windows.Exponential(get[int](a, "M"), tau, o)
	},
	"signal.windows.gaussian": func(a arguments) {
		o := windowOptions(a)
		windows.Gaussian(get[int](a, "M"), number(a, "std"), o)
	},
	"signal.windows.kaiser": func(a arguments) {
		o := windowOptions(a)
		windows.Kaiser(get[int](a, "M"), number(a, "beta"), o)
	},
	"signal.windows.general_hamming": func(a arguments) {
		o := windowOptions(a)
		windows.GeneralHamming(get[int](a, "M"), 0.54, o)
	},
	"signal.windows.general_cosine": func(a arguments) {
		var weights []float64
		if a.named["a"] != nil {
			weights = []float64{}
		}
		for _, w := range get[[]any](a, "a") {
			weights = append(weights, w.(float64))
		}
		o := windowOptions(a)
		windows.GeneralCosine(get[int](a, "M"), weights, o)
	},
}

func window(fn func(int, ...windows.Options) torch.Tensor) func(arguments) {
	return func(a arguments) {
		o := windowOptions(a)
		fn(get[int](a, "M"), o)
	}
}

func windowOptions(a arguments) windows.Options {
	sym, given := a.named["sym"].argument(a.tensors).(bool)
	return windows.Options{
		Periodic:      given && !sym,
		TensorOptions: torch.TensorOptions{DType: get[torch.DType](a, "dtype"), Layout: get[torch.Layout](a, "layout")},
	}
}
