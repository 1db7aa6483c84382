package mistakes_test

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

func ones(shape ...int) torch.Tensor { return torch.Ones(shape...) }

func ints(list ...int) torch.Tensor { return torch.FromSlice(list) }

func weight(shape ...int) torch.Tensor { return torch.TensorOptions{RequiresGrad: true}.Ones(shape...) }

var ofShapes = []mistake{
	{"a product of matrices that do not fit", func() { ones(2, 3).MatMul(ones(2, 3)) },
		"torch: matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) (with float32[2, 3], float32[2, 3])"},
	{"mm of a batch", func() { ones(4, 2, 3).MM(ones(3, 2)) }, "torch: mm: self must be a matrix (with float32[4, 2, 3], float32[3, 2])"},
	{"a sum of shapes that do not broadcast", func() { ones(2, 3).Add(ones(4)) },
		"torch: add.Tensor: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1 (with " +
			"float32[2, 3], float32[4])"},
	{"cat of other widths", func() { torch.Cat([]torch.Tensor{ones(2, 3), ones(2, 4)}) },
		"torch: cat: Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the " +
			"list. (with float32[2, 3], float32[2, 4])"},
	{"stack of other shapes", func() { torch.Stack([]torch.Tensor{ones(2), ones(3)}) },
		"torch: stack: stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1 (with float32[2], " +
			"float32[3])"},
	{"cat of nothing", func() { torch.Cat(nil) }, "torch: cat: torch.cat(): expected a non-empty list of Tensors"},
	{"a shape for other numbers", func() { ones(2, 3).Reshape(4, 2) },
		"torch: reshape: shape '[4, 2]' is invalid for input of size 6 (with float32[2, 3])"},
	{"a view of a transpose", func() { ones(2, 3).T().View(6) },
		"torch: view: view size is not compatible with input tensor's size and stride (at least one dimension spans across two " +
			"contiguous subspaces). Use Reshape instead. (with float32[3, 2])"},
	{"a slice for another shape", func() { torch.FromSlice([]float32{1, 2, 3}, 2, 2) },
		"torch: from_slice: 3 values do not fill shape [2 2]"},
	{"ragged rows", func() { torch.FromNested([][]float32{{1, 2}, {3}}) },
		"torch: from_nested: lists of one depth have 2 and 1 elements, expected the same number in each"},
	{"an index past the end", func() { ones(3).Index(3) },
		"torch: index: index 3 is out of bounds for dimension 0 with size 3 (with float32[3])"},
	{"too many indices", func() { ones(3).Index(0, 0) }, "torch: index: too many indices for tensor of dimension 1 (with float32[3])"},
	{"an index that is a text", func() { ones(3).Index("0") },
		"torch: index: an index is an int, a Slice, nil, Ellipsis, a bool, a list or a tensor; got string"},
	{"writing rows that do not fit", func() { ones(2, 3).At(0).Set(ones(4)) },
		"torch: set_index: The expanded size of the tensor (3) must match the existing size (4) at non-singleton dimension 0. Target " +
			"sizes: [3]. Tensor sizes: [4] (with float32[2, 3], float32[4])"},
	{"a dimension that is not there", func() { ones(2, 3).Sum(2) },
		"torch: sum.dim_IntList: Dimension out of range (expected to be in range of [-2, 1], but got 2) (with float32[2, 3])"},
	{"softmax over a dimension that is not there", func() { F.Softmax(ones(2, 3), 2) },
		"torch: softmax.int: Dimension out of range (expected to be in range of [-2, 1], but got 2) (with float32[2, 3])"},
	{"the size of a dimension that is not there", func() { ones(2).Size(1) },
		"torch: size: dimension 1 is out of range for a tensor of 1 dimensions"},
	{"gather with a row too many", func() { ones(2, 2).Gather(0, ints(0, 1, 2).Reshape(3, 1)) },
		"torch: gather: index 2 is out of bounds for dimension 0 with size 2 (with float32[2, 2], int64[3, 1])"},
	{"expand of a dimension that is not 1", func() { ones(2, 3).Expand(4, 3) },
		"torch: expand: The expanded size of the tensor (4) must match the existing size (2) at non-singleton dimension 0. Target " +
			"sizes: [4, 3]. Tensor sizes: [2, 3] (with float32[2, 3])"},
	{"permute with a dimension twice", func() { ones(2, 3).Permute(0, 0) },
		"torch: permute: permute(): duplicate dims are not allowed. (with float32[2, 3])"},
	{"squeeze past the end", func() { ones(2).Squeeze(1) },
		"torch: squeeze.dims: Dimension out of range (expected to be in range of [-1, 0], but got 1) (with float32[2])"},
	{"an equation with a letter of two sizes", func() { torch.Einsum("ij,jk->ik", ones(2, 3), ones(2, 3)) },
		"torch: einsum: einsum(): subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3 (with " +
			"float32[2, 3], float32[2, 3])"},
	{"a negative size", func() { torch.Empty(-1) }, "torch: empty.memory_format: Trying to create tensor with negative dimension -1: [-1]"},
	{"a range that never ends", func() { torch.ArangeStep(0, 5, -1) },
		"torch: arange.start_step: upper bound and lower bound inconsistent with step sign"},
	{"more than memory holds", func() { torch.Empty(1 << 50) },
		"torch: empty.memory_format: can't allocate memory: you tried to allocate 4503599627370496 bytes. Error code 12 (Cannot " +
			"allocate memory)"},
	{"the number of many", func() { ones(3).Item() },
		"torch: item: a Tensor with 3 elements has no single number: torch.Values returns all of them (with float32[3])"},
	{"the value of many", func() { torch.Value[float32](ones(3)) }, "torch: value: a tensor of 3 elements has no single value"},
	{"the inverse of a singular matrix", func() { linalg.Inv(torch.Zeros(2, 2)) },
		"torch: linalg_inv: linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input " +
			"matrix is singular. (with float32[2, 2])"},
	{"Cholesky of what is not positive", func() { linalg.Cholesky(ones(2, 2).Neg()) },
		"torch: linalg_cholesky: linalg.cholesky: The factorization could not be completed because the input is not " +
			"positive-definite (the leading minor of order 1 is not positive-definite). (with float32[2, 2])"},
}

