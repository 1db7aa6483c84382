package nn_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func newSmall() nn.Sequential {
	return nn.Sequential{nn.NewConv2d(1, 2, 3), nn.NewBatchNorm2d(2)}
}

func TestLoadStateDict(t *testing.T) {
	torchtest.NoLeaks(t)
	from, to := newSmall(), nn.To(newSmall(), torch.Float64, torch.ChannelsLast)
	torch.Scope(func() {
		from.Forward(torch.RandN(2, 1, 5, 5)) // moves the running statistics
	})
	storage := nn.Parameters(to)[0].Storage().ID
	require.NoError(t, nn.LoadStateDict(to, maps.Collect(nn.StateDict(from))))
	torch.Scope(func() {
		want := maps.Collect(nn.StateDict(from))
		for name, got := range nn.StateDict(to) {
			torchtest.Equal(t, got.Contiguous(), want[name].To(got.DType()))
		}
	})
	require.Equal(t, storage, nn.Parameters(to)[0].Storage().ID, "values are copied into the tensors that are there")
	require.True(t, nn.Parameters(to)[0].RequiresGrad())
}

func TestLoadStateDictComplains(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		m := newSmall()
		m[0].(*nn.Conv2d).Weight.SetRequiresGrad(false).FillInPlace(1)
		before := torch.Values[float32](m[0].(*nn.Conv2d).Weight)
		dict := func(edit func(map[string]torch.Tensor)) map[string]torch.Tensor {
			d := map[string]torch.Tensor{}
			for name, value := range nn.StateDict(m) {
				d[name] = value.Mul(torch.FromValue(float32(2))).To(value.DType())
			}
			edit(d)
			return d
		}
		for _, c := range []struct {
			name    string
			options nn.LoadOptions
			edit    func(map[string]torch.Tensor)
			want    string
		}{
			{"missing and unexpected", nn.LoadOptions{}, func(d map[string]torch.Tensor) {
				d["module.0.weight"], d["extra"], d["1.bias"] = d["0.weight"], d["0.bias"], torch.Tensor{}
				delete(d, "0.weight")
			}, "nn: the state dict does not fit the module: Missing key(s) in state_dict: \"0.weight\", \"1.bias\"; Unexpected key(s) " +
				"in state_dict: \"extra\", \"module.0.weight\""},
			{"shape", nn.LoadOptions{}, func(d map[string]torch.Tensor) {
				d["0.bias"], d["1.running_var"] = torch.Ones(2, 1), torch.Ones(3)
			}, "nn: the state dict does not fit the module: size mismatch for 0.bias: copying a param with shape [2 1] from " +
				"checkpoint, the shape in current model is [2]; size mismatch for 1.running_var: copying a param with shape [3] from " +
				"checkpoint, the shape in current model is [2]"},
			{"shape, names not strict", nn.LoadOptions{NonStrict: true}, func(d map[string]torch.Tensor) {
				d["0.bias"], d["extra"] = torch.Ones(5), torch.Ones(1)
				delete(d, "1.weight")
			}, "nn: the state dict does not fit the module: size mismatch for 0.bias: copying a param with shape [5] from checkpoint, " +
				"the shape in current model is [2]"},
		} {
			t.Run(c.name, func(t *testing.T) {
				err := nn.LoadStateDict(m, dict(c.edit), c.options)
				require.EqualError(t, err, c.want)
				var typed *nn.StateDictError
				require.ErrorAs(t, err, &typed)
				require.Equal(t, before, torch.Values[float32](m[0].(*nn.Conv2d).Weight), "nothing has changed")
			})
		}
		old := dict(func(d map[string]torch.Tensor) { delete(d, "1.num_batches_tracked") }) // as in files from before it existed
		require.NoError(t, nn.LoadStateDict(m, old))
		partial := dict(func(d map[string]torch.Tensor) { delete(d, "0.bias"); d["extra"] = torch.Ones(1) })
		var skipped nn.StateDictError
		require.NoError(t, nn.LoadStateDict(m, partial, nn.LoadOptions{NonStrict: true, Skipped: &skipped}))
		require.Equal(t, nn.StateDictError{Missing: []string{"0.bias"}, Unexpected: []string{"extra"}}, skipped)
		require.Equal(t, before[0]*4, torch.Values[float32](m[0].(*nn.Conv2d).Weight)[0])
	})
}

