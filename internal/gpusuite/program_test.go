package gpusuite

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// network is a model of Go's with inputs of some sizes, and how far a compiled one may be from it, relative to the largest result.
type network struct {
	name   string
	make   func() nn.Layer // with weights by chance
	input  func(n int) torch.Tensor
	dims   map[int]export.Dim
	within float64 // of float32, fused
	inHalf float64 // of float16; bfloat16 has an eighth of its digits
}

// networks have weights by chance, of which deep ones make more of any rounding than those that have learned: ResNet-50's bars are about
// twice what was measured on an H100.
func networks() []network {
	cifarStem := models.ResNetOptions{Stem: models.CIFARStem}
	image := func(size int) func(n int) torch.Tensor {
		return func(n int) torch.Tensor { return torch.RandN(n, 3, size, size) }
	}
	rows := map[int]export.Dim{0: {Name: "batch", Max: 64}}
	return []network{
		{"ResNet-18", func() nn.Layer { return models.ResNet18(classes, cifarStem) }, image(32), rows, 1e-5, 1e-2},
		{"ResNet-50", func() nn.Layer { return models.ResNet50(classes) }, image(64), rows, 5e-5, 5e-2},
		{"MobileNet v3", func() nn.Layer { return models.MobileNetV3Small(classes) }, image(64), rows, 1e-5, 1e-2},
		{"transformer", func() nn.Layer {
			return nn.NewTransformerEncoderLayer(64, 4, nn.TransformerLayerOptions{DimFeedforward: 128, BatchFirst: true})
		}, func(n int) torch.Tensor { return torch.RandN(n, 10, 64) }, rows, 1e-5, 1e-2},
		{"MLP", func() nn.Layer { return nn.NewSequential(nn.NewLinear(32, 64), nn.GELU{}, nn.NewLinear(64, 8)) },
			func(n int) torch.Tensor { return torch.RandN(n, 32) }, rows, 1e-5, 1e-2},
	}
}

// onCard makes a network and its program, which are on the card; both are closed when the test ends.
func (n network) onCard(t *testing.T) (nn.Layer, *export.Program) {
	torch.ManualSeed(3)
	model := n.make()
	t.Cleanup(func() { nn.Close(model) })
	nn.To(model, dev)
	torch.NoGrad(func() {
		for range 20 { // batch norms learn what numbers there are: without, they vanish in float16
			torch.Scope(func() { model.Forward(n.input(16).To(dev)) })
		}
	})
	nn.Eval(model)
	nn.To(model, torch.CPU)
	p := n.program(t, model)
	t.Cleanup(p.Close)
	nn.To(model, dev)
	return model, p
}

// program is a model of the network as a program on the card.
func (n network) program(t *testing.T, model nn.Layer) *export.Program {
	p, err := export.Export(model, []any{n.input(2)}, export.ExportOptions{
		ArgNames: []string{"x"}, DynamicShapes: map[string]map[int]export.Dim{"x": n.dims}})
	require.NoError(t, err)
	require.NoError(t, p.To(dev))
	return p
}

// differing runs so many goroutines, each so many times, and counts the results that are an error or not what is wanted to the bit.
func differing(goroutines, times int, wants []torch.Tensor, run func(i int) ([]torch.Tensor, error), around func(fn func())) int {
	var wrong atomic.Int64
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			around(func() {
				for range times {
					torch.Scope(func() {
						if out, err := run(i); err != nil || !out[0].Equal(wants[i]) {
							wrong.Add(1)
						}
					})
				}
			})
		})
	}
	group.Wait()
	return int(wrong.Load())
}

