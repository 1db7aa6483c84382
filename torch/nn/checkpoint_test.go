package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type function = func(in ...torch.Tensor) []torch.Tensor

// direct is nn.CheckpointAll without the checkpoint.
func direct(fn function, in ...torch.Tensor) []torch.Tensor { return fn(in...) }

// checkpointNet is the network of testdata/checkpoint.py.
type checkpointNet struct {
	weights []torch.Tensor
	saved   func(fn function, in ...torch.Tensor) []torch.Tensor
}

func (n *checkpointNet) block(which ...int) function {
	return func(in ...torch.Tensor) []torch.Tensor {
		h := in[0]
		for _, i := range which {
			h = aten.Dropout(F.Linear(h, n.weights[i], torch.Tensor{}).Tanh(), 0.25, true).Mul(h)
		}
		return []torch.Tensor{h}
	}
}

type blockLayer struct{ fn function }

func (b blockLayer) Forward(x torch.Tensor) torch.Tensor { return b.fn(x)[0] }

func (n *checkpointNet) forward(name string, x torch.Tensor) torch.Tensor {
	switch name {
	case "plain":
		return n.saved(n.block(0, 1), x)[0]
	case "chain":
		return n.saved(n.block(2, 3), n.saved(n.block(0, 1), x)...)[0]
	case "nested":
		return n.saved(func(in ...torch.Tensor) []torch.Tensor {
			return n.block(2)(n.saved(n.block(0, 1), in...)[0].Sigmoid())
		}, x)[0]
	case "two":
		ab := n.saved(func(in ...torch.Tensor) []torch.Tensor {
			a := n.block(0)(in...)
			return append(a, n.block(1)(a...)...)
		}, x)
		return ab[0].Mul(ab[1])
	case "sequential":
		var s nn.Sequential
		for i := range n.weights {
			s = append(s, blockLayer{n.block(i)})
		}
		return nn.CheckpointSequential(s, 2, x)
	default:
		var y torch.Tensor
		torch.WithAutocast(torch.AutocastMode{Device: torch.CPU, Enabled: true, DType: torch.BFloat16},
			func() { y = n.saved(n.block(0, 1), x)[0] })
		return y.To(torch.Float32)
	}
}

func TestCheckpointEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	names := []string{"plain", "chain", "nested", "two", "sequential", "autocast"}
	torch.Scope(func() {
		torch.ManualSeed(2)
		inputs := peer.Tensors{"x": torch.RandN(5, 6)}
		for i := range 4 {
			inputs[fmt.Sprint("w", i)] = torch.RandN(6, 6)
		}
		want := peer.Run(t, "testdata/checkpoint.py", inputs, names...)
		for _, name := range names {
			for mode, saved := range map[string]func(function, ...torch.Tensor) []torch.Tensor{"checkpoint": nn.CheckpointAll, "direct": direct} {
				t.Run(name+"/"+mode, func(t *testing.T) {
					torch.Scope(func() {
						n := &checkpointNet{saved: saved}
						x := inputs["x"].Clone().SetRequiresGrad(true)
						got := peer.Tensors{}
						for i := range 4 {
							n.weights = append(n.weights, inputs[fmt.Sprint("w", i)].Clone().SetRequiresGrad(true))
						}
						torch.ManualSeed(11)
						loss := n.forward(name, x).Square().Sum().Add(torch.Rand())
						loss.Backward()
						got["loss"], got["gx"], got["after"] = loss.Detach(), x.Grad(), torch.Rand(3)
						for i, w := range n.weights {
							if got[fmt.Sprint("g", i)] = w.Grad(); !w.Grad().Defined() {
								got[fmt.Sprint("g", i)] = torch.Zeros()
							}
						}
						for key, g := range got {
							torchtest.Equal(t, g, want[name+"/"+key])
						}
					})
				})
			}
		}
	})
}

func deepNet(layers, width int) nn.Sequential {
	var s nn.Sequential
	for range layers {
		s = append(s, nn.NewLinear(width, width), nn.Tanh{})
	}
	return s
}

