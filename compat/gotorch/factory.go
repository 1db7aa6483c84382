package gotorch

import "github.com/libtorch-go/libtorch/torch"

// options is what factories make: float32 on the CPU.
func options(requiresGrad bool) torch.TensorOptions {
	return torch.TensorOptions{RequiresGrad: requiresGrad}
}

// RandN is filled with numbers of the standard normal distribution.
func RandN(shape []int64, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).RandN(ints(shape)...))
}

// Rand is filled with numbers uniform in [0, 1).
func Rand(shape []int64, requireGrad bool) Tensor {
	return wrap(options(requireGrad).Rand(ints(shape)...))
}

// Empty is filled with whatever was in the memory.
func Empty(shape []int64, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).Empty(ints(shape)...))
}

// Ones is filled with 1.
func Ones(shape []int64, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).Ones(ints(shape)...))
}

// Eye has 1 on the diagonal and 0 elsewhere.
func Eye(n, m int64, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).EyeM(int(n), int(m)))
}

// Full is filled with value.
func Full(shape []int64, value float32, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).Full(ints(shape), value))
}

// Arange counts from begin to end, without end, by step.
func Arange(begin, end, step float32, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).ArangeStep(begin, end, step))
}

// Linspace has steps numbers from begin to end, at equal distances.
func Linspace(begin, end float32, steps int64, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).Linspace(begin, end, int(steps)))
}

// Logspace has steps powers of base, whose exponents go from begin to end at equal distances.
func Logspace(begin, end float32, steps int64, base float64, requiresGrad bool) Tensor {
	return wrap(options(requiresGrad).Logspace(begin, end, int(steps), base))
}