func compile(t *testing.T, p *export.Program, o export.CompileOptions) *export.Compiled {
	c, err := export.Compile(p, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func far(got, want torch.Tensor) float64 {
	a, b := got.To(torch.CPU, torch.Float64), want.To(torch.CPU, torch.Float64)
	return a.Sub(b).Abs().Max().Float64() / b.Abs().Max().Float64()
}

// A program on a card has the bits of the model's Forward there, from operator to operator and as a graph, at each size, with inputs
// from the card and from the host; compiled for speed, what it may be away.
func TestPrograms(t *testing.T) {
	for _, n := range networks() {
		t.Run(n.name, func(t *testing.T) {
			needCard(t)
			exact(func() {
				torch.Scope(func() {
					model, p := n.onCard(t)
					x := n.input(2).To(dev)
					out, err := p.Run(x)
					require.NoError(t, err)
					torchtest.Equal(t, out[0], model.Forward(x))
					for _, c := range []struct {
						name   string
						o      export.CompileOptions
						within float64
					}{
						{"exact", export.CompileOptions{Exact: true}, 0},
						{"without graphs", export.CompileOptions{Exact: true, Graphs: -1}, 0},
						{"fused", export.CompileOptions{}, n.within},
						{"float16", export.CompileOptions{DType: torch.Float16, Inference: true}, n.inHalf},
						{"bfloat16", export.CompileOptions{DType: torch.BFloat16}, 5 * n.inHalf},
					} {
						n.compare(t, model, compile(t, p, c.o), c.name, c.within)
					}
				})
			})
		})
	}
}

// compare runs a program several times with each of some sizes.
func (n network) compare(t *testing.T, model nn.Layer, c *export.Compiled, name string, within float64) {
	worst := 0.0
	for round := range 5 {
		poison()
		for _, rows := range []int{1, 3} {
			torch.Scope(func() {
				x := n.input(rows)
				given := x
				if round%2 == 0 {
					given = x.To(dev)
				}
				want := model.Forward(x.To(dev)).Detach() // not in Inference, where attention has a kernel with other bits
				torch.Inference(func() {
					got, err := c.Run(given)
					require.NoError(t, err)
					require.Equal(t, dev, got[0].Device())
					require.Equal(t, want.Shape(), got[0].Shape())
					require.Equal(t, want.DType(), got[0].DType())
					off := far(got[0], want)
					worst = max(worst, off)
					if !(off <= within) {
						t.Logf("%s: run %d of %d rows: %g", name, round, rows, off)
					}
				})
			})
		}
	}
	reliability.AtMost(t, n.name+", "+name+": away from Forward, in millionths", 1e6*worst, 1e6*within)
	if graphs, why := c.Graphs(); name == "without graphs" {
		require.Error(t, why)
		require.Zero(t, graphs)
	} else {
		require.NoError(t, why)
		require.Equal(t, 2, graphs)
	}
}

// poison leaves numbers that are none in the memory that the card's allocator gives out next.
func poison() {
	torch.Scope(func() {
		for range 3 {
			for size := 1 << 9; size <= 1<<24; size *= 2 {
				on.Full([]int{size}, math.NaN())
			}
		}
	})
}

// Goroutines on streams of their own share one program and its graphs: bits as in one.
func TestProgramGoroutines(t *testing.T) {
	needCard(t)
	const goroutines, runs = 16, 50
	n := networks()[0]
	exact(func() {
		torch.Scope(func() {
			_, p := n.onCard(t)
			c := compile(t, p, export.CompileOptions{DType: torch.Float16})
			var inputs, wants []torch.Tensor
			torch.Inference(func() {
				for i := range goroutines {
					inputs = append(inputs, n.input(1+i%2).To(dev))
					for range 3 {
						out, err := c.Run(inputs[i])
						require.NoError(t, err)
						wants = append(wants[:i], out[0])
					}
				}
			})
			cuda.Synchronize(0)
			wrong := differing(goroutines, runs, wants, func(i int) ([]torch.Tensor, error) { return c.Run(inputs[i]) }, func(fn func()) {
				cuda.WithStream(cuda.NewStream(0), func() { torch.Inference(fn) })
			})
			reliability.Exactly(t, "results of 16 goroutines on streams of their own that differ", wrong, 0)
		})
	})
}

// counter is a model that changes a buffer.
type counter struct {
	Calls torch.Tensor `torch:",buffer"`
}

func (c *counter) Forward(x torch.Tensor) torch.Tensor {
	torch.NoGrad(func() { c.Calls.AddScalarInPlace(1) })
	return x.Add(c.Calls)
}

// A program that changes a buffer does so once in each run, whether it is captured in it or replayed.
func TestProgramBuffers(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		p, err := export.Export(&counter{torch.Zeros()}, []any{torch.Ones(3)})
		require.NoError(t, err)
		defer p.Close()
		require.NoError(t, p.To(dev))
		c := compile(t, p, export.CompileOptions{})
		for i := range 6 {
			torch.NoGrad(func() {
				out, err := c.Run(torch.Full([]int{3}, 10.))
				require.NoError(t, err)
				require.Equal(t, float64(11+i), out[0].Max().Float64())
			})
		}
		graphs, why := c.Graphs()
		require.NoError(t, why)
		require.Equal(t, 1, graphs)
	})
}

