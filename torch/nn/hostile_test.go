package nn_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// spoil makes something of a sound value of a state dict, or of the module's own tensor.
type spoil func(r *rand.Rand, value, own torch.Tensor) torch.Tensor

func cast(d torch.DType) spoil {
	return func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return value.To(d) }
}

var spoils = map[string]spoil{
	"closed": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { // under a handle of its own: value may be the module's
		value = value.Alias()
		value.Close()
		return value
	},
	"undefined": func(*rand.Rand, torch.Tensor, torch.Tensor) torch.Tensor { return torch.Tensor{} },
	"meta":      func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return value.To(torch.Meta) },
	"sparse":    func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return value.ToSparse() },
	"compressed": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor {
		return orSame(value, func() torch.Tensor { return value.ToSparseCSR() })
	},
	"mkldnn": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return aten.ToMKLDNN(value.To(torch.Float32)) },
	"quantized": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor {
		return aten.QuantizePerTensor(value.To(torch.Float32), 0.5, 0, torch.QInt8)
	},
	"float64": cast(torch.Float64), "float16": cast(torch.Float16), "bfloat16": cast(torch.BFloat16), "int64": cast(torch.Int64),
	"bool": cast(torch.Bool), "complex64": cast(torch.Complex64), "uint16": cast(torch.Uint16), "float8": cast(torch.Float8E5M2),
	"bits": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor {
		return torch.TensorOptions{DType: torch.Bits8}.Empty(value.Shape()...)
	},
	"more dims": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return value.Unsqueeze(0) },
	"larger":    func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return aten.ConstantPadND(value, []int{0, 1}) },
	"empty":     func(*rand.Rand, torch.Tensor, torch.Tensor) torch.Tensor { return torch.Zeros(0) },
	"huge":      func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return torch.Ones(1).Expand(1 << 50) },
	"expanded": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor {
		return torch.Ones().To(value.DType()).ExpandAs(value)
	},
	"strided": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor {
		return torch.Stack([]torch.Tensor{value, value}, -1).Select(-1, 1)
	},
	"conj": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return value.To(torch.Complex64).Conj() },
	"neg":  func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor { return aten.NegView(value) },
	"zero": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor {
		return aten.EfficientZeroTensor(value.Shape(), torch.TensorOptions{DType: value.DType()})
	},
	"trained": func(_ *rand.Rand, value, _ torch.Tensor) torch.Tensor {
		return torch.TensorOptions{RequiresGrad: true}.Ones(value.Shape()...).MulScalar(2)
	},
	"inference": func(_ *rand.Rand, value, _ torch.Tensor) (t torch.Tensor) {
		torch.Inference(func() { t = value.Clone() })
		return t
	},
	"own":   func(_ *rand.Rand, _, own torch.Tensor) torch.Tensor { return own },
	"alias": func(_ *rand.Rand, _, own torch.Tensor) torch.Tensor { return own.Detach() },
	"turned own": func(_ *rand.Rand, _, own torch.Tensor) torch.Tensor {
		return orSame(own, func() torch.Tensor { return own.Detach().Transpose(-1, -2) })
	},
	"shifted own": func(_ *rand.Rand, _, own torch.Tensor) torch.Tensor {
		return orSame(own, func() torch.Tensor { return own.Detach().Flatten().Narrow(0, 1, own.NumEl()-1) })
	},
}

// orSame is what fn makes, or x where x does not lend itself to it.
func orSame(x torch.Tensor, fn func() torch.Tensor) (y torch.Tensor) {
	y = x
	_ = torch.Try(func() { y = fn() })
	return y
}

// hostileDict is a state dict for m in which some entries are spoilt, missing or unexpected.
func hostileDict(r *rand.Rand, m any, names []string) (dict map[string]torch.Tensor, how []string) {
	dict = map[string]torch.Tensor{}
	own := maps.Collect(nn.StateDict(m))
	for name, t := range own {
		dict[name] = torch.RandN(t.Shape()...).Abs().AddScalar(1).To(t.DType())
	}
	keys := slices.Sorted(maps.Keys(own))
	for range r.IntN(4) {
		key, kind := keys[r.IntN(len(keys))], names[r.IntN(len(names))]
		if t := dict[key]; t.Defined() && !t.Closed() && t.NumEl() < 1<<20 {
			_ = torch.Try(func() { dict[key] = spoils[kind](r, dict[key], own[key]) }) // what was spoilt before may not lend itself to it
			how = append(how, key+" "+kind)
		}
	}
	switch r.IntN(10) {
	case 0:
		delete(dict, keys[r.IntN(len(keys))])
	case 1:
		dict[fmt.Sprint("extra", r.IntN(3))] = torch.Ones(1)
	}
	return dict, how
}

// imprint is all that a module holds, to the bit.
type imprint map[string]string