// Of the activations of 16 layers only those of one segment are in memory.
func TestCheckpointSavesMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	const layers, batch, width, segments = 16, 4096, 16, 4
	s := deepNet(layers, width)
	defer nn.Close(s)
	peak := func(forward func(x torch.Tensor) torch.Tensor) (most int64, grads []torch.Tensor) {
		torch.Scope(func() {
			x := torch.Ones(batch, width)
			before := torch.Stats().HostBytes
			look := func(g torch.Tensor) torch.Tensor {
				most = max(most, torch.Stats().HostBytes-before)
				return torch.Tensor{}
			}
			for _, p := range nn.Parameters(s) {
				defer p.RegisterHook(look).Remove()
			}
			y := forward(x)
			most = torch.Stats().HostBytes - before
			loss := y.Square().Mean()
			y.Close()
			loss.Backward()
			for _, p := range nn.Parameters(s) {
				grads = append(grads, p.Grad().Keep())
				p.SetGrad(torch.Tensor{})
			}
		})
		return most, grads
	}
	whole, want := peak(s.Forward)
	parts, got := peak(func(x torch.Tensor) torch.Tensor { return nn.CheckpointSequential(s, segments, x) })
	defer torch.Close(append(got, want...)...)
	for i := range want {
		torchtest.Equal(t, got[i], want[i])
	}
	const activation = 4 * batch * width
	t.Logf("%d activations at most without checkpoints, %d with", whole/activation, parts/activation)
	assert.GreaterOrEqual(t, whole, int64(layers*activation))
	assert.LessOrEqual(t, parts, int64((layers/segments+segments+4)*activation))
}

func TestCheckpointWithGradAndRetainedGraph(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		runs := 0
		x, w := torch.Ones(3).SetRequiresGrad(true), torch.FullLike(torch.Ones(3), 2).SetRequiresGrad(true)
		y := nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor {
			runs++
			return in[0].Mul(w).Exp().Mul(in[0])
		}, x).Sum()
		want := torch.Grad([]torch.Tensor{x.Mul(w).Exp().Mul(x).Sum()}, []torch.Tensor{x, w})
		for range 2 {
			got := torch.Grad([]torch.Tensor{y}, []torch.Tensor{x, w}, torch.GradOptions{RetainGraph: true})
			torchtest.Equal(t, got[0], want[0])
			torchtest.Equal(t, got[1], want[1])
		}
		assert.Equal(t, 3, runs)
		first := torch.Grad([]torch.Tensor{y}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
		second := torch.Grad([]torch.Tensor{first.Sum()}, []torch.Tensor{w})[0]
		exact := torch.Grad([]torch.Tensor{x.Mul(w).Exp().Mul(x).Sum()}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
		torchtest.Equal(t, second, torch.Grad([]torch.Tensor{exact.Sum()}, []torch.Tensor{w})[0])

		torch.NoGrad(func() {
			assert.False(t, nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return in[0].Exp() }, x).RequiresGrad())
		})
		nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return in[0] }, x).Sum().Backward()
		assert.Equal(t, []float64{1, 1, 1}, torch.Values[float64](x.Grad()), "nothing to compute again")
	})
}

func TestCheckpointErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(4).SetRequiresGrad(true)
		n := 0
		cases := []struct {
			name, text string
			fn         func(in ...torch.Tensor) torch.Tensor
		}{
			{"shape", "tensor 0 was float32[4] on cpu, now it is float32[3] on cpu", func(in ...torch.Tensor) torch.Tensor {
				n++
				return in[0].Narrow(0, 0, 5-n).Exp().Sum()
			}},
			{"fewer", "saved 2 tensors when it ran first, and 1 now", func(in ...torch.Tensor) torch.Tensor {
				if n++; n == 1 {
					return in[0].Exp().Exp().Sum()
				}
				return in[0].Exp().Sum()
			}},
			{"panic", "not twice", func(in ...torch.Tensor) torch.Tensor {
				if n++; n == 2 {
					panic("not twice")
				}
				return in[0].Exp().Sum()
			}},
		}
		for _, c := range cases {
			n = 0
			y := nn.Checkpoint(c.fn, x)
			err := torch.Try(func() { y.Backward() })
			var e *torch.Error
			require.ErrorAs(t, err, &e, c.name)
			assert.ErrorContains(t, err, c.text, c.name)
		}
		changed := x.MulScalar(1)
		y := nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return in[0].Exp().Sum() }, changed)
		torch.NoGrad(func() { changed.ZeroInPlace() })
		assert.ErrorContains(t, torch.Try(func() { y.Backward() }), "modified by an inplace operation")
		assert.ErrorContains(t, torch.Try(func() { nn.CheckpointSequential(nn.Sequential{nn.Tanh{}}, 2, x) }),
			"1 layers cannot be divided into 2 segments")
	})
}