var ofTypes = []mistake{
	{"the mean of integers", func() { ints(1, 2).Mean() },
		"torch: mean: mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: int64 " +
			"(with int64[2])"},
	{"another dtype in a product", func() { ones(2, 2).MatMul(ones(2, 2).To(torch.Float64)) },
		"torch: matmul: expected m1 and m2 to have the same dtype, but got: float != double (with float32[2, 2], float64[2, 2])"},
	{"a float added into integers", func() { ints(1, 2).AddInPlace(ones(2)) },
		"torch: add_.Tensor: result type float32 can't be cast to the desired output type int64 (with int64[2], float32[2])"},
	{"the difference of bools", func() { torch.FromValue(true).Sub(torch.FromValue(true)) },
		"torch: sub.Tensor: Subtraction of two bool tensors is not supported. Use LogicalXor instead. (with bool[], bool[])"},
	{"an embedding of floats", func() { F.Embedding(ones(2), ones(4, 3)) },
		"torch: embedding: Expected tensor for argument #1 'indices' to have one of the following scalar types: int64, int32; but " +
			"got float32 instead (while checking arguments for embedding) (with float32[4, 3], float32[2])"},
	{"an embedding past its end", func() { F.Embedding(ints(4), ones(4, 3)) },
		"torch: embedding: index out of range: it is negative, or not less than the number of rows (with float32[4, 3], int64[1])"},
	{"classes as floats", func() { F.CrossEntropy(ones(2, 3), ones(2)) },
		"torch: cross_entropy_loss: expected scalar type int64 but found float32 (with float32[2, 3], float32[2])"},
	{"classes as int32", func() { F.CrossEntropy(ones(2, 3), ints(0, 1).To(torch.Int32)) },
		"torch: cross_entropy_loss: expected scalar type int64 but found int32 (with float32[2, 3], int32[2])"},
	{"a class too many", func() { F.CrossEntropy(ones(2, 3), ints(0, 3)) },
		"torch: cross_entropy_loss: Target 3 is out of bounds. (with float32[2, 3], int64[2])"},
	{"classes of another batch", func() { F.CrossEntropy(ones(2, 3), ints(0)) },
		"torch: cross_entropy_loss: Expected input batch_size (2) to match target batch_size (1). (with float32[2, 3], int64[1])"},
	{"logits where probabilities belong", func() { F.BinaryCrossEntropy(ones(2).MulScalar(3), ones(2)) },
		"torch: binary_cross_entropy: all elements of input should be between 0 and 1 (with float32[2], float32[2])"},
	{"indices that are floats", func() { ones(2, 2).Gather(0, ones(1, 1)) },
		"torch: gather: gather(): Expected dtype int32/int64 for index (with float32[2, 2], float32[1, 1])"},
	{"one-hot of a negative class", func() { F.OneHot(ints(-1), 3) }, "torch: one_hot: Class values must be non-negative. (with int64[1])"},
	{"a text for a number", func() { ones(2).AddScalar("1") }, "torch: add.Scalar: expected a number or a bool, got string(\"1\")"},
	{"a tensor for a number", func() { ones(2).MulScalar(ones(2)) },
		"torch: mul.Scalar: expected a number or a bool, got a tensor: the form for tensors has a name without Scalar"},
	{"nil for a bound", func() { ones(2).Clamp(nil, 1) },
		"torch: clamp: expected two numbers, got nil: ClampMin and ClampMax bound on one side alone"},
	{"options twice", func() { F.CrossEntropy(ones(2, 3), ints(0, 1), F.CrossEntropyOptions{}, F.CrossEntropyOptions{}) },
		"torch: options: at most one functional.CrossEntropyOptions may be given, got 2; put all of it into one"},
	{"the values of a dense tensor", func() { ones(2).Values() },
		"torch: values: Values is for sparse tensors, this one is dense: torch.Values returns its elements (with float32[2])"},
	{"complex numbers as floats", func() { torch.Values[float32](torch.FromSlice([]complex64{1i})) },
		"torch: values: complex numbers cannot be read as float32"},
	{"a negative probability", func() { ones(2).Neg().Multinomial(1) },
		"torch: multinomial: probability tensor contains either `inf`, `nan` or element < 0 (with float32[2])"},
	{"nil for an option of To", func() { ones(2).To(nil) },
		"torch: to: nil is no option: To takes a DType, a Device, a MemoryFormat, NonBlocking or Copy"},
}

