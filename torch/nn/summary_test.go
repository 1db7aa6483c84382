package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// The figures of ResNet-18 for one image of 224 pixels, computed by hand: convolutions and
// the last layer take 1.814e9 multiply-adds.
func TestSummaryOfResNet(t *testing.T) {
	torchtest.NoLeaks(t)
	model := models.ResNet18(1000)
	defer nn.Close(model)
	nn.SetRequiresGrad(model.Conv1, false)
	x := torch.Empty(1, 3, 224, 224)
	defer x.Close()
	torch.ManualSeed(5)
	s := nn.Summary(model, x)
	require.Equal(t, 11_689_512, s.Params)
	require.Equal(t, 11_689_512-64*3*7*7, s.Trainable)
	require.Equal(t, 1_814_073_344, s.MACs)
	require.Equal(t, 4*(11_689_512+2*4800)+8*20, s.StateBytes, "20 normalisations of 4,800 channels in all")
	require.Equal(t, 4*3*224*224, s.InputBytes)
	rows := map[string]nn.SummaryRow{}
	for _, r := range s.Rows {
		rows[r.Name] = r
	}
	require.Equal(t, nn.SummaryRow{Name: "conv1", Type: "Conv2d", Depth: 1, Calls: 1, Output: [][]int{{1, 64, 112, 112}},
		Params: 9408, MACs: 118_013_952, StateBytes: 4 * 9408, ActivationBytes: 4 * 64 * 112 * 112}, rows["conv1"])
	require.Equal(t, [][]int{{1, 128, 28, 28}}, rows["layer2.0.downsample.0"].Output)
	require.Equal(t, 512_000, rows["fc"].MACs)

	require.True(t, model.BN1.(*nn.BatchNorm2d).Mode.Training())
	require.Zero(t, model.BN1.(*nn.BatchNorm2d).NumBatchesTracked.Int())
	require.True(t, model.FC.Weight.RequiresGrad())
	got := torch.Rand(1)
	defer got.Close()
	torch.ManualSeed(5)
	want := torch.Rand(1)
	defer want.Close()
	torchtest.Equal(t, got, want)
}

func TestSummaryCounts(t *testing.T) {
	torchtest.NoLeaks(t)
	shared := nn.NewLinear(3, 3)
	shape := func(size ...int) [][]int { return [][]int{size} }
	for _, c := range []struct {
		name   string
		model  any
		inputs [][]int
		macs   int
	}{
		{"linear", nn.NewLinear(3, 5), shape(2, 4, 3), 2 * 4 * 5 * 3},
		{"bilinear", nn.NewBilinear(2, 3, 4), [][]int{{5, 2}, {5, 3}}, 5 * 4 * 2 * 3},
		{"conv1d", nn.NewConv1d(4, 6, 3, nn.ConvOptions{Groups: 2}), shape(2, 4, 10), 2 * 6 * 8 * (2 * 3)},
		{"conv transpose", nn.NewConvTranspose2d(4, 6, 3, nn.ConvTransposeOptions{Groups: 2, Stride: 2}), shape(2, 4, 5, 5),
			2 * 4 * 25 * (3 * 9)},
		{"lstm", nn.NewLSTM(3, 5, nn.LSTMOptions{NumLayers: 2, Bidirectional: true}), shape(7, 2, 3), 7 * 2 * 2 * 4 * 5 * ((3 + 5) + (10 + 5))},
		{"gru, one sequence", nn.NewGRU(3, 5), shape(7, 3), 7 * 3 * 5 * (3 + 5)},
		{"cell", nn.NewGRUCell(3, 5), shape(2, 3), 2 * 3 * 5 * (3 + 5)},
		{"attention", nn.NewMultiheadAttention(4, 2), [][]int{{3, 2, 4}, {5, 2, 4}, {5, 2, 4}}, 2 * (3*4*4*2 + 5*4*4*2 + 2*3*5*4)},
		{"attention, batch first", nn.NewMultiheadAttention(4, 2, nn.MultiheadAttentionOptions{BatchFirst: true, KDim: 3, VDim: 2}),
			[][]int{{2, 3, 4}, {2, 5, 3}, {2, 5, 2}},
			2 * (3*4*4*2 + 5*4*(3+2) + 2*3*5*4)},
		{"transformer layer", nn.NewTransformerEncoderLayer(4, 2, nn.TransformerLayerOptions{DimFeedforward: 8}), shape(3, 2, 4),
			2*(4*3*4*4+2*3*3*4) + 3*2*2*4*8},
		{"parametrized", parametrize.WeightNorm(nn.NewLinear(3, 5)), shape(2, 3), 2 * 5 * 3},
		{"twice", nn.Sequential{shared, nn.ReLU{}, shared}, shape(2, 3), 2 * 2 * 3 * 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() {
				var inputs []torch.Tensor
				for _, size := range c.inputs {
					inputs = append(inputs, torch.Ones(size...))
				}
				s := nn.Summary(c.model, inputs...)
				require.Equal(t, c.macs, s.MACs)
				require.Equal(t, nn.NumParameters(c.model), s.Params)
			})
		})
	}
}

