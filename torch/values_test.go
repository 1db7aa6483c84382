package torch_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func roundTrip[T torch.Element](t *testing.T, d torch.DType, values ...T) {
	t.Helper()
	require.Equal(t, d, torch.DTypeOf[T]())
	x := torch.FromSlice(values, len(values), 1)
	assert.Equal(t, d, x.DType())
	assert.Equal(t, []int{len(values), 1}, x.Shape())
	assert.Equal(t, d.Size(), x.ElementSize())
	assert.Equal(t, values, torch.Values[T](x))
	assert.Equal(t, []T{values[len(values)-1]}, torch.Values[T](torch.FromValue(values[len(values)-1])))
	assert.Empty(t, torch.Values[T](torch.FromSlice([]T{})))

	torch.Fill(x, append(values[1:], values[0]))
	assert.Equal(t, append(values[1:], values[0]), torch.Values[T](x))
	assert.Equal(t, x.Bytes(), torch.FromBytes(x.Bytes(), d, x.Shape()...).Bytes())
	torchtest.Equal(t, torch.FromBytes(x.Bytes(), d, x.Shape()...), x)
}

func TestEveryDTypeGoesInAndOut(t *testing.T) {
	torchtest.NoLeaks(t)
	roundTrip(t, torch.Bool, true, false, true)
	roundTrip(t, torch.Uint8, uint8(0), 1, math.MaxUint8)
	roundTrip(t, torch.Int8, int8(math.MinInt8), 0, math.MaxInt8)
	roundTrip(t, torch.Int16, int16(math.MinInt16), 0, math.MaxInt16)
	roundTrip(t, torch.Int32, int32(math.MinInt32), 0, math.MaxInt32)
	roundTrip(t, torch.Int64, int64(math.MinInt64), 0, math.MaxInt64)
	roundTrip(t, torch.Int64, math.MinInt, 0, math.MaxInt)
	roundTrip(t, torch.Uint16, uint16(0), 1, math.MaxUint16)
	roundTrip(t, torch.Uint32, uint32(0), 1, math.MaxUint32)
	roundTrip(t, torch.Uint64, uint64(0), 1, math.MaxUint64)
	roundTrip(t, torch.Float32, float32(-0.5), math.MaxFloat32, float32(math.Inf(-1)))
	roundTrip(t, torch.Float64, -0.5, math.SmallestNonzeroFloat64, math.Inf(1))
	roundTrip(t, torch.Complex64, complex64(1+2i), -3i)
	roundTrip(t, torch.Complex128, 1+2i, -3i)
	roundTrip(t, torch.Float16, torch.ToF16(1.5), torch.ToF16(-65504), torch.ToF16(float32(math.Inf(1))))
	roundTrip(t, torch.BFloat16, torch.ToBF16(1.5), torch.ToBF16(-3e38))
}

func TestFromSliceShapes(t *testing.T) {
	torchtest.NoLeaks(t)
	six := []int32{0, 1, 2, 3, 4, 5}
	good := []struct{ shape, want []int }{
		{nil, []int{6}}, {[]int{6}, []int{6}}, {[]int{2, 3}, []int{2, 3}}, {[]int{-1}, []int{6}}, {[]int{3, -1}, []int{3, 2}},
		{[]int{-1, 6, 1}, []int{1, 6, 1}},
	}
	for _, c := range good {
		given := append([]int(nil), c.shape...)
		assert.Equal(t, c.want, torch.FromSlice(six, c.shape...).Shape())
		assert.Equal(t, given, c.shape, "the caller's slice is left alone")
	}
	for _, shape := range [][]int{{5}, {2, 2}, {-1, -1}, {4, -1}, {-2, -3}, {0, -1}, {0}, {6, math.MaxInt}, {1 << 40, 1 << 40}} {
		err := torch.Try(func() { torch.FromSlice(six, shape...) })
		assert.ErrorIs(t, err, torch.ErrValue, "%v", shape)
	}
	assert.Equal(t, []int{0, 3}, torch.FromSlice([]float32(nil), 0, 3).Shape())
	assert.Equal(t, []int{}, torch.FromSlice([]float32{1}, []int{}...).Reshape().Shape())
	assert.ErrorIs(t, torch.Try(func() { torch.FromBytes(make([]byte, 7), torch.Float32) }), torch.ErrValue)
}

