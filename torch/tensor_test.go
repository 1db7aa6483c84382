package torch_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Short lists come back with the call, long ones on the heap.
func TestShapesOfAnyLength(t *testing.T) {
	torchtest.NoLeaks(t)
	for dims := range 20 {
		shape, strides := []int{}, []int{}
		for d := range dims {
			shape = append(shape, 1+d%2)
		}
		for d := range dims {
			stride := 1
			for _, n := range shape[d+1:] {
				stride *= n
			}
			strides = append(strides, stride)
		}
		x := torch.Zeros(shape...)
		require.Equal(t, shape, x.Shape())
		require.Equal(t, strides, x.Stride())
	}
}

// Both sides describe the same views of torch.arange(120).reshape(2, 3, 4, 5).
func TestGettersAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Arange(120).Reshape(2, 3, 4, 5).Clone() // factories count as a change here, not in Python
	last, last3d, plain := torch.ChannelsLast, torch.ChannelsLast3d, torch.ContiguousFormat
	views := map[string]torch.Tensor{
		"x":                            x,
		"x.permute(0, 2, 3, 1)":        x.Permute(0, 2, 3, 1),
		"x[1, :, 1::2]":                x.Index(1, all, span(1, torch.End, 2)),
		"x[0, 0, 0, 3]":                x.Index(0, 0, 0, 3),
		"x[:, :0]":                     x.Index(all, span(0)),
		"x[:, :1].expand(2, 7, 4, 5)":  x.Index(all, span(1)).Expand(2, 7, 4, 5),
		"x.half()":                     x.To(torch.Float16),
		"x.to(torch.complex64).conj()": x.To(torch.Complex64).Conj(),
		"x.to(torch.complex64).imag":   x.To(torch.Complex64).Imag(),
		"x.bool()":                     x.To(torch.Bool),
		"x.double().requires_grad_()":  x.To(torch.Float64).SetRequiresGrad(true),
		"x.clone().add_(1).add_(1)":    x.Clone().AddScalarInPlace(1).AddScalarInPlace(1),

		"x.contiguous(memory_format=torch.channels_last)":                   x.Contiguous(last),
		"x.contiguous(memory_format=torch.channels_last).to(torch.float32)": x.Contiguous(last).To(torch.Float32),

		"x.contiguous(memory_format=torch.channels_last).to(memory_format=torch.contiguous_format)": x.Contiguous(last).To(plain),

		"x.reshape(2, 3, 1, 4, 5).contiguous(memory_format=torch.channels_last_3d)": x.Reshape(2, 3, 1, 4, 5).Contiguous(last3d),

		"torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)": torch.TensorOptions{MemoryFormat: last}.Empty(2, 3, 4, 5),
	}
	for python, v := range views {
		code := `
v = ` + python + `
list = lambda s: "[" + " ".join(map(str, s)) + "]"
flag = lambda b: str(b).lower()
y = " ".join([str(v.dtype)[6:], str(v.device), list(v.shape), list(v.stride()), str(v.storage_offset()),
	str(v.dim()), str(v.numel()), str(v.element_size()),
	flag(v.is_contiguous()), flag(v.dim() == 4 and v.is_contiguous(memory_format=torch.channels_last)),
	flag(v.is_floating_point()), flag(v.is_complex()),
	flag(v.is_conj()), flag(v.is_neg()), flag(v.requires_grad), flag(v.is_leaf), flag(v.is_inference()),
	str(v._version), str(v.untyped_storage().nbytes())])
`
		got := fmt.Sprintln(v.DType(), v.Device(), v.Shape(), v.Stride(), v.StorageOffset(), v.Dim(), v.NumEl(), v.ElementSize(),
			v.IsContiguous(), v.Dim() == 4 && v.IsContiguous(torch.ChannelsLast), v.IsFloatingPoint(), v.IsComplex(),
			v.IsConj(), v.IsNeg(), v.RequiresGrad(), v.IsLeaf(), v.IsInference(), v.Version(), v.Storage().Bytes)
		assert.Equal(t, ask(t, indexed+"x = x.clone()\n"+code).Text+"\n", got, python)
	}
	assert.Equal(t, 5, x.Size(-1))
	assert.Equal(t, 2, x.Size(0))
	assert.Equal(t, torch.Strided, x.Layout())
	assert.Equal(t, torch.Sparse, x.ToSparse().Layout())
}