// byValue is a module whose Forward has a copy of it; shift makes one that no walk finds, and
// gives it a tensor from elsewhere.
type byValue struct{ FC *nn.Linear }

func (b byValue) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.FC.Forward) }

type shift struct{ FC *nn.Linear }

func (s *shift) Forward(x torch.Tensor) torch.Tensor {
	return nn.Sequential{s.FC, nn.ReLU{}}.Forward(torch.Ones(1, 2)).Add(x)
}

// A model, or a part of it, may be a pointer to a Sequential, a struct held by value, or one
// that makes modules of its own run.
func TestSummaryOfAnyShape(t *testing.T) {
	torchtest.NoLeaks(t)
	l := nn.NewLinear(2, 2)
	defer nn.Close(l)
	net := nn.Sequential{l, nn.ReLU{}}
	type row struct {
		name  string
		calls int
	}
	for _, c := range []struct {
		name  string
		model any
		want  []row
	}{
		{"pointer to a row", &net, []row{{"", 1}, {"0", 1}, {"1", 1}}},
		{"within", &struct{ *nn.Sequential }{&net}, []row{{"", 0}, {"sequential", 1}, {"sequential.0", 1}, {"sequential.1", 1}}},
		{"by value", byValue{l}, []row{{"", 1}, {"fc", 1}}},
		{"by a pointer to the value", &byValue{l}, []row{{"", 1}, {"fc", 1}}},
		{"modules apart", &shift{l}, []row{{"", 0}, {"fc", 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() {
				var got []row
				for _, r := range nn.Summary(c.model, torch.Ones(1, 2)).Rows {
					got = append(got, row{r.Name, r.Calls})
				}
				require.Equal(t, c.want, got)
			})
		})
	}
}

// What other goroutines call at the same time is not part of it.
func TestSummaryAmongOthers(t *testing.T) {
	torchtest.NoLeaks(t)
	net := nn.Sequential{nn.NewLinear(2, 2), nn.ReLU{}}
	defer nn.Close(net)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				torch.Scope(func() { net.Forward(torch.Ones(7, 2)) })
			}
		}
	}()
	torch.Scope(func() {
		x := torch.Ones(1, 2)
		for range 50 {
			s := nn.Summary(net, x)
			require.Equal(t, 4, s.MACs)
			require.Equal(t, [][]int{{1, 2}}, s.Rows[2].Output)
			require.Equal(t, []int{1, 1, 1}, []int{s.Rows[0].Calls, s.Rows[1].Calls, s.Rows[2].Calls})
		}
	})
	close(stop)
	<-done
}

func TestSummaryComplains(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(2, 3)
		l := nn.NewLinear(4, 1)
		defer nn.Close(l)
		require.ErrorContains(t, torch.Try(func() { nn.Summary(l, x) }), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x1)")
		require.ErrorContains(t, torch.Try(func() { nn.Summary(&zoo{}, x) }), "*nn_test.zoo has no Forward")
		require.ErrorContains(t, torch.Try(func() { nn.Summary(l, x, x) }), "takes 1 arguments, got 2 inputs")
		require.NotPanics(t, func() { l.Forward(torch.Ones(4)) }, "the hooks are gone")
	})
}

func ExampleSummary() {
	net := nn.Sequential{nn.NewConv2d(1, 8, 3), nn.NewBatchNorm2d(8), nn.ReLU{}, nn.Sequential{nn.Flatten{}, nn.NewLinear(8*26*26, 10)}}
	nn.SetRequiresGrad(net[1], false)
	fmt.Println(nn.Summary(net, torch.Empty(1, 1, 28, 28)))
	// Output:
	// Module            Output           Parameters   MACs
	// Sequential        [1, 10]
	//   0 Conv2d        [1, 8, 26, 26]   80           48,672
	//   1 BatchNorm2d   [1, 8, 26, 26]   16 frozen
	//   2 ReLU          [1, 8, 26, 26]
	//   3 Sequential    [1, 10]
	//     0 Flatten     [1, 5408]
	//     1 Linear      [1, 10]          54,090       54,080
	//
	// Parameters: 54,186, trainable: 54,170
	// Multiply-adds: 102,752
	// Bytes: 3,136 of input, 86,568 of activations, 216,816 of parameters and buffers
}
