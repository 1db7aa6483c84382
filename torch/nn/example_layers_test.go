package nn_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
)

func ExampleNewConv2d() {
	conv := nn.NewConv2d(3, 16, 3, nn.ConvOptions{Stride: 2, Padding: 1})
	fmt.Println(conv.Forward(torch.Zeros(8, 3, 32, 32)).Shape(), conv.Weight.Shape())

	flat := nn.NewConv2d(3, 16, []int{1, 5}, nn.ConvOptions{Padding: "same"}) // a size for each direction
	fmt.Println(flat.Forward(torch.Zeros(8, 3, 32, 32)).Shape())
	// Output:
	// [8 16 16 16] [16 3 3 3]
	// [8 16 32 32]
}

// A depthwise convolution: each channel by itself.
func ExampleConvOptions() {
	depthwise := nn.NewConv2d(32, 32, 3, nn.ConvOptions{Groups: 32, Padding: 1, NoBias: true})
	fmt.Println(depthwise.Weight.Shape(), nn.NumParameters(depthwise))
	// Output: [32 1 3 3] 288
}

func ExampleNewConvTranspose2d() {
	up := nn.NewConvTranspose2d(8, 4, 4, nn.ConvTransposeOptions{Stride: 2, Padding: 1})
	fmt.Println(up.Forward(torch.Zeros(1, 8, 16, 16)).Shape()) // twice as large
	// Output: [1 4 32 32]
}

func ExampleNewMaxPool2d() {
	pool := nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, Padding: 1})
	fmt.Println(pool.Forward(torch.Zeros(1, 8, 32, 32)).Shape())
	// Output: [1 8 16 16]
}

// Images of any size become features of one size.
func ExampleNewAdaptiveAvgPool2d() {
	head := nn.Sequential{nn.NewAdaptiveAvgPool2d(1), nn.Flatten{}, nn.NewLinear(8, 10)}
	for _, size := range []int{7, 32} {
		fmt.Println(head.Forward(torch.Zeros(2, 8, size, size)).Shape())
	}
	// Output:
	// [2 10]
	// [2 10]
}

// The indices of a pooling tell the way back where each maximum was.
func ExampleMaxPool_ForwardWithIndices() {
	x := torch.FromSlice([]float32{1, 2, 5, 3}, 1, 1, 4)
	pool, unpool := nn.NewMaxPool1d(2), nn.NewMaxUnpool1d(2)
	y, at := pool.ForwardWithIndices(x)
	fmt.Println(y, at)
	fmt.Println(unpool.Forward(y, at))
	// Output:
	// tensor([[[2., 5.]]]) tensor([[[1, 2]]])
	// tensor([[[0., 2., 5., 0.]]])
}

// In training a batch is normalised by itself, in evaluation by what training saw.
func ExampleNewBatchNorm1d() {
	norm := nn.NewBatchNorm1d(1, nn.BatchNormOptions{Momentum: new(0.5)})
	x := torch.FromSlice([]float32{2, 4}, 2, 1)
	fmt.Println(norm.Forward(x).Detach().Round().T())
	fmt.Println(norm.RunningMean, norm.RunningVar)
	// Output:
	// tensor([[-1.,  1.]])
	// tensor([1.5000]) tensor([1.5000])
}

func ExampleNewLayerNorm() {
	norm := nn.NewLayerNorm(4)
	x := torch.FromSlice([]float32{1, 1, 3, 3}, 1, 4)
	fmt.Println(norm.Forward(x).Detach().Round())
	// Output: tensor([[-1., -1.,  1.,  1.]])
}

func ExampleNewGroupNorm() {
	norm := nn.NewGroupNorm(2, 8) // 2 groups of 4 channels
	fmt.Println(norm.Forward(torch.Zeros(1, 8, 4, 4)).Shape(), norm.Weight.Shape())
	// Output: [1 8 4 4] [8]
}

func ExampleNewGRU() {
	torch.ManualSeed(0)
	gru := nn.NewGRU(8, 16, nn.GRUOptions{NumLayers: 2, Bidirectional: true, BatchFirst: true})
	output, hidden := gru.Forward(torch.Zeros(4, 10, 8)) // from a state of zeros
	fmt.Println(output.Shape(), hidden.Shape())
	// Output: [4 10 32] [4 4 16]
}

// Sequences of different lengths, without computing the padding.
func ExampleLSTM_ForwardPacked() {
	torch.ManualSeed(0)
	lstm := nn.NewLSTM(3, 5)
	sentences := []torch.Tensor{torch.Ones(4, 3), torch.Ones(2, 3)} // longest first
	packed := rnn.PackSequence(sentences)
	output, hidden, _ := lstm.ForwardPacked(packed)
	padded, lengths := rnn.PadPackedSequence(output)
	fmt.Println(padded.Shape(), lengths, hidden.Shape())
	// Output: [4 2 5] [4 2] [1 2 5]
}