func TestTo(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Arange(24).To(torch.Float32).Reshape(1, 2, 3, 4)
	id := x.Storage().ID
	same := []torch.Tensor{x.To(), x.To(torch.Float32), x.To(torch.CPU), x.CPU(), x.To(torch.CPU, torch.Float32, torch.NonBlocking),
		x.To(torch.PreserveFormat)}
	for _, y := range same {
		assert.Equal(t, id, y.Storage().ID, "nothing changes, nothing is copied")
		y.Close()
	}
	assert.False(t, x.Closed(), "each result has a handle of its own")
	assert.NotEqual(t, id, x.To(torch.Copy).Storage().ID)

	y := x.To(torch.ChannelsLast, torch.Float64)
	assert.Equal(t, torch.Float64, y.DType())
	assert.True(t, y.IsContiguous(torch.ChannelsLast))
	assert.Equal(t, torch.Values[float32](x), torch.Values[float32](y))

	meta := x.To(torch.Meta, torch.BFloat16)
	assert.Equal(t, torch.Meta, meta.Device())
	assert.Equal(t, []int{1, 2, 3, 4}, meta.Shape())

	w := torch.Ones(2).SetRequiresGrad(true)
	w.To(torch.Float64).Sum().Backward()
	assert.Equal(t, []float32{1, 1}, torch.Values[float32](w.Grad()), "autograd follows")
}

func TestTensorOptionsMake(t *testing.T) {
	torchtest.NoLeaks(t)
	o := torch.TensorOptions{DType: torch.Int16, Device: torch.CPU, Layout: torch.Strided}
	assert.Equal(t, torch.Int16, o.Zeros(2).DType())
	assert.Equal(t, torch.Float32, torch.Zeros(2).DType())
	assert.Equal(t, torch.Int64, torch.Arange(3).DType())
	assert.Equal(t, torch.Bool, torch.Full([]int{1}, true).DType())
	assert.True(t, torch.TensorOptions{RequiresGrad: true}.Ones(2).RequiresGrad())
	assert.Error(t, torch.Try(func() { torch.TensorOptions{RequiresGrad: true, DType: torch.Int64}.Ones(2) }))
	like := torch.ZerosLike(o.Ones(3), torch.TensorOptions{DType: torch.Float64, RequiresGrad: true})
	assert.Equal(t, torch.Float64, like.DType())
	assert.True(t, like.RequiresGrad())
	assert.Equal(t, torch.Int16, torch.ZerosLike(o.Ones(3)).DType())
	assert.Equal(t, torch.Int16, o.Ones(3).NewZeros([]int{4}).DType())
	assert.Equal(t, []int{}, torch.Ones().Shape())
}

func TestStorageIsShared(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Zeros(6)
	s := x.Storage()
	assert.Equal(t, 24, s.Bytes)
	view := x.View(2, 3)
	assert.Equal(t, s.ID, view.Storage().ID)
	assert.Greater(t, view.Storage().Shared, s.Shared)
	view.Select(0, 1).FillInPlace(1)
	assert.Equal(t, []float32{0, 0, 0, 1, 1, 1}, torch.Values[float32](x))
	assert.NotEqual(t, s.ID, x.Clone().Storage().ID)
	assert.Zero(t, torch.Ones(4).ToSparse().Storage().ID, "a sparse tensor has none")
}

var allDTypes = []torch.DType{
	torch.Uint8, torch.Int8, torch.Int16, torch.Int32, torch.Int64, torch.Float16, torch.Float32, torch.Float64, torch.Complex32,
	torch.Complex64,
	torch.Complex128, torch.Bool, torch.QInt8, torch.QUint8, torch.QInt32, torch.BFloat16, torch.QUint4x2, torch.QUint2x4, torch.Bits1x8,
	torch.Bits2x4, torch.Bits4x2, torch.Bits8, torch.Bits16, torch.Float8E5M2, torch.Float8E4M3FN, torch.Float8E5M2FNUZ, torch.Float8E4M3FNUZ,
	torch.Uint16, torch.Uint32, torch.Uint64,
}

