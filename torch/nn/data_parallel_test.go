package nn_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// normalised has parameters and buffers.
func normalised() nn.Sequential {
	return nn.Sequential{nn.NewLinear(4, 8), nn.NewBatchNorm1d(8), nn.NewLinear(8, 3)}
}

// Several devices come to what one computes part by part: the same results, gradients and running means, to the bit. This machine's
// devices are the CPU again and again; the copies are made all the same.
func TestDataParallel(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	for name, c := range map[string]struct{ devices, rows, parts int }{
		"two":                {devices: 2, rows: 8, parts: 2},
		"one":                {devices: 1, rows: 8, parts: 1},
		"none":               {devices: 0, rows: 8, parts: 1},
		"a part is smaller":  {devices: 2, rows: 7, parts: 2},
		"more than the rows": {devices: 3, rows: 4, parts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			torch.Scope(func() {
				x := torch.RandN(c.rows, 4)
				net := normalised()
				defer nn.Close(net)
				want := nn.Clone(net)
				defer nn.Close(want)
				model := nn.NewDataParallel(net, slices.Repeat([]torch.Device{torch.CPU}, c.devices))

				got := model.Forward(x)
				got.Square().Sum().Backward()

				first, shadow := want, nn.Clone(want)
				defer nn.Close(shadow)
				var results []torch.Tensor
				for i, part := range x.Chunk(max(c.devices, 1), 0) {
					m := first
					if i > 0 { // running means are kept of the first part alone
						m = shadow
					}
					results = append(results, m.Forward(part))
				}
				require.Len(t, results, c.parts)
				y := torch.Cat(results)
				y.Square().Sum().Backward()
				torchtest.Equal(t, got, y)
				for i, p := range nn.Parameters(net) {
					sum := nn.Parameters(first)[i].Grad()
					if g := nn.Parameters(shadow)[i].Grad(); g.Defined() {
						sum = sum.Add(g)
					}
					torchtest.Equal(t, p.Grad(), sum)
				}
				for i, b := range nn.Buffers(net) {
					torchtest.Equal(t, b, nn.Buffers(first)[i])
				}
				for key := range nn.StateDict(model) {
					require.Contains(t, key, "module.")
				}
			})
		})
	}
}

// meanOf gives a number for each part.
type meanOf struct{ nn.Identity }

func (meanOf) Forward(x torch.Tensor) torch.Tensor { return x.Mean() }

// panicking fails as a program of the user's may.
type panicking struct{ W *nn.Linear }

func (panicking) Forward(torch.Tensor) torch.Tensor { panic("of its own") }

func TestDataParallelForms(t *testing.T) {
	torchtest.NoLeaks(t)
	two := []torch.Device{torch.CPU, torch.CPU}
	torch.Scope(func() {
		x := torch.Arange(8).To(torch.Float32).View(4, 2)
		require.Equal(t, []float32{1.5, 5.5}, torch.Values[float32](nn.NewDataParallel(meanOf{}, two).Forward(x)))
		columns := nn.NewDataParallel(nn.Identity{}, two, nn.DataParallelOptions{Dim: 1}).Forward(x)
		torchtest.Equal(t, columns, x)
		torch.NoGrad(func() { require.False(t, nn.NewDataParallel(nn.Identity{}, two).Forward(x).RequiresGrad()) })

		net := nn.NewLinear(2, 1)
		defer nn.Close(net)
		torch.NoGrad(func() { require.False(t, nn.NewDataParallel(net, two).Forward(x).RequiresGrad()) })
		wide := func() { nn.NewDataParallel(net, two).Forward(torch.Ones(4, 3)) }
		require.ErrorContains(t, torch.Try(wide), "shapes cannot be multiplied")
		require.PanicsWithValue(t, "of its own", func() { nn.NewDataParallel(panicking{}, two).Forward(x) })
		elsewhere := nn.NewDataParallel(net, []torch.Device{torch.Meta, torch.CPU})
		require.ErrorContains(t, torch.Try(func() { elsewhere.Forward(x) }), "must be on meta")
	})
}