// A cell is one step; the loop is the program's.
func ExampleNewLSTMCell() {
	torch.ManualSeed(0)
	cell := nn.NewLSTMCell(2, 3)
	h, c := torch.Zeros(1, 3), torch.Zeros(1, 3)
	for _, x := range torch.Ones(5, 1, 2).Rows() {
		h, c = cell.Forward(x, h, c)
	}
	fmt.Println(h.Shape(), c.Shape())
	// Output: [1 3] [1 3]
}

func ExampleNewMultiheadAttention() {
	torch.ManualSeed(0)
	attention := nn.NewMultiheadAttention(16, 4, nn.MultiheadAttentionOptions{BatchFirst: true})
	x := torch.Ones(2, 5, 16)
	mask := torch.Ones(5, 5).Triu(1).To(torch.Bool) // true: not to be seen
	y, weights := attention.Forward(x, x, x, nn.AttentionOptions{AttnMask: mask})
	fmt.Println(y.Shape(), weights.Shape())
	fmt.Println(weights.Index(0, 0).Detach()) // the first sees itself alone
	// Output:
	// [2 5 16] [2 5 5]
	// tensor([1., 0., 0., 0., 0.])
}

func ExampleNewTransformer() {
	torch.ManualSeed(0)
	t := nn.NewTransformer(nn.TransformerOptions{
		DModel: 16, NHead: 2, NumEncoderLayers: 1, NumDecoderLayers: 1,
		Layer: nn.TransformerLayerOptions{DimFeedforward: 32, BatchFirst: true},
	})
	source, target := torch.Ones(2, 7, 16), torch.Ones(2, 4, 16)
	var masks nn.TransformerMasks
	masks.Target.Mask = nn.SubsequentMask(4, torch.TensorOptions{})
	fmt.Println(t.Forward(source, target, masks).Shape())
	// Output: [2 4 16]
}

func ExampleSubsequentMask() {
	fmt.Println(nn.SubsequentMask(3, torch.TensorOptions{}))
	// Output:
	// tensor([[0., -inf, -inf],
	//         [0., 0., -inf],
	//         [0., 0., 0.]])
}

// Bags of words: one row for each text, whatever its length.
func ExampleNewEmbeddingBag() {
	bag := nn.NewEmbeddingBag(4, 2, nn.EmbeddingBagOptions{Mode: "sum"})
	torch.NoGrad(func() { bag.Weight.CopyInPlace(torch.Arange(8).Reshape(4, 2)) })
	words, texts := torch.FromSlice([]int{0, 1, 3}), torch.FromSlice([]int{0, 2})
	fmt.Println(bag.Forward(words, nn.BagOptions{Offsets: texts}).Detach())
	// Output:
	// tensor([[2., 4.],
	//         [6., 7.]])
}

// A loss is a struct: its options are its fields.
func ExampleCrossEntropyLoss() {
	loss := nn.CrossEntropyLoss{LabelSmoothing: 0.1, Reduction: torch.ReductionSum}
	scores := torch.Zeros(2, 4) // knows nothing: ln 4 for each
	fmt.Printf("%.3f\n", loss.Forward(scores, torch.FromSlice([]int{0, 3})).Float64())
	// Output: 2.773
}

func ExampleBCEWithLogitsLoss() {
	loss := nn.BCEWithLogitsLoss{PosWeight: torch.FromSlice([]float32{3})} // positives are rare
	logits := torch.Zeros(2, 1)
	fmt.Printf("%.4f\n", loss.Forward(logits, torch.FromSlice([]float32{1, 0}, 2, 1)).Float64())
	// Output: 1.3863
}

func ExamplePReLU() {
	act := nn.NewPReLU(nn.PReLUOptions{Init: new(0.5)})
	fmt.Println(act.Forward(torch.FromSlice([]float32{-2, 2})).Detach())
	// Output: tensor([-1.,  2.])
}

func ExampleLeakyReLU() {
	act := nn.LeakyReLU{NegativeSlope: new(0.1)}
	fmt.Println(act.Forward(torch.FromSlice([]float32{-1, 2})))
	// Output: tensor([-0.1000,  2.0000])
}

func ExampleUpsample() {
	up := nn.Upsample{ScaleFactor: 2, Mode: "nearest"}
	fmt.Println(up.Forward(torch.FromSlice([]float32{1, 2}, 1, 1, 2)))
	// Output: tensor([[[1., 1., 2., 2.]]])
}

func ExampleNewReflectionPad1d() {
	pad := nn.NewReflectionPad1d(2)
	fmt.Println(pad.Forward(torch.FromSlice([]float32{1, 2, 3}, 1, 1, 3)))
	// Output: tensor([[[3., 2., 1., 2., 3., 2., 1.]]])
}

// Chain passes a tensor through layers that live in different fields.
func ExampleChain() {
	first, second := nn.NewLinear(4, 8), nn.NewLinear(8, 2)
	x := torch.Zeros(3, 4)
	fmt.Println(nn.Chain(x, first, nn.ReLU{}, second).Shape())
	// Output: [3 2]
}
