package dist_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// model is one of testdata/ddp.py.
type model interface {
	Forward(x torch.Tensor, other bool) torch.Tensor
}

type convnet struct {
	Conv1 *nn.Conv2d      `torch:"conv1"`
	BN1   *nn.BatchNorm2d `torch:"bn1"`
	Conv2 *nn.Conv2d      `torch:"conv2"`
	BN2   *nn.BatchNorm2d `torch:"bn2"`
	FC    *nn.Linear      `torch:"fc"`
}

func newNet() model {
	return &convnet{
		nn.NewConv2d(3, 8, 3, nn.ConvOptions{Padding: 1, NoBias: true}), nn.NewBatchNorm2d(8),
		nn.NewConv2d(8, 16, 3, nn.ConvOptions{Stride: 2}), nn.NewBatchNorm2d(16), nn.NewLinear(144, 10),
	}
}

func (n *convnet) Forward(x torch.Tensor, _ bool) torch.Tensor {
	x = F.ReLU(n.BN1.Forward(n.Conv1.Forward(x)))
	x = F.ReLU(n.BN2.Forward(n.Conv2.Forward(x)))
	return n.FC.Forward(x.Flatten(1, -1))
}

type transformer struct {
	Encoder   *nn.TransformerEncoderLayer `torch:"encoder"`
	Even, Odd *nn.Linear
}

func newTransformer() model {
	return &transformer{
		nn.NewTransformerEncoderLayer(16, 2, nn.TransformerLayerOptions{DimFeedforward: 32, Dropout: new(0.0), BatchFirst: true}),
		nn.NewLinear(16, 10), nn.NewLinear(16, 10),
	}
}

func (m *transformer) Forward(x torch.Tensor, other bool) torch.Tensor {
	x = m.Encoder.Forward(x).Mean(1)
	if other {
		return m.Odd.Forward(x)
	}
	return m.Even.Forward(x)
}

// twins has weights of one shape.
type twins struct {
	First, Second, Last *nn.Linear
}

func newTwins() model {
	return &twins{nn.NewLinear(16, 16), nn.NewLinear(16, 16), nn.NewLinear(16, 10)}
}

func (m *twins) Forward(x torch.Tensor, _ bool) torch.Tensor {
	return m.Last.Forward(F.ReLU(m.Second.Forward(F.ReLU(m.First.Forward(x.Mean(1))))))
}

// training is a case: how Python is told, and how Go does it.
type training struct {
	config   string
	new      func() model
	shape    []int // of a sample
	options  dist.DDPOptions
	compress torch.DType
	micro    int
	autocast bool
	hook     bool // gradients are reduced by a hook of Go's
	uneven   bool // the ranks have 5, 7, … batches
	join     dist.JoinOptions
	zero     bool // the optimizer is divided, and joins
	power    *dist.PowerSGDOptions
}

var (
	image    = []int{3, 8, 8}
	sequence = []int{5, 16}
)

var trainings = []training{
	{config: "model=net,cap=0.002", new: newNet, shape: image, options: dist.DDPOptions{BucketCapMB: 0.002}},
	{config: "model=net,micro=2,gradient_as_bucket_view=1", new: newNet, shape: image, micro: 2,
		options: dist.DDPOptions{GradientAsBucketView: true}},
	{config: "model=transformer,find_unused_parameters=1,cap=0.001", new: newTransformer, shape: sequence,
		options: dist.DDPOptions{FindUnusedParameters: true, BucketCapMB: 0.001}},
	{config: "model=net,static_graph=1", new: newNet, shape: image, options: dist.DDPOptions{StaticGraph: true}},
	{config: "model=net,hook=fp16", new: newNet, shape: image, compress: torch.Float16},
	{config: "model=net,hook=bf16", new: newNet, shape: image, compress: torch.BFloat16},
	{config: "model=net,autocast=1", new: newNet, shape: image, autocast: true},
	{config: "model=net,uneven=initial,cap=0.002", new: newNet, shape: image, options: dist.DDPOptions{BucketCapMB: 0.002}, uneven: true},
	{config: "model=net,uneven=effective,micro=2", new: newNet, shape: image, micro: 2, uneven: true,
		join: dist.JoinOptions{EffectiveWorldSize: true}},
	{config: "model=transformer,uneven=initial,find_unused_parameters=1", new: newTransformer, shape: sequence, uneven: true,
		options: dist.DDPOptions{FindUnusedParameters: true}},
	{config: "model=net,uneven=initial,zero=1,hook=fp16", new: newNet, shape: image, compress: torch.Float16, uneven: true, zero: true},
	// One bucket: Python's hook has several under way at a time, and gloo mixes them up.
	{config: "model=net,power=1/0/1", new: newNet, shape: image, power: &dist.PowerSGDOptions{}},
	{config: "model=twins,power=4/1/1", new: newTwins, shape: sequence,
		power: &dist.PowerSGDOptions{MatrixApproximationRank: 4, BatchTensorsWithSameShape: true}},
	{config: "model=net,power=2/1/0,uneven=initial", new: newNet, shape: image, uneven: true,
		power: &dist.PowerSGDOptions{MatrixApproximationRank: 2, BatchTensorsWithSameShape: true, NoErrorFeedback: true, NoWarmStart: true}},
}

