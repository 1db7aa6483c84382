package cgo

import (
	"regexp"
	"strings"
	"sync"
)

// InGo writes a text of libtorch on one line and gives its advice in Go's names: what
// libtorch calls retain_graph=True is a field of BackwardOptions here.
func InGo(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return pythonSize.ReplaceAllString(hintReplacer().Replace(text), "$1")
}

var (
	hintReplacer = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(hints...) })
	pythonSize   = regexp.MustCompile(`torch\.Size\((\[[\d, ]*\])\)`)
)

// hints are pairs: what libtorch says, up to the words that change, and what it means in Go.
// Where several fit at one place the first wins.
var hints = []string{
	// Autograd.
	"when you call .backward() or autograd.grad(). Specify retain_graph=True if you need",
	"when you call Backward or torch.Grad. Set RetainGraph in BackwardOptions or GradOptions if you need",
	"with torch.autograd.set_detect_anomaly(True, check_nan=False).", "by running it in torch.DetectAnomaly.",
	"with torch.autograd.set_detect_anomaly(True).", "by running it in torch.DetectAnomaly.",
	"Set allow_unused=True if this is the desired behavior.", "Set AllowUnused in GradOptions if this is the desired behavior.",
	"or use `torch.no_grad()` instead of `torch.inference_mode()`.", "or use torch.NoGrad instead of torch.Inference.",
	"Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
	"An inference tensor cannot be changed in place outside torch.Inference. Clone it first to get a normal tensor.",
	"Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
	"An inference tensor cannot require gradients outside torch.Inference. Clone it first to get a normal tensor.",
	"you can only change requires_grad flags of leaf variables.", "SetRequiresGrad works on leaf tensors only.",
	"use var_no_grad = var.detach().", "use x.Detach().",
	"can't retain_grad on Tensor that has requires_grad=False", "a tensor that requires no gradients cannot retain one",
	"A view was created in no_grad mode and is being modified inplace with grad mode enabled.",
	"A view was created in torch.NoGrad and is being modified in place outside of it.",
	"A view was created in inference mode and is being modified inplace in normal mode.",
	"A view was created in torch.Inference and is being modified in place outside of it.",
	"either both inside the no_grad block", "either both inside the function that torch.NoGrad runs",
	"either both inside the inference_mode block", "either both inside the function that torch.Inference runs",
	"is not allowed on a Tensor created from .data or .detach().", "is not allowed on a Tensor that Detach returned.",
	"remove the .data / .detach() call and wrap the change in a `with torch.no_grad():` block.", "leave Detach out and make the change in torch.NoGrad.",
	"i.e. with .detach_().This is not supported, please use out-of-place `.detach()` instead", "i.e. with DetachInPlace. This is not supported, please use Detach instead",
	"Its .grad attribute won't be populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
	"Backward leaves no gradient there. If you want one in a non-leaf Tensor, call RetainGrad on it before.",
	"The .grad attribute of a Tensor that is not a leaf Tensor is being accessed.", "The gradient of a Tensor that is not a leaf is being read.",
	"Using backward() with create_graph=True", "Using Backward with CreateGraph",
	"We recommend using autograd.grad when creating the graph to avoid this.", "We recommend torch.Grad for that, to avoid this.",
	"make sure to reset the .grad fields of your parameters to None after use", "call ClearGrads on your parameters after use",
	"max_pool2d with `return_indices=False` is not", "MaxPool2d is not",
	"set `return_indices=True`.", "use MaxPool2dWithIndices.",

	// Modes and settings.
	"but you set 'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option,",
	"but cuda.Settings has DeterministicAlgorithms. You can turn it off for this operation, or set DeterministicWarnOnly,",
	"but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'.", "but cuda.Settings has DeterministicAlgorithms.",
	" You can also file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this operation.", "",
	" You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this operation.", "",
	"torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.", "F.BinaryCrossEntropy and nn.BCELoss are unsafe to autocast.",
	"using torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss. binary_cross_entropy_with_logits and BCEWithLogits are safe to autocast.",
	"using F.BinaryCrossEntropyWithLogits or nn.BCEWithLogitsLoss, which are safe to autocast.",
	"please set `track_running_stats` to be False.", "please set NoRunningStats.",
	"pin_memory=True requires a CUDA", "Pinned memory requires a CUDA",
	" See `torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance.", "",

	// Shapes, views and memory.
	"Use .reshape(...) instead.", "Use Reshape instead.",
	"Please clone() the tensor before", "Please Clone the tensor before",
	"Please materialize the tensor using `.clone()`,", "Clone it",
	"use self.resolve_conj(); however,", "use ResolveConj; however,",
	"Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
	"MT transposes batches of matrices, and Permute reverses the dimensions of a tensor.",
	"Consider using x.conj().", "Consider x.Conj().",
	"on an uncoalesced tensor, please call .coalesce() first", "on an uncoalesced tensor, please call Coalesce first",
	"call `x = torch.sparse_coo_tensor(size)`.", "call torch.SparseCOOEmpty(size...).",
	"Expected a proper Tensor but got None (or an undefined Tensor in C++)", "Expected a tensor but got the undefined Tensor",
	"Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number", "Use x.Item() to get the number out of a tensor without dimensions",

	// Arguments and options.
	"Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
	"A tensor without elements has none: give the dimension to reduce.",
	"Expected reduction dim to be specified for input.numel() == 0.", "A tensor without elements has none: give the dimension to reduce.",
	"stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a future PyTorch release.",
	"STFT of a real input needs ReturnComplex in its options: new(true).",
	"istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
	"ISTFT requires a complex tensor, as STFT with ReturnComplex true returns it.",
	"Complex windows are incompatible with return_complex=False", "A complex window needs ReturnComplex: new(true)",
	"explicitly set `window=torch.ones(n_fft, device=<device>)`.", "set Window: torch.Ones(nFFT).",
	"Other windows such as torch.hann_window or torch.hamming_window", "Other windows such as torch.HannWindow or torch.HammingWindow",
	"div expected rounding_mode to be one of None, 'trunc', or 'floor'", `Div expected the rounding mode to be one of "", "trunc" and "floor"`,
	"torch.clamp: At least one of 'min' or 'max' must not be None", "at least one of minimum and maximum must be given",
	"At least one of 'min' or 'max' must not be None", "at least one of minimum and maximum must be given",
	"running_mean and running_var must either both be None or neither be None", "the running mean and variance must either both be given or neither",
	"Explicit attn_mask should not be set when is_causal=True", "AttnMask and IsCausal exclude each other",
	"side and right can't be set to opposites, got side of left while right was True", `Side and Right contradict each other: got Side "left" and Right`,
	"only supports edge_order=1 and edge_order=2.", "only supports EdgeOrder 1 and 2.",
	"keyword argument `driver=` is only supported", "the option Driver is only supported",
	"parameter `driver` should be one of", "the option Driver should be one of",
	"is not supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)", "is not supported with Right.",
	"on CSR tensors with keepdim=False is unsupported", "on CSR tensors without KeepDim is unsupported",

	// Operators that are better.
	"Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.", "Sign does not support complex numbers. Please use Sgn instead.",
	"Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
	"Subtraction of two bool tensors is not supported. Use LogicalXor instead.",
	"Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
	"Subtraction with a bool tensor is not supported. If you are trying to invert a mask, use LogicalNot instead.",
	"Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
	"Negation of a bool tensor is not supported. If you are trying to invert a mask, use LogicalNot instead.",
	"The `+` operator, on a bool tensor is not supported.", "A bool tensor is not supported.",
	"consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)", "consider linalg.LU or linalg.LUFactorEx",
	"with the output produced by torch.linalg.lu_factor", "with what linalg.LUFactor returns",
	"Use torch.linalg.eigvalsh(A) instead.", "Use linalg.Eigvalsh instead.",
	"Please either pass the dim explicitly or simply use torch.linalg.cross.", "Please either pass the dimension or simply use linalg.Cross.",

	// Sentences that help nobody.
	" (Could this error message be improved? If so, please report an enhancement request to PyTorch.)", "",
}