func imprintOf(m any) imprint {
	all := imprint{}
	for name, t := range nn.StateDict(m) {
		all[name] = fmt.Sprint(t.DType(), t.Shape(), t.Stride(), t.RequiresGrad(), t.Storage().ID, t.Version(), t.Bytes())
	}
	return all
}

// requireLoaded checks that the tensors of m have the values that were to be loaded.
func requireLoaded(t *testing.T, m any, want, dict map[string]torch.Tensor, assign bool) {
	for name, got := range nn.StateDict(m) {
		w := want[name]
		switch {
		case !w.Defined():
		case assign && dict[name].Device() == torch.Meta:
			require.Equal(t, torch.Meta, got.Device())
		default:
			if assign {
				require.Equal(t, dict[name].DType(), got.DType(), name)
			}
			require.Equal(t, w.To(got.DType()).Bytes(), got.Bytes(), name)
		}
	}
}

// valuesOf are copies of what can be copied.
func valuesOf(dict map[string]torch.Tensor) map[string]torch.Tensor {
	all := map[string]torch.Tensor{}
	for name, t := range dict {
		_ = torch.Try(func() {
			if t.Defined() && t.NumEl() < 1<<20 && t.DType() != torch.QInt8 { // a negative view of that cannot be cloned
				all[name] = t.Detach().Clone()
			}
		})
	}
	return all
}

// Whatever a state dict holds, all of it goes into the module or nothing does.
func TestHostileStateDicts(t *testing.T) {
	torchtest.NoLeaks(t)
	names := slices.Sorted(maps.Keys(spoils))
	r, dicts := rand.New(rand.NewPCG(13, 1)), reliability.Size(100_000, 3_000)
	loaded, left, before := 0, 0, torch.Stats().Live()
	for range dicts {
		m := newSmall()
		torch.Scope(func() {
			dict, how := hostileDict(r, m, names)
			o := &nn.LoadOptions{Assign: r.IntN(2) == 0, NonStrict: r.IntN(3) == 0}
			was, want, open := imprintOf(m), valuesOf(dict), torch.Stats().Live()
			err := nn.LoadStateDict(m, dict, *o)
			require.Equal(t, open, torch.Stats().Live(), how)
			if err != nil {
				var typed *nn.StateDictError
				require.ErrorAs(t, err, &typed, "%v", how)
				require.Equal(t, was, imprintOf(m), "%v: %v", how, err)
				return
			}
			loaded++
			requireLoaded(t, m, want, dict, o.Assign)
		})
		nn.Close(m)
		left += torch.Stats().Live() - before
	}
	reliability.Exactly(t, "hostile state dicts for modules: tensors left open", left, 0)
	reliability.Note(t, "hostile state dicts for modules", dicts)
	require.Greater(t, loaded, dicts/10)
	require.Greater(t, dicts-loaded, dicts/10)
}

// A negative view is loaded with its sign, into another dtype too.
func TestLoadNegativeView(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		m := &struct{ X torch.Tensor }{torch.Zeros(2)}
		x := aten.NegView(torch.FromSlice([]float32{1, 2}).To(torch.Float16))
		require.NoError(t, nn.LoadStateDict(m, map[string]torch.Tensor{"x": x}))
		require.Equal(t, []float32{-1, -2}, torch.Values[float32](m.X))
	})
}

// What is wrong is said of each tensor, and nothing is written before all has been looked at.
func TestLoadStateDictRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	r := rand.New(rand.NewPCG(1, 1))
	for kind, c := range map[string]struct {
		assign bool
		want   string
	}{
		"closed":    {false, "1.bias cannot be loaded: torch: sizes: "},
		"meta":      {false, "Cannot copy out of meta tensor; no data!"},
		"sparse":    {false, "1.bias cannot be loaded: torch: copy_: "},
		"quantized": {false, "Copying from quantized Tensor to non-quantized Tensor is not allowed"},
		"mkldnn":    {false, "1.bias cannot be loaded: torch: copy_: "},
		"int64":     {true, "1.bias cannot be loaded: torch: replace_data: data set to a tensor that requires gradients must be floating point"},
		"bool":      {true, "1.bias cannot be loaded: torch: replace_data: data set to a tensor that requires gradients must be floating point"},
		"larger":    {false, "size mismatch for 1.bias: copying a param with shape [3] from checkpoint, the shape in current model is [2]"},
	} {
		t.Run(kind, func(t *testing.T) {
			m := newSmall()
			defer nn.Close(m)
			torch.Scope(func() {
				dict := map[string]torch.Tensor{}
				for name, own := range nn.StateDict(m) {
					dict[name] = own.Detach().Clone()
				}
				dict["1.bias"] = spoils[kind](r, dict["1.bias"], torch.Tensor{})
				was := imprintOf(m)
				err := nn.LoadStateDict(m, dict, nn.LoadOptions{Assign: c.assign})
				var typed *nn.StateDictError
				require.ErrorAs(t, err, &typed)
				require.ErrorContains(t, err, c.want)
				require.Equal(t, was, imprintOf(m))
			})
		})
	}
}