const steps, batch = 50, 4

// inputs are what the ranks train on, and where they begin, by the name of the model.
func inputs(size int) peer.Tensors {
	torch.ManualSeed(3)
	in := peer.Tensors{}
	for _, c := range trainings {
		name := c.model()
		if in[name+".x"].Defined() {
			continue
		}
		in[name+".x"] = torch.RandN(append([]int{steps, size, batch}, c.shape...)...)
		in[name+".y"] = torch.RandIntN(10, steps, size, batch)
		m := c.new()
		for key, t := range nn.StateDict(m) {
			in[name+".state."+key] = t.Clone()
		}
		nn.Close(m)
	}
	return in
}

func (c training) model() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(c.config, "model="), ",")
	return name
}

// mean is a hook that does what DDP does without one.
func mean(g *dist.Group) func(b dist.GradBucket) torch.Tensor {
	return func(b dist.GradBucket) torch.Tensor {
		b.Buffer.DivScalarInPlace(float64(g.Size()))
		if err := g.AllReduce(b.Buffer).Wait(context.Background()); err != nil {
			panic(err)
		}
		return b.Buffer
	}
}

// train is what the function of that name in testdata/ddp.py does.
func (c training) train(g *dist.Group, in peer.Tensors) (peer.Tensors, error) {
	var m model
	torch.Unscoped(func() { m = c.new() })
	defer nn.Close(m)
	state := maps.Collect(nn.StateDict(m))
	for name := range state {
		state[name] = in[c.model()+".state."+name]
	}
	if err := nn.LoadStateDict(m, state); err != nil {
		return nil, err
	}
	ddp, err := dist.NewDDP(g, m, c.options)
	if err != nil {
		return nil, err
	}
	defer ddp.Close()
	if c.compress != (torch.DType{}) {
		ddp.Compress(c.compress)
	}
	if c.power != nil {
		o := *c.power
		o.StartIter, o.MinCompressionRate, o.OrthogonalizationEpsilon, o.RandomSeed = 3, 1, 1e-8, 7
		power, err := dist.NewPowerSGD(g, o)
		if err != nil {
			return nil, err
		}
		defer power.Close()
		ddp.RegisterCommHook(power.Hook)
	}
	if c.hook {
		ddp.RegisterCommHook(mean(g))
	}
	var opt optim.Optimizer = optim.NewSGD(nn.Parameters(ddp), 0.05, optim.SGDOptions{Momentum: 0.9})
	members := []dist.Joinable{ddp}
	if c.zero {
		zero, err := dist.NewZeRO(g, opt)
		if err != nil {
			return nil, err
		}
		opt, members = zero, append(members, zero)
	}
	defer opt.(interface{ Close() }).Close()
	if !c.uneven {
		c.steps(ddp, opt, g.Rank(), steps, in)
	} else if err := dist.Join(members, func() error {
		c.steps(ddp, opt, g.Rank(), 5+2*g.Rank(), in)
		return nil
	}, c.join); err != nil {
		return nil, err
	}
	got := peer.Tensors{}
	for name, t := range nn.StateDict(ddp) {
		got[name] = t.Clone().Keep()
	}
	return got, nil
}

// steps makes some steps, on a batch in one pass or several.
func (c training) steps(ddp *dist.DDP[model], opt optim.Optimizer, rank, count int, in peer.Tensors) {
	micro := max(1, c.micro)
	for step := range count {
		torch.Scope(func() {
			xs := in[c.model()+".x"].Select(0, step).Select(0, rank).Chunk(micro, 0)
			ys := in[c.model()+".y"].Select(0, step).Select(0, rank).Chunk(micro, 0)
			pass := func(i int) {
				var loss torch.Tensor
				forward := func() {
					out := ddp.Call(func(m model) []torch.Tensor { return []torch.Tensor{m.Forward(xs[i], (step+rank)%3 == 0)} })
					loss = F.CrossEntropy(out[0], ys[i])
				}
				if c.autocast {
					amp.Autocast(torch.CPU, torch.BFloat16, forward)
				} else {
					forward()
				}
				loss.Backward()
			}
			ddp.NoSync(func() {
				for i := range micro - 1 {
					pass(i)
				}
			})
			pass(micro - 1)
			opt.Step()
			opt.ZeroGrad()
		})
	}
}

