package main

import (
	_ "embed"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cpp"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/library"
)

//go:embed kernels/cpu.cc
var forCPU string

//go:embed kernels/cuda.cu
var forCUDA string

// Kernels are operators of three origins: C++ defines them and has their kernels for the CPU, NVRTC
// makes those for the card, and Go has the derivatives of both.
type Kernels struct {
	lib                         *library.Library
	module                      *cuda.Module // nil without a card
	biasGELU, backward, logCosh *library.Operator
}

// Open compiles and registers the kernels.
func Open() (*Kernels, error) {
	flags := []string{"-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"}
	if err := cpp.LoadInline("customkernel", forCPU, cpp.Options{Flags: flags}); err != nil {
		return nil, err
	}
	k := &Kernels{}
	if cuda.IsAvailable() {
		var err error
		if k.module, err = cuda.Compile(forCUDA, cuda.CompileOptions{Name: "cuda.cu"}); err != nil {
			return nil, err
		}
	}
	k.lib = library.New("customkernel")
	k.biasGELU, k.backward, k.logCosh = k.lib.Operator("bias_gelu"), k.lib.Operator("bias_gelu_backward"), k.lib.Operator("log_cosh")
	if k.module != nil {
		k.implement()
	}
	k.differentiate()
	return k, nil
}

// Close unregisters what Open registered from Go, and frees it.
func (k *Kernels) Close() {
	k.lib.Close()
	if k.module != nil {
		k.module.Close()
	}
}

const block = 256

// implement registers the kernels for the card.
func (k *Kernels) implement() {
	launch := func(name string, out torch.Tensor, args ...any) torch.Tensor {
		k.module.Kernel(name).Launch(cuda.Blocks(out.NumEl(), block), cuda.Dim3{X: block}, 0, args...)
		return out
	}
	k.biasGELU.Impl(library.CUDA, func(x, bias torch.Tensor) torch.Tensor {
		y := torch.EmptyLike(x)
		return launch("bias_gelu", y, x, bias, y, y.NumEl(), bias.NumEl())
	})
	k.backward.Impl(library.CUDA, func(grad, x, bias torch.Tensor) torch.Tensor {
		dx := torch.EmptyLike(x)
		return launch("bias_gelu_backward", dx, grad, x, bias, dx, dx.NumEl(), bias.NumEl())
	})
	k.logCosh.Impl(library.CUDA, func(x, target torch.Tensor) torch.Tensor {
		y := torch.EmptyLike(x)
		return launch("log_cosh", y, x, target, y, y.NumEl())
	})
}

// differentiate registers the derivatives, for all devices.
func (k *Kernels) differentiate() {
	save := func(ctx *torch.FunctionCtx, args, _ []any) {
		ctx.SaveForBackward(args[0].(torch.Tensor), args[1].(torch.Tensor))
	}
	k.biasGELU.Autograd(library.Formula{Setup: save, Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
		x, bias := ctx.SavedTensors()[0], ctx.SavedTensors()[1]
		dx := k.backward.Call1(grads[0].Contiguous(), x, bias)
		var db torch.Tensor
		if ctx.NeedsInputGrad(1) {
			db = dx.Reshape(-1, bias.NumEl()).SumDim([]int{0})
		}
		return []torch.Tensor{dx, db}
	}})
	k.logCosh.Autograd(library.Formula{Setup: save, Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
		slope := ctx.SavedTensors()[0].Sub(ctx.SavedTensors()[1]).Tanh().Mul(grads[0])
		return []torch.Tensor{slope, slope.Neg()}
	}})
}

// BiasGELU is a layer: GELU of x plus a bias, in one pass over memory.
type BiasGELU struct {
	Bias    torch.Tensor
	kernels *Kernels
}

// Forward is gelu(x + bias), for x [..., n] and a bias [n].
func (m BiasGELU) Forward(x torch.Tensor) torch.Tensor { return m.kernels.biasGELU.Call1(x, m.Bias) }

// LogCosh is a loss: the mean of log(cosh(x - target)), which is the square for small differences,
// and the amount for large ones.
func (k *Kernels) LogCosh(x, target torch.Tensor) torch.Tensor {
	return k.logCosh.Call1(x, target).Mean()
}