func TestValuesConvert(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.FromSlice([]float64{-1.75, 0, 2.5})
	assert.Equal(t, []int64{-1, 0, 2}, torch.Values[int64](x))
	assert.Equal(t, []bool{true, false, true}, torch.Values[bool](x))
	assert.Equal(t, []float32{-1.75, 0, 2.5}, torch.Values[float32](x))
	assert.Equal(t, []complex64{-1.75, 0, 2.5}, torch.Values[complex64](x))
	assert.Equal(t, []torch.F16{torch.ToF16(-1.75), 0, torch.ToF16(2.5)}, torch.Values[torch.F16](x))
	assert.ErrorIs(t, torch.Try(func() { torch.Values[float32](torch.FromValue(1i)) }), torch.ErrType)

	z := torch.FromSlice([]complex64{1 + 2i, 3 - 4i})
	assert.Equal(t, []complex64{1 - 2i, 3 + 4i}, torch.Values[complex64](z.Conj()))
	assert.Equal(t, []float32{-2, 4}, torch.Values[float32](z.Conj().Imag()))

	view := torch.Arange(6).Reshape(2, 3).T()
	assert.False(t, view.IsContiguous())
	assert.Equal(t, []int{0, 3, 1, 4, 2, 5}, torch.Values[int](view))
	recorded := torch.Ones(2).SetRequiresGrad(true).MulScalar(2)
	assert.Equal(t, []int32{2, 2}, torch.Values[int32](recorded))
	torch.Inference(func() { assert.Equal(t, []int8{1}, torch.Values[int8](one())) })
}

func TestFillIsStrict(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Zeros(2, 3)
	assert.ErrorIs(t, torch.Try(func() { torch.Fill(x, []float64{1, 2, 3, 4, 5, 6}) }), torch.ErrType)
	assert.ErrorIs(t, torch.Try(func() { torch.Fill(x, []float32{1}) }), torch.ErrValue)
	assert.ErrorIs(t, torch.Try(func() { torch.Fill(x.T(), make([]float32, 6)) }), torch.ErrValue)
	torch.Fill(x.Select(0, 1), []float32{7, 8, 9})
	assert.Equal(t, []float32{0, 0, 0, 7, 8, 9}, torch.Values[float32](x))
	before := x.Version()
	torch.Fill(x, make([]float32, 6))
	assert.Greater(t, x.Version(), before, "autograd must learn of the change")
}

func TestTensorsHaveNoJSON(t *testing.T) {
	for _, v := range []any{torch.Tensor{}, struct{ Weight torch.Tensor }{}, map[string]torch.Tensor{"weight": {}}} {
		_, err := json.Marshal(v)
		require.ErrorIs(t, err, torch.ErrType)
		require.ErrorContains(t, err, "safetensors")
	}
}

func TestItem(t *testing.T) {
	torchtest.NoLeaks(t)
	cases := []struct {
		x    torch.Tensor
		want any
	}{
		{torch.FromValue(int8(-3)), int64(-3)}, {torch.FromValue(uint8(200)), int64(200)}, {torch.FromValue(true), true},
		{torch.FromValue(float32(0.5)), 0.5},
		{torch.FromValue(1 + 2i), 1 + 2i}, {torch.FromValue(complex64(2i)), 2i}, {torch.FromSlice([]int{5}, 1, 1), int64(5)},
		{torch.FromValue(torch.ToBF16(3)), 3.0},
		{torch.FromValue(uint64(math.MaxUint64)), uint64(math.MaxUint64)},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, c.x.Item())
	}
	assert.Equal(t, -3.0, cases[0].x.Float64())
	assert.Equal(t, -3, cases[0].x.Int())
	assert.Equal(t, 1.0, torch.FromValue(true).Float64())
	assert.Equal(t, 1, torch.FromValue(true).Int())
	assert.ErrorIs(t, torch.Try(func() { torch.FromValue(0.5).Int() }), torch.ErrType)
	assert.ErrorIs(t, torch.Try(func() { torch.FromValue(1i).Float64() }), torch.ErrType)
	assert.ErrorContains(t, torch.Try(func() { torch.Ones(2).Item() }), "2 elements")
	assert.Error(t, torch.Try(func() { torch.Tensor{}.Item() }))
}