func TestDTypeNames(t *testing.T) {
	for _, d := range allDTypes {
		parsed, err := torch.ParseDType(d.String())
		require.NoError(t, err)
		assert.Equal(t, d, parsed)
		parsed, err = torch.ParseDType("torch." + d.String())
		require.NoError(t, err)
		assert.Equal(t, d, parsed)
	}
	for name, want := range map[string]torch.DType{"half": torch.Float16, "bf16": torch.BFloat16, "double": torch.Float64,
		"long": torch.Int64} {
		got, err := torch.ParseDType(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, name := range []string{"", "torch.", "float99", "Float32"} {
		_, err := torch.ParseDType(name)
		assert.ErrorContains(t, err, fmt.Sprintf("%q is not a dtype", name))
	}
}

// The sizes that Go believes are those of libtorch.
func TestDTypeSizes(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, d := range allDTypes {
		x, err := torch.Try1(func() torch.Tensor { return torch.TensorOptions{DType: d}.Empty(3) })
		if err != nil {
			continue // quantized types are not made this way
		}
		assert.Equal(t, d, x.DType())
		assert.Equal(t, x.ElementSize(), d.Size(), d.String())
	}
}

func TestDeviceNames(t *testing.T) {
	for name, want := range map[string]torch.Device{"cpu": torch.CPU, "meta": torch.Meta, "cuda:0": torch.CUDA(0),
		"cuda:15": torch.CUDA(15), "cuda": torch.NewDevice(torch.DeviceCUDA, -1)} {
		d, err := torch.ParseDevice(name)
		require.NoError(t, err)
		assert.Equal(t, want, d)
		assert.Equal(t, name, d.String())
	}
	assert.Equal(t, 15, torch.CUDA(15).Index())
	assert.Equal(t, -1, torch.CPU.Index())
	assert.True(t, torch.CUDA(1).IsCUDA())
	assert.False(t, torch.CPU.IsCUDA())
	assert.False(t, torch.Device{}.IsCPU())
	for _, name := range []string{"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:128", "cuda:0:1", "cpu:1"} {
		_, err := torch.ParseDevice(name)
		assert.ErrorContains(t, err, fmt.Sprintf("%q is not a device", name))
	}
	assert.NoError(t, torch.CheckDevice(torch.CPU))
	assert.NoError(t, torch.CheckDevice(torch.Device{}))
	assert.ErrorContains(t, torch.CheckDevice(torch.NewDevice(torch.DeviceXPU, 0)), "xpu:0 does not exist")
	assert.ErrorContains(t, torch.CheckDevice(torch.NewDevice(torch.DeviceCPU, 3)), "the CPU is one device, there is none of number 3")
	for _, i := range []int{-2, 128, 256, 300} {
		assert.ErrorIs(t, torch.Try(func() { torch.CUDA(i) }), torch.ErrValue, "%d is not another card", i)
	}
	assert.Equal(t, 1, torch.DeviceCount(torch.DeviceCPU))
	torch.Synchronize(torch.CPU)
}

func TestTensorsAreReadFromAnywhere(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Arange(1000).To(torch.Float32)
	want := x.Sum().Float64()
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 100 {
				torch.Scope(func() { assert.Equal(t, want, x.Add(x).DivScalar(2).Sum().Float64()) })
			}
		})
	}
	group.Wait()
}

func TestRows(t *testing.T) {
	torchtest.NoLeaks(t)
	sums := map[int]float64{}
	for i, row := range torch.Arange(6).Reshape(3, 2).Rows() {
		if sums[i] = row.Sum().Float64(); i == 1 {
			break
		}
	}
	assert.Equal(t, map[int]float64{0: 1, 1: 5}, sums)
}
