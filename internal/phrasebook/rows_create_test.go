package phrasebook

import (
	"github.com/libtorch-go/libtorch/torch"
)

// What the setups of chapters set and their phrases use.
var x, y, z, w, a, b, v, p, idx, mask torch.Tensor

var creating = chapter{
	title:  "Creating tensors",
	python: "x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])",
	setup: func() {
		x = torch.FromNested([][]float32{{1, 2, 3}, {4, 5, 6}})
	},
	phrases: []phrase{
		{"torch.tensor([1.0, 2.0, 3.0])", func() any { return torch.FromSlice([]float32{1, 2, 3}) }},
		{"torch.tensor([[1, 2], [3, 4]])", func() any { return torch.FromNested([][]int{{1, 2}, {3, 4}}) }},
		{"torch.tensor([1, 2, 3, 4, 5, 6]).reshape(2, 3)", func() any { return torch.FromSlice([]int{1, 2, 3, 4, 5, 6}, 2, 3) }},
		{"torch.tensor(3.5)", func() any { return torch.FromValue(float32(3.5)) }},
		{"torch.tensor(7)", func() any { return torch.FromValue(7) }},
		{"torch.tensor([True, False])", func() any { return torch.FromSlice([]bool{true, false}) }},
		{"torch.tensor([0.5, 1.5], dtype=torch.float64)", func() any { return torch.FromSlice([]float64{0.5, 1.5}) }},
		{"torch.tensor([1 + 2j])", func() any { return torch.FromSlice([]complex64{1 + 2i}) }},
		{"torch.from_numpy(np.array([1.0, 2.0]))", func() any { return torch.FromSlice([]float64{1, 2}) }},
		{"torch.frombuffer(bytearray([1, 2, 3]), dtype=torch.uint8)", func() any { return torch.FromBytes([]byte{1, 2, 3}, torch.Uint8, 3) }},
		{"torch.tensor([])", func() any { return torch.FromSlice([]float32{}) }},
		{"torch.zeros(2, 3)", func() any { return torch.Zeros(2, 3) }},
		{"torch.zeros(())", func() any { return torch.Zeros() }},
		{"torch.ones(2, 3)", func() any { return torch.Ones(2, 3) }},
		{"torch.full((2, 3), 7.0)", func() any { return torch.Full([]int{2, 3}, 7.0) }},
		{"torch.empty(2, 3).shape", func() any { return torch.Empty(2, 3).Shape() }},
		{"torch.zeros(2, 3, dtype=torch.int64)", func() any { return torch.TensorOptions{DType: torch.Int64}.Zeros(2, 3) }},
		{"torch.ones(3, dtype=torch.bfloat16, device='cpu')", func() any {
			return torch.TensorOptions{DType: torch.BFloat16, Device: torch.CPU}.Ones(3)
		}},
		{"torch.zeros(3, requires_grad=True)", func() any { return torch.TensorOptions{RequiresGrad: true}.Zeros(3) }},
		{"torch.zeros(3, dtype=torch.bool)", func() any { return torch.TensorOptions{DType: torch.Bool}.Zeros(3) }},
		{"torch.arange(6)", func() any { return torch.Arange(6) }},
		{"torch.arange(6.0)", func() any { return torch.Arange(6.0) }},
		{"torch.arange(2, 8)", func() any { return torch.ArangeStart(2, 8) }},
		{"torch.arange(0, 1, 0.25)", func() any { return torch.ArangeStep(0, 1, 0.25) }},
		{"torch.arange(4, dtype=torch.float32)", func() any { return torch.TensorOptions{DType: torch.Float32}.Arange(4) }},
		{"torch.linspace(0, 1, 5)", func() any { return torch.Linspace(0, 1, 5) }},
		{"torch.logspace(0, 2, 3)", func() any { return torch.Logspace(0, 2, 3) }},
		{"torch.eye(3)", func() any { return torch.Eye(3) }},
		{"torch.zeros_like(x)", func() any { return torch.ZerosLike(x) }},
		{"torch.ones_like(x, dtype=torch.int32)", func() any { return torch.OnesLike(x, torch.TensorOptions{DType: torch.Int32}) }},
		{"torch.full_like(x, 0.5)", func() any { return torch.FullLike(x, 0.5) }},
		{"torch.empty_like(x).shape", func() any { return torch.EmptyLike(x).Shape() }},
		{"x.new_zeros(2, 2)", func() any { return x.NewZeros([]int{2, 2}) }},
		{"x.new_ones(4)", func() any { return x.NewOnes([]int{4}) }},
		{"x.new_full((2,), 9.0)", func() any { return x.NewFull([]int{2}, 9.0) }},
		{"x.clone()", func() any { return x.Clone() }},
		{"torch.complex(x, x)", func() any { return torch.Complex(x, x) }},
		{"torch.tril_indices(3, 3)", func() any { return torch.TrilIndices(3, 3) }},
		{"torch.hann_window(8)", func() any { return torch.HannWindow(8) }},
		{"torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()", func() any {
			i, v := torch.FromNested([][]int{{0, 1}, {2, 0}}), torch.FromSlice([]float32{3, 4})
			return torch.SparseCOOTensorSize(i, v, []int{2, 3}).ToDense()
		}},
	},
}

var looking = chapter{
	title:  "Looking at a tensor",
	python: "x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])",
	setup: func() {
		x = torch.FromNested([][]float32{{1, 2, 3}, {4, 5, 6}})
	},
	phrases: []phrase{
		{"x.shape", func() any { return x.Shape() }},
		{"x.size()", func() any { return x.Shape() }},
		{"x.size(0)", func() any { return x.Size(0) }},
		{"x.shape[-1]", func() any { return x.Size(-1) }},
		{"len(x)", func() any { return x.Size(0) }},
		{"x.ndim", func() any { return x.Dim() }},
		{"x.dim()", func() any { return x.Dim() }},
		{"x.numel()", func() any { return x.NumEl() }},
		{"x.dtype", func() any { return x.DType() }},
		{"x.device", func() any { return x.Device() }},
		{"x.layout", func() any { return x.Layout() }},
		{"x.is_cuda", func() any { return x.Device().IsCUDA() }},
		{"x.is_floating_point()", func() any { return x.IsFloatingPoint() }},
		{"torch.is_complex(x)", func() any { return x.IsComplex() }},
		{"x.stride()", func() any { return x.Stride() }},
		{"x.t().is_contiguous()", func() any { return x.T().IsContiguous() }},
		{"x[1].storage_offset()", func() any { return x.Index(1).StorageOffset() }},
		{"x.element_size()", func() any { return x.ElementSize() }},
		{"x.element_size() * x.nelement()", func() any { return x.ElementSize() * x.NumEl() }},
		{"x.data_ptr() == x.view(6).data_ptr()", func() any { return x.Storage().ID == x.View(6).Storage().ID }},
		{"x.requires_grad", func() any { return x.RequiresGrad() }},
		{"x.sum().item()", func() any { return x.Sum().Item() }},
		{"float(x[0, 1])", func() any { return x.Index(0, 1).Float64() }},
		{"int(x.argmax())", func() any { return x.ArgMax().Int() }},
		{"bool((x > 0).all())", func() any { return torch.Value[bool](x.GtScalar(0).All()) }},
		{"x.tolist()", func() any { return torch.Matrix[float32](x) }},
		{"x.flatten().tolist()", func() any { return torch.Values[float32](x) }},
		{"x.t()._is_view()", func() any { return x.T().IsView() }},
		{"torch.is_tensor(x)", func() any { return x.Defined() }},
	},
}
