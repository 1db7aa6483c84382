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

// What each side draws after the same seed; the Go side draws from g, nil or its own.
var draws = []struct {
	python string // g is the generator, or None
	draw   func(o torch.TensorOptions) torch.Tensor
}{
	{"torch.randn(17, generator=g)", func(o torch.TensorOptions) torch.Tensor { return o.RandN(17) }},
	{"torch.randn(3, 33, generator=g)", func(o torch.TensorOptions) torch.Tensor { return o.RandN(3, 33) }},
	{"torch.rand(5, 7, generator=g, dtype=torch.float64)",
		func(o torch.TensorOptions) torch.Tensor { o.DType = torch.Float64; return o.Rand(5, 7) }},
	{"torch.randint(-5, 100, (50,), generator=g)",
		func(o torch.TensorOptions) torch.Tensor { o.DType = torch.Int64; return o.RandInt(-5, 100, []int{50}) }},
	{"torch.randperm(100, generator=g)", func(o torch.TensorOptions) torch.Tensor { o.DType = torch.Int64; return o.RandPerm(100) }},
	{"torch.zeros(40).normal_(2, 3, generator=g)", func(o torch.TensorOptions) torch.Tensor {
		return torch.Zeros(40).NormalInPlace(2, 3, torch.NormalOptions{Generator: o.Generator})
	}},
	{"torch.zeros(40).uniform_(-1, 1, generator=g)", func(o torch.TensorOptions) torch.Tensor {
		return torch.Zeros(40).UniformInPlace(-1, 1, torch.UniformOptions{Generator: o.Generator})
	}},
	{"torch.full((60,), 0.3).bernoulli(generator=g)", func(o torch.TensorOptions) torch.Tensor {
		return torch.Full([]int{60}, 0.3).Bernoulli(torch.BernoulliOptions{Generator: o.Generator})
	}},
	{"torch.zeros(9).exponential_(1.5, generator=g)", func(o torch.TensorOptions) torch.Tensor {
		return torch.Call("exponential_", torch.Zeros(9), 1.5, torch.Arg("generator", o.Generator))[0].(torch.Tensor)
	}},
}

func TestRandomNumbersAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, seed := range []uint64{0, 1, 42, 1<<63 - 1} {
		own := torch.NewGenerator(torch.CPU).ManualSeed(seed)
		assert.Equal(t, seed, own.InitialSeed())
		torch.ManualSeed(seed)
		python := "torch.manual_seed(seed)\nd = torch.default_generator\no = torch.Generator().manual_seed(seed)\ny = []\n"
		for _, d := range draws {
			python += "g = None\ny.append(" + d.python + ")\ng = o\ny.append(" + d.python + ")\n"
		}
		python += "y += [d.get_state(), o.get_state()]"
		a := ask(t, fmt.Sprintf("seed = %d\n", seed)+python)
		for i, d := range draws {
			torchtest.Equal(t, d.draw(torch.TensorOptions{}), a.tensor(t, 2*i))
			torchtest.Equal(t, d.draw(torch.TensorOptions{Generator: own}), a.tensor(t, 2*i+1))
		}
		torchtest.Equal(t, torch.DefaultGenerator(torch.CPU).State(), a.tensor(t, 2*len(draws)))
		torchtest.Equal(t, own.State(), a.tensor(t, 2*len(draws)+1))
		own.Close()
	}
}

func TestGeneratorStates(t *testing.T) {
	torchtest.NoLeaks(t)
	g := torch.NewGenerator(torch.Device{})
	assert.Equal(t, torch.CPU.Type(), g.Device().Type())
	assert.Equal(t, uint64(67280421310721), g.InitialSeed(), "PyTorch's default seed")
	o := torch.TensorOptions{Generator: g}
	o.RandN(3)
	state := g.State()
	first := o.RandN(10)
	g.SetState(state)
	torchtest.Equal(t, o.RandN(10), first)
	assert.Error(t, torch.Try(func() { g.SetState(torch.Zeros(3)) }))
	bytes := state.Bytes() // 624 numbers of a table, of which the one at next comes, until there are none left
	for left, next := range map[byte]byte{0: 0, 255: 255, 2: 255} {
		bytes[8], bytes[9], bytes[16], bytes[17] = left, 2, next, 2
		err := torch.Try(func() { g.SetState(torch.FromSlice(bytes)) })
		require.ErrorContains(t, err, "Invalid mt19937 state")
	}

	d := torch.DefaultGenerator(torch.CPU)
	torch.ManualSeed(5)
	assert.Equal(t, uint64(5), d.InitialSeed())
	d.ManualSeed(6)
	a := torch.RandN(4)
	torch.ManualSeed(6)
	torchtest.Equal(t, a, torch.RandN(4))
	d.Close()
	torch.RandN(1) // closing our handle leaves libtorch's generator alone
	g.Close()
	g.Close()
	assert.ErrorIs(t, torch.Try(func() { g.State() }), torch.ErrClosed)
	assert.ErrorIs(t, torch.Try(func() { o.RandN(1) }), torch.ErrClosed)
}

// A generator made in a scope outlives it.
func TestGeneratorsHaveNoScope(t *testing.T) {
	torchtest.NoLeaks(t)
	var g *torch.Generator
	torch.Scope(func() { g = torch.NewGenerator(torch.CPU) })
	assert.Equal(t, []int{2}, torch.TensorOptions{Generator: g}.RandN(2).Shape())
}

func TestGeneratorsAreIndependent(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(3)
	want := torch.RandN(1000)
	results := make([]torch.Tensor, 8)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			o := torch.TensorOptions{Generator: torch.NewGenerator(torch.CPU).ManualSeed(3)}
			results[i] = o.RandN(1000)
		})
	}
	group.Wait()
	for _, r := range results {
		torchtest.Equal(t, r, want)
	}
}
