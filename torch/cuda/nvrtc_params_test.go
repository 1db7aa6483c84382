package cuda

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The symbols are NVRTC's own.
func TestDemangle(t *testing.T) {
	for symbol, want := range map[string]string{
		"_Z4axpyfPKfPfi":                          "axpy(float, const float*, float*, int)",
		"fill":                                    "fill(?)",
		"_ZN4mine6halvesEPK6__halfPS0_bx":         "mine::halves(const __half*, __half*, bool, long long)",
		"_Z5scaleIfEvPT_S0_i":                     "scale<>(float*, float, int)",
		"_ZN4mine3addIdEEvPKT_PS1_S4_":            "mine::add<>(const double*, double*, double*)",
		"_Z4bothILi4EfEvPT0_":                     "both<>(float*)",
		"_Z7nothingv":                             "nothing()",
		"_ZL5localPv":                             "local(void*)",
		"_Z6nestedPPfPS_":                         "nested(?*, ?*)",
		"_Z5otherP13__nv_bfloat1613__nv_bfloat16": "other(__nv_bfloat16*, __nv_bfloat16)",
		"_Z4listSt6vectorIfSaIfEE":                "list(?)",
		"_Z":                                      "_Z(?)",
		"_Z99short":                               "_Z99short(?)",
	} {
		require.Equal(t, want, text(demangle(symbol)), symbol)
	}
}

// What NVRTC makes of a signature is read back.
func TestSignatures(t *testing.T) {
	torchtest.NoLeaks(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	source := `#include <cuda_fp16.h>
namespace mine { template <class T, class U> __global__ void mix(const T* a, U* b, T* c, const U* d, __half* e, __half* f) {} }
template <int N, class T> __global__ void sized(T* const* a, T b) {}
__global__ void all(bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g, unsigned h, long i,
	unsigned long j, long long k, unsigned long long l, float m, double n, void* o, const void* __restrict__ p) {}
static __global__ void hidden(volatile int* a) {}
`
	instances := []string{"mine::mix<float, double>", "sized<3, float>"}
	b, err := CompileBinary(source, CompileOptions{Arch: 90, Instances: instances})
	if errors.Is(err, torch.ErrNoCUDA) {
		t.Skip(err)
	}
	require.NoError(t, err)
	for name, want := range map[string]string{
		instances[0]: "mine::mix<>(const float*, double*, float*, const double*, __half*, __half*)",
		instances[1]: "sized<>(?*, float)",
		"all": "all(bool, char, signed char, unsigned char, short, unsigned short, int, unsigned int, long, unsigned long, " +
			"long long, unsigned long long, float, double, void*, const void*)",
	} {
		require.Equal(t, want, text(demangle(b.kernels[name])), b.kernels[name])
	}
}

func text(d demangled) string {
	if d.template {
		d.name += "<>"
	}
	if d.params == nil {
		return d.name + "(?)"
	}
	var list []string
	for _, p := range d.params {
		s := cName(p.element)
		if p.fixed {
			s = "const " + s
		}
		if p.pointer {
			s += "*"
		}
		list = append(list, s)
	}
	return d.name + "(" + strings.Join(list, ", ") + ")"
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		element string
		v       any
		want    uint64
		refused bool
	}{
		{"i", 7, 7, false},
		{"i", -1, math.MaxUint64, false},
		{"i", math.MaxInt32 + 1, 0, true},
		{"i", uint(math.MaxUint32), 0, true},
		{"j", uint32(math.MaxUint32), math.MaxUint32, false},
		{"j", -1, 0, true},
		{"h", 256, 0, true},
		{"x", math.MinInt64, 1 << 63, false},
		{"y", uint64(math.MaxUint64), math.MaxUint64, false},
		{"x", uint64(math.MaxUint64), 0, true},
		{"f", 0.5, uint64(math.Float32bits(0.5)), false},
		{"f", 2, uint64(math.Float32bits(2)), false},
		{"d", float32(0.5), math.Float64bits(0.5), false},
		{"i", 0.5, 0, true},
		{"b", true, 1, false},
		{"b", 1, 0, true},
		{"f", "text", 0, true},
		{"6float4", 1, 0, true},
	} {
		var got argument
		err := torch.Try(func() { got = param{element: c.element}.accept("k", 0, torch.CPU, c.v) })
		if c.refused {
			require.ErrorIs(t, err, torch.ErrType, "%v as %s", c.v, c.element)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, argument{pass: passBits, bits: c.want}, got, "%v as %s", c.v, c.element)
	}
	// The signature is not known: the Go type says how wide.
	for v, want := range map[any]uint64{int32(-1): math.MaxUint64, uint8(3): 3, float32(1): uint64(math.Float32bits(1)),
		1.5: math.Float64bits(1.5), true: 1} {
		require.Equal(t, want, param{unknown: true}.accept("k", 0, torch.CPU, v).bits, v)
	}
	require.ErrorContains(t, torch.Try(func() { param{unknown: true}.accept("k", 0, torch.CPU, 1) }), "use int32 or int64")
	require.ErrorContains(t, torch.Try(func() { param{unknown: true}.accept("k", 0, torch.CPU, nil) }), "cannot be passed to a kernel")
}

func TestArguments(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(2, 3)
		signature := paramsOf("_Z1kPKfPfi")
		for name, c := range map[string]struct {
			device torch.Device
			args   []any
			want   string
		}{
			"too few":        {torch.CPU, []any{x}, "the kernel takes 3 arguments, got 1"},
			"elsewhere":      {torch.CUDA(0), []any{x, x, 3}, "argument 0 is on cpu, the kernel is on cuda:0"},
			"transposed":     {torch.CPU, []any{x, x.T(), 3}, "argument 1 is not contiguous: its shape is [3 2], its strides are [1 3]"},
			"dtype":          {torch.CPU, []any{x.To(torch.CPU, torch.Float64), x, 3}, "argument 0 is a pointer to float, got a tensor of float64"},
			"no tensor":      {torch.CPU, []any{3, x, 3}, "argument 0 is a pointer to float: a tensor is wanted, got a int"},
			"tensor":         {torch.CPU, []any{x, x, x}, "argument 2 is a int, got a tensor"},
			"not an int":     {torch.CPU, []any{x, x, 0.5}, "argument 2 is a int, which 0.5 (a float64) is not"},
			"all of it good": {torch.CPU, []any{x, torch.Tensor{}, 3}, ""},
		} {
			var call cgo.Call
			err := torch.Try(func() { putArguments(&call, "k", c.device, signature, c.args) })
			call.Abandon()
			if c.want == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, c.want, name)
			}
		}
		require.EqualValues(t, passRead, signature[0].accept("k", 0, torch.CPU, x).pass)
		require.EqualValues(t, passChange, signature[1].accept("k", 0, torch.CPU, x).pass)
		require.EqualValues(t, passChange, param{unknown: true}.accept("k", 0, torch.CPU, x).pass)
		require.EqualValues(t, passRead, param{unknown: true}.accept("k", 0, torch.CPU, In{x}).pass)
	})
}