// What waits for the card stays what it is, and so does what has more sizes than it may have graphs.
func TestProgramsWithoutGraphs(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		p, err := export.Export(func(x torch.Tensor) torch.Tensor { return x.ReLU().Sum() }, []any{torch.Ones(3)})
		require.NoError(t, err)
		defer p.Close()
		relu, _ := p.Graph.Nodes[0].Outputs[0].(export.TensorArgument)
		found := p.Graph.Tensors[string(relu)]
		found.DType = torch.Int64
		p.Graph.Tensors["found"] = found
		p.Graph.Nodes = slices.Insert(p.Graph.Nodes, 1, export.Node{Name: "found", Target: "torch.ops.aten.nonzero.default",
			Inputs: []export.NamedArgument{{Name: "self", Value: relu}}, Outputs: []export.Argument{export.TensorArgument("found")}})
		p.Graph.Nodes[2].Inputs[0].Value = export.TensorArgument("found")
		require.NoError(t, p.To(dev))
		n := networks()[4]
		model, many := n.onCard(t)
		few := compile(t, many, export.CompileOptions{Graphs: 2})
		waits := compile(t, p, export.CompileOptions{})
		torch.NoGrad(func() {
			for i := range 5 {
				out, err := waits.Run(torch.Arange(3).To(torch.Float32).SubScalar(i - 2))
				require.NoError(t, err)
				require.Equal(t, []float64{0, 2, 3, 3, 3}[4-i], out[0].Float64())
				for _, rows := range []int{1, 1, 2, 2, 3, 3, 4, 4} { // sizes that come once make room for others
					x := n.input(rows).To(dev)
					out, err := few.Run(x)
					require.NoError(t, err)
					require.LessOrEqual(t, far(out[0], model.Forward(x)), 1e-5)
				}
				_, err = few.Run(n.input(2).Narrow(1, 0, 8))
				require.ErrorContains(t, err, "dimension 1 is 8, expected 32")
			}
		})
		graphs, why := few.Graphs()
		require.NoError(t, why)
		require.Equal(t, 2, graphs)
		_, why = waits.Graphs()
		require.ErrorIs(t, why, cuda.ErrNotCapturable)
	})
}

// Thousands of replays keep no memory of the card's, and closing gives back what graphs had.
func TestProgramMemory(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		n := networks()[0]
		_, p := n.onCard(t)
		x := n.input(4).To(dev)
		run := func(c *export.Compiled, times int) {
			torch.Inference(func() {
				for range times {
					torch.Scope(func() { _, err := c.Run(x); require.NoError(t, err) })
				}
			})
			cuda.Synchronize(0)
		}
		once := func() {
			c, err := export.Compile(p, export.CompileOptions{DType: torch.Float16})
			require.NoError(t, err)
			defer c.Close()
			run(c, 5)
			before := cuda.Memory(0).Allocated
			run(c, 2000)
			reliability.Exactly(t, "bytes of the card's after 2,000 replays, above those before", cuda.Memory(0).Allocated-before, 0)
		}
		once()
		torch.GC()
		before := cuda.Memory(0).Allocated
		for range 5 {
			once()
		}
		torch.GC()
		reliability.AtMost(t, "bytes of the card's after five programs were closed, above those before", cuda.Memory(0).Allocated-before, 0)
	})
}

// What was saved from a card is loaded on the host, and the other way round.
func TestProgramFiles(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		n := networks()[4]
		_, p := n.onCard(t)
		x := n.input(3)
		want, err := p.Run(x.To(dev))
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "card.pt2")
		require.NoError(t, p.Save(path))
		for _, d := range []torch.Device{torch.CPU, dev, {}} {
			q, err := export.Load(path, export.LoadOptions{Device: d})
			require.NoError(t, err)
			defer q.Close()
			if d.IsZero() {
				d = dev
			}
			out, err := q.Run(x.To(d))
			require.NoError(t, err)
			require.Equal(t, d, out[0].Device(), fmt.Sprint(d))
			require.LessOrEqual(t, far(out[0], want[0]), 1e-5)
			if d == dev {
				torchtest.Equal(t, out[0], want[0])
			}
		}
	})
}