// Assigned tensors share the state dict's memory and have its dtype; they are still the
// tensors that an optimizer knows.
func TestAssignStateDict(t *testing.T) {
	torchtest.NoLeaks(t)
	m := nn.NewLinear(2, 1)
	weight := m.Weight
	torch.Scope(func() {
		dict := map[string]torch.Tensor{"weight": torch.FromSlice([]float64{1, 2}, 1, 2), "bias": torch.FromSlice([]float64{3})}
		require.NoError(t, nn.LoadStateDict(m, dict, nn.LoadOptions{Assign: true}))
		require.Equal(t, dict["weight"].Storage().ID, m.Weight.Storage().ID)
		require.True(t, weight.Is(m.Weight) && weight.RequiresGrad())
		require.Equal(t, 6.0, m.Forward(torch.Ones(2).To(torch.Float64)).Float64())
	})
	require.Equal(t, 1.0, m.Weight.Index(0, 0).Float64(), "the memory lives on")
}

// To keeps the tensors, so that an optimizer made before goes on training them.
func TestTo(t *testing.T) {
	torchtest.NoLeaks(t)
	net := newSmall()
	opt := optim.NewSGD(nn.Parameters(net), 1)
	torch.Scope(func() { net.Forward(torch.RandN(2, 1, 5, 5)).Sum().Backward() })
	bias := torch.Values[float64](net[0].(*nn.Conv2d).Bias)

	nn.To(net, torch.Float64, torch.ChannelsLast)
	for name, value := range nn.StateDict(net) {
		want := torch.Float64
		if name == "1.num_batches_tracked" {
			want = torch.Int64
		}
		require.Equal(t, want, value.DType(), name)
		require.Equal(t, slices.Contains([]string{"0.weight", "0.bias", "1.weight", "1.bias"}, name), value.RequiresGrad(), name)
	}
	require.True(t, net[0].(*nn.Conv2d).Weight.IsContiguous(torch.ChannelsLast))
	torch.Scope(func() {
		for _, p := range nn.Parameters(net) {
			require.Equal(t, torch.Float64, p.Grad().DType(), "gradients move along")
		}
	})
	opt.Step()
	require.NotEqual(t, bias, torch.Values[float64](net[0].(*nn.Conv2d).Bias))
	torch.Scope(func() {
		net.Forward(torch.TensorOptions{DType: torch.Float64}.Ones(2, 1, 5, 5)).Sum().Backward()
	})

	waves := &struct{ Phase, Count torch.Tensor }{torch.FromSlice([]complex64{1i}), torch.FromSlice([]int64{1})}
	nn.To(waves, torch.Complex128)
	require.Equal(t, []torch.DType{torch.Complex128, torch.Int64}, []torch.DType{waves.Phase.DType(), waves.Count.DType()})
	require.EqualError(t, torch.Try(func() { nn.To(net, torch.Int64) }),
		"torch: to: nn.To only accepts floating point or complex dtypes, but got int64")

	conv := nn.NewConv3d(1, 1, 2)
	nn.To(conv, torch.ChannelsLast)
	require.True(t, conv.Weight.IsContiguous(torch.ChannelsLast3d))
}

// Wrappers of Python's put their names before those of the module.
func TestStripPrefix(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		model := nn.NewLinear(2, 2)
		wrapped := map[string]torch.Tensor{"_orig_mod.module.weight": torch.Ones(2, 2), "module.bias": torch.Ones(2)}
		require.Error(t, nn.LoadStateDict(model, wrapped))
		require.NoError(t, nn.LoadStateDict(model, nn.StripPrefix(wrapped, "_orig_mod.", "module.")))
		torchtest.Equal(t, model.Weight, torch.Ones(2, 2))
	})
}
