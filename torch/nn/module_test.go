package nn_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// zoo has a field of every kind that the walk knows.
type zoo struct {
	Head      *nn.Linear
	Scale     torch.Tensor        // after Head, yet before it in a state dict
	Seen      torch.Tensor        `torch:",buffer"`
	Scratch   torch.Tensor        `torch:"tmp,transient"`
	Absent    torch.Tensor        //
	NoModule  *nn.Linear          //
	Blocks    []*nn.Linear        //
	ByName    map[string]nn.Layer `torch:"named"`
	InOrder   []nn.Named[*nn.Linear]
	Inline    nn.Layer        `torch:",inline"`
	Pair      [2]torch.Tensor //
	Hidden    *nn.Linear      `torch:"-"`
	RunningUp nn.Linear       //
	Any       any             //
	QKVProj2D nn.Layer        //
	Config    struct {
		Depth int
		Names []string
	} //
	private   *nn.Linear         `torch:"-"`
	Part                         // lends its fields
	*Attached `torch:"attached"` // a module of its own
}

type Part struct {
	Gain torch.Tensor
	Mode nn.Mode
}

type Attached struct {
	Bias torch.Tensor `torch:",optional"`
}

func newZoo() *zoo {
	linear := func() *nn.Linear { return nn.NewLinear(1, 1, nn.LinearOptions{NoBias: true}) }
	parameter := func() torch.Tensor { return nn.NewParameter(torch.Ones(1)) }
	return &zoo{
		Head: linear(), Scale: parameter(), Seen: nn.NewBuffer(torch.Zeros(1)), Scratch: nn.NewBuffer(torch.Zeros(1)),
		Blocks: []*nn.Linear{linear(), nil, linear()}, ByName: map[string]nn.Layer{"b": linear(), "a": nn.Sequential{nn.ReLU{}, linear()}},
		InOrder: []nn.Named[*nn.Linear]{{"z", linear()}, {"y", nil}, {"x", linear()}}, Inline: &nn.Sequential{linear()},
		Pair: [2]torch.Tensor{parameter(), parameter()}, Hidden: linear(), RunningUp: *linear(), Any: linear(), QKVProj2D: nn.NewBatchNorm1d(1),
		private: linear(), Part: Part{Gain: parameter()}, Attached: &Attached{parameter()},
	}
}

func TestNames(t *testing.T) {
	torchtest.NoLeaks(t)
	z := newZoo()
	var state, parameters, buffers []string
	for name := range nn.StateDict(z) {
		state = append(state, name)
	}
	for name := range nn.NamedParameters(z) {
		parameters = append(parameters, name)
	}
	for name := range nn.NamedBuffers(z) {
		buffers = append(buffers, name)
	}
	require.Equal(t, []string{"scale", "gain", "seen", "head.weight", "blocks.0.weight", "blocks.2.weight", "named.a.1.weight",
		"named.b.weight",
		"in_order.z.weight", "in_order.x.weight", "0.weight", "pair.0", "pair.1", "running_up.weight", "any.weight", "qkv_proj2_d.weight",
		"qkv_proj2_d.bias", "qkv_proj2_d.running_mean", "qkv_proj2_d.running_var",
		"qkv_proj2_d.num_batches_tracked", "attached.bias"}, state)
	require.Equal(t, []string{"scale", "gain", "head.weight", "blocks.0.weight", "blocks.2.weight", "named.a.1.weight", "named.b.weight",
		"in_order.z.weight", "in_order.x.weight", "0.weight", "pair.0", "pair.1", "running_up.weight", "any.weight", "qkv_proj2_d.weight",
		"qkv_proj2_d.bias", "attached.bias"}, parameters)
	require.Equal(t, []string{"seen", "tmp", "qkv_proj2_d.running_mean", "qkv_proj2_d.running_var", "qkv_proj2_d.num_batches_tracked"},
		buffers)
	require.Len(t, nn.Parameters(z), len(parameters))
	require.Len(t, nn.Buffers(z), len(buffers))
	require.Equal(t, len(parameters), nn.NumParameters(z))
	require.NotNil(t, z.private)
}