// Ranks of Go's come to what as many of Python's come to, and so does one of each.
func TestDDPAgainstPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		in := inputs(2)
		want := against(t, in, trainings, 2)
		var numbers []int
		for i, c := range trainings {
			if i == 0 || !c.zero && (c.uneven || c.power != nil) { // Python's ZeRO exchanges other things than ours
				numbers = append(numbers, i)
			}
		}
		mixed(t, in, want, numbers...)
		against(t, inputs(4), []training{trainings[0], trainings[2]}, 4)
	})
}

// against compares trainings on so many ranks, and returns what Python came to.
func against(t *testing.T, in peer.Tensors, list []training, size int) peer.Tensors {
	var configs []string
	for _, c := range list {
		configs = append(configs, c.config)
	}
	want := peer.Run(t, "testdata/ddp.py", in, strings.Join(configs, ";"), strconv.Itoa(size))
	for i, c := range list {
		for rank, got := range c.onRanks(t, in, size) {
			equal(t, fmt.Sprintf("%s, rank %d of %d", c.config, rank, size), strconv.Itoa(i)+".", want, got, rank)
		}
	}
	return want
}

// onRanks trains on so many ranks.
func (c training) onRanks(t *testing.T, in peer.Tensors, size int) []peer.Tensors {
	all := make([]peer.Tensors, size)
	ranks(t, size, patience, func(ctx context.Context, g *dist.Group) (err error) {
		all[g.Rank()], err = c.train(g, in)
		return errors.Join(err, g.Barrier().Wait(ctx))
	})
	return all
}

// Four ranks come to what one process comes to with their batches joined, within 1e-5 after 50 steps: sums have another order.
func TestDDPIsOneProcessOnTheJoinedBatch(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		c, in := training{config: "model=twins", new: newTwins, shape: sequence}, inputs(4)
		joined := maps.Clone(in)
		for _, name := range []string{"twins.x", "twins.y"} {
			joined[name] = in[name].Flatten(1, 2).Unsqueeze(1)
		}
		want := c.onRanks(t, joined, 1)[0]
		for _, got := range c.onRanks(t, in, 4) {
			for name, x := range got {
				require.False(t, want[name].Equal(in["twins.state."+strings.TrimPrefix(name, "module.")]), "%s was trained", name)
				torchtest.AllClose(t, x, want[name], torchtest.Tolerance{Absolute: 1e-5})
				x.Close()
			}
		}
		for _, x := range want {
			x.Close()
		}
	})
}

// mixed trains on one rank of Go's and one of Python's. want has what the trainings of the list come to on ranks of one kind.
func mixed(t *testing.T, in, want peer.Tensors, numbers ...int) {
	port := clitest.FreePort(t)
	var got []peer.Tensors
	var configs []string
	for _, n := range numbers {
		configs = append(configs, trainings[n].config)
	}
	var work errgroup.Group
	work.Go(func() error {
		g, err := dist.InitProcessGroup(t.Context(), "gloo",
			dist.InitOptions{InitMethod: fmt.Sprintf("tcp://127.0.0.1:%d", port), WorldSize: 2, Timeout: patience})
		if err != nil {
			return err
		}
		defer g.Close()
		for _, n := range numbers {
			trained, err := trainings[n].train(g, in)
			if err != nil {
				return fmt.Errorf("Go beside Python, %s: %w", trainings[n].config, err)
			}
			got = append(got, trained)
		}
		return g.Barrier().Wait(t.Context())
	})
	python := peer.Run(t, "testdata/ddp.py", in, strings.Join(configs, ";"), "2", "1", strconv.Itoa(port))
	require.NoError(t, work.Wait())
	for i, n := range numbers {
		equal(t, "Go beside Python, "+configs[i], fmt.Sprint(n, "."), want, got[i], 0)
	}
	for name, x := range python {
		i, name, _ := strings.Cut(name, ".")
		n, err := strconv.Atoi(i)
		require.NoError(t, err)
		if !strings.Contains(name, "running_") {
			assert.True(t, x.Equal(want[fmt.Sprint(numbers[n], ".", name)]), "%s of Python beside Go, %s", name, configs[n])
		}
	}
}

// equal compares what a rank came to with the state dict of Python's rank 0, whose running means the other ranks get before
// the next pass only. It closes the rank's tensors.
func equal(t *testing.T, who, prefix string, want, got peer.Tensors, rank int) {
	assert.NotEmpty(t, got, who)
	for name, x := range got {
		expected := want[prefix+name]
		if assert.True(t, expected.Defined(), name) && (rank == 0 || !strings.Contains(name, "running_")) {
			assert.True(t, x.Equal(expected), "%s: %s", who, name)
		}
		x.Close()
	}
}
