package main

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

func open(t *testing.T) *Kernels {
	torchtest.NoLeaks(t)
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip("there is no C++ compiler: ", err)
	}
	kernels, err := Open()
	require.NoError(t, err)
	t.Cleanup(kernels.Close)
	return kernels
}

func TestKernels(t *testing.T) {
	k := open(t)
	torchtest.EachDevice(t, func(t *testing.T, dev torch.Device) {
		torch.Scope(func() {
			torch.ManualSeed(2)
			options := torch.TensorOptions{Device: dev, DType: torch.Float32}
			extremes := torch.FromSlice([]float32{0, -0.0, 1e-30, -20, 20, 88, -100, 1e30}).To(dev)
			layer := BiasGELU{Bias: options.Zeros(8).SetRequiresGrad(true), kernels: k}
			torchtest.AllClose(t, layer.Forward(extremes), F.GELU(extremes, F.GELUOptions{Approximate: "none"}),
				torchtest.Tolerance{Absolute: 1e-6, Relative: 1e-5})

			x := options.RandN(3, 5, 8).MulScalar(3).SetRequiresGrad(true)
			layer.Bias = options.RandN(8).SetRequiresGrad(true)
			leaves := []torch.Tensor{x, layer.Bias}
			weight := options.RandN(3, 5, 8)
			grads := func(y torch.Tensor) []torch.Tensor { return torch.Grad([]torch.Tensor{y.Mul(weight).Sum()}, leaves) }
			own, eager := layer.Forward(x), F.GELU(x.Add(layer.Bias), F.GELUOptions{Approximate: "none"})
			torchtest.AllClose(t, own, eager, torchtest.Tolerance{Absolute: 1e-6, Relative: 1e-5})
			want := grads(eager)
			for i, g := range grads(own) {
				torchtest.AllClose(t, g, want[i], torchtest.Tolerance{Absolute: 1e-5, Relative: 1e-5})
			}
			require.Equal(t, "customkernel_bias_geluBackward", own.GradFn().Name())

			target := options.RandN(3, 5, 8)
			loss, formula := k.LogCosh(x, target), x.Sub(target).Cosh().Log().Mean()
			torchtest.AllClose(t, loss, formula, torchtest.Tolerance{Absolute: 1e-6, Relative: 1e-6})
			torchtest.AllClose(t, torch.Grad([]torch.Tensor{loss}, leaves[:1])[0], torch.Grad([]torch.Tensor{formula}, leaves[:1])[0],
				torchtest.Tolerance{Absolute: 1e-7, Relative: 1e-5})
		})
	})
}

// The kernels for the card compile where NVRTC is, card or no card.
func TestCUDASource(t *testing.T) {
	torchtest.NoLeaks(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	binary, err := cuda.CompileBinary(forCUDA, cuda.CompileOptions{Arch: 90})
	if errors.Is(err, torch.ErrNoCUDA) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Equal(t, []string{"bias_gelu", "bias_gelu_backward", "log_cosh"}, binary.Kernels())
}

func TestMistakesOfCallers(t *testing.T) {
	k := open(t)
	torch.Scope(func() {
		for want, run := range map[string]func(){
			"x must be contiguous and float32":                        func() { k.LogCosh(torch.Ones(2, 3).T(), torch.Ones(3, 2)) },
			"the bias must be as long as the last dimension of x":     func() { BiasGELU{Bias: torch.Ones(2), kernels: k}.Forward(torch.Ones(3)) },
			"x and target differ in size":                             func() { k.LogCosh(torch.Ones(2), torch.Ones(3)) },
			"Expected a value of type 'Tensor' for argument 'target'": func() { torch.Call("customkernel::log_cosh", torch.Ones(2), 3) },
		} {
			require.ErrorContains(t, torch.Try(run), want)
		}
	})
}

func TestRun(t *testing.T) {
	open(t).Close()
	*rows, *columns, *rounds = 20, 30, 2
	var out bytes.Buffer
	require.NoError(t, run(&out))
	require.Regexp(t, `cpu, bias \+ GELU of 20 x 30: results and gradients differ by \d\.\de-0\d at most\n    own    forward `+
		`+\S+   forward and backward +\S+\n    eager  `, out.String())
	if !cuda.IsAvailable() {
		require.Contains(t, out.String(), "no GPU: ")
	}
	*rows = -1
	require.ErrorContains(t, run(&out), "negative dimension")
}