// A module that is out of sight would not be trained, and nothing would tell.
func TestPartsAreExported(t *testing.T) {
	torchtest.NoLeaks(t)
	for field, m := range map[string]any{
		"fc":   &struct{ fc *nn.Linear }{},
		"rnn":  &struct{ rnn *nn.LSTM }{},
		"head": &struct{ head nn.Layer }{},
		"all":  &struct{ all nn.Sequential }{},
	} {
		require.ErrorContains(t, torch.Try(func() { nn.Parameters(m) }), "the field "+field+" of ")
	}
	type careful struct {
		nn.Sequential
		last  *nn.Linear `torch:"-"`
		width int
		mean  torch.Tensor
	}
	require.Empty(t, nn.Parameters(&careful{}))
}

// A tensor or module that two fields share is one parameter, under both names in the state
// dict; modules that refer to each other end the walk rather than the program.
func TestSharing(t *testing.T) {
	torchtest.NoLeaks(t)
	type tied struct {
		Embed, Out *nn.Linear
		Weight     torch.Tensor
		Self       *tied
	}
	shared := nn.NewLinear(2, 3)
	m := &tied{Embed: shared, Out: shared, Weight: shared.Weight}
	m.Self = m
	require.Len(t, nn.Parameters(m), 2)
	names := slices.Collect(maps.Keys(maps.Collect(nn.StateDict(m))))
	require.ElementsMatch(t, []string{"weight", "embed.weight", "embed.bias", "out.weight", "out.bias"}, names)
	var modules []string
	for name := range nn.NamedModules(m) {
		modules = append(modules, name)
	}
	require.Equal(t, []string{"", "embed"}, modules)
}