var ofDevices = []mistake{
	{"CUDA where there is none", func() { ones(2).CUDA() }, "torch: to: CUDA is not available: WHY (with float32[2])"},
	{"made on CUDA where there is none", func() { torch.TensorOptions{Device: torch.CUDA(0)}.Zeros(2) },
		"torch: zeros: CUDA is not available: WHY"},
	{"two devices", func() { ones(2, 2).Add(torch.TensorOptions{Device: torch.Meta}.Ones(2, 2)) },
		"torch: add.Tensor: Expected all tensors to be on the same device, but found at least two devices, meta and cpu! (with " +
			"float32[2, 2], float32[2, 2] on meta)"},
	{"the values of a meta tensor", func() { torch.Values[float32](torch.TensorOptions{Device: torch.Meta}.Ones(2)) },
		"torch: to_bytes: Cannot copy out of meta tensor; no data! (with float32[2] on meta)"},
	{"a device of a number too high", func() { torch.CUDA(128) },
		"torch: device: the number of a device lies between 0 and 127, or is -1 for the current one; got 128"},
}

var ofLife = []mistake{
	{"the zero Tensor", func() { var w torch.Tensor; ones(2).MatMul(w) },
		"torch: matmul: argument other must be a tensor, but got one that is undefined (with float32[2])"},
	{"a method of the zero Tensor", func() { var w torch.Tensor; w.Exp() },
		"torch: exp: Expected a tensor but got the undefined Tensor for argument #0 'self'"},
	{"use after Close", func() { x := ones(2); x.Close(); x.Exp() },
		"torch: exp: a tensor was used after it had been closed, or after the Scope that it belonged to had ended: Keep takes a " +
			"tensor out of its Scope (a program built with -tags torchdebug is told where)"},
	{"use after the scope", func() { var x torch.Tensor; torch.Scope(func() { x = ones(2) }); x.Add(x) },
		"torch: add.Tensor: a tensor was used after it had been closed, or after the Scope that it belonged to had ended: Keep takes " +
			"a tensor out of its Scope (a program built with -tags torchdebug is told where)"},
}

