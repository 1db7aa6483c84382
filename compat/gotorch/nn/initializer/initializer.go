package initializer

import (
	"fmt"

	core "github.com/libtorch-go/libtorch/torch"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	torch "github.com/wangkuiyi/gotorch"
)

// given is the tensor behind a, which must be there.
func given(name string, a *torch.Tensor) core.Tensor {
	if a == nil || a.T == nil {
		panic(name + ": the tensor is nil")
	}
	return torch.Unwrap(*a)
}

// ManualSeed seeds the random numbers of all devices.
func ManualSeed(seed int64) { core.ManualSeed(uint64(seed)) }

// Zeros fills a with 0.
func Zeros(a *torch.Tensor) { nninit.Zeros(given("Zeros", a)) }

// Ones fills a with 1.
func Ones(a *torch.Tensor) { nninit.Ones(given("Ones", a)) }

// Uniform fills a with numbers uniform in [low, high).
func Uniform(a *torch.Tensor, low, high float64) { nninit.Uniform(given("Uniform", a), low, high) }

// Normal fills a with numbers of a normal distribution.
func Normal(a *torch.Tensor, mean, std float64) { nninit.Normal(given("Normal", a), mean, std) }

// fans are the words for the size that the variance is kept by.
var fans = map[string]nninit.Fan{"fan_in": nninit.FanIn, "fan_out": nninit.FanOut}

// nonlinearities are the words for what follows a layer.
var nonlinearities = map[string]nninit.Nonlinearity{
	"relu": nninit.ReLU, "leaky_relu": nninit.LeakyReLU, "tanh": nninit.Tanh, "sigmoid": nninit.Sigmoid, "linear": nninit.Linear,
	"conv1d": nninit.Linear, "conv2d": nninit.Linear, "conv3d": nninit.Linear,
	"conv_transpose1d": nninit.Linear, "conv_transpose2d": nninit.Linear, "conv_transpose3d": nninit.Linear,
}

// KaimingUniform fills input as He et al. (2015) do, for a layer that nonLinearity follows; a is the slope of a leaky_relu.
func KaimingUniform(input *torch.Tensor, a float64, fanMode string, nonLinearity string) {
	mode, ok := fans[fanMode]
	if !ok {
		panic(fmt.Sprintf("KaimingUniform: %q is no mode: expected fan_in or fan_out", fanMode))
	}
	gain, ok := nonlinearities[nonLinearity]
	if !ok {
		panic(fmt.Sprintf("KaimingUniform: %q is no nonlinearity: expected relu, leaky_relu, tanh, sigmoid, linear or a convolution",
			nonLinearity))
	}
	nninit.KaimingUniform(given("KaimingUniform", input), nninit.KaimingOptions{A: a, Mode: mode, Nonlinearity: gain})
}

// CalculateFanInAndFanOut is how many inputs each output of a weight sees, and how many outputs each input.
func CalculateFanInAndFanOut(input torch.Tensor) (int64, int64) {
	in, out := nninit.Fans(torch.Unwrap(input))
	return int64(in), int64(out)
}