func TestDeclarationsThatMakeNoSense(t *testing.T) {
	tensor := torch.Ones(1)
	defer tensor.Close()
	for _, c := range []struct {
		name   string
		module any
		want   string
	}{
		{"unknown option", &struct {
			A torch.Tensor `torch:"a,bufer"`
		}{tensor}, `torch: module: field struct { A torch.Tensor "torch:\"a,bufer\"" }.A has a tag "a,bufer"; expected buffer, ` +
			`transient, optional or inline after the name`},
		{"one name twice", &struct {
			RunningMean torch.Tensor
			Mean        torch.Tensor `torch:"running_mean"`
		}{tensor, tensor}, `torch: module: struct { RunningMean torch.Tensor; Mean torch.Tensor "torch:\"running_mean\"" } has two ` +
			`parts of the name "running_mean"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.EqualError(t, torch.Try(func() { nn.Parameters(c.module) }), c.want)
		})
	}
	byValue := nn.Sequential{valueDropout{}}
	require.EqualError(t, torch.Try(func() { nn.Eval(byValue) }),
		`torch: module: the mode of "0" (nn_test.valueDropout) cannot be set: hold the module by a pointer`)
}

type valueDropout struct{ Mode nn.Mode }

func (valueDropout) Forward(x torch.Tensor) torch.Tensor { return x }

func TestModes(t *testing.T) {
	torchtest.NoLeaks(t)
	z := newZoo()
	drop := nn.NewDropout(0.5)
	z.Any = nn.Sequential{drop}
	require.True(t, drop.Mode.Training(), "modules are born in training")
	require.Same(t, z, nn.Eval(z))
	require.Equal(t, nn.Evaluating, drop.Mode)
	require.Equal(t, nn.Evaluating, z.Mode)
	require.Equal(t, nn.Evaluating, z.QKVProj2D.(*nn.BatchNorm1d).Mode)
	nn.Train(z)
	require.Equal(t, []nn.Mode{nn.Training, nn.Training}, []nn.Mode{drop.Mode, z.Mode})
	drop.Mode = nn.Evaluating
	require.PanicsWithValue(t, "out", func() {
		nn.WithMode(z, nn.Evaluating, func() {
			require.Equal(t, []nn.Mode{nn.Evaluating, nn.Evaluating}, []nn.Mode{drop.Mode, z.Mode})
			panic("out")
		})
	})
	require.Equal(t, []nn.Mode{nn.Evaluating, nn.Training}, []nn.Mode{drop.Mode, z.Mode}, "each has its own again")
	require.Equal(t, "training evaluating", fmt.Sprint(nn.Training, " ", nn.Evaluating))
}

// Structs of options are no modules.
func TestNamedModules(t *testing.T) {
	torchtest.NoLeaks(t)
	net := &struct {
		Body    nn.Sequential
		Blocks  []nn.Layer
		Config  struct{ Depth []int }
		Heads   struct{ A *nn.Linear }
		NoHeads []*nn.Linear
	}{Body: nn.Sequential{nn.NewConv2d(1, 1, 1), nn.ReLU{}}, Blocks: []nn.Layer{nn.NewDropout(0.5)}}
	net.Heads.A = nn.NewLinear(1, 1)
	var names []string
	for name := range nn.NamedModules(net) {
		names = append(names, name)
	}
	require.Equal(t, []string{"", "body", "body.0", "body.1", "blocks", "blocks.0", "heads", "heads.a"}, names)
}

// tree is testdata/apply.py's.
type tree struct {
	First  *nn.Linear
	Middle *struct {
		Left, Right *nn.Linear
		List        nn.Sequential
	}
	Shared, Again, Norm any
	Last                *nn.Linear
}

func newTree() *tree {
	shared := nn.NewLinear(2, 2)
	net := &tree{First: nn.NewLinear(2, 3), Shared: shared, Again: shared, Norm: nn.NewBatchNorm1d(3), Last: nn.NewLinear(3, 2)}
	net.Middle = &struct {
		Left, Right *nn.Linear
		List        nn.Sequential
	}{nn.NewLinear(3, 1), nn.NewLinear(1, 3), nn.Sequential{nn.NewLinear(3, 3), nn.ReLU{}, nn.Sequential{nn.NewLinear(2, 1), shared}}}
	return net
}

// The modules within come in their order and before the one around them, so that seeded
// initialisation draws what Python draws.
func TestApplyAsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		net := newTree()
		want := peer.Run(t, "testdata/apply.py", nil)
		torch.ManualSeed(7)
		visits := 0
		require.Same(t, net, nn.Apply(net, func(m any) {
			visits++
			switch l := m.(type) {
			case *nn.Linear:
				nninit.Normal(l.Weight, 0, 1)
				nninit.Uniform(l.Bias, 0, 1)
			case *nn.BatchNorm1d:
				nninit.Normal(l.Weight, 0, 1)
			case *tree:
				nninit.Normal(l.Last.Bias, 0, 1)
			}
		}))
		require.Equal(t, want["visits"].Int(), visits)
		delete(want, "visits")
		got := maps.Collect(nn.StateDict(net))
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name := range got {
			t.Log(name)
			torchtest.Equal(t, got[name], want[name])
		}
	})
}

// A module that refers to one around it is not gone through again.
func TestApplyToALoop(t *testing.T) {
	type ring struct {
		Next  *ring
		Layer nn.ReLU
	}
	r := &ring{}
	r.Next = &ring{Next: r}
	var order []any
	nn.Apply(r, func(m any) { order = append(order, m) })
	require.Equal(t, []any{nn.ReLU{}, r.Next, nn.ReLU{}, r}, order)
}

func TestGradients(t *testing.T) {
	torchtest.NoLeaks(t)
	l := nn.NewLinear(2, 1)
	torch.Scope(func() {
		l.Forward(torch.Ones(1, 2)).Sum().Backward()
		require.True(t, l.Weight.Grad().Defined())
		nn.ZeroGrad(l)
		require.False(t, l.Weight.Grad().Defined())
		nn.SetRequiresGrad(l, false)
		require.False(t, l.Forward(torch.Ones(1, 2)).RequiresGrad())
		nn.SetRequiresGrad(l, true)
		require.True(t, l.Bias.RequiresGrad())
	})
}

// A model that is built in a scope outlives it, and so does what its user adds.
func TestModulesOutliveScopes(t *testing.T) {
	torchtest.NoLeaks(t)
	var net nn.Sequential
	var own torch.Tensor
	torch.Scope(func() {
		net = nn.Sequential{
			nn.NewConv2d(3, 4, 3, nn.ConvOptions{Padding: 1}), nn.NewBatchNorm2d(4), nn.NewGroupNorm(2, 4),
			nn.NewLayerNorm([]int{4}), nn.NewLinear(4, 2),
		}
		nn.To(net, torch.Float64)
		own = nn.NewParameter(torch.Ones(3))
	})
	torch.Scope(func() {
		y := net.Forward(torch.TensorOptions{DType: torch.Float64}.Ones(2, 3, 4, 4))
		y.Sum().Backward()
		require.Equal(t, []int{2, 4, 4, 2}, y.Shape())
	})
	require.False(t, own.Closed())
	require.True(t, own.RequiresGrad())
	before := torch.Stats().Live()
	nn.Close(net)
	require.Equal(t, before-13, torch.Stats().Live())
}

func TestChainClosesWhatIsBetween(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(2, 2)
	live := torch.Stats().Live()
	y := nn.Chain(x, nn.ReLU{}, nn.Identity{}, nn.Tanh{}, nn.ReLU{InPlace: true}, nn.Flatten{}, nn.NewDropout(0))
	require.Equal(t, live+1, torch.Stats().Live())
	require.False(t, x.Closed())
	y.Close()
	require.True(t, nn.Chain(x).Is(x))
	require.True(t, nn.Chain(x, nn.Identity{}).Is(x))
	require.True(t, nn.Chain(x, nn.ReLU{InPlace: true}, nn.Identity{}).Is(x))
	require.Equal(t, live, torch.Stats().Live())
}

func TestBadArguments(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, c := range []struct {
		name string
		make func()
		want string
	}{
		{"groups", func() { nn.NewConv2d(3, 4, 3, nn.ConvOptions{Groups: 2}) },
			"torch: conv2d: 3 input and 4 output channels cannot be divided into 2 groups"},
		{"kernel", func() { nn.NewConv2d(3, 4, []int{1, 2, 3}) },
			"torch: conv2d kernel: expected an int or a []int of length 2, got []int([1 2 3])"},
		{"stride", func() { nn.NewConv1d(3, 4, 1, nn.ConvOptions{Stride: 1.5}) },
			"torch: conv1d stride: expected an int or a []int of length 1, got float64(1.5)"},
		{"padding", func() { nn.NewConv2d(3, 4, 1, nn.ConvOptions{Padding: "some"}) },
			`torch: conv2d: padding "some" is not known; expected a number, "same" or "valid"`},
		{"padding mode", func() { nn.NewConv2d(3, 4, 1, nn.ConvOptions{PaddingMode: "mirror"}) },
			`torch: conv2d: padding mode "mirror" is not known; expected zeros, reflect, replicate or circular`},
		{"probability", func() { nn.NewDropout(1.5) }, "torch: dropout: a probability lies between 0 and 1, got 1.5"},
		{"channels", func() { nn.NewGroupNorm(3, 4) }, "torch: group_norm: 4 channels cannot be divided into 3 groups"},
		{"batch of one", func() { nn.NewBatchNorm1d(2).Forward(torch.Ones(1, 2)) },
			"torch: BatchNorm1d: batch_norm: Expected more than 1 value per channel when training, got input size [1, 2]"},
		{"dimensions", func() { nn.NewBatchNorm2d(2).Forward(torch.Ones(1, 2)) },
			"torch: BatchNorm2d: batch_norm2d: expected an input of 4 dimensions, got shape [1 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.EqualError(t, torch.Try(func() { torch.Scope(c.make) }), c.want)
		})
	}
}