var ofAutograd = []mistake{
	{"backward without a weight that learns", func() { ones(2).Sum().Backward() },
		"torch: backward: element 0 of tensors does not require grad and does not have a grad_fn: make what it is computed from with " +
			"TensorOptions{RequiresGrad: true}, or call SetRequiresGrad (with float32[])"},
	{"backward of many numbers", func() { weight(2).Exp().Backward() },
		"torch: backward: grad can be implicitly created only for scalar outputs: reduce with Sum or Mean before, or give Gradient " +
			"in BackwardOptions (with float32[2])"},
	{"backward twice", func() { y := weight(2).Exp().Sum(); y.Backward(); y.Backward() },
		"torch: backward: Trying to backward through the graph a second time (or directly access saved tensors after they have " +
			"already been freed). Saved intermediate values of the graph are freed when you call Backward or torch.Grad. Set RetainGraph " +
			"in BackwardOptions or GradOptions if you need to backward through the graph a second time or if you need to access saved " +
			"tensors after calling backward. (with float32[])"},
	{"a leaf changed in place", func() { weight(2).AddScalarInPlace(1) },
		"torch: add_.Scalar: a leaf Variable that requires grad is being used in an in-place operation: make the change in " +
			"torch.NoGrad. (with float32[2])"},
	{"what backward needs changed in place", func() { w := weight(2); y := w.Exp(); z := y.Sum(); y.AddScalarInPlace(1); z.Backward() },
		"torch: backward: one of the variables needed for gradient computation has been modified by an inplace operation: [float32 " +
			"[2]], which is output 0 of ExpBackward0, is at version 1; expected version 0 instead. Hint: enable anomaly detection to " +
			"find the operation that failed to compute its gradient, by running it in torch.DetectAnomaly. (with float32[])"},
	{"integers that learn", func() { ints(1).SetRequiresGrad(true) },
		"torch: set_requires_grad: Only Tensors of floating point and complex dtype can require gradients (with int64[1])"},
	{"the gradient of what was not used", func() { torch.Grad([]torch.Tensor{weight(2).Sum()}, []torch.Tensor{weight(3)}) },
		"torch: grad: element 0 of the inputs was not used to compute the outputs. Set AllowUnused in GradOptions if this is the " +
			"desired behavior. (with float32[], float32[3])"},
	{"a gradient of another shape", func() { weight(2).SetGrad(ones(3)) },
		"torch: set_gradient: attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. Please ensure that the " +
			"gradient and the tensor are the same size (with float32[2], float32[3])"},
	{"an inference tensor in training", func() {
		var x torch.Tensor
		torch.Inference(func() { x = ones(2) })
		x.Mul(weight(2))
	}, "torch: mul.Tensor: Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in " +
		"computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, " +
		"or use torch.NoGrad instead of torch.Inference. (with float32[2], float32[2])"},
	{"a hook with a gradient of another shape", func() {
		w := weight(2)
		w.RegisterHook(func(torch.Tensor) torch.Tensor { return ones(3) })
		w.Sum().Backward()
	}, "torch: backward: hook 'a Go hook' has changed the size of value (with float32[])"},
}