func TestHalvesAreLibtorchs(t *testing.T) {
	torchtest.NoLeaks(t)
	halves, brains := make([]torch.F16, 1<<16), make([]torch.BF16, 1<<16)
	for i := range halves {
		halves[i], brains[i] = torch.F16(i), torch.BF16(i)
	}
	wide := torch.Values[float32](torch.FromSlice(halves).To(torch.Float32))
	brainsWide := torch.Values[float32](torch.FromSlice(brains).To(torch.Float32))
	for i := range halves {
		sameFloat(t, wide[i], halves[i].Float32(), "half %#04x", i)
		sameFloat(t, brainsWide[i], brains[i].Float32(), "bfloat16 %#04x", i)
	}
}

func TestRoundingToHalvesIsLibtorchs(t *testing.T) {
	torchtest.NoLeaks(t)
	random := rand.New(rand.NewPCG(1, 2))
	var floats []float32
	for i := range 1 << 16 {
		bits := math.Float32bits(torch.F16(i).Float32())
		// The half itself, its neighbours among the floats, and the ties half way to the next.
		floats = append(floats, math.Float32frombits(bits), math.Float32frombits(bits+1), math.Float32frombits(bits-1),
			math.Float32frombits(bits+1<<12), math.Float32frombits(bits+1<<12+1), math.Float32frombits(bits+1<<12-1),
			math.Float32frombits(uint32(i)<<16|0x8000), math.Float32frombits(uint32(i)<<16|0x7fff), math.Float32frombits(random.Uint32()))
	}
	x := torch.FromSlice(floats)
	halves, brains := torch.Values[torch.F16](x), torch.Values[torch.BF16](x)
	for i, f := range floats {
		sameFloat(t, halves[i].Float32(), torch.ToF16(f).Float32(), "%v to half", f)
		sameFloat(t, brains[i].Float32(), torch.ToBF16(f).Float32(), "%v to bfloat16", f)
	}
}

// sameFloat wants the same bits; one NaN is as good as another.
func sameFloat(t *testing.T, want, got float32, format string, args ...any) {
	t.Helper()
	if math.Float32bits(want) != math.Float32bits(got) && (want == want || got == got) {
		require.Equal(t, want, got, append([]any{format}, args...)...)
	}
}

func TestScalarsKeepTheirKind(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.FromSlice([]int32{1, 2})
	cases := []struct {
		factor any
		want   torch.DType
	}{
		{2, torch.Int32}, {int8(2), torch.Int32}, {uint64(2), torch.Int32}, {uint(2), torch.Int32}, {int16(2), torch.Int32},
		{int32(2), torch.Int32},
		{int64(2), torch.Int32}, {uint8(2), torch.Int32}, {uint16(2), torch.Int32}, {uint32(2), torch.Int32}, {true, torch.Int32},
		{2.0, torch.Float32},
		{float32(2), torch.Float32}, {torch.ToF16(2), torch.Float32}, {torch.ToBF16(2), torch.Float32}, {2i, torch.Complex64},
		{complex64(2i), torch.Complex64},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, x.MulScalar(c.factor).DType(), "%T", c.factor)
	}
	for _, wrong := range []any{"2", nil, []int{2}, struct{}{}, x} {
		assert.ErrorIs(t, torch.Try(func() { x.MulScalar(wrong) }), torch.ErrType, "%v", reflect.TypeOf(wrong))
	}
}
